// SPDX-License-Identifier: Apache-2.0
// The part that ends a run here and below. A launcher tells its children first, lets its processes go or asks
// them, kills what is left after the grace, looks for what they left behind, waits (bounded) for its children
// to say the same, and only then says Done. One whose parent is gone does all this with SIGKILL and says it
// to nobody.
//
// The end of a run that is followed by another one is the same, but that launchers stay and say Idle. Where
// the end is not confirmed by then, on our own host or below a launcher that was lost or too slow, clean-up
// goes on, and what it comes to is told upwards. Such a host takes no part in the next run.
//
// Its messages: End; Idle, Confirmed.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class Child;

class Shutdown {
public:
  enum class Order : std::uint8_t { ignored, first, again };
  /// Passes the order on, if it says more than the last one.
  Order order(const wire::End& end, Turn& turn);
  const std::optional<wire::End>& last_order() const { return end_; }

  bool has_begun() const { return step_ != Step::no; }
  /// Without grace: nobody is waited for.
  bool kills() const { return kills_; }
  /// It is the end of a run, not of the job.
  bool stays() const { return stays_; }
  /// The run is over; what is not confirmed is still cleaned up.
  bool is_idle() const { return over_ == Over::idle; }
  bool is_finished() const { return over_ == Over::finished; }
  /// Somebody has to end, or is waited for.
  bool is_under_way() const { return step_ != Step::no && over_ == Over::no; }

  /// What is due on this host: SIGKILL, and once no process is alive, what they have left. True: that is to
  /// be looked for now.
  bool advance(Turn& turn);
  /// Nothing is left on this host.
  void cleaned(Turn& turn);
  /// What processes still print is to be read.
  bool wants_output() const;
  /// The end waits for output: as long as it moves, and if the program is done, for whoever reads it, too.
  /// `moved`: some has come or gone since this was asked last; `empty`: none is left here.
  bool waits_for_output(bool moved, bool empty, Turn& turn);
  /// Everybody has confirmed, or has had the time to. Precondition: is_under_way().
  bool is_due(bool waits_for_output, Turn& turn);
  /// Launchers below that have not ended their processes in time are given up.
  void give_up_busy(Turn& turn);
  /// This run is over, and another may follow.
  void rest() { end(Over::idle); }
  /// It is over for good: links are closed, and a launcher that has a parent tells it.
  void finish(Turn& turn);
  /// Without a word.
  void quit() { end(Over::finished); }

  /// Hosts where something of the run may be left.
  const std::set<std::uint32_t>& unconfirmed() const { return unconfirmed_; }
  /// Those of them where nobody need ever notice that it is alone, if so.
  const std::set<std::uint32_t>& unbounded() const { return unbounded_; }
  void leave_unconfirmed(std::uint32_t host) { unconfirmed_.insert(host); }
  void leave_unconfirmed(const std::vector<std::uint32_t>& hosts) {
    unconfirmed_.insert(hosts.begin(), hosts.end());
  }
  void forget_unconfirmed() { unconfirmed_.clear(); }
  /// Its link is not known to be dead at the other end, or its launcher to run: nobody there, nor below it,
  /// need ever notice that it is alone.
  void may_outlive_us(const Child& child);
  void confirm(std::vector<std::uint32_t> hosts, Turn& turn);
  /// Nothing of the job is left on that host, while it goes on: processes may be started again elsewhere.
  void tell_fenced(std::uint32_t host, Turn& turn) const;
  /// False: it has not heard yet that the job ends.
  bool up(Child& child, const wire::Idle& idle);
  wire::Idle idle() const;

  Instant next_deadline() const { return earlier(kill_at_, give_up_at_); }

private:
  /// How far this host is with the end.
  enum class Step : std::uint8_t {
    no,
    asked,     // everybody has been told; SIGKILL at kill_at_
    killed,    // SIGKILL sent
    sweeping,  // no own process is alive; what they left behind is looked for
    clean,     // nothing is left on this host
  };
  /// Whether the children are waited for; until give_up_at_ at most, and for this host itself no longer.
  enum class Over : std::uint8_t { no, idle, finished };

  void end(Over how);

  Step step_ = Step::no;
  Over over_ = Over::no;
  std::optional<wire::End> end_;
  bool stays_ = false, kills_ = false;
  Instant kill_at_ = kNever, give_up_at_ = kNever;
  std::set<std::uint32_t> unconfirmed_, unbounded_;
};

}  // namespace charmtree::proto
