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
/// While we look into a silence, so many messages go where else one does: each is another chance for an
/// acknowledgement.
constexpr int kCloser = 5;
/// The host behind a dead link does not answer any more if so many connections in a row are not answered.
constexpr int kMisses = 2;
/// A packet that opens a connection is sent again after so long (RFC 6298).
constexpr Duration kSynTimeout = 1s;
/// What is sooner than what has been heard by less than this, in beats, is the same by another clock.
constexpr double kSame = 0.15;
constexpr Duration kForGood = 24h * 365;

Duration times(Duration d, double factor) {
  return Duration{static_cast<Duration::rep>(static_cast<double>(d.count()) * factor)};
}

}  // namespace

void Detector::Gaps::add(Duration gap) {
  const Duration error = gap > mean ? gap - mean : mean - gap;
  deviation += (error - deviation) / 4;
  mean += (gap - mean) / 8;
}

void Detector::watch(LinkId link, Instant now, bool here) {
  peers_[link] =
      Peer{.sent_at = now, .heard_at = now, .here = here, .gaps = {timing_.beat, timing_.beat / 4}};
  beat_at_ = earlier(beat_at_, now + timing_.beat / 2);
  look_at_ = earlier(look_at_, now + suspect_after(peers_[link]));
  // A new parent: nobody may have been there to confirm what is suspected.
  asks_again_ = asks_again_ || link == proto::kParentLink;
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
  const Duration gap = now - peer.heard_at;
  if (gap >= timing_.beat / 2) peer.gaps.add(gap);
  if (gap >= times(timing_.beat, kLeastSilence)) peer.late_at = now;
  peer.heard_at = std::max(peer.heard_at, now);
  if (!peer.suspicion) return;
  peer.suspicion.reset();  // which nobody would have looked at but when its probe ends
  look_at_ = earlier(look_at_, peer.heard_at + suspect_after(peer));
}

Duration Detector::suspect_after(const Peer& peer) const {
  const Duration expected = peer.gaps.mean + kDeviations * peer.gaps.deviation;
  return std::clamp(expected, times(timing_.beat, kLeastSilence), times(timing_.gone_after, kMostSilence));
}

/// While nothing has been found out the worst is expected.
Symptom Detector::cause(const Suspicion& suspicion) const {
  if (!suspicion.evidence) return Symptom::gone;
  const Evidence& evidence = *suspicion.evidence;
  if (evidence.acknowledged && (suspicion.was_premature || *evidence.acknowledged < timing_.last_word()))
    return Symptom::frozen;
  if (!evidence.acknowledged && (evidence.port_answers || !evidence.asked)) return Symptom::silent;
  if (!evidence.asked) return Symptom::half_open;
  const bool answers = evidence.port_answers || (suspicion.was_half_open && suspicion.misses < kMisses);
  return answers ? Symptom::half_open : Symptom::gone;
}

/// A parent that is frozen can come back, and who started it sees to it if it does not.
Duration Detector::patience(LinkId link, const Suspicion& suspicion) const {
  const Symptom why = cause(suspicion);
  if (why == Symptom::silent) return timing_.frozen_after;
  if (link == proto::kParentLink) return why == Symptom::frozen ? kForGood : timing_.orphan_after;
  if (why == Symptom::frozen) return timing_.frozen_after;
  return why == Symptom::gone && !hears_nobody() ? timing_.gone_after : timing_.half_open_after;
}

/// A root whose children are all silent, and who has nobody to ask, may be cut off itself.
bool Detector::hears_nobody() const {
  int remote = 0;
  for (const auto& [link, peer] : peers_) {
    remote += peer.here ? 0 : 1;
    if (!peer.here && !peer.suspicion) return false;
  }
  return !has_parent_ && remote > 1;
}

void Detector::tick(Instant now, Orders& orders) {
  if (peers_.empty()) return;
  forgive(now);
  if (asks_again_) {
    const auto waits = [](const auto& peer) {
      return peer.second.suspicion && !peer.second.suspicion->confirmed;
    };
    orders.ask_parent = orders.ask_parent || std::any_of(peers_.begin(), peers_.end(), waits);
    asks_again_ = false;
  }
  if (now >= look_at_) look_at_all(now, orders);
  if (now >= beat_at_) beat(now, orders);
}

/// If we have not run, or not been told the time, for a while nobody is to blame for it. What came meanwhile
/// is read before anybody is judged.
bool Detector::forgive(Instant now) {
  const Duration late = now - earlier(beat_at_, look_at_);
  if (peers_.empty() || late <= times(timing_.beat, kLate)) return false;
  forgiven_at_ = now;
  for (auto& [link, peer] : peers_) peer.heard_at = std::min(now, peer.heard_at + late);
  beat_at_ = now;
  look_at_ = now + timing_.beat / 2;
  return true;
}

void Detector::beat(Instant now, Orders& orders) {
  Duration turn = timing_.beat / 2;
  for (auto& [link, peer] : peers_) {
    const bool is_looked_into = peer.suspicion && !peer.suspicion->evidence;
    const Duration interval = is_looked_into ? timing_.beat / kCloser : timing_.beat;
    if (is_looked_into) turn = interval;
    if (now - peer.sent_at < interval * 3 / 4) continue;
    peer.sent_at = now;
    orders.beats.push_back(link);
  }
  beat_at_ = now + turn;
}

void Detector::suspect(LinkId link, Peer& peer, Instant now, Orders& orders) {
  if (!peer.suspicion) {
    const bool asks = has_parent_ && link != proto::kParentLink;
    peer.suspicion = Suspicion{.confirmed = !asks};
  }
  Suspicion& suspicion = *peer.suspicion;
  suspicion.evidence.reset();
  // The host behind a dead link lives, unless it has died since: there is time for a lost packet to be sent
  // again.
  const Duration left = timing_.gone_after - (now - peer.heard_at);
  const Duration limit = suspicion.was_half_open ? kSynTimeout + timing_.beat : std::max(left, timing_.beat);
  orders.probes.emplace_back(link, limit);
  if (!suspicion.confirmed) orders.ask_parent = true;
  beat_at_ = earlier(beat_at_, now);
}

/// Where packets are lost, one acknowledgement may be late while its host lives.
bool Detector::is_guilty(LinkId link, const Peer& peer, Instant now) const {
  if (!peer.suspicion || !peer.suspicion->confirmed || !peer.suspicion->evidence) return false;
  const Duration needed = patience(link, *peer.suspicion);
  if (now - peer.heard_at < needed) return false;
  const std::optional<Duration> acknowledged = peer.suspicion->evidence->acknowledged;
  const bool may_be_late = link == proto::kParentLink || cause(*peer.suspicion) == Symptom::half_open;
  return !may_be_late || !acknowledged || *acknowledged >= needed / 2;
}

/// When there may be something to do about it.
Instant Detector::look_at(LinkId link, const Peer& peer) const {
  if (!peer.suspicion) return peer.heard_at + suspect_after(peer);
  if (!peer.suspicion->evidence) return kNever;  // it comes by itself
  const Instant verdict = peer.heard_at + patience(link, *peer.suspicion);
  return earlier(verdict, peer.suspicion->stale_at);
}

void Detector::look_at_all(Instant now, Orders& orders) {
  look_at_ = kNever;
  for (auto it = peers_.begin(); it != peers_.end();) {
    auto& [link, peer] = *it;
    if (now >= look_at(link, peer)) {
      if (is_guilty(link, peer, now)) {
        orders.verdicts.push_back({link, cause(*peer.suspicion), now - peer.heard_at});
        it = peers_.erase(it);
        continue;
      }
      // First suspicion, or evidence that has become old: who answered then may have died meanwhile.
      if (!peer.suspicion || now >= peer.suspicion->stale_at) suspect(link, peer, now, orders);
    }
    look_at_ = earlier(look_at_, std::max(look_at(link, peer), now + timing_.beat / 4));
    ++it;
  }
  if (peers_.empty()) beat_at_ = kNever;
}

void Detector::probed(LinkId link, const Evidence& evidence, Instant now, Orders& orders) {
  const auto found = peers_.find(link);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  const bool was_late = forgive(now);
  // Bytes that are no whole message yet are a sign of life, too.
  if (now - evidence.heard > peer.heard_at + times(timing_.beat, kSame)) heard(link, now - evidence.heard);
  if (peer.suspicion) {
    Suspicion& suspicion = *peer.suspicion;
    suspicion.evidence = evidence;
    suspicion.stale_at = now + kStale * timing_.beat;
    // While we did not run we sent nothing that could have been acknowledged.
    suspicion.was_premature = forgiven_at_ != kNever && now - forgiven_at_ < timing_.last_word();
    if (suspicion.was_premature)
      suspicion.stale_at = earlier(suspicion.stale_at, forgiven_at_ + timing_.last_word());
    if (evidence.asked) suspicion.misses = evidence.port_answers ? 0 : suspicion.misses + 1;
    // Acknowledgements that went on when nothing else came are no sign of a dead link.
    const bool stopped =
        evidence.acknowledged &&
        *evidence.acknowledged + timing_.gone_after - timing_.last_word() > now - peer.heard_at;
    if (evidence.port_answers && stopped) suspicion.was_half_open = true;
  }
  if (!was_late) look_at_all(now, orders);
}

void Detector::parent_says(bool punctual, Instant now, Orders& orders) {
  const bool was_late = forgive(now);
  for (auto& [link, peer] : peers_) {
    if (!peer.suspicion || peer.suspicion->confirmed) continue;
    if (punctual) {
      peer.suspicion->confirmed = true;
    } else {  // we were late ourselves: begin anew
      peer.heard_at = now;
      peer.suspicion.reset();
    }
  }
  if (!was_late) look_at_all(now, orders);
}

bool Detector::was_punctual(LinkId link, Instant now) const {
  const auto found = peers_.find(link);
  if (found == peers_.end()) return false;
  const Peer& peer = found->second;
  // Its question itself was heard just now. A suspicion that was raised after we said no is another one.
  if (peer.late_at != kNever && now - peer.late_at < timing_.gone_after / 2) return false;
  return now - peer.heard_at < suspect_after(peer);
}

std::optional<bool> Detector::asked(LinkId link, Instant now) {
  const auto peer = peers_.find(link);
  if (peer == peers_.end()) return {};
  const Instant before = std::exchange(peer->second.asked_at, now);
  if (before != kNever && now - before < timing_.beat / 2) return {};
  return was_punctual(link, now);
}

void Detector::resume(Instant now) {
  for (auto& [link, peer] : peers_) {
    peer.sent_at = peer.heard_at = now;
    peer.suspicion.reset();
  }
  if (!peers_.empty()) beat_at_ = look_at_ = now;
}

std::optional<Outlook> Detector::outlook(LinkId link, Instant now) const {
  const auto found = peers_.find(link);
  if (found == peers_.end()) return {};
  const Peer& peer = found->second;
  const Suspicion known = peer.suspicion.value_or(Suspicion{});
  return Outlook{cause(known), patience(link, known) - (now - peer.heard_at)};
}

Instant Detector::next_deadline() const {
  return earlier(beat_at_, look_at_);
}

}  // namespace charmtree::health
