// SPDX-License-Identifier: Apache-2.0
// Frames: how messages are cut out of a byte stream, on tree links and on the native clients' sockets. A
// frame is
//   length (4 bytes, little-endian, of what follows) | version (1) | type (1) | payload
// A stream that breaks a rule is broken for good: the owner closes it with the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tree/base/result.hpp"
#include "tree/wire/codec.hpp"

namespace charmtree::wire {

inline constexpr std::uint8_t kFrameVersion = 1;
inline constexpr std::size_t kFrameHeader = 6;
/// Largest payload between launchers: a host list of 100,000 names or an environment of the kernel's limit
/// fit.
inline constexpr std::size_t kMaxLinkFrame = 32U << 20;
/// Largest payload from a native client.
inline constexpr std::size_t kMaxClientFrame = 1U << 20;

/// The header of a frame, for a payload that is sent after it. Precondition: payload_size <= kMaxLinkFrame.
std::string make_frame_header(std::uint8_t type, std::size_t payload_size);

/// Header and payload as one string, ready to send. Precondition: payload.size() <= kMaxLinkFrame.
std::string make_frame(std::uint8_t type, std::string_view payload);

/// Writes the payload of a frame behind the room for its header: output is not copied once more.
class FrameWriter : public Writer {
public:
  FrameWriter() { raw(make_frame_header(0, 0)); }
  std::size_t payload_size() const { return bytes().size() - kFrameHeader; }
  /// The frame, ready to send. Precondition: payload_size() <= kMaxLinkFrame.
  std::string take_frame(std::uint8_t type);
};

struct Frame {
  std::uint8_t type = 0;
  std::string_view payload;  // valid until the next call to the decoder
};

/// Cuts a stream into frames. One per link, owned by it.
class FrameDecoder {
public:
  explicit FrameDecoder(std::size_t max_payload) : max_payload_(max_payload) {}

  void append(std::string_view bytes);
  /// The type of the next frame, as soon as it has come; the frame may be of any length.
  std::optional<std::uint8_t> next_type() const;
  /// The next complete frame, nothing if more bytes are needed, or an error (bad_peer) that repeats for ever.
  Result<std::optional<Frame>> next() { return next(max_payload_); }
  /// The same, where this one may have a payload of `most` bytes: nobody waits for one that has more.
  Result<std::optional<Frame>> next(std::size_t most);
  /// Bytes that are not yet part of a frame.
  std::size_t buffered() const { return buffer_.size() - read_; }

private:
  std::size_t max_payload_;
  std::string buffer_;
  std::size_t read_ = 0;  // start of the first frame that was not handed out
};

}  // namespace charmtree::wire
