// SPDX-License-Identifier: Apache-2.0
// What debuggers and tools find in the memory of the root: a table of all processes, from when they have been
// started to the end of the job, in every run, and a function where they can have the root stop (MPIR). A
// debugger that has started charmrun gets processes that have not yet begun (wire::SpawnRules::held).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tree/turn/events.hpp"

namespace charmtree {

/// A tool has started this process, or has stopped it since to say that it is there.
bool is_debugged();

/// The first of some processes on a host.
struct ProcessPlace {
  std::uint32_t process = 0;
  std::string host;
  std::int64_t pid = 0;
};

/// There is one, since there is one table.
class Mpir {
public:
  /// The processes are `held` until a debugger has seen them (MpirDaemons::show).
  explicit Mpir(bool held);
  Mpir(const Mpir&) = delete;
  Mpir& operator=(const Mpir&) = delete;
  ~Mpir();

  /// `hosts` are the job's. If nothing is held, and all are known, debuggers may look now.
  void add(const proto::ProcessesKnown& known, std::span<const Host> hosts);
  /// On each host the first of these; without those that have not been started yet.
  std::vector<ProcessPlace> places_of(std::span<const wire::ProcessSet::Range> which) const;
  std::uint32_t processes() const { return static_cast<std::uint32_t>(hosts_.size()); }
  /// Debuggers look, as long as they like.
  static void stop();
  bool holds() const { return held_; }
  /// True once: the job, whose held processes have been started, waits for that.
  bool release() { return std::exchange(held_, false); }
  /// The program and its arguments that a tool wants to have beside the processes of each host, if one has
  /// said so since the last call.
  static std::optional<std::vector<std::string>> take_daemon();

private:
  const char* keep(const std::string& text) { return texts_.insert(text).first->c_str(); }
  const char* file(const std::string& program);

  std::string id_;  // of the job: its charmrun's pid, since tools read a number
  bool held_;
  std::set<std::string> texts_;               // of the table
  std::vector<std::uint32_t> hosts_;          // of processes
  std::map<std::string, const char*> files_;  // of programs
};

}  // namespace charmtree
