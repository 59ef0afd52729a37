// SPDX-License-Identifier: Apache-2.0
// A descriptor that is passed to the reader of the other end of a unix-domain socket (SCM_RIGHTS).
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "tree/io/unique_fd.hpp"

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

/// Calls ::recvmsg, without waiting. Sets `passed` to the descriptor that came with the bytes, if one did.
inline ssize_t receive_with(int fd, char* bytes, std::size_t size, UniqueFd& passed) {
  iovec data{bytes, size};
  int number = -1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof number)> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const part = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (part == nullptr || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) return got;
  std::memcpy(&number, CMSG_DATA(part), sizeof number);
  passed.reset(number);
  return got;
}

}  // namespace charmtree::io
