// SPDX-License-Identifier: Apache-2.0
// Memory that is mapped, and given back when its owner goes.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

namespace charmtree::client {

class Mapping {
public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping();

  /// All of a file that is shared, to be read; empty if that is not possible, or somebody could still change
  /// it (its seals; memfd_create(2)). The descriptor stays the caller's.
  static Mapping of_sealed(int fd);
  /// All of a file, shared with others that may write it; empty if that is not possible. The descriptor stays
  /// the caller's.
  static Mapping to_write(int fd, std::size_t size);
  /// A page that a child of fork finds full of zeros, and which is not so here; empty where the kernel has no
  /// such thing (before Linux 4.14).
  static Mapping wiped_by_fork();

  bool empty() const { return at_ == nullptr; }
  std::string_view bytes() const { return {static_cast<const char*>(at_), size_}; }
  /// The same, of to_write().
  char* writable() { return static_cast<char*>(at_); }

private:
  Mapping(void* at, std::size_t size) : at_(at), size_(size) {}

  void* at_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace charmtree::client
