// SPDX-License-Identifier: Apache-2.0
// Tools that have a launcher start their daemons: one beside the processes of each host, with nothing to
// read. What a daemon is, a tool writes into the memory of the root (MPIR, "Tool Daemon Launch Extension"),
// before it lets the root go on from a stop, or at any time later.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "charmrun/debug/mpir.hpp"
#include "debug/events.hpp"
#include "tree/io/asio.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

class MpirDaemons {
public:
  /// How often the memory is looked at while a job runs.
  static constexpr Duration kLook = 1s;
  /// The tickets of daemons; those of others are below.
  static constexpr std::uint64_t kTickets = std::uint64_t{1} << 63U;

  /// Called from the loop.
  struct Hooks {
    std::function<void(debug::ToolAsked)> ask;  // answered by heard()
    std::function<void(const std::string& line)> say;
  };
  /// `mpir` outlives the object.
  MpirDaemons(io::asio::io_context& io, Mpir& mpir, Hooks hooks)
      : mpir_(mpir), hooks_(std::move(hooks)), timer_(io) {}

  /// All processes have been started: tools may come, and ask.
  void watch();
  /// As Mpir::show, and daemons that the tool wants have been started before `then`, and are there at the
  /// last look.
  void show(std::function<void()> then);
  /// False: it is not for a daemon.
  bool heard(const debug::ToolHeard& heard);

private:
  struct Daemon {
    std::string host, line = {};  // that it has begun
  };
  /// Those of one request, by their hosts' first processes.
  struct Daemons {
    std::string program;
    std::map<std::uint32_t, Daemon> on = {};
    std::set<std::uint32_t> awaited = {};  // it has not been said whether they could be started
  };
  /// True: somebody has asked.
  bool look();
  void hear(std::uint64_t ticket, Daemons& daemons, const debug::ToolSaid& said);
  void show_text(Daemon& daemon, std::string_view program, std::string_view bytes);
  void stop();

  Mpir& mpir_;
  Hooks hooks_;
  io::asio::steady_timer timer_;
  std::map<std::uint64_t, Daemons> all_;  // by ticket
  std::uint64_t last_ = kTickets;
  std::function<void()> then_;  // the job waits
};

}  // namespace charmtree
