// SPDX-License-Identifier: Apache-2.0
#include "tree/job/host_clients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/base/overloaded.hpp"
#include "tree/clients/ccs_answer.hpp"
#include "tree/clients/recoveries.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree::proto {

void HostClients::on(const ClientOpened& event, HostTurn& turn, HostParts& parts) {
  ClientOutputs outputs;
  if (event.made_for != wire::kNoProcess) server(event.kind).made_for(event.client, event.made_for);
  server(event.kind).opened(event.client, turn.now, outputs);
  obey(event.kind, outputs, turn, parts);
}

void HostClients::on(const ClientBytes& event, HostTurn& turn, HostParts& parts) {
  if (abilities(server(event.kind).program()).counts_pes) parts.smp.heard();
  ClientOutputs outputs;
  server(event.kind).received(event.client, event.bytes, turn.now, outputs);
  obey(event.kind, outputs, turn, parts);
}

void HostClients::on(const ClientClosed& event, HostTurn& turn, HostParts& parts) {
  ClientOutputs outputs;
  server(event.kind).closed(event.client, turn.now, outputs);
  obey(event.kind, outputs, turn, parts);
}

void HostClients::on(const ClientSeen& event, HostTurn& turn, HostParts& parts) {
  if (turn.own.phase().ending) return;
  ask_each([&](ClientServer& each,
               ClientOutputs& outputs) { each.seen(event.process, event.sight, turn.now, outputs); },
           turn, parts);
}

void HostClients::on(const TopologyDescribed& event, HostTurn& turn, HostParts& parts) {
  ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.topology(event.file, event.xml, outputs); },
           turn, parts);
}

void HostClients::tick(HostTurn& turn, HostParts& parts) {
  for (std::size_t kind = 0; kind < kClientKinds; ++kind) {
    if (servers_[kind]->next_deadline() > turn.now) continue;
    ClientOutputs outputs;
    servers_[kind]->tick(turn.now, outputs);
    obey(static_cast<ClientKind>(kind), outputs, turn, parts);
  }
}

Instant HostClients::next_deadline() const {
  Instant deadline = kNever;
  for (const auto& each : servers_) deadline = earlier(deadline, each->next_deadline());
  return deadline;
}

/// False: it has before, or its kind cannot be in this job.
bool HostClients::joined(std::uint32_t number, ClientKind kind, HostTurn& turn, HostParts& parts) {
  OwnProcess& process = turn.own.at(number);
  if (process.kind) return false;
  process.register_with(kind, server(kind).program());
  std::string reason{why_not(process.program, turn.job.loss.recovery)};
  if (reason.empty() && !process.can().shows_life && turn.job.silence.kills) reason = kSaysNothing;
  const wire::Address& own = parts.start.host().address;
  if (reason.empty() && process.can().wants_ipv4 && turn.job.hosts > 1 && own.is_known() && !own.is_ipv4()) {
    reason = fmt::format(
        "Charm++ (netlrts) finds other hosts by IPv4 alone, and this one is at {}; ++subnet names another "
        "network, one host is enough for "
        "it, or a build for another layer, as MPI",
        wire::text_of(own));
  }
  if (!reason.empty()) parts.ends.says(Refused{number, reason}, turn);
  return reason.empty();
}

void HostClients::registered(const Registered& output, ClientKind kind, HostTurn& turn, HostParts& parts) {
  if (!joined(output.process, kind, turn, parts)) return;
  const bool forking = turn.own.phase().forking;
  if (forking && output.process == turn.own.local().first)
    fork_others(kind, turn, parts);
  else if (forking)
    parts.start.adopt(output, kind, turn);
  parts.registration.add(output, parts.start.host(), turn);
}

/// If the first process is no Charm++ client after all, the others are started like it.
void HostClients::fork_others(ClientKind kind, HostTurn& turn, HostParts& parts) {
  const LocalProcesses& local = turn.own.local();
  ClientOutputs outputs;
  const bool forks = server(kind).fork(local.first, local.count - 1, outputs);
  turn.own.phase().forking = forks;
  obey(kind, outputs, turn, parts);
  turn.up.messages.push_back(
      wire::Note{turn.host, forks ? fmt::format("process {} forks processes {} to {}", local.first,
                                                local.first + 1, local.first + local.count - 1)
                                  : "its processes are started one by one, its program cannot fork them"});
}

void HostClients::printed(const Printed& output, ClientKind kind, HostTurn& turn) {
  OwnProcess& process = turn.own.at(output.process);
  process.output.printed(output, turn.now, turn.way_of(output.process));
  if (abilities(server(kind).program()).counts_pes && !turn.own.phase().ending)
    SmpCheck::look(turn.job, output.process, output.text, turn.up.messages);
  HostEnds::heard(process, turn.now);
}

void HostClients::obey(ClientKind kind, ClientOutputs& outputs, HostTurn& turn, HostParts& parts) {
  Upward& up = turn.up;
  Actions& out = turn.out;
  const Overloaded act{
      [&](ToClient& o) {
        out.push_back(ClientSend{kind, o.client, std::move(o.bytes), std::move(o.tail), std::move(o.shared),
                                 std::move(o.port)});
      },
      [&](CloseClient& o) {
        out.push_back(ClientClose{kind, o.client});
      },
      [&](Registered& o) { registered(o, kind, turn, parts); },
      [&](Joined& o) {
        turn.own.at(o.process).end.said =
            false;  // it may have finished an MPI program, and begin another one
        up.facts.joined += joined(o.process, kind, turn, parts) ? 1 : 0;
      },
      [&](BarrierEntered& o) { parts.barriers.entered(o, turn); },
      [&](FenceEntered& o) { up.news.emplace_back(std::move(o)); },
      [&](RingEntered& o) { up.news.emplace_back(std::move(o)); },
      [&](wire::Inquiry& o) { up.messages.emplace_back(o); },
      [&](wire::InquiryReply& o) { up.messages.emplace_back(std::move(o)); },
      [&](wire::NameInquiry& o) { up.messages.emplace_back(std::move(o)); },
      [&](wire::WorldWanted& o) { up.messages.emplace_back(std::move(o)); },
      [&](CrashAcked&) { parts.barriers.crash_acked(turn); },
      [&](Printed& o) { printed(o, kind, turn); },
      [&](ScanRequested& o) {
        turn.flush(o.process, wire::Tail::prompt);  // a prompt belongs before the wait for its answer
        up.messages.push_back(wire::ScanUp{o.process, std::move(o.format)});
      },
      [&](Ended& o) { parts.ends.says(o, turn); },
      [&](Aborted& o) { parts.ends.says(o, turn); },
      [&](ClientLost& o) { parts.ends.says(o, turn); },
      [&](Refused& o) { parts.ends.says(o, turn); },
      [&](wire::Silence& o) { parts.ends.says(o, turn); },
      [&](RequestAnswered& o) {
        for (wire::CcsAnswer& piece : pieces(o)) up.messages.emplace_back(std::move(piece));
      },
      // What it wrote before is no copy.
      [&](TableDelivered& o) {
        out.push_back(DrainOutput{turn.own.name_of(o.process), o.client});
      },
      [&](ResizeAsked& o) {
        up.messages.emplace_back(wire::PesWanted{o.process, o.pes});
      },
      [&](QueuePairsGiven& o) {
        hand_over(parts.queue_pairs.given(turn.own.local(), o.process, std::move(o.pairs)), turn, parts);
      },
      [&](Unheard& o) {
        out.push_back(LookAtClient{turn.own.name_of(o.process), o.client});
      },
      [&](ServerReady& o) { parts.start.serves(o, turn); },
      [&](TopologyWanted&) {
        if (!std::exchange(is_described_, true)) out.push_back(DescribeTopology{});
      },
      [&](ClientNote& o) {
        up.messages.push_back(wire::Note{turn.host, std::move(o.text)});
      },
  };
  for (ClientOutput& output : outputs) dispatch(act, output);
  outputs.clear();
  parts.ends.tell_heard(turn);
}

void HostClients::table(const wire::Blob& coded, HostTurn& turn, HostParts& parts) {
  parts.queue_pairs.table(coded);
  ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.table(coded, outputs); }, turn, parts);
  const auto& all = std::as_const(turn.own).all();
  const bool any =
      std::any_of(all.begin(), all.end(), [](const OwnProcess& each) { return each.can().counts_pes; });
  if (any && !turn.own.phase().ending) parts.smp.table_comes(turn.job, turn.now);
}

void HostClients::request(std::uint32_t number, std::string payload, HostTurn& turn, HostParts& parts) {
  if (payload.size() < wire::kCcsForwardedHeader) return;
  const OwnProcess& process = turn.own.at(number);
  if (!process.kind) {
    const char* why = process.state == OwnProcess::State::gone ? "has ended" : "takes no requests";
    for (wire::CcsAnswer& piece : pieces(failed_request(number, payload, why)))
      turn.up.messages.emplace_back(std::move(piece));
    return;
  }
  ask_its(
      process,
      [&](ClientServer& its, ClientOutputs& outputs) { its.request(number, std::move(payload), outputs); },
      turn, parts);
}

void HostClients::hand_over(QueuePairExchange::Orders orders, HostTurn& turn, HostParts& parts) {
  for (wire::QueuePairs& block : orders.away)
    turn.up.messages.emplace_back(wire::QueuePairsUp{std::move(block)});
  for (const auto& [process, pairs] : orders.ready) {
    ask_each([&, to = process, &given = pairs](
                 ClientServer& each, ClientOutputs& outputs) { each.queue_pairs(to, given, outputs); },
             turn, parts);
  }
}

void HostClients::join(std::uint32_t process) {
  for (const auto& each : servers_) each->join(process);
}

void HostClients::reshape(const OwnProcesses& own) {
  for (const auto& each : servers_) each->reshape(own.local(), own.names().names());
}

}  // namespace charmtree::proto
