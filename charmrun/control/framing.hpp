// SPDX-License-Identifier: Apache-2.0
// Frames of the messages of a service: a service has a variant of messages, and the type of a frame is
// kServiceFrames plus the index of the alternative.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "charmrun/control/protocol.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/describe.hpp"

namespace charmtree::control {

/// Returns the frame of a message. Error bad_input: the message is larger than a frame may be.
template <class Variant>
Result<std::string> encode_message(const Variant& message) {
  wire::FrameWriter out;
  std::visit([&](const auto& each) { wire::put(out, each); }, message);
  if (out.payload_size() > wire::kMaxLinkFrame)
    return bad_input("the message is too large for the control socket");
  return out.take_frame(static_cast<std::uint8_t>(kServiceFrames + message.index()));
}

/// Reads the message in a frame. Returns false if the frame holds none of these.
template <class Variant>
bool decode_message(const wire::Frame& frame, Variant& message) {
  if (frame.type < kServiceFrames) return false;
  auto decoded = wire::decode_alternative<Variant>(frame.type - kServiceFrames, frame.payload);
  if (!decoded) return false;
  message = std::move(*decoded);
  return true;
}

}  // namespace charmtree::control
