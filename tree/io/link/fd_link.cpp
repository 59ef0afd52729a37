// SPDX-License-Identifier: Apache-2.0
// The end of a link to a child has up to three parts: EOF on its stdout, EOF on its stderr, its exit. The
// handler is called when all are in, or a moment after the first (a grandchild may hold stderr open for
// ever).
#include "tree/io/link/fd_link.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <vector>

#include "tree/base/signal_name.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/read_buffer.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {
constexpr std::size_t kLinkRead = WidePipe::kBytes;
constexpr std::size_t kMostStderr = 4096;
constexpr Duration kSettle = 300ms;
}  // namespace

FdLink::FdLink(asio::io_context& io, pid_t child, ChildWatch* watch)
    : io_(io), input_(io), output_(io), error_(io), timer_(io), child_(child), watch_(watch) {}

std::shared_ptr<FdLink> FdLink::make(asio::io_context& io, UniqueFd input, UniqueFd output, UniqueFd error,
                                     pid_t child, ChildWatch* watch) {
  auto link = std::make_shared<FdLink>(io, child, watch);
  set_non_blocking(input.get());
  set_non_blocking(output.get());
  link->input_.assign(input.release());
  link->output_.assign(output.release());
  if (error) {
    set_non_blocking(error.get());
    link->error_.assign(error.release());
    link->error_open_ = true;
  }
  if (child != 0) {
    link->child_open_ = true;
    watch->add(child, [link](ChildStatus status) { link->child_ended(status); });
  }
  return link;
}

void FdLink::start(Handlers handlers) {
  handlers_ = std::move(handlers);
  read();
  if (error_open_) read_error();
}

void FdLink::read() {
  if (reading_ || paused_ || !input_open_ || closing_) return;
  reading_ = true;
  input_.async_wait(Stream::wait_read, [self = shared_from_this()](error_code ec) {
    self->reading_ = false;
    // Files and /dev/null, which some remote shells give us, cannot be waited for, but read.
    if ((ec && ec != asio::error::operation_not_supported) || self->closing_ || self->paused_) return;
    static thread_local ReadBuffer<kLinkRead> buffer;
    const ssize_t got = ::read(self->input_.native_handle(), buffer.data(), buffer.size());
    if (got > 0) {
      if (static_cast<std::size_t>(got) >= kBusyPipe) self->input_pipe_.widen(self->input_.native_handle());
      self->handlers_.on_bytes({buffer.data(), static_cast<std::size_t>(got)});
    } else if (got == 0) {
      return self->input_ended("closed by the other side");
    } else if (errno != EAGAIN && errno != EINTR) {
      return self->input_ended(strerror(errno));
    }
    self->read();
  });
}

void FdLink::read_error() {
  error_.async_wait(Stream::wait_read, [self = shared_from_this()](error_code ec) {
    if (ec || !self->error_open_) return;
    std::array<char, kMostStderr> buffer;
    const ssize_t got = ::read(self->error_.native_handle(), buffer.data(), buffer.size());
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      self->error_open_ = false;
      return self->report_end();
    }
    std::string& tail = self->end_.stderr_tail;
    if (got > 0) tail.append(buffer.data(), static_cast<std::size_t>(got));
    if (tail.size() > kMostStderr) tail.erase(0, tail.size() - kMostStderr);
    self->read_error();
  });
}

void FdLink::send(std::string bytes) {
  if (closing_ || bytes.empty()) return;
  queue_.push(std::move(bytes));
  if (queue_.size() >= WriteQueue::kJoined) return write();
  write_at_end_of_round();
}

/// Of many small messages, as of CCS, each would wake the other side.
void FdLink::write_at_end_of_round() {
  if (std::exchange(scheduled_, true)) return;
  asio::post(io_, [self = shared_from_this()] {
    self->scheduled_ = false;
    if (!self->queue_.empty()) self->write();
  });
}

void FdLink::write() {
  if (writing_ || !output_.is_open()) return;
  // broken: what the reader last said comes by the input
  const auto state = queue_.write([fd = output_.native_handle()](const char* bytes, std::size_t size) {
    return ::write(fd, bytes, size);
  });
  if (state == WriteQueue::State::blocked) {
    output_pipe_.widen(output_.native_handle());
    writing_ = true;
    output_.async_wait(Stream::wait_write, [self = shared_from_this()](error_code ec) {
      self->writing_ = false;
      if (!ec) self->write();
    });
    return;
  }
  if (closing_) return release();
  if (handlers_.on_drained)
    asio::post(io_, [self = shared_from_this()] {
      if (!self->closing_ && self->queue_.empty()) self->handlers_.on_drained();
    });
}

void FdLink::pause_reading(bool paused) {
  paused_ = paused;
  if (!paused && handlers_.on_bytes) read();
}

int FdLink::descriptor() const {
  return input_.is_open() ? const_cast<Stream&>(input_).native_handle() : -1;
}

std::optional<TcpEnds> FdLink::ends() const {
  const auto ends = input_.is_open() ? tcp_ends(descriptor()) : std::nullopt;
  const bool is_tcp = ends && (ends->own.ss_family == AF_INET || ends->own.ss_family == AF_INET6);
  return is_tcp ? ends : std::nullopt;
}

void FdLink::input_ended(const std::string& what) {
  input_open_ = false;
  end_.what = what;
  timer_.expires_after(kSettle);
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (ec) return;
    self->error_open_ = self->child_open_ = false;
    self->report_end();
  });
  report_end();
}

void FdLink::child_ended(ChildStatus status) {
  child_open_ = false;
  if (status.signal != 0)
    end_.exit_signal = signal_name(status.signal).empty() ? "?" : signal_name(status.signal);
  else
    end_.exit_status = status.code;
  if (closing_) timer_.cancel();
  report_end();
}

void FdLink::report_end() {
  if (input_open_ || error_open_ || child_open_ || ended_ || closing_) return;
  ended_ = true;
  timer_.cancel();
  if (handlers_.on_end) handlers_.on_end(end_);
}

void FdLink::close(Duration linger) {
  if (closing_) return;
  closing_ = true;
  // Handlers may hold the owner; they are dropped from the loop, as we may be inside one of them.
  asio::post(io_, [self = shared_from_this()] { self->handlers_ = {}; });
  error_code ignored;
  input_.close(ignored);
  if (queue_.empty()) return release();
  timer_.expires_after(linger);
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec) self->release();
  });
  write();
  if (output_.is_open() && linger <= Duration{0}) release();
}

void FdLink::release() {
  error_code ignored;
  output_.close(ignored);
  error_.close(ignored);
  error_open_ = false;
  if (!child_open_) {
    timer_.cancel();
    return;
  }
  // The launcher or ssh ends by itself when its stdin ends; a moment later it is made to.
  timer_.expires_after(2s);
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec && self->child_open_) self->watch_->signal_group(self->child_, SIGKILL);
  });
}

}  // namespace charmtree::io
