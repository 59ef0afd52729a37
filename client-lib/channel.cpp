// SPDX-License-Identifier: Apache-2.0
// Every transfer is tried first (MSG_DONTWAIT) and waited for by poll(2) only if it did not succeed, so that
// a deadline in the past still takes what is there.
#include "client-lib/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "client-lib/charmtree.h"

namespace charmtree::client {

namespace {
constexpr std::size_t kReadSize = 64U << 10;
/// Descriptors whose messages have not been read.
constexpr std::size_t kMostPassed = 64;

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

/// connect(2) on a unix-domain socket waits for a place in the backlog as long as SO_SNDTIMEO says (unix(7)
/// has no other way).
int connect_within(int fd, const sockaddr_un& address, const Deadline& deadline) {
  for (;;) {
    const int left = deadline.left_ms();
    if (left == 0) return CT_ETIMEDOUT;
    timeval limit{};  // zero: for ever
    if (left > 0) limit = {left / 1000, (left % 1000) * 1000};
    if (::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) return CT_ECONNECT;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return CT_OK;
    if (would_block(errno)) return CT_ETIMEDOUT;
    if (errno != EINTR) return CT_ECONNECT;
  }
}
}  // namespace

Deadline::Deadline(int timeout_ms)
    : at_(Clock::now() + std::chrono::milliseconds(timeout_ms < 0 ? 0 : timeout_ms)),
      never_(timeout_ms < 0) {}

int Deadline::left_ms() const {
  if (never_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(left < INT_MAX ? left : INT_MAX);
}

int Channel::connect(const std::string& path, const Deadline& deadline) {
  close();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return CT_EENV;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return CT_ECONNECT;
  return connect_within(fd_, address, deadline);
}

void Channel::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  deaf_ = false;
  for (const int fd : std::exchange(passed_, {})) ::close(fd);
  drop_outbox();
  decoder_ = wire::FrameDecoder{wire::kMaxLinkFrame};
}

int Channel::send_frames(std::string frames, const Deadline& deadline) {
  if (const int error = flush(deadline); error != CT_OK) return error;
  outbox_ = std::move(frames);
  const int error = flush(deadline);
  return error == CT_ETIMEDOUT ? CT_OK : error;
}

int Channel::flush(const Deadline& deadline) {
  for (;;) {
    if (const int error = push(); error != CT_OK || outbox_.empty()) return error;
    if (const int error = wait(POLLOUT, deadline); error != CT_OK) return error;
  }
}

int Channel::receive(wire::native::FromLauncher& message, const Deadline& deadline) {
  for (;;) {
    const auto frame = decoder_.next();
    if (!frame) return CT_EPROTO;
    if (frame->has_value()) {
      auto decoded = wire::native::decode_from_launcher(**frame);
      if (!decoded) return CT_EPROTO;
      message = std::move(*decoded);
      return CT_OK;
    }
    push();  // a launcher that reads no more shows as the end of what it sends
    const int got = pull();
    if (got < 0) return got;
    if (got > 0) continue;
    if (const int error = wait(static_cast<short>(poll_events()), deadline); error != CT_OK) return error;
  }
}

void Channel::drop_outbox() {
  outbox_.clear();
  left_ = 0;
}

/// Sends what the kernel takes at once.
int Channel::push() {
  while (!outbox_.empty()) {
    const ssize_t n =
        ::send(fd_, outbox_.data() + left_, outbox_.size() - left_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      left_ += static_cast<std::size_t>(n);
      if (left_ == outbox_.size()) drop_outbox();
    } else if (would_block(errno)) {
      break;
    } else if (errno != EINTR) {
      deaf_ = true;
      drop_outbox();
    }
  }
  return deaf_ ? CT_ELOST : CT_OK;
}

int Channel::take_descriptor() {
  if (passed_.empty()) return -1;
  const int fd = passed_.front();
  passed_.pop_front();
  return fd;
}

/// False: they are more than a launcher has for us.
bool Channel::keep_descriptors(const msghdr& message) {
  for (const cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; at + sizeof(int) <= part->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
      passed_.push_back(fd);
    }
  }
  return passed_.size() <= kMostPassed;
}

/// Reads what is there: number of bytes, 0 if none are yet, CT_ELOST at the end.
int Channel::pull() {
  std::array<char, kReadSize> buffer;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control;
  for (;;) {
    iovec bytes{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t n = ::recvmsg(fd_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n >= 0 && !keep_descriptors(message)) return CT_EPROTO;
    if (n >= 0 && (message.msg_flags & MSG_CTRUNC) != 0) return CT_ENOMEM;  // none of ours is free
    if (n > 0) {
      decoder_.append({buffer.data(), static_cast<std::size_t>(n)});
      return static_cast<int>(n);
    }
    if (n < 0 && would_block(errno)) return 0;
    if (n == 0 || errno != EINTR) return CT_ELOST;
  }
}

int Channel::wait(short events, const Deadline& deadline) const {
  for (;;) {
    const int left = deadline.left_ms();
    pollfd entry{fd_, events, 0};
    const int n = left == 0 ? 0 : ::poll(&entry, 1, left);
    if (n > 0) return CT_OK;
    if (n == 0) return CT_ETIMEDOUT;
    if (errno != EINTR && errno != EAGAIN) return CT_ELOST;
  }
}

}  // namespace charmtree::client
