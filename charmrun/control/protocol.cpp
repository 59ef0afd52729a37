// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/protocol.hpp"

#include <fmt/format.h>

#include "tree/base/visible.hpp"
#include "tree/wire/describe.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree::wire {

template <>
inline constexpr std::size_t kMostText<control::Hello> = control::kMaxVersion;
template <>
inline constexpr std::size_t kMostText<control::Open> = control::kMaxName;
template <>
inline constexpr std::size_t kMostText<control::Refused> = control::kMaxReason;
template <>
inline constexpr bool kMayBeCut<control::Hello> = true;
template <>
inline constexpr bool kMayBeCut<control::Open> = true;
template <>
inline constexpr bool kMayBeCut<control::Refused> = true;

CT_MEMBERS(control::Hello, s.version, s.charmrun)
CT_MEMBERS(control::Open, s.service)
CT_MEMBERS(control::Opened, )
CT_MEMBERS(control::Refused, s.what, s.fix)

}  // namespace charmtree::wire

namespace charmtree::control {

std::string own_version() {
  return fmt::format("{} (protocol {})", CHARMTREE_VERSION, wire::protocol());
}

std::string encode(const Message& message) {
  wire::FrameWriter out;
  std::visit([&](const auto& each) { wire::put(out, each); }, message);
  return out.take_frame(static_cast<std::uint8_t>(message.index()));
}

std::optional<Message> decode(const wire::Frame& frame) {
  return wire::decode_alternative<Message>(frame.type, frame.payload);
}

Error other_version(const std::string& of_job, const std::string& of_client) {
  return {Errc::refused, Phase::run,
          fmt::format("the charmrun of that job is of another version, {}; this is {}", visible(of_job),
                      visible(of_client)),
          "use the same one for both"};
}

}  // namespace charmtree::control
