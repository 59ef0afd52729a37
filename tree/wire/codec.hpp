// SPDX-License-Identifier: Apache-2.0
// Values <-> bytes for everything that travels between launchers and to native clients: little-endian,
// integers as LEB128 varints, strings with a length in front. A reader never reads past its end: the first
// failed read poisons it and every later one returns zero or empty, so a decoder checks ok() once, at its
// end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tree/base/time.hpp"

namespace charmtree::wire {

/// Coded bytes that many share.
using Blob = std::shared_ptr<const std::string>;

/// So many hosts and processes the sender of a message may speak for. Lists are not believed beyond that; by
/// default (a parent, a file of our own) they are.
struct Remit {
  std::uint64_t hosts = UINT32_MAX, processes = UINT32_MAX;
  /// Of one list: news of a host or process may have met older ones on their way. No unit of a machine has
  /// more processors than kMostPus.
  static constexpr std::uint64_t kMostPus = 1024;
  std::uint64_t most_elements() const { return 2 * (hosts + processes) + kMostPus; }
};

/// No instant or duration in a message is farther from 0 (36 years), so that differences never overflow.
inline constexpr Instant kFarthest{Duration{std::int64_t{1} << 60}};

class Writer {
public:
  void u8(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void varint(std::uint64_t value);
  /// Zig-zag, for values that may be negative.
  void svarint(std::int64_t value);
  void string(std::string_view value);
  void raw(std::string_view value) { bytes_.append(value); }

  std::string take() { return std::move(bytes_); }
  const std::string& bytes() const { return bytes_; }

private:
  std::string bytes_;
};

class Reader {
public:
  /// `bytes` must outlive the reader.
  explicit Reader(std::string_view bytes, const Remit& remit = {}) : rest_(bytes), remit_(remit) {}

  std::uint8_t u8();
  std::uint64_t varint();
  std::int64_t svarint();
  /// A varint that must be <= `limit`, else the reader is poisoned.
  std::uint64_t bounded(std::uint64_t limit);
  /// A zig-zag varint that must be in [least, most], else the reader is poisoned and 0 returned.
  std::int64_t sbounded(std::int64_t least, std::int64_t most);
  std::uint32_t u32() { return static_cast<std::uint32_t>(bounded(UINT32_MAX)); }
  bool boolean() { return bounded(1) == 1; }
  std::string string(std::size_t limit = kMaxString);
  /// An element count; poisoned if it exceeds `limit` or the bytes that are left (each element takes at least
  /// one), so that a short message cannot ask for a large allocation.
  std::size_t count(std::size_t limit = SIZE_MAX);

  /// The next so many bytes.
  std::string_view raw(std::size_t size);
  /// All that is left; empties the reader.
  std::string_view rest();
  std::size_t left() const { return rest_.size(); }
  /// Of the sender.
  const Remit& remit() const { return remit_; }

  bool ok() const { return ok_; }
  /// True if everything was read and nothing failed: the check at the end of each decoder.
  bool finished() const { return ok_ && rest_.empty(); }

  static constexpr std::size_t kMaxString = 16U << 20;

  /// For a decoder that finds more than it will take: as if a read had failed.
  void poison();

private:
  std::string_view rest_;
  Remit remit_;
  bool ok_ = true;
};

}  // namespace charmtree::wire
