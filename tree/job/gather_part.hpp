// SPDX-License-Identifier: Apache-2.0
// The part that tells upwards how far a run has come here and below, and hears how far it has come as a whole
// (RunProgress). News wait for company (Gather); what would matter to another parent, too, is remembered
// (ReplayState).
//
// Its messages: Facts; LinkLost on its way up; and of those to everybody: TableDown, Release, and Recover,
// Lost and Renewed, with each of which an epoch begins.
#pragma once

#include <vector>

#include "tree/job/replay_state.hpp"
#include "tree/job/run_progress.hpp"
#include "tree/overlay/gather.hpp"
#include "tree/overlay/startup_times.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::proto {

struct InheritedState;

class GatherPart {
public:
  /// `times` must outlive the object.
  explicit GatherPart(StartupTimes& times) : times_(times) {}

  RunProgress& progress() { return progress_; }
  const RunProgress& progress() const { return progress_; }

  /// Of this host or from below, each once.
  void add(wire::Facts facts, Turn& turn);
  void up(Child& child, wire::Facts facts, Turn& turn);
  /// What is said here of a loss, or handed on.
  void add(const wire::LinkLost& lost, Turn& turn);
  /// Any other message on its way up.
  void remember(const wire::Message& message, Turn& turn);
  /// What is due goes up.
  void turn(Turn& turn);
  /// What has come from below is told now: before a loss, or an end.
  void hurry(Turn& turn);
  /// The last of a run: nothing follows.
  void rest(Turn& turn);
  /// Another parent hears all that matters still.
  void adopted(Turn& turn);
  /// Root: what another one had told everybody before it was lost.
  void take_over(const InheritedState& inherited, Turn& turn);

  void down(const wire::TableDown&) { progress_.has_table = true; }
  void down(const wire::Release& release);
  void down(const wire::Recover& message, Turn& turn);
  void down(const wire::Lost& message, Turn& turn);
  void down(const wire::Renewed& message, Turn& turn);
  /// What of it we have not heard.
  std::vector<wire::ProcessSet::Range> fresh(const std::vector<wire::ProcessSet::Range>& lost) const;

  Instant next_deadline() const { return gather_.next_deadline(); }

private:
  void begin_epoch(std::uint32_t epoch, Turn& turn);
  void count_out(const std::vector<wire::ProcessSet::Range>& told, Turn& turn);

  StartupTimes& times_;
  Gather gather_;
  RunProgress progress_;
  ReplayState replay_;
};

}  // namespace charmtree::proto
