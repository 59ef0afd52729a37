// SPDX-License-Identifier: Apache-2.0
// One event's handling, as the parts of the root see it (RootController, tree/node/root_controller.hpp, is
// what they are parts of). They do not know each other: what one must tell another is RootNews. The component
// of a service at the root has, as far as it wants them,
//   void up(const Message&, RootTurn&)   a message for the root
//   void on(const Event&, RootTurn&)     an event for the root
//   void turn(RootTurn&)                 once, at the end of each turn
//   void take_over(Root)                 from the last run of the program
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tree/job/judge.hpp"

namespace charmtree::proto {

/// This process is gone, and another one takes its place.
struct ProcessReplaced {
  std::uint32_t process;
};
/// All processes are let go: they heed no request until there is a table.
struct Regrouping {};
/// These processes are lost for good, and the job goes on without them.
struct ProcessesLost {
  std::vector<wire::ProcessSet::Range> processes;
};
/// The launcher of these processes, which was cut off, is reached again: what was on the way to or from them
/// may be lost.
struct ProcessesReached {
  std::vector<wire::ProcessSet::Range> processes;
};
using RootNews =
    std::variant<ProcessReplaced, Regrouping, ProcessesLost, ProcessesReached, Progress::ProcessRestart>;

class RootTurn {
public:
  using ForProcesses = std::vector<std::pair<std::uint32_t, wire::Message>>;

  RootTurn(Instant now, Actions& out, Judge& judge) : now_(now), out_(out), judge_(judge) {}
  RootTurn(const RootTurn&) = delete;
  RootTurn& operator=(const RootTurn&) = delete;
  virtual ~RootTurn() = default;

  Instant now() const { return now_; }
  /// What the job is, as far as is known; and who decides how it ends.
  Judge& judge() { return judge_; }
  bool is_over() const { return judge_.verdict().has_value(); }
  void act(Action action) { out_.push_back(std::move(action)); }
  void say(Tone tone, std::string line) { out_.push_back(Say{tone, std::move(line)}); }

  /// To all children.
  virtual void to_all(wire::Message message) = 0;
  /// To the part of the root's own launcher, which hands it on to those whom it concerns.
  virtual void spread(wire::Message message) = 0;
  /// To the launcher of that process.
  virtual void to(std::uint32_t process, wire::Message message) = 0;
  /// The launcher through which this process is reached has broken a rule, and is not heard any more.
  virtual void give_up_launcher_of(std::uint32_t process, Error why) = 0;
  virtual void tell(const RootNews& news) = 0;

private:
  Instant now_;
  Actions& out_;
  Judge& judge_;
};

}  // namespace charmtree::proto
