// SPDX-License-Identifier: Apache-2.0
// Clients of what a test listens on.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

/// A socket that is connected to a port of 127.0.0.1; none if nobody listens there.
inline UniqueFd connect_to_loopback(std::uint16_t port) {
  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) != 0) fd.reset();
  return fd;
}

}  // namespace charmtree::io
