// SPDX-License-Identifier: Apache-2.0
// A launcher is adopted: its parent, or one nearer to the root, has come by another way, and takes the place
// of the parent. Both tell each other again what may have been lost with the old link: from above the
// barriers that have opened and who is lost, from below who has ended and who is lost, and the output that
// the root is not known to have. Until then, for a while, nobody here or below is killed for want of a
// parent.
//
// The launcher that was started to connect the two is a dumb pump, and both ends prove by a hash of two
// nonces that they know the job's secret. A launcher takes any claim from its parent's level or above it:
// nearer to the root one knows better. One that lives though it was given up learns so from the first one
// that is taken from it (Taken): it leaves the others below it to be adopted, sweeps nobody any more, and
// ends; where it hears of none, it dies of its own orphan bound. The end of a parent's link is survived for 3
// s; a silent link until the detector's verdict, but a claim replaces it sooner. A barrier that has opened
// and was not passed on is opened now: it cannot be two, since the second needs us. The root then begins an
// epoch without a loss, so that barriers are counted anew. Output is numbered by process where it leaves its
// host, and kept there until the root says that it is on the screen (at most every 50 ms, or every 64 KiB).
// After an adoption everybody below sends again what the root is not known to have, and the root takes
// nothing but the next number of each process: a gap is dropped with all behind it, since whatever was lost
// is on its way again.
#include <algorithm>
#include <utility>

#include "charmrun/node/node.hpp"
#include "tree/proto/keyed_hash.hpp"

namespace charmtree {

using namespace proto;

/// `visibly`: how; null: we have heard nothing for too long, and whoever was to come has had that time, if it
/// is not another root. Who ends us by a signal does not want us to wait.
void Node::lose_parent(const Error* visibly) {
  parent_gone_ = true;
  watch_.forget(kParentLink);
  const bool may_wait = visibly != nullptr ? visibly->code != Errc::killed : awaits_root();
  const bool waits = may_wait && can_be_adopted();
  if (waits && hold_until_ == kNever)
    hold_until_ = real_now_ + (awaits_root() ? job_->loss.keep_alive : kHoldOn);
  if (visibly != nullptr && visibly->code == Errc::killed && can_be_adopted()) {
    for (const auto& [link, child] : launch_->children()) {  // not their end: they are adopted
      if (!child.serves()) continue;
      launch_->find(link)->state = Child::State::lost;
      out_->push_back(CloseLink{link});
    }
  }
  if (!waits) end({wire::EndMode::kill, 9});
}

/// Once there is nothing left that is told only once, as in a launch.
bool Node::can_be_adopted() const {
  return job_ && job_->repairs() && ending_ == Ending::no && processes_ && !processes_->waits_to_spawn() &&
         processes_->spawned_at() != kNever && launch_->subtree().all_answered() &&
         (progress_.has_numbers || !job_->waits_for_all()) &&
         (progress_.has_table || !progress_.any_registered);
}

/// It was the root that we have lost: another may come when its user wants it to.
bool Node::awaits_root() const {
  return job_ && job_->keeps_alive() && level_ == 1;
}

/// Somebody has come.
void Node::offer() {
  if (!can_be_adopted()) return out_->push_back(CloseLink{kAdopterLink});
  nonce_ = health::make_nonce(*job_, random_);
  out_->push_back(Send{kAdopterLink, wire::Waiting{self_.index, nonce_}});
}

/// Only a parent, or who was above it: of two that want us, the one nearer to the root knows better.
void Node::from_adopter(const wire::Message& message) {
  const auto* claim = std::get_if<wire::Claim>(&message);
  const auto proof = [&](const char* what, const std::string& theirs) {
    return health::adoption_proof(*job_, what, self_.index, {nonce_, theirs});
  };
  const bool valid = claim != nullptr && !nonce_.empty() && can_be_adopted() &&
                     same_secret(claim->proof, proof("claim", claim->nonce));
  if (valid && claim->level < level_) return adopted(*claim);
  if (valid) {
    const std::string taken = proof("taken", claim->nonce);
    out_->push_back(Send{kAdopterLink, wire::Taken{taken}});
  }
  out_->push_back(CloseLink{kAdopterLink});
}

void Node::adopted(const wire::Claim& claim) {
  const std::string proof = health::adoption_proof(*job_, "claimed", self_.index, {nonce_, claim.nonce});
  if (!parent_gone_) out_->push_back(Send{kParentLink, wire::Taken{}});
  out_->push_back(ReplaceParent{});
  parent_gone_ = false;
  hold_until_ = kNever;
  level_ = claim.level + 1;
  out_->push_back(Send{kParentLink, wire::Claimed{proof, progress_.epoch, progress_.lost.ranges(),
                                                  progress_.releases, progress_.has_table}});
  out_->push_back(Send{kParentLink, wire::Hello{now_, 0}});
  nonce_.clear();
  watch_.forget(kParentLink);
  watch_.watch(kParentLink, *this);
  catch_up(claim);
  gather_.forget_ends();
  gather_.add(testimony_.facts(), now_);
  hurry_facts();
  for (const wire::Message& message : testimony_.messages()) out_->push_back(Send{kParentLink, message});
  output_->adopted();
  resend({claim.by_new_root});
}

/// What a barrier that has opened needs from us was told before that: it has opened once at most. A root that
/// takes over knows less than we do; what we know it has just been told.
void Node::catch_up(const wire::Claim& claim) {
  suspend(claim.suspended);
  for (std::size_t kind = 0; kind < claim.releases.size(); ++kind) {
    if (claim.releases[kind] > progress_.releases[kind])
      from_parent(wire::Release{static_cast<std::uint8_t>(kind)});
    progress_.releases[kind] = std::max(progress_.releases[kind], claim.releases[kind]);
  }
  if (claim.epoch <= progress_.epoch) return;
  wire::Lost lost{claim.epoch, {}};
  for (const wire::ProcessSet::Range& range : claim.lost) {
    for (const wire::ProcessSet::Range& fresh : progress_.lost.missing(range))
      lost.processes.push_back(fresh);
  }
  from_parent(lost);
}

/// Of answers on their way down nobody knows whether they have come.
void Node::resend(const wire::Resend& order) {
  hand_down_all(order);
  output_->down(order, *this);
  Upward upward;
  processes_->wait_no_longer(order.by_new_root, now_, *out_, upward);
  tell_up(std::move(upward));
}

void Node::count_release(const wire::Message& message) {
  if (const auto* release = std::get_if<wire::Release>(&message)) progress_.count(*release);
}

}  // namespace charmtree
