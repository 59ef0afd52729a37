// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/message_limits.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace charmtree::wire {

namespace {

/// base + so much for each host and each process that its sender may speak for.
struct Limit {
  std::size_t base = kMaxSaid, host = 0, process = 0;
};

/// A number of a host or a process takes five bytes, a range two of them.
constexpr Limit kNumbers{kMaxSaid, 16, 16};

template <class M, class... Each>
inline constexpr bool kIsOneOf = (std::is_same_v<M, Each> || ...);

/// Of what comes from a child, the part that is not just a few words.
template <class M>
constexpr Limit limit_of() {
  if (kIsOneOf<M, Facts>) return {kMaxList, 0, kMaxTuple + 8};  // all tuples of a host go together
  if (kIsOneOf<M, HandBack>) return {kMaxList, 0, 0};
  if (kIsOneOf<M, LinkLost, Done, Idle, Confirmed, Reached, Claimed>) return kNumbers;
  if (kIsOneOf<M, Bindings>) return {kMaxSaid, 0, 5 * Remit::kMostPus};
  if (kIsOneOf<M, Output, AbortUp, CcsAnswer, InputReturned>) return {kMaxPiece, 0, 0};
  if (kIsOneOf<M, QueuePairsUp>) return {kMaxQueuePairs, 0, 0};
  if (kIsOneOf<M, SignRequest, NewHostKey>) return {kMaxKey, 0, 0};
  return {};
}

template <std::size_t... I>
constexpr std::array<Limit, sizeof...(I)> limits(std::index_sequence<I...>) {
  return {limit_of<std::variant_alternative_t<I, AnyMessage>>()...};
}
constexpr auto kLimits = limits(std::make_index_sequence<std::variant_size_v<AnyMessage>>{});

}  // namespace

bool goes_down(std::uint8_t type) {
  static const std::size_t first_up = Message{Hello{}}.index();
  return type < first_up;
}

std::size_t most_payload(std::uint8_t type, const Remit& remit) {
  if (goes_down(type)) return kMaxLinkFrame;
  const Limit limit = type < kLimits.size() ? kLimits[type] : Limit{};
  const std::uint64_t most = limit.base + limit.host * remit.hosts + limit.process * remit.processes;
  return static_cast<std::size_t>(std::min<std::uint64_t>(most, kMaxLinkFrame));
}

}  // namespace charmtree::wire
