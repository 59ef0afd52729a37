// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/charm_requests.hpp"

#include <utility>

#include "tree/wire/ccs_message.hpp"

namespace charmtree::proto {

bool CharmRequests::hold(std::string& payload) {
  if (held_.size() >= kMaxHeld || bytes_ + payload.size() > kMaxHeldBytes) return false;
  bytes_ += payload.size();
  held_.push_back(std::move(payload));
  return true;
}

std::vector<std::string> CharmRequests::due(std::uint32_t pe) {
  if (held_.empty() || state_ == State::asked) return {};
  if (state_ == State::ready) return take_held();
  state_ = State::asked;
  return {wire::make_ccs_forward({static_cast<std::int32_t>(pe), "ccs_getinfo", {}, {}}, {0, 0, kOwn})};
}

std::vector<std::string> CharmRequests::take_held() {
  bytes_ = 0;
  return std::exchange(held_, {});
}

}  // namespace charmtree::proto
