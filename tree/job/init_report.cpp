// SPDX-License-Identifier: Apache-2.0
#include "tree/job/init_report.hpp"

#include <fmt/format.h>

namespace charmtree::proto {

namespace {

/// What a program of that kind is offered, and what else it may look for.
struct Offer {
  const char* needs;
  const char* gets;
  const char* other;
};
Offer offer_of(wire::Mpi mpi) {
  switch (mpi) {
    case wire::Mpi::mpich:
      return {"needs MPICH's library or that of one of its kin", "PMI",
              "++pmi pmix serves one that was built for PMIx"};
    case wire::Mpi::open_mpi:
      return {"needs Open MPI's library", "PMIx", "++pmi 1 serves one that was built for PMI"};
    default:
      return {"imports mpi4py", "PMI, and PMIx where there is a library for it",
              "++pmi 1 and ++pmi pmix offer one of them alone"};
  }
}

}  // namespace

void InitReport::turn(const Judge& judge, Instant now, Actions& out) {
  if (joined_ > 0 && first_ == kNever) first_ = now;
  const bool are_all_there = job_->processes > 0 && joined_ >= job_->processes;
  if (are_all_there && !std::exchange(is_recorded_, true) && job_->reports.stamps)
    out.push_back(AllInitialised{first_, now});
  const wire::MpiService& mpi = job_->spawn.mpi;
  const bool is_mpi = mpi.library != wire::Mpi::none && mpi.is_any();
  if (are_all_there || !is_mpi || judge.verdict()) is_told_ = true;
  if (is_told_ || !judge.launch().all_up()) return;
  if (late_at_ == kNever) late_at_ = now + job_->timeout;
  if (now < late_at_) return;
  is_told_ = true;
  const Offer offer = offer_of(mpi.library);
  out.push_back(
      Say{Tone::info,
          fmt::format(
              "{} of {} processes called MPI_Init within {:g} s; the program {}, and is offered {}; if it "
              "waits, it may look for something else: {}",
              joined_, job_->processes, seconds(job_->timeout), offer.needs, offer.gets, offer.other)});
}

}  // namespace charmtree::proto
