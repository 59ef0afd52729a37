// SPDX-License-Identifier: Apache-2.0
// The replies of several processes to one CCS request, on their way to become one. How they are merged, the
// programs say when they register the handler: concat strings them together in the order of the processes;
// sum, min and max take them as arrays of numbers of one length, in the byte order of the hosts, and work
// element by element.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"

namespace charmtree::wire {

/// The low four bits say what is done, the high four with which numbers; 0: concat.
struct CcsMerge {
  enum Operation : std::uint8_t { concat = 0, sum = 1, min = 2, max = 3 };
  enum Number : std::uint8_t { none = 0, int32 = 1 << 4, int64 = 2 << 4, float64 = 3 << 4 };

  CcsMerge() = default;
  constexpr explicit CcsMerge(int the_code) : code(static_cast<std::uint8_t>(the_code)) {}
  constexpr CcsMerge(Operation operation, Number number) : code(operation | std::uint8_t{number}) {}

  std::uint8_t code = 0;

  Operation operation() const { return static_cast<Operation>(code & 0x0F); }
  Number number() const { return static_cast<Number>(code & 0xF0); }
  bool is_known() const;
  friend bool operator==(CcsMerge, CcsMerge) = default;
};

struct CcsReplies {
  static constexpr std::size_t kMaxBytes = 64U << 20;  // of all together

  struct Part {
    std::uint32_t process = 0;
    std::string bytes;
    friend bool operator==(const Part&, const Part&) = default;
  };
  CcsMerge merge;
  std::vector<Part> parts;  // in the order of processes; but for concat it is one, of the lowest process

  /// Takes the replies of others. What is wrong, naming two processes, if they cannot be merged; empty: done.
  std::string add(CcsReplies more);
  /// The merged reply.
  std::string whole() &&;
  friend bool operator==(const CcsReplies&, const CcsReplies&) = default;
};

std::string encode(const CcsReplies& replies);
/// Error bad_peer: no replies, or of more than `most` processes, processes that do not rise, an unknown
/// merge, or too many bytes.
Result<CcsReplies> decode_ccs_replies(std::string_view bytes, std::uint32_t most = UINT32_MAX);

}  // namespace charmtree::wire
