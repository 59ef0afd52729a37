// SPDX-License-Identifier: Apache-2.0
#include "health/watch.hpp"

#include <algorithm>

#include "tree/base/overloaded.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::health {

using namespace proto;

namespace {

constexpr Duration kLeast = 100ms;

/// A launcher may stand still for as long as its host may take to start something.
Timing timing_of(const wire::JobSpec& job) {
  Timing timing;
  timing.gone_after = std::clamp(job.heartbeat.gone_after, kLeast, timing.half_open_after);
  timing.beat = std::clamp(job.heartbeat.interval, kLeast / 4, timing.gone_after / 4);
  // A launcher whose link is dead is reached by another before it gives us up.
  if (job.repairs())
    timing.half_open_after =
        std::clamp(job.heartbeat.orphan_after / 2, timing.gone_after, timing.half_open_after);
  timing.orphan_after = std::clamp(job.heartbeat.orphan_after, timing.gone_after, Duration{1h});
  timing.frozen_after = std::clamp(job.timeout, timing.frozen_after, Duration{24h});
  return timing;
}

/// At its other end is a launcher on this same machine.
bool is_this_machine(const Seat& seat, LinkId link) {
  if (link != kParentLink) return seat.launch.children().at(link).via == Via::local;
  return seat.self.profile < seat.job.profiles.size() &&
         seat.job.profiles[seat.self.profile].via == Via::local;
}

bool is_up(LinkId link, Turn& turn) {
  return link == kParentLink ? turn.way_up() == WayUp::open : turn.seat().launch.find_up(link) != nullptr;
}

}  // namespace

void Watch::watch(LinkId link, Turn& turn) {
  const Seat seat = turn.seat();
  if (seat.job.heartbeat.interval <= Duration{0} || seat.job.checkup) return;
  if (!detector_) detector_.emplace(timing_of(seat.job), !seat.is_root());
  detector_->watch(link, turn.real_now(), is_this_machine(seat, link));
}

void Watch::forget(LinkId link) {
  if (detector_) detector_->forget(link);
}

void Watch::heard(LinkId link, Turn& turn) {
  if (detector_) detector_->heard(link, turn.real_now());
}

void Watch::note_what_is_sent(Turn& turn) {
  if (!detector_) return;
  const Overloaded note{[&](const Send& send) { detector_->sent(send.link, turn.real_now()); },
                        [](const auto&) {}};
  for (const Action& action : turn.out()) dispatch(note, action);
}

void Watch::resume(Instant now) {
  if (detector_) detector_->resume(now);
}

void Watch::up(LinkId link, const wire::WasPunctual&, Turn& turn) {
  const auto punctual = detector_ ? detector_->asked(link, turn.real_now()) : std::nullopt;
  if (punctual) turn.hand_down_by(link, wire::Punctual{*punctual});
}

void Watch::down(const wire::Punctual& answer, Turn& turn) {
  if (!detector_ || turn.is_suspended()) return;
  Detector::Orders orders;
  detector_->parent_says(answer.yes, turn.real_now(), orders);
  obey(orders, turn);
}

void Watch::on(const Probed& event, Turn& turn) {
  if (!detector_ || turn.is_suspended()) return;
  Detector::Orders orders;
  detector_->probed(event.link, event.evidence, turn.real_now(), orders);
  obey(orders, turn);
}

void Watch::turn(Turn& turn) {
  if (!detector_ || turn.is_suspended()) return;
  Detector::Orders orders;
  detector_->tick(turn.real_now(), orders);
  obey(orders, turn);
}

void Watch::obey(const Detector::Orders& orders, Turn& turn) {
  for (const LinkId link : orders.beats) {
    if (!is_up(link, turn))
      detector_->forget(link);
    else if (link == kParentLink)
      turn.act(Send{link, wire::BeatUp{}});
    else
      turn.act(Send{link, wire::Beat{}});
  }
  for (const auto& [link, within] : orders.probes) {
    if (is_up(link, turn))
      turn.act(Probe{link, within, detector_->timing().fresh(within), is_this_machine(turn.seat(), link)});
  }
  if (orders.ask_parent && is_up(kParentLink, turn)) turn.act(Send{kParentLink, wire::WasPunctual{}});
  for (const Verdict& verdict : orders.verdicts) {
    if (!is_up(verdict.link, turn)) continue;
    const bool is_cut_off = verdict.cause == Symptom::gone || verdict.cause == Symptom::half_open;
    const bool answers = verdict.cause == Symptom::half_open || verdict.cause == Symptom::silent;
    turn.tell(LinkSilent{verdict.link, explain(verdict), is_cut_off, answers});
  }
}

}  // namespace charmtree::health
