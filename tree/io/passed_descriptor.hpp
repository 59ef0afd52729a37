// SPDX-License-Identifier: Apache-2.0
// A descriptor that is handed to who reads the other end of a unix-domain socket (SCM_RIGHTS).
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace charmtree::io {

/// ::send, with the descriptor.
inline ssize_t send_with(int fd, const char* bytes, std::size_t size, int passed, int flags) {
  iovec data{const_cast<char*>(bytes), size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof passed)> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof passed);
  std::memcpy(CMSG_DATA(part), &passed, sizeof passed);
  return ::sendmsg(fd, &message, flags);
}

}  // namespace charmtree::io
