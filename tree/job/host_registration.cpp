// SPDX-License-Identifier: Apache-2.0
#include "tree/job/host_registration.hpp"

#include <utility>

namespace charmtree::proto {

void HostRegistration::add(const Registered& output, const ReadyHost& host, HostTurn& turn) {
  const LocalProcesses& local = turn.own.local();
  OwnProcess& process = turn.own.at(output.process);
  if (!process.awaited) process.tuple = output.tuple;
  if (process.awaited || turn.own.phase().regrouping || !local.is_first(output.process)) {
    turn.up.messages.emplace_back(
        wire::Rejoined{output.process, output.tuple.port, host.address, output.tuple.data});
    return;
  }
  ++turn.up.facts.registered;
  if (++registered_ < local.count) return;
  const bool alike = turn.own.phase().forking && turn.job.hosts == 1;
  if (host.random_layout && !alike && process.can().moves_threads)
    turn.up.facts.random_layout.push_back(turn.host);
  tell_tuples(host, turn);
}

void HostRegistration::tell_tuples(const ReadyHost& host, HostTurn& turn) {
  registered_at_ = turn.now;
  const LocalProcesses& local = turn.own.local();
  wire::TupleBlock block{turn.host, local.first, host.address, {}};
  for (std::uint32_t rank = 0; rank < local.count; ++rank)
    block.tuples.push_back(std::move(turn.own.at(local.first + rank).tuple));
  turn.up.facts.blocks.push_back(std::move(block));
}

void HostRegistration::reshape(std::uint32_t staying, const ReadyHost& host, HostTurn& turn) {
  const std::uint32_t count = turn.own.local().count;
  registered_ = staying;
  registered_at_ = kNever;
  turn.up.facts.registered += staying;
  if (staying >= count && count > 0) tell_tuples(host, turn);
}

}  // namespace charmtree::proto
