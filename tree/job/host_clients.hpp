// SPDX-License-Identifier: Apache-2.0
// The local servers of a host, one for each protocol (Charm++, native): asks them, and has what they say done
// by the parts that it concerns, before the next is asked.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "tree/job/host_barriers.hpp"
#include "tree/job/host_ends.hpp"
#include "tree/job/host_registration.hpp"
#include "tree/job/host_start.hpp"
#include "tree/job/queue_pairs.hpp"
#include "tree/job/smp_check.hpp"

namespace charmtree::proto {

/// What servers say concerns these.
struct HostParts {
  HostStart start;
  HostRegistration registration;
  HostEnds ends;
  HostBarriers barriers;
  HostQueuePairs queue_pairs;
  SmpCheck smp;
};

class HostClients {
public:
  HostClients(const wire::JobSpec& job, const LocalProcesses& local, std::uint32_t host)
      : servers_(make_client_servers(job, local, host)) {}

  void on(const ClientOpened& event, HostTurn& turn, HostParts& parts);
  void on(const ClientBytes& event, HostTurn& turn, HostParts& parts);
  void on(const ClientClosed& event, HostTurn& turn, HostParts& parts);
  /// One that said nothing has been looked at.
  void on(const ClientSeen& event, HostTurn& turn, HostParts& parts);
  void on(const TopologyDescribed& event, HostTurn& turn, HostParts& parts);
  void tick(HostTurn& turn, HostParts& parts);
  Instant next_deadline() const;

  /// `ask` gets each server, and where it puts what it says.
  template <class F>
  void ask_each(F ask, HostTurn& turn, HostParts& parts) {
    for (std::size_t kind = 0; kind < kClientKinds; ++kind) {
      ClientOutputs outputs;
      ask(*servers_[kind], outputs);
      obey(static_cast<ClientKind>(kind), outputs, turn, parts);
    }
  }
  /// The same with that one with which the process has registered, if it has.
  template <class F>
  void ask_its(const OwnProcess& process, F ask, HostTurn& turn, HostParts& parts) {
    if (!process.kind) return;
    const ClientKind kind = *process.kind;
    ClientOutputs outputs;
    ask(server(kind), outputs);
    obey(kind, outputs, turn, parts);
  }
  void table(const wire::Blob& coded, HostTurn& turn, HostParts& parts);
  /// A whole CCS request (payload of `req_fw`).
  void request(std::uint32_t process, std::string payload, HostTurn& turn, HostParts& parts);
  /// What has become of queue pairs.
  void hand_over(QueuePairExchange::Orders orders, HostTurn& turn, HostParts& parts);
  /// The processes are others, see ClientServer.
  void join(std::uint32_t process);
  void reshape(const OwnProcesses& own);

private:
  ClientServer& server(ClientKind kind) { return *servers_[static_cast<std::size_t>(kind)]; }
  void obey(ClientKind kind, ClientOutputs& outputs, HostTurn& turn, HostParts& parts);
  bool joined(std::uint32_t process, ClientKind kind, HostTurn& turn, HostParts& parts);
  void registered(const Registered& output, ClientKind kind, HostTurn& turn, HostParts& parts);
  void fork_others(ClientKind kind, HostTurn& turn, HostParts& parts);
  void printed(const Printed& output, ClientKind kind, HostTurn& turn);

  std::array<std::unique_ptr<ClientServer>, kClientKinds> servers_;
  bool is_described_ = false;  // the host, for whatever server, or it is about to be
};

}  // namespace charmtree::proto
