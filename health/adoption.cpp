// SPDX-License-Identifier: Apache-2.0
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
#include "health/adoption.hpp"

#include "tree/base/handle.hpp"
#include "tree/job/host_processes.hpp"
#include "tree/job/run_progress.hpp"
#include "tree/overlay/keyed_hash.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::health {

using namespace proto;

bool Adoption::is_possible(const Seat& seat) {
  const HostProcesses* here = seat.processes;
  const RunProgress& progress = seat.progress;
  return seat.job.repairs() && !seat.is_ending && here != nullptr && !here->waits_to_spawn() &&
         here->spawned_at() != kNever && seat.launch.subtree().all_answered() &&
         (progress.has_numbers || !seat.job.waits_for_all()) &&
         (progress.has_table || !progress.any_registered);
}

bool Adoption::awaits_root(const Seat& seat) {
  return seat.job.keeps_alive() && seat.level == 1;
}

void Adoption::offer(Turn& turn) {
  const Seat seat = turn.seat();
  if (!is_possible(seat)) return turn.act(CloseLink{kAdopterLink});
  nonce_ = make_nonce(seat.job, random_);
  turn.act(Send{kAdopterLink, wire::Waiting{seat.self.index, nonce_}});
}

std::string Adoption::proof(const char* what, const std::string& theirs, const Seat& seat) const {
  return adoption_proof(seat.job, what, seat.self.index, {nonce_, theirs});
}

void Adoption::up(const wire::Message& message, Turn& turn) {
  const bool claims = handle(message, [&](const wire::Claim& m) { claim(m, turn); });
  if (!claims) turn.act(CloseLink{kAdopterLink});
}

/// Only a parent, or who was above it: of two that want us, the one nearer to the root knows better.
void Adoption::claim(const wire::Claim& claim, Turn& turn) {
  const Seat seat = turn.seat();
  const bool is_valid =
      !nonce_.empty() && is_possible(seat) && same_secret(claim.proof, proof("claim", claim.nonce, seat));
  if (!is_valid) return turn.act(CloseLink{kAdopterLink});
  if (claim.level >= seat.level) {
    turn.act(Send{kAdopterLink, wire::Taken{proof("taken", claim.nonce, seat)}});
    return turn.act(CloseLink{kAdopterLink});
  }
  const RunProgress& progress = seat.progress;
  if (turn.way_up() == WayUp::open) turn.act(Send{kParentLink, wire::Taken{}});
  turn.act(ReplaceParent{});
  turn.act(Send{kParentLink, wire::Claimed{proof("claimed", claim.nonce, seat), progress.epoch,
                                           progress.lost.ranges(), progress.releases, progress.has_table}});
  turn.act(Send{kParentLink, wire::Hello{turn.now(), 0}});
  nonce_.clear();
  turn.tell(ParentReplaced{claim});
}

}  // namespace charmtree::health
