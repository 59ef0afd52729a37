// SPDX-License-Identifier: Apache-2.0
#include "health/crash_restarts.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "tree/base/handle.hpp"

namespace charmtree::proto {

void CrashRestarts::begin(wire::NodeTable table, Duration timeout) {
  timeout_ = timeout;
  sequence_.emplace(std::move(table), timeout);
}

void CrashRestarts::on(const wire::Rejoined& message, Instant now) {
  if (sequence_) sequence_->rejoined(message, now);
}

void CrashRestarts::acked(std::uint32_t epoch, std::uint32_t count, Instant now) {
  if (sequence_) sequence_->acked(epoch, count, now);
}

void CrashRestarts::stalled(bool stalled, Instant now) {
  if (sequence_) sequence_->stalled(stalled, now);
}

void CrashRestarts::crashed(const wire::ProcessExit& exit, RootTurn& turn) {
  last_crash_ = exit;
  const std::string hopeless = sequence_->lost(exit.process, turn.now());
  if (!hopeless.empty()) return turn.judge().lost(exit, hopeless);
  turn.say(Tone::info, turn.judge().exits().about(exit) + "; restarting it");
  turn.tell(ProcessReplaced{exit.process});
}

void CrashRestarts::turn(RootTurn& turn) {
  if (!sequence_ || turn.is_over()) return;
  for (const wire::ProcessExit& exit : turn.judge().take_crashes()) {
    crashed(exit, turn);
    if (turn.is_over()) return;
  }
  if (last_crash_ && !sequence_->in_progress()) last_crash_.reset();
  if (last_crash_ && turn.judge().exits().any_ended())
    return turn.judge().lost(*last_crash_, "it could not be restarted before others had ended");
  if (const auto late = sequence_->late(turn.now())) {
    return turn.judge().lost(*last_crash_,
                             fmt::format("process {} was restarted and has not registered within {:g} s; "
                                         "see ++timeout",
                                         *late, seconds(timeout_)));
  }
  send_orders(turn);
}

void CrashRestarts::send_orders(RootTurn& turn) {
  for (const wire::Message& message : sequence_->take_orders()) {
    handle(
        message, [&](const wire::Restart& m) { turn.to(m.process, message); },
        [&](const wire::Admit& m) {
          turn.say(Tone::verbose, fmt::format("process {} is back", m.process));
          turn.to(m.process, message);
        },
        [&](const wire::Recover& m) {
          turn.judge().begin_epoch(wire::epoch_of(*m.table));
          turn.to_all(message);
        });
  }
}

}  // namespace charmtree::proto
