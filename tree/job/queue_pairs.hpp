// SPDX-License-Identifier: Apache-2.0
// The exchange of InfiniBand queue pairs between verbs clients, as one host takes part in it: each process
// gives one address for every other, and gets one from every other. What a host's processes gave for those of
// another host goes there in one block, through the tree, once all of them have given theirs. Pure; holds
// 12 bytes for each pair of one of its processes and any process of the job.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tree/clients/client_server.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class QueuePairExchange {
public:
  /// What is to be done: blocks for other hosts, and all that a process waits for: from each process of the
  /// job kQueuePair bytes (its own place is NUL). All processes of the host are ready at the same time.
  struct Orders {
    std::vector<wire::QueuePairs> away;
    std::vector<std::pair<std::uint32_t, std::string>> ready;
  };

  /// `table` has a block for each host, `local` is one of them.
  QueuePairExchange(const LocalProcesses& local, const wire::NodeTable& table);

  /// What `process`, of this host, gave: kQueuePair bytes for each other process, by number. Once for each.
  /// Precondition: pairs.size() == (total - 1) * kQueuePair.
  void given(std::uint32_t process, std::string pairs, Orders& out);
  /// A block of another host. One that is not such, or came before, is ignored.
  void arrived(const wire::QueuePairs& block, Orders& out);

private:
  /// The processes of a host.
  struct Range {
    std::uint32_t first, count;
    friend bool operator<(const Range& a, const Range& b) { return a.first < b.first; }
  };
  std::string block_for(std::uint32_t process, const Range& targets) const;
  void store(const wire::QueuePairs& block);
  void finish(Orders& out);

  LocalProcesses local_;
  std::set<Range> missing_;  // hosts whose block has not come, our own included
  std::vector<Range> hosts_;
  std::vector<std::string> given_;     // by local process; empty: not yet
  std::vector<std::string> gathered_;  // by local process
  std::uint32_t given_count_ = 0;
};

/// The exchange as a launcher sees it: it begins once there is a table. Before, nobody can have a queue pair
/// for us.
class HostQueuePairs {
public:
  /// A coded NodeTable; the first in use when anything comes is that of the exchange.
  void table(wire::Blob coded) { table_ = std::move(coded); }
  /// As QueuePairExchange.
  QueuePairExchange::Orders given(const LocalProcesses& local, std::uint32_t process, std::string pairs);
  QueuePairExchange::Orders arrived(const LocalProcesses& local, const wire::QueuePairs& block);

private:
  QueuePairExchange* exchange(const LocalProcesses& local);

  wire::Blob table_;
  std::optional<QueuePairExchange> exchange_;
};

}  // namespace charmtree::proto
