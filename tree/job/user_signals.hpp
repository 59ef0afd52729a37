// SPDX-License-Identifier: Apache-2.0
// What the user's signals mean. Before the processes run, those that end a program end the launch.
#pragma once

#include <cstdint>
#include <optional>

#include "tree/base/time.hpp"

namespace charmtree::proto {

class UserSignals {
public:
  /// Where Ctrl-C is the program's: twice within this time ends the job at once.
  static constexpr Duration kMoment = 1s;

  /// `int_ends`: SIGINT ends the job, else it is the program's.
  explicit UserSignals(bool int_ends) : int_ends_(int_ends) {}
  /// Of the next run of the program: it is suspended if that one was.
  void take_over(const UserSignals& before);

  /// How far the job is.
  enum class Stage : std::uint8_t { starts, runs, ends };
  struct Meaning {
    bool shows_status = false;
    bool shows_stacks = false;
    bool forward = false;     // to the processes
    bool too_early = false;   // for that
    unsigned interrupts = 0;  // of the job, so many times
  };
  /// One of those of tree/base/signals.hpp that a user sends. To be suspended or to go on is done by turn().
  Meaning on(int signal, Stage stage, Instant now);
  /// It is one that ends a job.
  static bool ends(int signal);

  /// Whether the job is to be suspended now, or to go on. `is_ended`: what ends the job now has lifted the
  /// suspension. `can`: logins that are under way would run into their limits, so a launch is finished first.
  std::optional<bool> turn(bool is_ended, bool can);
  bool suspended() const { return suspended_; }
  /// The job is to be suspended as if the user had stopped it.
  void suspend() { wants_suspension_ = true; }

private:
  Meaning interrupt(Stage stage, Instant now);

  bool int_ends_;
  Instant interrupted_at_ = kNever;
  bool wants_suspension_ = false, suspended_ = false;
};

}  // namespace charmtree::proto
