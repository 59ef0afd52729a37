// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/pairs.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace charmtree::ibverbs {

namespace {
constexpr std::string_view kWith = "with ";

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

/// Nothing: it is none, or not as hex() writes it.
std::optional<std::string> unhex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  if (hex(bytes) != text) return {};
  return bytes;
}
}  // namespace

Pairs::State Pairs::state(std::uint32_t rank) const {
  const auto found = pairs_.find(rank);
  if (found == pairs_.end()) return State::none;
  if (found->second.stage == Stage::failed) return State::failed;
  return found->second.is_other_connected ? State::ready : State::under_way;
}

bool Pairs::is_connected(std::uint32_t rank) const {
  const auto found = pairs_.find(rank);
  return found != pairs_.end() && found->second.stage == Stage::connected;
}

void Pairs::reach(std::uint32_t rank, Actions& out) {
  auto pair = pairs_.find(rank);
  if (pair == pairs_.end()) {
    pair = make(rank);
    if (pair->second.stage != Stage::asking) return;
    pair->second.has_asked = true;
    out.emplace_back(Ask{rank, key_of(pair->second.own)});
  } else if (pair->second.stage == Stage::connected && !pair->second.is_other_connected &&
             !std::exchange(pair->second.has_asked, true)) {
    out.emplace_back(Ask{rank, whether()});
  }
}

/// One that is connected already answers what it has answered before: that was lost, or both have begun.
void Pairs::asked(std::uint32_t rank, const std::string& key, Actions& out) {
  auto pair = pairs_.find(rank);
  const auto other = peer_in(key);
  const bool is_sound = other ? pair == pairs_.end() || pair->second.stage != Stage::connected ||
                                    pair->second.number == other->number
                              : pair != pairs_.end() && key == whether();
  if (!is_sound) {
    out.emplace_back(Answer{rank, key, encode(Reply{makes_no_sense(rank), {}})});
    return;
  }
  if (other) {
    if (pair == pairs_.end()) pair = make(rank);
    if (pair->second.stage == Stage::asking) connect(pair, *other, out);
  }
  pair->second.is_asked_whether = pair->second.stage == Stage::asking;
  if (pair->second.stage != Stage::asking) answer(pair, key, out);
}

void Pairs::told(std::uint32_t rank, std::string_view value, Actions& out) {
  const auto pair = pairs_.find(rank);
  if (pair == pairs_.end() || pair->second.stage == Stage::failed) return;
  const auto reply = decode_reply(value);
  if (!reply) return fail(pair, {CT_EPROTO, makes_no_sense(rank)}, out);
  if (!reply->why.empty())
    return fail(pair, {CT_EFAILED, "rank " + std::to_string(rank) + " says: " + reply->why}, out);
  if (pair->second.stage == Stage::asking) connect(pair, *reply->peer, out);
  if (pair->second.stage != Stage::connected) return;
  if (pair->second.number != reply->peer->number) return fail(pair, {CT_EPROTO, makes_no_sense(rank)}, out);
  pair->second.is_other_connected = true;
}

void Pairs::unanswered(std::uint32_t rank, Failure failure, Actions& out) {
  const auto pair = pairs_.find(rank);
  if (pair != pairs_.end() && pair->second.stage != Stage::failed && !pair->second.is_other_connected)
    fail(pair, std::move(failure), out);
}

Pairs::Place Pairs::make(std::uint32_t rank) {
  const Place pair = pairs_.try_emplace(rank).first;
  if (auto failure = attempt([&] { return maker_.make(rank, pair->second.own); })) {
    pair->second.stage = Stage::failed;
    pair->second.failure = std::move(*failure);
  }
  return pair;
}

void Pairs::connect(Place pair, const Peer& other, Actions& out) {
  if (auto failure = attempt([&] { return maker_.connect(pair->first, pair->second.own, other); }))
    return fail(pair, std::move(*failure), out);
  pair->second.stage = Stage::connected;
  pair->second.number = other.number;
  if (std::exchange(pair->second.is_asked_whether, false)) answer(pair, whether(), out);
}

/// What it has connected, the program may have.
void Pairs::fail(Place pair, Failure failure, Actions& out) {
  if (pair->second.stage == Stage::asking) maker_.release(pair->first);
  pair->second.stage = Stage::failed;
  pair->second.failure = std::move(failure);
  if (std::exchange(pair->second.is_asked_whether, false)) answer(pair, whether(), out);
}

void Pairs::answer(Place pair, const std::string& key, Actions& out) const {
  Reply reply;
  if (pair->second.stage == Stage::connected)
    reply.peer = pair->second.own;
  else
    reply.why = pair->second.failure.what.substr(0, kMostWhy);
  out.emplace_back(Answer{pair->first, key, encode(reply)});
}

std::string Pairs::key_of(const Peer& own) const {
  return prefix_ + std::string{kWith} + hex(encode(own));
}

std::optional<Peer> Pairs::peer_in(const std::string& key) const {
  const std::string begin = prefix_ + std::string{kWith};
  if (!key.starts_with(begin)) return {};
  const auto bytes = unhex(std::string_view{key}.substr(begin.size()));
  return bytes ? decode_peer(*bytes) : std::nullopt;
}

}  // namespace charmtree::ibverbs
