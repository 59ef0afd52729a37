// SPDX-License-Identifier: Apache-2.0
// The part that carries the output of processes: from this host's own and the children into one queue, and
// from there to the parent, or to the user's screen, as far as there is credit. Where too much waits, pipes
// are left alone and clients that print are not read; all else that is said goes past the queue.
//
// Its messages: Output, and ScanUp behind its prompt; OutputCredit; OutputTaken and Resend in a job that
// repairs itself; Receipt.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tree/job/output_grants.hpp"
#include "tree/job/output_ledger.hpp"
#include "tree/job/output_queue.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class OutputPart {
public:
  /// What the root may have on its user's screen that has not been written.
  static constexpr std::uint64_t kScreen = 1U << 20;

  enum class Place : std::uint8_t { root, below };
  OutputPart(Place place, const wire::JobSpec& job);
  /// The run is over for this launcher, which stays or goes. What has not been sent is lost, as it says if
  /// that is `wanted`; the root shows it.
  void end_run(bool wanted, Turn& turn);
  /// Another run of the program begins. What is on the root's screen has yet to be written.
  void begin_run(const wire::JobSpec& job);

  /// Of this host's processes. Without a way up it is lost.
  void add(OutputItem output, Turn& turn);
  /// So many have been added.
  std::uint64_t added() const { return added_; }
  /// Root: the user takes no output.
  bool stalls() const { return stalls_; }
  /// This client has just printed: if too much waits it is not read for a while. Others that only keep the
  /// program going are.
  void hold_if_full(ClientId client, Turn& turn);

  void up(const Child& child, LinkId link, OutputItem output, Turn& turn);
  void down(const wire::OutputCredit& credit, Turn& turn);
  void down(const wire::OutputTaken& taken, Turn& turn);
  void down(const wire::Resend& order, Turn& turn);
  void on(const Shown& event, Turn& turn);
  void on(const OutputWritten& event, Turn& turn);
  void on(const Spooled& event, Turn& turn);
  void on(Unspooled&& event, Turn& turn);
  /// A child is lost.
  void lost(LinkId child) { grants_.lost(child); }
  /// There is another parent, which has granted nothing yet.
  void adopted() { queue_.begin_anew(OutputGrants::kFirst); }
  /// Root: whatever is here goes to the screen.
  void show_rest(Turn& turn);
  void turn(Turn& turn);
  Instant next_deadline() const { return ledger_ ? ledger_->next_deadline() : kNever; }

  /// Nothing waits here.
  bool empty() const { return queue_.empty(); }
  /// Some has come or gone since this was asked last.
  bool take_moved() { return std::exchange(moved_, false); }

private:
  bool is_root() const { return place_ == Place::root; }
  void pump(Turn& turn);
  void has_passed(LinkId from, std::size_t cost, Turn& turn);
  void say_spool_is_full(Turn& turn);

  Place place_;
  std::uint64_t spool_;  // most bytes in its file
  OutputQueue queue_;
  OutputGrants grants_;                 // of the children
  std::optional<OutputLedger> ledger_;  // root of a job that repairs itself
  std::vector<ClientId> held_clients_;  // that are not read: they print too much
  std::uint64_t added_ = 0;
  bool rests_ = false;  // no run is under way
  bool moved_ = false;
  bool stalls_ = false;  // as it was told
  bool told_spool_full_ = false;
};

}  // namespace charmtree::proto
