// SPDX-License-Identifier: Apache-2.0
// When this host came to each step of the job's start, told upwards once: with the table or, for programs
// that never need one, at the end of the first run.
//
// Its message: Stamps, of our own and of the launchers below.
#pragma once

#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class Child;

class StartupTimes {
public:
  void reached(wire::Stamps::Step step, Instant when) { stamps_.times[step] = when; }
  /// Where that is wanted.
  void tell(Turn& turn);
  /// Those of a host below: its own launcher's half is joined with what we saw of its login.
  static void up(const Child& child, wire::Stamps stamps, Turn& turn);
  /// Root: its own logins, once every host is up: those of others come only as stamps, if these are wanted.
  void record_logins(Turn& turn);
  /// Root: another one has started the tree.
  void take_over() { told_ = true; }

private:
  wire::Stamps stamps_;
  bool told_ = false;
};

}  // namespace charmtree::proto
