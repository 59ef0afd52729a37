// SPDX-License-Identifier: Apache-2.0
// The gdb of one session on this host: started when the session begins, told what the prompt wants, and gone
// with the object, letting go of what it holds.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>

#include "debug/events.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::io {

class Debugger {
public:
  using Say = std::function<void(debug::DebugSaid)>;
  /// `say` is called from the loop, never from within a call.
  Debugger(asio::io_context& io, ChildWatch& watch, Say say);
  ~Debugger();
  Debugger(const Debugger&) = delete;
  Debugger& operator=(const Debugger&) = delete;

  /// `present`: the processes of this host, and their pids.
  void begin(const debug::DebugOrder& order, const std::map<std::uint32_t, pid_t>& present);
  void order(const debug::DebugOrder& order);

private:
  class Gdb;
  std::shared_ptr<Gdb> gdb_;
};

}  // namespace charmtree::io
