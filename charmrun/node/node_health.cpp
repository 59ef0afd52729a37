// SPDX-License-Identifier: Apache-2.0
// Who is at the other ends of our links, and whether they live (health/detector). Everything here is in real
// time, and rests while the job is suspended: then its root does not run.
#include <algorithm>

#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

namespace {

constexpr Duration kLeast = 100ms;

/// A launcher may stand still for as long as its host may take to start something.
health::Timing timing(const wire::JobSpec& job) {
  health::Timing timing;
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

}  // namespace

/// From its first message on: before, a login has limits of its own.
void Node::watch(LinkId link) {
  if (job_->heartbeat.interval <= Duration{0} || job_->checkup) return;
  if (!detector_) detector_.emplace(timing(*job_), desk_ == nullptr);
  detector_->watch(link, real_now_, is_this_machine(link));
}

/// Every message is a sign of life; true: it was nothing more, or a question about us.
bool Node::about_life(LinkId link, const wire::Message& message) {
  const bool beat =
      std::holds_alternative<wire::Beat>(message) || std::holds_alternative<wire::BeatUp>(message);
  const bool question = std::holds_alternative<wire::WasPunctual>(message);
  const auto* answer = std::get_if<wire::Punctual>(&message);
  const bool was_all = beat || question || answer != nullptr;
  if (!detector_) return was_all;
  detector_->heard(link, real_now_);
  const std::optional<bool> punctual = question ? detector_->asked(link, real_now_) : std::nullopt;
  if (punctual) out_->push_back(Send{link, wire::Punctual{*punctual}});
  if (answer != nullptr && !clock_.stands()) {
    health::Detector::Orders orders;
    detector_->parent_says(answer->yes, real_now_, orders);
    obey(orders);
  }
  return was_all;
}

void Node::handle(const Probed& event) {
  if (!detector_ || clock_.stands()) return;
  health::Detector::Orders orders;
  detector_->probed(event.link, event.evidence, real_now_, orders);
  obey(orders);
}

/// What is sent for other reasons is a beat, too.
void Node::note_what_was_sent() {
  if (!detector_) return;
  for (const Action& action : *out_) {
    if (const auto* send = std::get_if<Send>(&action)) detector_->sent(send->link, real_now_);
  }
}

void Node::watch_turn() {
  if (!detector_ || clock_.stands()) return;
  health::Detector::Orders orders;
  detector_->tick(real_now_, orders);
  obey(orders);
}

void Node::obey(const health::Detector::Orders& orders) {
  const auto is_up = [&](LinkId link) {
    return link == kParentLink ? !parent_gone_ : launch_->find_up(link) != nullptr;
  };
  for (const LinkId link : orders.beats) {
    if (!is_up(link))
      detector_->forget(link);
    else if (link == kParentLink)
      out_->push_back(Send{link, wire::BeatUp{}});
    else
      out_->push_back(Send{link, wire::Beat{}});
  }
  for (const auto& [link, within] : orders.probes) {
    if (is_up(link))
      out_->push_back(Probe{link, within, detector_->timing().fresh(within), is_this_machine(link)});
  }
  if (orders.ask_parent && !parent_gone_) out_->push_back(Send{kParentLink, wire::WasPunctual{}});
  for (const health::Verdict& verdict : orders.verdicts) {
    if (!is_up(verdict.link)) continue;
    if (verdict.link != kParentLink) {
      const Child& child = launch_->children().at(verdict.link);
      const std::uint32_t host = child.host.index;
      const bool is_cut_off =
          verdict.cause == health::Symptom::gone || verdict.cause == health::Symptom::half_open;
      if (!is_cut_off) may_outlive_us(child);
      give_up(verdict.link, health::explain(verdict));
      const bool answers =
          verdict.cause == health::Symptom::half_open || verdict.cause == health::Symptom::silent;
      if (!answers) presume_gone(host);
      continue;
    }
    out_->push_back(CloseLink{kParentLink});
    lose_parent(nullptr);
  }
}

/// At its other end is a launcher on this same machine.
bool Node::is_this_machine(LinkId link) const {
  if (link != kParentLink) return launch_->children().at(link).via == Via::local;
  return self_.profile < job_->profiles.size() && job_->profiles[self_.profile].via == Via::local;
}

}  // namespace charmtree
