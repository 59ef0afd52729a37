// SPDX-License-Identifier: Apache-2.0
// The part that watches whether those at the other ends of a launcher's links live (Detector). Everything
// here is in real time, and rests while the job is suspended: then its root does not run. Whom it finds
// silent it tells as LinkSilent.
//
// Its messages: Beat and BeatUp, which say nothing but that; WasPunctual, and its answer Punctual.
#pragma once

#include <optional>

#include "health/detector.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::health {

class Watch {
public:
  /// From its first message on: before, a login has limits of its own. Not where nobody is to be watched.
  void watch(proto::LinkId link, proto::Turn& turn);
  void forget(proto::LinkId link);
  /// Every message is a sign of life.
  void heard(proto::LinkId link, proto::Turn& turn);
  /// Whatever this turn sends is a beat, too. Called at its end.
  void note_what_is_sent(proto::Turn& turn);
  /// The job goes on: nobody was to send anything until now.
  void resume(Instant now);

  void up(proto::LinkId link, const wire::WasPunctual& question, proto::Turn& turn);
  void down(const wire::Punctual& answer, proto::Turn& turn);
  void on(const proto::Probed& event, proto::Turn& turn);
  void turn(proto::Turn& turn);
  /// In real time.
  Instant next_deadline() const { return detector_ ? detector_->next_deadline() : kNever; }

private:
  void obey(const Detector::Orders& orders, proto::Turn& turn);

  std::optional<Detector> detector_;
};

}  // namespace charmtree::health
