// SPDX-License-Identifier: Apache-2.0
// The CCS requests for one native process: which handlers it has, what it has been asked and has not
// answered, and the reply that is coming from it in pieces. Those that it has not read yet have a limit
// beyond which it is asked no more; of those that it keeps for later, or has forgotten, the oldest are given
// up.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tree/wire/ccs_message.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::proto {

class NativeRequests {
public:
  /// Requests that it may not have read; one may always be.
  static constexpr std::size_t kMaxUnread = 1024;
  static constexpr std::size_t kMaxUnreadBytes = 128U << 20;
  /// Requests that it keeps.
  static constexpr std::size_t kMaxKept = 1024;

  struct Answer {
    std::uint32_t token = 0;
    std::string bytes;
    wire::CcsMerge merge;
  };

  /// False: it has too many.
  bool add(const wire::native::Handler& handler);
  /// The process is asked. Why it cannot be, behind "process N"; empty: it can.
  std::string ask(const wire::CcsDelivery& request);
  /// What the process says, in order. What is wrong with it; empty: nothing.
  std::string reply(wire::native::Reply& reply);
  std::string reply(const wire::native::ReplyData& data);
  /// The request that is given up for the one that is kept.
  std::optional<std::uint32_t> keep(const wire::native::Kept& kept);
  /// An answer that is complete since the last call.
  std::optional<Answer> take_answer();
  /// Tokens of the requests that it will not answer.
  std::vector<std::uint32_t> take_unanswered();

private:
  struct Asked {
    wire::CcsMerge merge;
    std::size_t bytes = 0;
    bool read = false;
  };
  struct Reply {
    std::size_t size = 0, got = 0;
    std::optional<Answer> answer;  // none: the request was given up
  };
  void mark_read(Asked& asked);

  std::map<std::string, wire::CcsMerge, std::less<>> handlers_;
  std::map<std::uint32_t, Asked> unanswered_;  // by token
  std::size_t unread_ = 0, unread_bytes_ = 0;
  std::deque<std::uint32_t> kept_;  // tokens; some may have been answered
  std::optional<Reply> reply_;
};

}  // namespace charmtree::proto
