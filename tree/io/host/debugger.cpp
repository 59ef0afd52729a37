// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/debugger.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "debug/gdb_driver.hpp"
#include "tree/io/host/piped_process.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"

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

class Debugger::Gdb : public std::enable_shared_from_this<Gdb> {
public:
  Gdb(asio::io_context& io, ChildWatch& watch, Say say) : io_(io), watch_(watch), say_(std::move(say)) {}

  void begin(const debug::DebugOrder& order, const std::map<std::uint32_t, pid_t>& present) {
    session_ = order.session;
    const wire::ProcessSet wanted{order.which};
    std::vector<debug::GdbDriver::Subject> subjects;
    for (const auto& [process, pid] : present) {
      if (wanted.contains(process)) subjects.push_back({process, worker_of(pid)});
    }
    driver_.emplace(subjects);
    if (subjects.empty()) return this->order(order);
    if (!order.line.empty()) program_ = order.line;
    if (const auto started = start(); !started) {
      debug::GdbDriver::Out out;
      driver_->order(order, out);
      out.to_gdb.clear();
      driver_->ended(why_not_started(program_, started.error()), out);
      return pass_on(std::move(out));
    }
    this->order(order);
  }

  void order(const debug::DebugOrder& order) {
    debug::GdbDriver::Out out;
    driver_->order(order, out);
    pass_on(std::move(out));
  }

  /// gdb, whose input ends, lets go of what it holds.
  void leave() {
    say_ = nullptr;
    if (const auto gdb = std::exchange(process_, nullptr)) gdb->leave();
  }

private:
  Result<void> start() {
    SpawnRequest request;
    request.program = program_;
    request.arguments = debug::GdbDriver::command();
    request.environment = own_environment();
    process_ = std::make_shared<PipedProcess>(
        io_, watch_,
        PipedProcess::Hooks{[this](std::string_view bytes) { heard(bytes); }, nullptr, nullptr,
                            [this](ChildStatus status) { ended(status); }});
    return process_->start(std::move(request), true);
  }

  void ended(ChildStatus status) {
    debug::GdbDriver::Out out;
    driver_->ended(status.signal != 0 ? fmt::format("its gdb has been killed ({})", strsignal(status.signal))
                                      : std::string{"its gdb has ended"},
                   out);
    pass_on(std::move(out));
  }

  void heard(std::string_view bytes) {
    line_.append(bytes);
    debug::GdbDriver::Out out;
    std::size_t from = 0;
    for (std::size_t end = 0; (end = line_.find('\n', from)) != std::string::npos; from = end + 1)
      driver_->heard(std::string_view{line_}.substr(from, end - from), out);
    line_.erase(0, from);
    const bool too_long = line_.size() > kMostLine;
    if (too_long) driver_->ended("its gdb has said too much in one line", out);
    pass_on(std::move(out));
    if (too_long) leave();
  }

  void pass_on(debug::GdbDriver::Out out) {
    if (process_) process_->write(std::move(out.to_gdb));
    if (!say_ || (out.said.empty() && out.done == 0)) return;
    asio::post(io_,
               [self = shared_from_this(), said = debug::DebugSaid{session_, out.done, out.said.take()}] {
                 if (self->say_) self->say_(said);
               });
  }

  asio::io_context& io_;
  ChildWatch& watch_;
  Say say_;                                // null: nobody hears it any more
  std::shared_ptr<PipedProcess> process_;  // outlives us until it has let go of all
  std::string program_ = "gdb";
  std::uint32_t session_ = 0;
  std::optional<debug::GdbDriver> driver_;
  std::string line_;
};

Debugger::Debugger(asio::io_context& io, ChildWatch& watch, Say say)
    : gdb_(std::make_shared<Gdb>(io, watch, std::move(say))) {}

Debugger::~Debugger() {
  gdb_->leave();
}

void Debugger::begin(const debug::DebugOrder& order, const std::map<std::uint32_t, pid_t>& present) {
  gdb_->begin(order, present);
}

void Debugger::order(const debug::DebugOrder& order) {
  gdb_->order(order);
}

}  // namespace charmtree::io
