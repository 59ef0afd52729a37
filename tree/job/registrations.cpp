// SPDX-License-Identifier: Apache-2.0
#include "tree/job/registrations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "tree/wire/fold.hpp"

namespace charmtree::proto {

void Registrations::add(std::vector<wire::TupleBlock> blocks, std::uint32_t registered) {
  blocks_.insert(blocks_.end(), std::make_move_iterator(blocks.begin()),
                 std::make_move_iterator(blocks.end()));
  registered_ += registered;
}

bool Registrations::add_again(wire::TupleBlock block) {
  const auto again = std::find_if(blocks_.begin(), blocks_.end(), [&](const wire::TupleBlock& known) {
    return known.first_process == block.first_process && known.tuples.size() == block.tuples.size();
  });
  if (again != blocks_.end()) {
    *again = std::move(block);
    return false;
  }
  blocks_.push_back(std::move(block));
  ++registered_;
  return true;
}

void Registrations::await(bool time_runs, Instant now) {
  register_by_ = is_pending() && time_runs ? now + job_.timeout : kNever;
}

bool Registrations::is_over(Instant now) {
  if (now < register_by_) return false;
  register_by_ = kNever;
  return is_pending() && registered_ < job_.processes;
}

void Registrations::clear() {
  blocks_.clear();
  table_taken_ = false;
  registered_ = 0;
  register_by_ = kNever;
}

void Registrations::resume_with_table() {
  table_taken_ = true;
  registered_ = job_.processes;
}

std::optional<std::vector<wire::TupleBlock>> Registrations::take_blocks() {
  if (table_taken_ || registered_ == 0 || registered_ < job_.processes) return {};
  std::sort(blocks_.begin(), blocks_.end(),
            [](const auto& a, const auto& b) { return a.first_process < b.first_process; });
  if (!wire::is_complete(blocks_, job_.processes)) return {};
  table_taken_ = true;
  return std::move(blocks_);
}

std::vector<std::string> Registrations::unregistered_hosts() const {
  std::set<std::uint32_t> complete;
  for (const wire::TupleBlock& block : blocks_) complete.insert(block.host);
  std::vector<std::string> names;
  for (const Host& host : hosts_) {
    if (host.processes > 0 && !complete.contains(host.index)) names.push_back(host.name);
  }
  return names;
}

std::string Registrations::late_line() const {
  return fmt::format(
      "{}: start: {} of {} processes have not registered within {:g} s; do they run the same "
      "program? see also ++timeout",
      wire::fold_names(unregistered_hosts()), job_.processes - registered_, job_.processes,
      seconds(job_.timeout));
}

}  // namespace charmtree::proto
