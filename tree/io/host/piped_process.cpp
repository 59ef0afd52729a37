// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/piped_process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

namespace {

struct PipeEnds {
  UniqueFd read, write;
};
bool make(PipeEnds& pipe) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  pipe = {UniqueFd{ends[0]}, UniqueFd{ends[1]}};
  return true;
}

void take(asio::posix::stream_descriptor& mine, UniqueFd& end) {
  if (end.get() < 0) return;
  mine.assign(end.release());
  mine.non_blocking(true);
}

void close(asio::posix::stream_descriptor& descriptor) {
  error_code ignored;
  if (descriptor.is_open()) descriptor.close(ignored);
}

}  // namespace

PipedProcess::PipedProcess(asio::io_context& io, ChildWatch& watch, Hooks hooks)
    : io_(io), watch_(watch), hooks_(std::move(hooks)), input_(io), output_(io), error_(io), timer_(io) {}

Result<void> PipedProcess::start(SpawnRequest request, bool has_input) {
  PipeEnds in, out, complaints;
  const bool all = (!has_input || make(in)) && make(out) && (!hooks_.error || make(complaints));
  if (!all) return Error{Errc::spawn_failed, Phase::spawn, "out of file descriptors", "raise ulimit -n"};
  request.input = in.read.get();
  request.output = out.write.get();
  request.error = complaints.write.get();
  const auto pid = spawn(request);
  if (!pid) return pid.error();
  pid_ = *pid;
  has_started_ = true;
  watch_.add(pid_, [self = shared_from_this()](ChildStatus status) { self->exited(status); });
  take(input_, in.write);
  take(output_.pipe, out.read);
  take(error_.pipe, complaints.read);
  read_all();
  return {};
}

void PipedProcess::read_all() {
  read(output_, &Hooks::output);
  read(error_, &Hooks::error);
}

void PipedProcess::read(Source& source, std::function<void(std::string_view)> Hooks::*hook) {
  if (is_paused_ || !source.pipe.is_open() || std::exchange(source.is_reading, true)) return;
  const auto self = shared_from_this();
  source.pipe.async_read_some(asio::buffer(source.piece),
                              [self, &source, hook](error_code ec, std::size_t size) {
                                source.is_reading = false;
                                self->has_read_ = true;
                                if (ec) close(source.pipe);
                                const auto hear = self->hooks_.*hook;  // which may have us leave
                                if (!ec && hear) hear({source.piece.data(), size});
                                ec ? self->settle() : self->read(source, hook);
                              });
}

void PipedProcess::pause(bool paused) {
  if (std::exchange(is_paused_, paused) && !paused) read_all();
}

void PipedProcess::write(std::string bytes) {
  if (!ends_input_) to_write_ += bytes;
  flush();
}

void PipedProcess::end_input() {
  ends_input_ = true;
  flush();
}

void PipedProcess::flush() {
  if (is_writing_ || !input_.is_open()) return;
  if (to_write_.empty()) return ends_input_ ? close(input_) : void();
  is_writing_ = true;
  writing_ = std::exchange(to_write_, {});
  asio::async_write(input_, asio::buffer(writing_),
                    [self = shared_from_this()](error_code ec, std::size_t size) {
                      self->is_writing_ = false;
                      if (ec) close(self->input_);
                      const auto took = self->hooks_.took;
                      if (!ec && took) took(size);
                      self->flush();
                    });
}

void PipedProcess::exited(ChildStatus status) {
  pid_ = 0;
  status_ = status;
  timer_.cancel();
  close(input_);
  if (has_left_) return close_outputs();
  has_read_ = true;
  settle();
  look_again();
}

void PipedProcess::close_outputs() {
  close(output_.pipe);
  close(error_.pipe);
}

/// It has ended, and what it has said last has been read.
void PipedProcess::settle() {
  if (pid_ != 0 || !has_started_ || output_.pipe.is_open() || error_.pipe.is_open()) return;
  timer_.cancel();
  const Hooks last = std::exchange(hooks_, {});
  if (last.ended) last.ended(status_);
}

/// What it has started may have its pipes, and say nothing.
void PipedProcess::look_again() {
  if (!output_.pipe.is_open() && !error_.pipe.is_open()) return;
  timer_.expires_after(kAfterEnd);
  timer_.async_wait([self = shared_from_this()](error_code stopped) {
    if (stopped) return;
    if (!std::exchange(self->has_read_, false) && !self->is_paused_) {
      self->close_outputs();
      return self->settle();
    }
    self->look_again();
  });
}

void PipedProcess::leave(Duration term) {
  const bool has_input = input_.is_open();
  hooks_ = {};
  close(input_);
  has_left_ = true;
  if (pid_ == 0) {
    timer_.cancel();
    return close_outputs();
  }
  pause(false);
  if (!has_input) term = 0s;
  term < kPatience ? signal_after(term, SIGTERM) : signal_after(kPatience, SIGKILL);
}

void PipedProcess::signal_after(Duration wait, int signal) {
  timer_.expires_after(wait);
  timer_.async_wait([self = shared_from_this(), signal](error_code stopped) {
    if (stopped || self->pid_ == 0) return;
    self->watch_.signal_group(self->pid_, signal);
    if (signal != SIGKILL) self->signal_after(kPatience, SIGKILL);
  });
}

}  // namespace charmtree::io
