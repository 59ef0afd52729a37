// SPDX-License-Identifier: Apache-2.0
// Messages over a unix-domain socket between a charmrun and its user's next one: each is a frame
// (tree/wire/frame.hpp) whose type is its place among the alternatives.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tree/base/result.hpp"
#include "tree/wire/describe.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree {

inline Error no_message() {
  return {Errc::bad_peer, Phase::run, "what came over the socket is no message", {}};
}

/// One frame. Error bad_input: it is too large for one.
template <class Message>
Result<std::string> encode_framed(const Message& message) {
  wire::FrameWriter out;
  std::visit([&](const auto& m) { wire::put(out, m); }, message);
  if (out.payload_size() > wire::kMaxLinkFrame)
    return Error{Errc::bad_input, Phase::options, "the description of the run is too large", {}};
  return out.take_frame(static_cast<std::uint8_t>(message.index()));
}

/// The next message, if it has come whole. Error bad_peer if it is none.
template <class Message>
Result<std::optional<Message>> next_framed(wire::FrameDecoder& decoder) {
  const auto frame = decoder.next();
  if (!frame) return frame.error();
  if (!frame->has_value()) return std::optional<Message>{};
  auto message = wire::decode_alternative<Message>((*frame)->type, (*frame)->payload);
  if (!message) return no_message();
  return std::optional<Message>{std::move(*message)};
}

}  // namespace charmtree
