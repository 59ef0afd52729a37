// SPDX-License-Identifier: Apache-2.0
// The sockets with a port that this process may have: one of each kind.
#pragma once

#include <array>
#include <cstdint>

#include "tree/wire/native_message.hpp"
#include "tree/wire/port_kind.hpp"

namespace charmtree::client {

class Ports {
public:
  Ports() = default;
  ~Ports();
  Ports(const Ports&) = delete;
  Ports& operator=(const Ports&) = delete;

  bool is_asked(wire::PortKind kind) const { return place(kind).state != State::none; }
  void ask(wire::PortKind kind) { place(kind).state = State::awaited; }
  bool is_awaited(wire::PortKind kind) const { return place(kind).state == State::awaited; }
  /// False: nobody asked for it, or it is no such socket. The descriptor, which may be -1, is ours from now
  /// on.
  bool heard(const wire::native::Port& port, int fd);
  /// Its descriptor, which is the caller's; or CT_EORDER, CT_ENOPORT. Precondition: it is not awaited.
  int take(wire::PortKind kind, std::uint16_t& number);
  /// In a job of one: binds one to any port.
  int open(wire::PortKind kind, std::uint16_t& number);

private:
  enum class State : std::uint8_t { none, awaited, there, taken, refused };
  struct Place {
    State state = State::none;
    int fd = -1;
    std::uint16_t number = 0;
  };
  Place& place(wire::PortKind kind) { return places_[wire::place_of(kind)]; }
  const Place& place(wire::PortKind kind) const { return places_[wire::place_of(kind)]; }

  std::array<Place, wire::kPortKinds> places_;
};

}  // namespace charmtree::client
