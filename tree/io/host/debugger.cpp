// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/debugger.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "debug/gdb_driver.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/io/write_queue.hpp"

namespace charmtree::io {

namespace {

/// Of gdb's machine interface: a stop with all arguments of its frame.
constexpr std::size_t kMostLine = 1U << 20;

std::string why_not_started(const std::string& program, const Error& error) {
  if (error.code == Errc::no_program)
    return "there is no " + program + " on this host: install it, or use ++stack-trees, which needs none";
  return to_string(error);
}

}  // namespace

/// Outlives its Debugger until gdb has let go of all.
class Debugger::Gdb : public std::enable_shared_from_this<Gdb> {
public:
  Gdb(asio::io_context& io, ChildWatch& watch, Say say)
      : io_(io), watch_(watch), say_(std::move(say)), input_(io), output_(io), timer_(io) {}

  void begin(const wire::DebugOrder& order, const std::map<std::uint32_t, pid_t>& present) {
    session_ = order.session;
    wire::ProcessSet wanted;
    for (const auto& range : order.which) wanted.add(range);
    std::vector<proto::GdbDriver::Subject> subjects;
    for (const auto& [process, pid] : present) {
      if (wanted.contains(process)) subjects.push_back({process, worker_of(pid)});
    }
    driver_.emplace(subjects);
    if (subjects.empty()) return this->order(order);
    if (!order.line.empty()) program_ = order.line;
    if (const auto started = start(); !started) {
      proto::GdbDriver::Out out;
      driver_->order(order, out);
      out.to_gdb.clear();
      driver_->ended(why_not_started(program_, started.error()), out);
      return pass_on(std::move(out));
    }
    this->order(order);
    read();
  }

  void order(const wire::DebugOrder& order) {
    proto::GdbDriver::Out out;
    driver_->order(order, out);
    pass_on(std::move(out));
  }

  /// gdb, whose input ends, lets go of what it holds.
  void leave() {
    say_ = nullptr;
    error_code ignored;
    if (input_.is_open()) input_.close(ignored);
    if (pid_ == 0) return;
    timer_.expires_after(kPatience);
    timer_.async_wait([self = shared_from_this()](error_code stopped) {
      if (!stopped && self->pid_ != 0) self->watch_.signal_group(self->pid_, SIGKILL);
    });
  }

private:
  Result<void> start() {
    std::array<int, 2> in{-1, -1}, from{-1, -1};
    const bool both = ::pipe2(in.data(), O_CLOEXEC) == 0 && ::pipe2(from.data(), O_CLOEXEC) == 0;
    const UniqueFd its_input{in[0]}, its_output{from[1]};
    UniqueFd to_it{in[1]}, of_it{from[0]};
    if (!both) return Error{Errc::spawn_failed, Phase::spawn, "out of file descriptors", "raise ulimit -n"};
    SpawnRequest request;
    request.program = program_;
    request.arguments = proto::GdbDriver::command();
    request.environment = own_environment();
    request.input = its_input.get();
    request.output = its_output.get();
    const auto pid = spawn(request);
    if (!pid) return pid.error();
    pid_ = *pid;
    watch_.add(pid_, [self = shared_from_this()](ChildStatus status) { self->ended(status); });
    input_.assign(to_it.release());
    output_.assign(of_it.release());
    input_.non_blocking(true);
    output_.non_blocking(true);
    return {};
  }

  /// What it has said last may be read before.
  void ended(ChildStatus status) {
    pid_ = 0;
    timer_.cancel();
    if (!driver_ || !say_) return;
    proto::GdbDriver::Out out;
    driver_->ended(status.signal != 0 ? fmt::format("its gdb has been killed ({})", strsignal(status.signal))
                                      : std::string{"its gdb has ended"},
                   out);
    pass_on(std::move(out));
  }

  void read() {
    output_.async_read_some(asio::buffer(piece_),
                            [self = shared_from_this()](error_code ec, std::size_t size) {
                              if (!ec) self->heard({self->piece_.data(), size});
                            });
  }

  void heard(std::string_view bytes) {
    line_.append(bytes);
    proto::GdbDriver::Out out;
    std::size_t from = 0;
    for (std::size_t end = 0; (end = line_.find('\n', from)) != std::string::npos; from = end + 1)
      driver_->heard(std::string_view{line_}.substr(from, end - from), out);
    line_.erase(0, from);
    if (line_.size() > kMostLine) {
      driver_->ended("its gdb has said too much in one line", out);
      pass_on(std::move(out));
      return leave();
    }
    pass_on(std::move(out));
    read();
  }

  void pass_on(proto::GdbDriver::Out out) {
    write(std::move(out.to_gdb));
    if (!say_ || (out.said.empty() && out.done == 0)) return;
    asio::post(io_,
               [self = shared_from_this(), said = proto::DebugSaid{session_, out.done, out.said.take()}] {
                 if (self->say_) self->say_(said);
               });
  }

  void write(std::string text) {
    to_write_ += text;
    if (is_writing_ || to_write_.empty() || !input_.is_open()) return;
    is_writing_ = true;
    writing_ = std::exchange(to_write_, {});
    asio::async_write(input_, asio::buffer(writing_),
                      [self = shared_from_this()](error_code ec, std::size_t) {
                        self->is_writing_ = false;
                        if (!ec) self->write({});
                      });
  }

  asio::io_context& io_;
  ChildWatch& watch_;
  Say say_;  // null: nobody hears it any more
  asio::posix::stream_descriptor input_, output_;
  asio::steady_timer timer_;
  std::string program_ = "gdb";
  std::uint32_t session_ = 0;
  pid_t pid_ = 0;  // 0: it has ended
  std::optional<proto::GdbDriver> driver_;
  std::string line_, to_write_, writing_;
  bool is_writing_ = false;
  std::array<char, 64U << 10> piece_{};
};

Debugger::Debugger(asio::io_context& io, ChildWatch& watch, Say say)
    : gdb_(std::make_shared<Gdb>(io, watch, std::move(say))) {}

Debugger::~Debugger() {
  gdb_->leave();
}

void Debugger::begin(const wire::DebugOrder& order, const std::map<std::uint32_t, pid_t>& present) {
  gdb_->begin(order, present);
}

void Debugger::order(const wire::DebugOrder& order) {
  gdb_->order(order);
}

}  // namespace charmtree::io
