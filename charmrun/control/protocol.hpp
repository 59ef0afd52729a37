// SPDX-License-Identifier: Apache-2.0
// The control protocol (docs/CONTROL.md): the frames with which each connection to the control socket of a
// running job begins, the same in all versions of charmrun. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "tree/base/error.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::control {

/// The version of this protocol, and of the services that any charmrun may use (Service::Serves::any).
inline constexpr std::uint32_t kVersion = 1;
/// Frames of this type and above belong to the service that the connection has opened.
inline constexpr std::uint8_t kServiceFrames = 16;
/// Limits of the texts in the frames below, in bytes.
inline constexpr std::size_t kMaxVersion = 100, kMaxName = 32, kMaxReason = 2000;

/// The first frame of each side.
struct Hello {
  std::uint32_t version = kVersion;
  std::string charmrun;  // see own_version()
};
/// The client's second frame. The answer is Opened or Refused.
struct Open {
  std::string service;
};
/// The service is open: from now on both sides send its messages.
struct Opened {};
/// A request has failed, for this reason. The job's charmrun closes the connection.
struct Refused {
  std::string what, fix;  // see Error
};
using Message = std::variant<Hello, Open, Opened, Refused>;

/// Returns the version of this charmrun and of its messages, "1.2 (protocol 34)".
std::string own_version();

/// Returns the frame of a message. Texts that are too long are cut.
std::string encode(const Message& message);
/// Returns the message in a frame; nothing if the frame holds none of this protocol.
std::optional<Message> decode(const wire::Frame& frame);

/// Returns the error of a client and a job whose charmruns are of different versions.
Error other_version(const std::string& of_job, const std::string& of_client);

}  // namespace charmtree::control
