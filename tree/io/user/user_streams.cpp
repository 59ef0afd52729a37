// SPDX-License-Identifier: Apache-2.0
#include "tree/io/user/user_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "tree/io/signals_blocked.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

OutputWriter::OutputWriter(asio::io_context& io, int fd, std::function<void()> on_progress,
                           std::function<void()> on_broken)
    : io_(io), fd_(fd), on_progress_(std::move(on_progress)), on_broken_(std::move(on_broken)) {
  const SignalsBlocked blocked;
  thread_ = std::thread{[this] { run(); }};
}

OutputWriter::~OutputWriter() {
  {
    const std::lock_guard lock{mutex_};
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void OutputWriter::write(std::string bytes) {
  {
    const std::lock_guard lock{mutex_};
    if (broken_ || bytes.empty()) return;
    backlog_ += bytes.size();
    queue_.push_back({std::move(bytes)});
  }
  wake_.notify_one();
}

void OutputWriter::confirm(std::function<void()> done) {
  {
    const std::lock_guard lock{mutex_};
    if (broken_) {
      asio::post(io_, std::move(done));
      return;
    }
    queue_.push_back({{}, std::move(done)});
  }
  wake_.notify_one();
}

bool OutputWriter::drain(Duration limit) {
  std::unique_lock lock{mutex_};
  return drained_.wait_for(lock, limit, [this] { return broken_ || (queue_.empty() && !writing_); });
}

void OutputWriter::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Piece piece = std::move(queue_.front());
    const std::string& bytes = piece.bytes;
    queue_.pop_front();
    writing_ = true;
    lock.unlock();
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t put = ::write(fd_, bytes.data() + done, bytes.size() - done);
      if (put > 0) done += static_cast<std::size_t>(put);
      if (put >= 0 || errno == EINTR) continue;
      if (errno != EAGAIN) {
        failure_ = errno;
        break;
      }
      pollfd writable{fd_, POLLOUT, 0};  // somebody made the user's descriptor non-blocking
      ::poll(&writable, 1, -1);
    }
    lock.lock();
    writing_ = false;
    const std::size_t before = backlog_.fetch_sub(bytes.size());
    const bool got_low = before > kLow && before - bytes.size() <= kLow;
    if (piece.done) asio::post(io_, piece.done);
    if (done < bytes.size() && !broken_) {
      broken_ = true;
      for (const Piece& waiting : std::exchange(queue_, {})) {
        if (waiting.done) asio::post(io_, waiting.done);
      }
      backlog_ = 0;
      asio::post(io_, on_broken_);
    }
    if (queue_.empty()) drained_.notify_all();
    if (queue_.empty() || got_low) asio::post(io_, on_progress_);
    if (broken_ || (stop_ && queue_.empty())) return;
  }
}

bool same_file(int one, int other) {
  struct stat first {
  }, second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

InputReader::InputReader(asio::io_context& io, int fd, std::function<void(std::string, bool)> sink)
    : io_(io), poller_(io), timer_(io), fd_(fd), sink_(std::move(sink)) {
  UniqueFd poller{::epoll_create1(EPOLL_CLOEXEC)};
  epoll_event readable{};
  readable.events = EPOLLIN;
  // Regular files and /dev/null cannot be waited for, and need not be.
  pollable_ = poller && ::epoll_ctl(poller.get(), EPOLL_CTL_ADD, fd, &readable) == 0;
  if (pollable_) poller_.assign(poller.release());
}

/// Another job of the user's shell has the terminal.
bool InputReader::in_background() const {
  return ::isatty(fd_) != 0 && ::tcgetpgrp(fd_) != ::getpgrp();
}

void InputReader::read(std::size_t bytes) {
  if (!pollable_) {
    asio::post(io_, [this, bytes] { read_now(bytes); });
    return;
  }
  if (in_background()) return read_in_foreground(bytes);
  poller_.async_wait(asio::posix::stream_descriptor::wait_read, [this, bytes](error_code ec) {
    if (!ec) read_now(bytes);
  });
}

void InputReader::read_in_foreground(std::size_t bytes) {
  timer_.expires_after(kForegroundLook);
  timer_.async_wait([this, bytes](error_code ec) {
    if (!ec) read(bytes);
  });
}

/// From the background it would stop us: if we have been put there since, it fails instead.
void InputReader::read_now(std::size_t bytes) {
  pollfd readable{fd_, POLLIN, 0};  // somebody else may have been quicker, and it may block
  if (pollable_ && ::poll(&readable, 1, 0) == 0) return read(bytes);
  std::string buffer(bytes, '\0');
  const auto [got, error] = [&] {
    const SignalsBlocked blocked{SIGTTIN};
    const ssize_t count = ::read(fd_, buffer.data(), buffer.size());
    return std::pair{count, count < 0 ? errno : 0};
  }();
  if (error == EIO && in_background()) return read_in_foreground(bytes);
  if (error == EINTR || error == EAGAIN) return read(bytes);
  buffer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  sink_(std::move(buffer), got <= 0);
}

}  // namespace charmtree::io
