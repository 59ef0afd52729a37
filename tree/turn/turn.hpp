// SPDX-License-Identifier: Apache-2.0
// A launcher is a switchboard (tree/node/node.hpp) and its parts. A part is a class with one subject: it
// owns its state, its messages and its deadline. It has, as far as it wants them,
//   void down(const Message&, Turn&)                 a message from the parent, or from the root's controller
//   void up(const Child&, LinkId, Message, Turn&)    one from a child
//   void on(Event, Turn&)                            what happened on this host
//   void turn(Turn&)                                 once, at the end of each turn
//   void begin(Turn&)                                a run of the program begins
//   void child_lost(const Child&, LinkId, Turn&)     nothing is awaited from this child any more
//   void parent_lost(Turn&)                          the parent is lost
//   Instant next_deadline() const, next_real_deadline() const
// What it may use while it handles one of these is its Turn. Parts do not know each other: what one must tell
// another is News.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/one_of.hpp"
#include "tree/base/time.hpp"
#include "tree/clients/client_server.hpp"
#include "tree/turn/events.hpp"
#include "tree/turn/job_clock.hpp"

namespace charmtree::proto {

/// Too much output of this host's processes waits here: their pipes are to be left alone, or read again.
struct PipesRest {
  bool yes;
};
/// Root: nobody takes the job's output any more, or somebody does again.
struct OutputStalls {
  bool yes;
};
/// Nothing has come over this link for too long, and that has been looked into.
struct LinkSilent {
  LinkId link;
  Error why;
  bool is_cut_off;  // its other end need not run any more, or will find itself alone
  bool answers;     // its host does
};
/// A launcher below could not be found again.
struct LauncherLost {
  wire::LinkLost lost;
};
/// Nobody knows what waits there: who, and why.
struct LauncherUnreached {
  std::string what;
};
/// The launcher at the other end is ours from now on, if it says so, and hears what comes behind our claim.
struct LauncherClaimed {
  LinkId link;
};
/// It has said so.
struct LauncherFound {
  std::uint32_t host;
  LinkId link;
  wire::Claimed heir;
};
/// A launcher of ours has been adopted by one that is nearer to the root, or by another root: we are taken
/// for dead.
struct GivenUp {};
/// What was sent to adopt the launcher of a host is there.
struct AdopterUp {
  std::uint32_t host;
  LinkId link;
};
/// A host could not be visited after its launcher was lost; `to_adopt`: to look whether that one lives.
struct VisitFailed {
  Host host;
  Error error;
  bool to_adopt;
};
/// Another launcher is our parent from now on.
struct ParentReplaced {
  wire::Claim claim;
};
/// A process of this host has ended.
struct ProcessGone {
  std::uint32_t process;
};
/// The process for which the user types has ended, and is not started again.
struct InputReaderGone {};
/// Nothing of the run is left on this host.
struct HostIsClean {};
/// What this launcher was started for alone is done.
struct ErrandDone {};
/// Root: more of the job's files has been sent; to all so many percent of them.
struct FilesOnTheirWay {
  std::uint32_t percent;
};
using AnyNews =
    AnyOf<PipesRest, OutputStalls, LinkSilent, LauncherLost, LauncherUnreached, LauncherClaimed,
          LauncherFound, GivenUp, AdopterUp, VisitFailed, ParentReplaced, ProcessGone, InputReaderGone,
          HostIsClean, ErrandDone, FilesOnTheirWay, FenceEntered, FenceDone, RingEntered, RingDone>;
struct News : AnyNews {
  using AnyNews::AnyNews;
};

/// Whether there is a way up.
enum class WayUp : std::uint8_t {
  open,     // the parent; at the root the controller
  awaited,  // the parent is gone, and another one may come
  gone,
};

class Child;
class Launch;
class HostProcesses;
struct RunProgress;
struct Upward;

/// Where a launcher stands, once it knows its job.
struct Seat {
  const wire::JobSpec& job;
  const Host& self;
  Launch& launch;                            // the launchers below
  HostProcesses* processes;                  // of this host; the root has none
  RunProgress& progress;                     // of the present run
  std::uint32_t level;                       // in the tree
  bool is_ending = false;                    // the end of the run, or of the job, has begun
  const std::vector<Host>* hosts = nullptr;  // root: the job's

  bool is_root() const { return hosts != nullptr; }
};

/// One event's handling, as a part sees it; the switchboard implements it.
class Turn {
public:
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  virtual ~Turn() = default;

  /// Of the job, which has no time while it is suspended; and of this host.
  Instant now() const { return now_; }
  Instant real_now() const { return real_now_; }
  bool is_suspended() const { return clock_.stands(); }
  /// What the shell is to do, in order.
  Actions& out() { return *out_; }
  void act(Action action) { out_->push_back(std::move(action)); }

  /// Its references hold for this turn.
  virtual Seat seat() = 0;
  virtual WayUp way_up() const = 0;
  /// A word of this launcher's own, or of a process of its host: goes by the part that it is for, as output
  /// waits for credit and answers are merged, and then up.
  virtual void tell_up(wire::Message message) = 0;
  void tell_up(Upward upward);
  /// By no part any more: to the parent; at the root to the controller.
  virtual void hand_up(wire::Message message) = 0;
  /// To all children that run something.
  virtual void hand_down_all(const wire::Message& message) = 0;
  /// To the launcher of that process, if there is a way to it.
  virtual void hand_down(std::uint32_t process, const wire::Message& message) = 0;
  /// To a child, if it is up.
  virtual void hand_down_by(LinkId child, wire::Message message) = 0;
  /// It is a process of this host.
  virtual bool is_here(std::uint32_t process) const = 0;
  /// The child that leads to the launcher of that process.
  virtual std::optional<LinkId> way_to(std::uint32_t process) const = 0;
  /// This child has broken a rule, and is not heard any more.
  virtual void give_up(LinkId child, const Error& why) = 0;
  virtual void tell(const News& news) = 0;

protected:
  Turn() = default;

  JobClock clock_;
  Instant now_{}, real_now_{};
  Actions* out_ = nullptr;
};

}  // namespace charmtree::proto

extern template struct charmtree::FunctionsOf<charmtree::proto::AnyNews>;
