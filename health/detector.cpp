// SPDX-License-Identifier: Apache-2.0
#include "health/detector.hpp"

#include <algorithm>

namespace charmtree::health {

namespace {

/// Who is silent for less is never suspected, in beats.
constexpr double kLeastSilence = 2.5;
/// Beyond the mean gap, in mean deviations: gaps of a peer that is merely busy are within.
constexpr int kDeviations = 8;
/// Of gone_after: the rest is for finding out.
constexpr double kMostSilence = 0.7;
/// We ran so much later than we wanted, in beats: what we have not heard we may not have read yet.
constexpr double kLate = 0.4;
/// Evidence of so long ago, in beats, is taken again.
constexpr int kStale = 4;

Duration times(Duration d, double factor) {
  return Duration{static_cast<Duration::rep>(static_cast<double>(d.count()) * factor)};
}

}  // namespace

void Detector::Gaps::add(Duration gap) {
  const Duration error = gap > mean ? gap - mean : mean - gap;
  deviation += (error - deviation) / 4;
  mean += (gap - mean) / 8;
}

void Detector::watch(LinkId link, Instant now) {
  peers_[link] = Peer{now, now, {timing_.beat, timing_.beat / 4}};
  beat_at_ = earlier(beat_at_, now + timing_.beat / 2);
  look_at_ = earlier(look_at_, now + suspect_after(peers_[link]));
}

void Detector::forget(LinkId link) {
  peers_.erase(link);
  if (peers_.empty()) beat_at_ = look_at_ = kNever;
}

void Detector::sent(LinkId link, Instant now) {
  if (const auto peer = peers_.find(link); peer != peers_.end()) peer->second.sent_at = now;
}

void Detector::heard(LinkId link, Instant now) {
  const auto found = peers_.find(link);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  // Bursts say nothing about the gaps between beats.
  if (const Duration gap = now - peer.heard_at; gap >= timing_.beat / 2) peer.gaps.add(gap);
  peer.heard_at = std::max(peer.heard_at, now);
  peer.suspicion.reset();
}

Duration Detector::suspect_after(const Peer& peer) const {
  const Duration expected = peer.gaps.mean + kDeviations * peer.gaps.deviation;
  return std::clamp(expected, times(timing_.beat, kLeastSilence), times(timing_.gone_after, kMostSilence));
}

Cause Detector::cause(const Evidence& evidence) const {
  const bool acknowledges = evidence.acknowledged && *evidence.acknowledged < timing_.gone_after / 2;
  if (acknowledges) return Cause::frozen;
  return evidence.port_answers ? Cause::half_open : Cause::gone;
}

/// Where nothing is known of acknowledgements, an answer may be that of a host whose launcher is frozen.
Duration Detector::patience(const Evidence& evidence) const {
  switch (cause(evidence)) {
    case Cause::gone:
      return timing_.gone_after;
    case Cause::half_open:
      return evidence.acknowledged ? timing_.half_open_after : timing_.frozen_after;
    case Cause::frozen:
      break;
  }
  return timing_.frozen_after;
}

void Detector::tick(Instant now, Orders& orders) {
  if (peers_.empty()) return;
  if (now - earlier(beat_at_, look_at_) > times(timing_.beat, kLate)) forgive(now);
  if (now >= beat_at_) beat(now, orders);
  if (now >= look_at_) look_at_all(now, orders);
}

/// We have not run, or not been told the time, for a while: nobody is to blame for it.
void Detector::forgive(Instant now) {
  const Duration late = now - earlier(beat_at_, look_at_);
  for (auto& [link, peer] : peers_) peer.heard_at = std::min(now, peer.heard_at + late);
  look_at_ = now + timing_.beat / 2;
}

void Detector::beat(Instant now, Orders& orders) {
  for (auto& [link, peer] : peers_) {
    if (now - peer.sent_at < timing_.beat * 3 / 4) continue;
    peer.sent_at = now;
    orders.beats.push_back(link);
  }
  beat_at_ = now + timing_.beat / 2;
}

void Detector::suspect(LinkId link, Peer& peer, Instant now, Orders& orders) {
  const bool asks = has_parent_ && link != proto::kParentLink;
  const bool confirmed = peer.suspicion ? peer.suspicion->confirmed : !asks;
  peer.suspicion = Suspicion{{}, kNever, confirmed};
  const Duration left = timing_.gone_after - (now - peer.heard_at);
  orders.probes.emplace_back(link, std::max(left, timing_.beat));
  if (!confirmed) orders.ask_parent = true;
}

bool Detector::is_guilty(const Peer& peer, Instant now) const {
  return peer.suspicion && peer.suspicion->confirmed && peer.suspicion->evidence &&
         now - peer.heard_at >= patience(*peer.suspicion->evidence);
}

/// When there may be something to do about it.
Instant Detector::look_at(const Peer& peer) const {
  if (!peer.suspicion) return peer.heard_at + suspect_after(peer);
  if (!peer.suspicion->evidence) return kNever;  // it comes by itself
  const Instant verdict = peer.heard_at + patience(*peer.suspicion->evidence);
  return earlier(verdict, peer.suspicion->looked_at + kStale * timing_.beat);
}

void Detector::look_at_all(Instant now, Orders& orders) {
  look_at_ = kNever;
  for (auto it = peers_.begin(); it != peers_.end();) {
    auto& [link, peer] = *it;
    if (now >= look_at(peer)) {
      if (is_guilty(peer, now)) {
        orders.verdicts.push_back({link, cause(*peer.suspicion->evidence), now - peer.heard_at});
        it = peers_.erase(it);
        continue;
      }
      // First suspicion, or evidence that has become old: who answered then may have died meanwhile.
      if (!peer.suspicion || now - peer.suspicion->looked_at >= kStale * timing_.beat)
        suspect(link, peer, now, orders);
    }
    look_at_ = earlier(look_at_, std::max(look_at(peer), now + timing_.beat / 4));
    ++it;
  }
  if (peers_.empty()) beat_at_ = kNever;
}

void Detector::probed(LinkId link, const Evidence& evidence, Instant now, Orders& orders) {
  const auto found = peers_.find(link);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  // Bytes that are no whole message yet are a sign of life, too.
  if (now - evidence.heard > peer.heard_at) heard(link, now - evidence.heard);
  if (!peer.suspicion) return;
  peer.suspicion->evidence = evidence;
  peer.suspicion->looked_at = now;
  look_at_all(now, orders);
}

void Detector::parent_says(bool punctual, Instant now, Orders& orders) {
  for (auto& [link, peer] : peers_) {
    if (!peer.suspicion) continue;
    if (punctual) {
      peer.suspicion->confirmed = true;
    } else {  // we were late ourselves: begin anew
      peer.heard_at = now;
      peer.suspicion.reset();
    }
  }
  look_at_all(now, orders);
}

bool Detector::was_punctual(LinkId link, Instant now) const {
  const auto peer = peers_.find(link);
  return peer != peers_.end() && now - peer->second.heard_at < suspect_after(peer->second);
}

Instant Detector::next_deadline() const {
  return earlier(beat_at_, look_at_);
}

}  // namespace charmtree::health
