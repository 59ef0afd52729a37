// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/frame.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace charmtree::wire {

namespace {
/// Memory that stays when all has been read; a longer frame is seldom followed by another.
constexpr std::size_t kKept = 256U << 10;

std::uint32_t read_length(const char* p) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = (value << 8) | static_cast<std::uint8_t>(p[i]);
  return value;
}
}  // namespace

std::string make_frame_header(std::uint8_t type, std::size_t payload_size) {
  std::string header;
  auto length = static_cast<std::uint32_t>(payload_size + 2);
  for (int i = 0; i < 4; ++i, length >>= 8) header.push_back(static_cast<char>(length & 0xFF));
  header.push_back(static_cast<char>(kFrameVersion));
  header.push_back(static_cast<char>(type));
  return header;
}

std::string make_frame(std::uint8_t type, std::string_view payload) {
  const std::string header = make_frame_header(type, payload.size());
  std::string frame;
  frame.reserve(header.size() + payload.size());
  frame.append(header).append(payload);
  return frame;
}

std::string FrameWriter::take_frame(std::uint8_t type) {
  const std::string header = make_frame_header(type, payload_size());
  std::string frame = take();
  header.copy(frame.data(), header.size());
  return frame;
}

void FrameDecoder::append(std::string_view bytes) {
  if (read_ == buffer_.size()) {
    if (buffer_.capacity() > kKept) buffer_ = {};
    buffer_.clear();
    read_ = 0;
  } else if (read_ > (64U << 10) && read_ > buffer_.size() / 2) {
    buffer_.erase(0, read_);
    read_ = 0;
  }
  buffer_.append(bytes);
}

std::optional<std::uint8_t> FrameDecoder::next_type() const {
  if (buffered() < kFrameHeader) return {};
  return static_cast<std::uint8_t>(buffer_[read_ + kFrameHeader - 1]);
}

Result<std::optional<Frame>> FrameDecoder::next(std::size_t most) {
  const std::string_view pending = std::string_view{buffer_}.substr(read_);
  if (pending.size() < 4) return std::optional<Frame>{};
  const std::uint32_t length = read_length(pending.data());
  if (length < 2 || length - 2 > std::min(most, max_payload_)) {
    return Error{Errc::bad_peer, Phase::run, fmt::format("frame length {} is out of bounds", length)};
  }
  if (pending.size() >= 5 && static_cast<std::uint8_t>(pending[4]) != kFrameVersion) {
    return Error{
        Errc::bad_peer, Phase::run,
        fmt::format("frame version {} instead of {}", static_cast<std::uint8_t>(pending[4]), kFrameVersion)};
  }
  if (pending.size() < 4 + std::size_t{length}) return std::optional<Frame>{};
  read_ += 4 + std::size_t{length};
  return std::optional<Frame>{Frame{static_cast<std::uint8_t>(pending[5]), pending.substr(6, length - 2)}};
}

}  // namespace charmtree::wire
