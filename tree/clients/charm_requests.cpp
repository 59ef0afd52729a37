// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/charm_requests.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tree/wire/ccs_message.hpp"

namespace charmtree::proto {

bool CharmRequests::hold(std::string& payload) {
  if (held_.size() >= kMaxHeld || (!held_.empty() && held_bytes_ + payload.size() > kMaxHeldBytes))
    return false;
  held_bytes_ += payload.size();
  held_.push_back(std::move(payload));
  return true;
}

bool CharmRequests::has_room(std::size_t bytes) const {
  return unread_.empty() || (unread_.size() < kMaxUnread && unread_bytes_ + bytes <= kMaxUnreadBytes);
}

std::vector<std::string> CharmRequests::due(std::uint32_t pe) {
  std::vector<std::string> due;
  while (state_ == State::ready && !held_.empty() && has_room(held_.front().size())) {
    due.push_back(std::move(held_.front()));
    held_.pop_front();
    held_bytes_ -= due.back().size();
    unread_bytes_ += due.back().size();
    unread_.push_back({wire::parse_ccs_forwarded(due.back()).token, due.back().size()});
  }
  if (!held_.empty() && state_ != State::asked) {
    state_ = State::asked;
    due.push_back(
        wire::make_ccs_forward({static_cast<std::int32_t>(pe), "ccs_getinfo", {}, {}}, {0, 0, kOwn}));
  }
  return due;
}

bool CharmRequests::answered(std::uint32_t token) {
  const bool own = token == kOwn;
  const auto found =
      std::find_if(unread_.begin(), unread_.end(), [token](const Sent& sent) { return sent.token == token; });
  if (own) state_ = State::ready;
  const auto end = own ? unread_.end() : found == unread_.end() ? unread_.begin() : std::next(found);
  for (auto each = unread_.begin(); each != end; ++each) unread_bytes_ -= each->bytes;
  unread_.erase(unread_.begin(), end);
  return own;
}

std::vector<std::string> CharmRequests::take_held() {
  held_bytes_ = 0;
  auto held = std::exchange(held_, {});
  return {std::make_move_iterator(held.begin()), std::make_move_iterator(held.end())};
}

}  // namespace charmtree::proto
