// SPDX-License-Identifier: Apache-2.0
// Messages <-> frames, whatever their type.
#include "tree/wire/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "tree/wire/frame.hpp"
#include "tree/wire/message_limits.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::wire {

namespace {

bool is_too_large(const Message& message, std::size_t payload) {
  const auto* facts = get_if<Facts>(&message);
  return payload > most_payload(message.type(), {}) ||
         (facts != nullptr && tuple_bytes(facts->blocks) > kMaxTableData);
}

/// Its receiver takes it, but takes no more memory for a list than it has to.
bool is_long(const Message& message, std::size_t payload) {
  const bool is_list = holds_alternative<Facts>(message) || holds_alternative<HandBack>(message);
  return is_list && payload > kMaxList;
}

/// Moves the second half of a list to an empty one; false: it is too short.
template <class T>
bool divide(std::vector<T>& list, std::vector<T>& rest) {
  const auto middle = list.begin() + static_cast<std::ptrdiff_t>((list.size() + 1) / 2);
  rest.assign(std::make_move_iterator(middle), std::make_move_iterator(list.end()));
  list.erase(middle, list.end());
  return !rest.empty();
}

/// What is no list stays with the first part.
template <class T>
bool divide(T&, T&) {
  return false;
}

/// All lists among the members, each with a part; false: they are all too short.
template <Described S>
bool divide_lists(S& value, S& rest) {
  return Members<S>::with(value, [&](auto&... member) {
    return Members<S>::with(rest, [&](auto&... further) {
      bool divided = false;
      ((divided |= divide(member, further)), ...);
      return divided;
    });
  });
}

/// Takes half of the lists out of a message, the later part; nothing: there is none.
std::optional<Message> take_half(Message& message) {
  if (auto* assign = get_if<Assign>(&message)) {
    Assign rest;
    if (divide(assign->hosts, rest.hosts)) return rest;
  } else if (auto* handed = get_if<HandBack>(&message)) {
    HandBack rest;
    if (divide(handed->hosts, rest.hosts)) return rest;
  } else if (auto* facts = get_if<Facts>(&message)) {
    Facts rest;
    if (divide_lists(*facts, rest)) return rest;
  }
  return {};
}

Error too_large(const Message& message, std::size_t payload) {
  const std::size_t most = most_payload(message.type(), {});
  const bool mib = most >= 1U << 20;
  return {
      Errc::bad_input, Phase::run,
      fmt::format("a message between launchers is too large ({}, {:.1f} {unit} of at most {} {unit})",
                  message.type().name, static_cast<double>(payload) / (mib ? 1U << 20 : 1U << 10),
                  most >> (mib ? 20 : 10), fmt::arg("unit", mib ? "MiB" : "KiB")),
      holds_alternative<Facts>(message) ? "register shorter tuples or start fewer processes on a host" : ""};
}

}  // namespace

Result<Message> MessageTypes::decode(std::uint8_t number, std::string_view payload,
                                     const Remit& remit) const {
  const MessageType* type = find(number);
  if (type == nullptr)
    return Error{Errc::bad_peer, Phase::run, fmt::format("unknown message type {}", number)};
  auto message = type->decode(payload, remit);
  if (!message) return Error{Errc::bad_peer, Phase::run, fmt::format("malformed message of type {}", number)};
  return std::move(*message);
}

std::size_t most_payload(const MessageType& type, const Remit& remit) {
  if (type.goes_down()) return kMaxLinkFrame;
  const std::uint64_t most =
      type.limit.base + type.limit.host * remit.hosts + type.limit.process * remit.processes;
  return static_cast<std::size_t>(std::min<std::uint64_t>(most, kMaxLinkFrame));
}

Result<std::string> encode_frames(const Message& message) {
  FrameWriter out;
  message.type().put(out, message.bytes());
  const std::size_t size = out.payload_size();
  const bool fits = !is_too_large(message, size);
  const auto whole = [&] { return out.take_frame(message.number()); };
  if (fits && !is_long(message, size)) return whole();
  Message first = message;
  const std::optional<Message> second = take_half(first);
  if (!second && fits) return whole();
  if (!second) return too_large(message, size);
  auto frames = encode_frames(first);
  const auto more = frames ? encode_frames(*second) : frames;
  if (!more) return more.error();
  return *frames + *more;
}

}  // namespace charmtree::wire
