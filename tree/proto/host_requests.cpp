// SPDX-License-Identifier: Apache-2.0
// What comes for processes from elsewhere while they run: CCS requests, and the queue pairs of other hosts.
#include <utility>

#include "tree/clients/ccs_answer.hpp"
#include "tree/proto/host_processes.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree::proto {

void HostProcesses::request(const wire::CcsForward& piece, Instant now, Actions& out, Upward& up) {
  if (!local_.contains(piece.process)) return;
  Process& process = at(piece.process);
  process.request.append(piece.bytes);
  if (piece.last) request(piece.process, std::exchange(process.request, {}), now, out, up);
}

void HostProcesses::request(std::uint32_t number, std::string payload, Instant now, Actions& out,
                            Upward& up) {
  if (payload.size() < wire::kCcsForwardedHeader) return;
  const Process& process = at(number);
  if (!process.kind) {
    const char* why = process.state == Process::State::gone ? "has ended" : "takes no requests";
    return apply(failed_request(number, payload, why), up);
  }
  ClientOutputs outputs;
  server(*process.kind).request(number, std::move(payload), outputs);
  apply(*process.kind, outputs, now, out, up);
}

void HostProcesses::apply(const RequestAnswered& output, Upward& up) {
  for (wire::CcsAnswer& piece : pieces(output)) up.messages.emplace_back(std::move(piece));
}

/// Null: there is no table (yet), so that nobody can have a queue pair for us.
QueuePairExchange* HostProcesses::exchange() {
  if (!exchange_ && table_) {
    const Result<wire::NodeTable> table = wire::decode_table(*table_);
    if (table) exchange_.emplace(local_, *table);
  }
  return exchange_ ? &*exchange_ : nullptr;
}

void HostProcesses::apply(QueuePairsGiven& output, Instant now, Actions& out, Upward& up) {
  QueuePairExchange::Orders orders;
  if (QueuePairExchange* pairs = exchange()) pairs->given(output.process, std::move(output.pairs), orders);
  obey(orders, now, out, up);
}

void HostProcesses::queue_pairs(const wire::QueuePairs& block, Instant now, Actions& out, Upward& up) {
  QueuePairExchange::Orders orders;
  if (QueuePairExchange* pairs = exchange()) pairs->arrived(block, orders);
  obey(orders, now, out, up);
}

void HostProcesses::obey(QueuePairExchange::Orders& orders, Instant now, Actions& out, Upward& up) {
  for (wire::QueuePairs& block : orders.away) up.messages.emplace_back(wire::QueuePairsUp{std::move(block)});
  for (const auto& [process, pairs] : orders.ready) {
    ask_each([&, to = process, &given = pairs](
                 ClientServer& each, ClientOutputs& outputs) { each.queue_pairs(to, given, outputs); },
             now, out, up);
  }
}

}  // namespace charmtree::proto
