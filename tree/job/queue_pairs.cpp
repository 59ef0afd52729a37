// SPDX-License-Identifier: Apache-2.0
#include "tree/job/queue_pairs.hpp"

namespace charmtree::proto {

namespace {
constexpr std::size_t kSize = wire::QueuePairs::kQueuePair;
}

QueuePairExchange::QueuePairExchange(const LocalProcesses& local, const wire::NodeTable& table)
    : local_(local), given_(local.count), gathered_(local.count, std::string(kSize * local.total, '\0')) {
  for (const wire::TupleBlock& block : table.blocks)
    hosts_.push_back({block.first_process, static_cast<std::uint32_t>(block.tuples.size())});
  missing_.insert(hosts_.begin(), hosts_.end());
}

/// A process's list leaves out the process itself.
std::string QueuePairExchange::block_for(std::uint32_t process, const Range& targets) const {
  const std::string& list = given_[process - local_.first];
  std::string bytes;
  bytes.reserve(kSize * targets.count);
  for (std::uint32_t target = targets.first; target < targets.first + targets.count; ++target) {
    if (target == process)
      bytes.append(kSize, '\0');
    else
      bytes.append(list, kSize * (target < process ? target : target - 1), kSize);
  }
  return bytes;
}

void QueuePairExchange::given(std::uint32_t process, std::string pairs, Orders& out) {
  given_[process - local_.first] = std::move(pairs);
  if (++given_count_ < local_.count) return;
  for (const Range& host : hosts_) {
    wire::QueuePairs block{local_.first, local_.count, host.first, host.count, {}};
    for (std::uint32_t i = 0; i < local_.count; ++i) block.pairs += block_for(local_.first + i, host);
    if (host.first == local_.first)
      store(block);
    else
      out.away.push_back(std::move(block));
  }
  given_.clear();
  finish(out);
}

void QueuePairExchange::arrived(const wire::QueuePairs& block, Orders& out) {
  const auto host = missing_.find(Range{block.first_source, 0});
  const bool ours = block.first_target == local_.first && block.targets == local_.count;
  if (host == missing_.end() || host->count != block.sources || host->first == local_.first || !ours ||
      !block.well_formed())
    return;
  store(block);
  finish(out);
}

void QueuePairExchange::store(const wire::QueuePairs& block) {
  missing_.erase(Range{block.first_source, 0});
  for (std::uint32_t source = 0; source < block.sources; ++source) {
    for (std::uint32_t target = 0; target < block.targets; ++target) {
      gathered_[target].replace(kSize * (block.first_source + source), kSize, block.pairs,
                                kSize * (std::size_t{source} * block.targets + target), kSize);
    }
  }
}

void QueuePairExchange::finish(Orders& out) {
  if (!missing_.empty()) return;
  for (std::uint32_t i = 0; i < local_.count; ++i)
    out.ready.emplace_back(local_.first + i, std::exchange(gathered_[i], {}));
}

QueuePairExchange* HostQueuePairs::exchange(const LocalProcesses& local) {
  if (!exchange_ && table_) {
    const Result<wire::NodeTable> table = wire::decode_table(*table_);
    if (table) exchange_.emplace(local, *table);
  }
  return exchange_ ? &*exchange_ : nullptr;
}

QueuePairExchange::Orders HostQueuePairs::given(const LocalProcesses& local, std::uint32_t process,
                                                std::string pairs) {
  QueuePairExchange::Orders orders;
  if (QueuePairExchange* each = exchange(local)) each->given(process, std::move(pairs), orders);
  return orders;
}

QueuePairExchange::Orders HostQueuePairs::arrived(const LocalProcesses& local,
                                                  const wire::QueuePairs& block) {
  QueuePairExchange::Orders orders;
  if (QueuePairExchange* each = exchange(local)) each->arrived(block, orders);
  return orders;
}

}  // namespace charmtree::proto
