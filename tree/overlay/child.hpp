// SPDX-License-Identifier: Apache-2.0
// One host that this launcher logs in to, from the first try until its launcher is done or lost. Its state
// follows from what happens to it, by one table, and nobody else assigns it. What the table does not have for
// a state changes nothing: ends cross on their way (a launcher is given up while its last word is under way),
// and whoever is done or lost must stay so. It does not log its transitions: a launcher has no log of its
// own, and whatever it says is shown to the user.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class Child {
public:
  enum class State : std::uint8_t {
    waiting,  // for its login to begin, the first one or the next
    logging_in,
    up,    // its launcher has greeted
    done,  // its launcher has said its last word
    lost,  // its launcher, or whoever was to visit that host, is given up
  };
  enum class Event : std::uint8_t {
    login_begun,
    put_off,    // its login has failed, or its machine is busy, and it is tried again
    logged_in,  // the launcher there has greeted
    done,
    lost,
  };
  struct Transition {
    State from;
    Event event;
    State to;
  };
  static constexpr std::array<Transition, 7> kTransitions = {{
      {State::waiting, Event::login_begun, State::logging_in},
      {State::waiting, Event::lost, State::lost},  // a visit that is called off
      {State::logging_in, Event::put_off, State::waiting},
      {State::logging_in, Event::logged_in, State::up},
      {State::logging_in, Event::lost, State::lost},  // a visit that has failed, or is called off
      {State::up, Event::done, State::done},
      {State::up, Event::lost, State::lost},
  }};
  /// The state after `event`; nothing if that changes nothing.
  static constexpr std::optional<State> next(State from, Event event) {
    const auto* const found =
        std::find_if(kTransitions.begin(), kTransitions.end(),
                     [=](const Transition& each) { return each.from == from && each.event == event; });
    return found == kTransitions.end() ? std::nullopt : std::optional{found->to};
  }

  /// What it is started for.
  enum class Purpose : std::uint8_t {
    job,    // to run processes, and to start others
    sweep,  // to clean up after the launcher that was lost there
    adopt,  // to lead to the launcher that waits there to be adopted, if there is one
  };

  State state() const { return state_; }
  /// From the launcher on the host `parent`, for one at this level of the tree.
  void login_begun(std::uint32_t parent, std::uint32_t level, Instant now);
  void put_off() { on(Event::put_off); }
  void logged_in() { on(Event::logged_in); }
  void done() { on(Event::done); }
  void lost() { on(Event::lost); }

  /// The same host, to be logged in to in another way, which has retries of its own.
  Child by(Via other) const;
  /// By this transport.
  std::uint32_t tries() const { return retries + turned_away + 1; }

  /// It can take part in the next run.
  bool stays() const { return state_ == State::up && idle; }
  /// Its login goes on, or is tried again.
  bool begins() const { return state_ == State::logging_in || state_ == State::waiting; }
  /// Somebody has to be waited for.
  bool open() const { return state_ == State::up || (visits() && begins()); }
  /// It is started for no process.
  bool visits() const { return purpose != Purpose::job; }
  bool sweeps() const { return purpose == Purpose::sweep; }
  bool adopts() const { return purpose == Purpose::adopt; }
  /// Orders for everybody are for it and those below it, too.
  bool serves() const { return state_ == State::up && !visits(); }

  /// Its launcher, which has greeted, is told what it is there for; how its login went is kept.
  void welcome(const LoginTimes& login, Instant now);
  /// Its launcher has said what its clock shows: joins that to ours. Only the first time counts.
  void hello(Instant clock, Instant now);
  /// An instant of its clock in ours; kNever if that would be too far.
  Instant in_our_clock(Instant time) const;

  /// What its processes have told is of numbers that do not hold any more.
  void forget_processes();
  /// The next run begins; what it has told was of the last one.
  void begin_run();

  Host host;
  std::map<std::uint32_t, Host> below;  // what it was given to start, by index
  Purpose purpose = Purpose::job;
  Via via = Via::ssh;
  std::uint32_t attempts = 0;     // logins tried, by whatever transport
  std::uint32_t retries = 0;      // by this one
  std::uint32_t turned_away = 0;  // by an sshd that was too busy
  Instant first_tried = kNever;
  Duration insistence{0};                      // how long a host that is not reached is tried again
  bool replaces = false;                       // the launcher that is installed there cannot be used
  bool given_up = false;                       // silent for too long; what its login still does is discarded
  wire::Stamps stamps;                         // the parent's half
  Instant welcomed = kNever;                   // when Welcome was sent
  std::uint64_t login_rate = 0;                // its part of ours
  std::uint32_t registered = 0, finished = 0;  // processes, as its Facts have told
  std::uint32_t crash_acks = 0;                // of the present epoch
  std::uint64_t queue_pairs = 0;               // given in it, and passed on
  bool idle = false;                           // the run is over there and below
  bool is_claimed = false;                     // adopted, and has not said yet that it is ours
  Error error;                                 // of a visit that was lost

private:
  bool on(Event event);

  State state_ = State::waiting;
  std::optional<Duration> clock_offset_;  // its clock minus ours; nothing: Hello has not come
};

}  // namespace charmtree::proto
