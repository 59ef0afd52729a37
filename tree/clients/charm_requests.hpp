// SPDX-License-Identifier: Apache-2.0
// The CCS requests for one Charm++ process. Until its runtime has started CCS, a stock client keeps a hundred
// of them and dies of the next; so the first thing that it gets is one `ccs_getinfo` of the launcher's own,
// and all others wait here for its answer. Later the same is done whenever the process has so many of them
// that it has not shown to have read: it reads them in order, so that an answer shows that it has read all
// that were sent before.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace charmtree::proto {

class CharmRequests {
public:
  static constexpr std::size_t kMaxHeld = 4096;
  static constexpr std::size_t kMaxHeldBytes = 128U << 20;
  /// Sent, and perhaps not read; one may always be.
  static constexpr std::size_t kMaxUnread = 256;
  static constexpr std::size_t kMaxUnreadBytes = 32U << 20;

  /// Keeps a payload of `req_fw`, which is moved from; false: there is no room.
  bool hold(std::string& payload);
  /// What can be sent now, in order. `pe`: one of the process's own.
  std::vector<std::string> due(std::uint32_t pe);
  /// The process has answered the request with this token. True: it was the launcher's own.
  bool answered(std::uint32_t token);
  /// What the process will not get.
  std::vector<std::string> take_held();

private:
  static constexpr std::uint32_t kOwn = 0;  // those of the root begin at 1
  enum class State : std::uint8_t { unknown, asked, ready };
  struct Sent {
    std::uint32_t token;
    std::size_t bytes;
  };

  bool has_room(std::size_t bytes) const;

  State state_ = State::unknown;
  std::deque<std::string> held_;
  std::size_t held_bytes_ = 0;
  std::deque<Sent> unread_;
  std::size_t unread_bytes_ = 0;
};

}  // namespace charmtree::proto
