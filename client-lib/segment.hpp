// SPDX-License-Identifier: Apache-2.0
// Memory that the processes of one host write together: made by one of them, found by the others through
// /proc by the name that it tells them. It is nobody's file: it goes when the last of them has gone, however
// that ends.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "client-lib/mapping.hpp"

namespace charmtree::client {

class Segment {
public:
  /// Zeros; at least one byte. Nothing: there is no memory, or no descriptor for it.
  static std::optional<Segment> make(std::size_t size);
  /// That of another process of this host. Nothing: the name is none, or what it names is not of that size,
  /// could shrink, or may not be opened by this process.
  static std::optional<Segment> open(std::string_view name, std::size_t size);

  Segment(Segment&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), mapping_(std::move(other.mapping_)) {}
  Segment& operator=(Segment&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(mapping_, other.mapping_);
    return *this;
  }
  ~Segment();

  /// For open(), as long as this object is there.
  std::string name() const;
  char* data() { return mapping_.writable(); }
  /// What is left of the object: the memory, and no descriptor.
  Mapping take() { return std::move(mapping_); }

private:
  Segment(int fd, Mapping mapping) : fd_(fd), mapping_(std::move(mapping)) {}

  int fd_;
  Mapping mapping_;
};

}  // namespace charmtree::client
