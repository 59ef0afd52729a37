// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/message_limits.hpp"

#include <algorithm>
#include <array>

#include "tree/wire/message_rows.hpp"

namespace charmtree::wire {

namespace {

struct Kind {
  bool goes_down;
  Limit limit;
};
template <class... Row>
constexpr std::array<Kind, sizeof...(Row)> kinds_of(const rows::Rows<Row...>& all) {
  return {Kind{static_cast<const Row&>(all).goes_down, static_cast<const Row&>(all).limit}...};
}
constexpr auto kKinds = kinds_of(rows::kAll);

}  // namespace

bool goes_down(std::uint8_t type) {
  return type < kKinds.size() && kKinds[type].goes_down;
}

std::size_t most_payload(std::uint8_t type, const Remit& remit) {
  if (goes_down(type)) return kMaxLinkFrame;
  const Limit limit = type < kKinds.size() ? kKinds[type].limit : Limit{};
  const std::uint64_t most = limit.base + limit.host * remit.hosts + limit.process * remit.processes;
  return static_cast<std::size_t>(std::min<std::uint64_t>(most, kMaxLinkFrame));
}

}  // namespace charmtree::wire
