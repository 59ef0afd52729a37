// SPDX-License-Identifier: Apache-2.0
// The CCS requests for one Charm++ process. Until its runtime has started CCS, a stock client keeps a hundred
// of them and dies of the next; so the first thing that it gets is one `ccs_getinfo` of the launcher's own,
// and all others wait here for its answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace charmtree::proto {

class CharmRequests {
public:
  static constexpr std::size_t kMaxHeld = 1024;
  static constexpr std::size_t kMaxHeldBytes = 128U << 20;

  /// Keeps a payload of `req_fw`, which is moved from; false: there is no room.
  bool hold(std::string& payload);
  /// What can be sent now, in order. `pe`: one of the process's own.
  std::vector<std::string> due(std::uint32_t pe);
  /// The token of the launcher's own request.
  static bool is_own(std::uint32_t token) { return token == kOwn; }
  /// It has been answered.
  void answered() { state_ = State::ready; }
  /// What the process will not get.
  std::vector<std::string> take_held();

private:
  static constexpr std::uint32_t kOwn = 0;  // those of the root begin at 1
  enum class State : std::uint8_t { unknown, asked, ready };

  State state_ = State::unknown;
  std::vector<std::string> held_;
  std::size_t bytes_ = 0;
};

}  // namespace charmtree::proto
