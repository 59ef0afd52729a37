// SPDX-License-Identifier: Apache-2.0
#include "tree/job/output_ledger.hpp"

#include "tree/job/output_queue.hpp"

namespace charmtree::proto {

/// Of what was here before nobody may have been told. What is missing was lost with a launcher; it comes
/// again, and what has come behind it, too. Or another root had it, before this one took over.
bool OutputLedger::enter(const wire::Output& output, Instant now) {
  if (numbers_.size() <= output.process) numbers_.resize(output.process + std::size_t{1});
  untold_.insert(output.process);
  much_ += output_cost(output);
  tell_at_ = earlier(tell_at_, much_ >= kMuch ? now : now + kDelay);
  std::uint64_t& last = numbers_[output.process];
  if (output.number != last + 1 && !(output.is_oldest && output.number > last)) return false;
  last = output.number;
  return true;
}

std::vector<wire::OutputTaken::Taken> OutputLedger::take(Instant now) {
  std::vector<wire::OutputTaken::Taken> taken;
  if (now < tell_at_) return taken;
  tell_at_ = kNever;
  much_ = 0;
  for (const std::uint32_t process : untold_) taken.push_back({process, numbers_[process]});
  untold_.clear();
  return taken;
}

}  // namespace charmtree::proto
