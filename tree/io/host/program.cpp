// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "input/events.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/pseudo_terminal.hpp"
#include "tree/io/read_buffer.hpp"
#include "tree/job/output_queue.hpp"

namespace charmtree::io {

namespace {
/// With the beginning of a line that was read before, it still is one piece.
constexpr std::size_t kPipeRead = proto::OutputQueue::kPiece - (4U << 10);
/// Who writes again within kBusy is read again at the next multiple of kRest, as all others are then: lines
/// that are written one by one come together, and nobody is interrupted at each.
constexpr Duration kBusy = 1ms, kRest = 500us;
/// Reads at a time to empty a pipe: more than a pipe holds, so that one who goes on writing cannot hold us.
constexpr int kMostReads = 32;
/// How often a process that reads on behind the end of its terminal's input is told again.
constexpr auto kEndAgain = std::chrono::milliseconds{100};
/// How often we look whether a typed line has been read; nobody tells when a pipe is empty.
constexpr Duration kReadLook = 20ms, kSeldomLook = 160ms;
}  // namespace

Program::Program(asio::io_context& io, ChildWatch& watch, Sink sink, std::uint32_t process, pid_t pid,
                 Pipes pipes)
    : watch_(watch),
      sink_(std::move(sink)),
      process_(process),
      pid_(pid),
      out_{io, pipes.terminal ? proto::Stream::terminal : proto::Stream::out, std::move(pipes.out)},
      err_{io, proto::Stream::err, std::move(pipes.err)},
      input_(io),
      terminal_(std::move(pipes.terminal)),
      out_slave_(std::move(pipes.out_slave)),
      end_timer_(io),
      reader_timer_(io),
      input_is_copy_(pipes.input_is_copy),
      input_is_typed_(pipes.input_is_typed) {
  if (!pipes.input) return;
  input_.assign(pipes.input.release());
  input_.non_blocking(true);
}

void Program::start(ChildWatch::Group group) {
  watch_.add(
      pid_, [self = shared_from_this()](ChildStatus status) { self->ended(status); }, group);
  read(out_);
  read(err_);
}

bool Program::start_adopted() {
  return watch_.adopt(pid_, [self = shared_from_this()](ChildStatus status) { self->ended(status); });
}

void Program::read(Output& output) {
  if (output.waiting || paused_ || !output.open) return;
  output.waiting = true;
  output.fd.async_wait(asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this(), &output](error_code ec) {
                         output.waiting = false;
                         if (ec || !self->sink_ || self->paused_) return;
                         const Instant before = std::exchange(output.read_at, now());
                         const std::size_t got = self->read_once(output);
                         if (got > 0 && got < kBusyPipe && output.read_at - before < kBusy)
                           self->read_later(output);
                         else
                           self->read(output);
                       });
}

void Program::read_later(Output& output) {
  output.waiting = true;
  const auto rests = output.read_at.time_since_epoch() / kRest;
  output.rest.expires_at(to_steady(Instant{(rests + 1) * kRest}));
  output.rest.async_wait([self = shared_from_this(), &output](error_code) {
    output.waiting = false;
    self->read(output);
  });
}

/// How many bytes; 0: there is nothing (more) to read now.
std::size_t Program::read_once(Output& output) {
  static thread_local ReadBuffer<kPipeRead> buffer;
  if (!output.open) return 0;
  const ssize_t got = ::read(output.fd.native_handle(), buffer.data(), buffer.size());
  if (got == 0) output.open = false;
  if (got <= 0) return 0;
  const auto bytes = static_cast<std::size_t>(got);
  if (bytes >= kBusyPipe) output.pipe.widen(output.fd.native_handle());
  sink_(proto::ProcessOutput{process_, output.stream, std::string{buffer.data(), bytes}});
  return bytes;
}

void Program::drain_output() {
  for (Output* output : {&out_, &err_}) {
    for (int i = 0; i < kMostReads && sink_ && read_once(*output) > 0; ++i) {
    }
  }
}

void Program::ended(ChildStatus status) {
  if (!sink_) return;
  drain_output();
  const Sink sink = std::move(sink_);
  detach();
  sink(proto::ProcessExited{process_, static_cast<std::uint8_t>(status.code),
                            static_cast<std::uint8_t>(status.signal), status.core, status.unknown});
}

void Program::detach() {
  sink_ = nullptr;
  error_code ignored;
  out_slave_.reset();
  out_.fd.close(ignored);
  err_.fd.close(ignored);
  close_input();
}

void Program::pause_reading(bool paused) {
  paused_ = paused;
  read(out_);
  read(err_);
}

void Program::write_input(const std::string& bytes, bool end) {
  pending_input_ += bytes;
  input_end_ = input_end_ || end;
  last_input_ = pending_input_.empty() ? last_input_ : pending_input_.back();
  // Whoever edits lines himself takes the end for something else in the middle of one.
  if (terminal_ && end && last_input_ != '\n') pending_input_ += '\n';
  pump_input();
}

void Program::pump_input() {
  if (input_waiting_) return;
  while (input_.is_open() && !pending_input_.empty()) {
    const ssize_t put = ::write(input_.native_handle(), pending_input_.data(), pending_input_.size());
    if (put > 0) {
      pending_input_.erase(0, static_cast<std::size_t>(put));
      untold_input_ += static_cast<std::size_t>(put);
      if (!input_is_typed_ || terminal_) input_taken();
    } else if (errno == EAGAIN) {
      input_waiting_ = true;
      input_.async_wait(asio::posix::stream_descriptor::wait_write,
                        [self = shared_from_this()](error_code ec) {
                          self->input_waiting_ = false;
                          if (!ec) self->pump_input();
                        });
      return;
    } else {
      break;
    }
  }
  if (input_is_copy_ && (!input_.is_open() || !pending_input_.empty())) {  // nobody reads it any more
    untold_input_ += std::exchange(pending_input_, {}).size();
    input_taken();
  }
  if (untold_input_ > 0) watch_reader(kReadLook);
  if (!input_end_ || !pending_input_.empty() || !input_.is_open()) return;
  if (terminal_) return end_terminal();
  input_back_ = reader_of_input();
  error_code ignored;
  input_.close(ignored);
}

void Program::input_taken() {
  const std::size_t bytes = std::exchange(untold_input_, 0);
  if (sink_ && bytes > 0) sink_(input::InputWritten{process_, static_cast<std::uint32_t>(bytes)});
}

void Program::watch_reader(Duration look) {
  int unread = 0;
  const int pipe = input_.is_open() ? input_.native_handle() : input_back_.get();
  if (::ioctl(pipe, FIONREAD, &unread) == 0 && unread == 0) return input_taken();
  reader_timer_.expires_after(look);
  reader_timer_.async_wait([self = shared_from_this(), look](error_code ec) {
    if (!ec && self->sink_ && self->untold_input_ > 0) self->watch_reader(std::min(2 * look, kSeldomLook));
  });
}

/// Our own read end of its stdin.
UniqueFd Program::reader_of_input() {
  if (!input_.is_open() || terminal_) return {};
  const std::string path = fmt::format("/proc/self/fd/{}", input_.native_handle());
  return UniqueFd{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
}

/// The end of a pipe is read again and again, so is that of this terminal.
void Program::end_terminal() {
  if (const auto key = end_of_input(terminal_.get())) (void)!::write(input_.native_handle(), &*key, 1);
  end_timer_.expires_after(kEndAgain);
  end_timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec && self->sink_ && self->input_.is_open()) self->end_terminal();
  });
}

std::string Program::recall_input() {
  std::string back = terminal_ ? take_back_input(terminal_.get()) : std::string{};
  if (!input_back_) input_back_ = reader_of_input();
  if (input_back_) {
    std::array<char, kPipeRead> buffer;
    for (ssize_t got = 0; (got = ::read(input_back_.get(), buffer.data(), buffer.size())) > 0;)
      back.append(buffer.data(), static_cast<std::size_t>(got));
  }
  back += pending_input_;
  pending_input_.clear();
  close_input();
  return back;
}

void Program::close_input() {
  error_code ignored;
  if (input_.is_open()) input_.close(ignored);
  input_back_.reset();
  end_timer_.cancel();
  reader_timer_.cancel();
}

}  // namespace charmtree::io
