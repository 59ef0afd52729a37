// SPDX-License-Identifier: Apache-2.0
// What the host of this process consists of, once that was asked for.
#pragma once

#include <cstdint>
#include <string_view>

#include "client-lib/mapping.hpp"

namespace charmtree::client {

class Topology {
public:
  enum class State : std::uint8_t { none, awaited, there, missing };
  State state() const { return state_; }
  void ask() { state_ = State::awaited; }
  /// It cannot be found out.
  void miss() { state_ = State::missing; }
  /// False: nobody asked for it, or it is no text. The descriptor stays the caller's.
  bool heard(int fd) {
    if (state_ != State::awaited) return false;
    xml_ = Mapping::of_sealed(fd);
    state_ = State::there;
    return !xml_.empty() && xml_.bytes().back() == '\0';
  }
  /// With the NUL at its end.
  std::string_view xml() const { return xml_.bytes(); }

private:
  State state_ = State::none;
  Mapping xml_;
};

}  // namespace charmtree::client
