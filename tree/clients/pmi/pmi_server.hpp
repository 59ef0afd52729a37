// SPDX-License-Identifier: Apache-2.0
// PMI-1, by which processes of MPICH, Intel MPI and their kin find each other, as hydra serves it. Each
// process is started with a connection of its own (PMI_FD), over which it asks and waits for the answer, line
// by line. What it puts is known on its host at once and, behind the next barrier (a fence of all processes
// of its world), on every host: a host keeps all of it, so that no get leaves the host. Each world has a
// key-value space of its own.
//
// A process has Joined when it says init, and Ended with finalize; after that its exit status counts. One
// that says nothing is no MPI program, and nothing is awaited of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tree/clients/mpi_server.hpp"
#include "tree/clients/open_inquiries.hpp"
#include "tree/clients/pmi/pmi_line.hpp"
#include "tree/clients/pmi/pmi_spawn.hpp"
#include "tree/wire/process_set.hpp"
#include "tree/wire/programs.hpp"

namespace charmtree::proto {

/// What processes ask of their job.
struct PmiJob {
  std::string kvs_name;  // no other job on one of these hosts has it
  std::string mapping;   // process_mapping
  std::uint32_t universe = 0;
  std::vector<std::uint32_t> programs = {0};  // the first process of each
};

/// A world, as its processes on this host know it.
struct PmiWorld {
  wire::World who;
  std::string kvs_name, mapping;
  std::vector<std::uint32_t> programs;  // the first process of each
  std::map<std::string, std::string, std::less<>> values = {};
  std::uint32_t fences = 0;                    // that all of this host have entered
  std::uint64_t requests = 0;                  // since the last of them
  bool is_waiting = false;                     // in the last of them
  std::optional<wire::FenceDown> failed = {};  // a later one
};

class PmiServer : public MpiServer {
public:
  PmiServer(LocalProcesses local, PmiJob job);

  void made_for(ClientId client, std::uint32_t process) override;
  void opened(ClientId client, Instant now, ClientOutputs& out) override;
  void received(ClientId client, std::string_view bytes, Instant now, ClientOutputs& out) override;
  void closed(ClientId client, Instant now, ClientOutputs& out) override;
  void tick(Instant now, ClientOutputs& out) override { inquiries_.tick(now, out); }
  Instant next_deadline() const override { return inquiries_.next_deadline(); }

  void fenced(const wire::FenceDown& fence, ClientOutputs& out) override;
  void answered(const wire::Answered& answer, ClientOutputs& out) override;
  void begun(const wire::WorldBegun& world, ClientOutputs& out) override;
  void lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) override;
  void join(std::uint32_t process) override { local_.joined.push_back(process); }
  void vacate(std::uint32_t process, std::uint32_t restarts, bool is_awaited, ClientOutputs& out) override;
  void reshape(const LocalProcesses& local, const std::vector<std::uint32_t>&) override { local_ = local; }

  /// Clients since MPICH 3.4 take no more than they can. It is even: MPICH 5 halves it, and rounds.
  static constexpr std::size_t kMostName = 256, kMostKey = 64, kMostValue = 16384;
  /// Of one request.
  static constexpr std::size_t kMostRequest = 1U << 20;

private:
  enum class Stage : std::uint8_t {
    silent,  // no init yet
    joined,
    in_fence,
    asks,     // for a name, or for further processes
    ended,    // finalize: nothing is awaited any more
    aborted,  // whatever comes is ignored
  };
  struct Client {
    std::uint32_t process = 0;
    Stage stage = Stage::silent;
    std::string buffer;             // the beginning of a line
    std::optional<PmiSpawn> spawn;  // that is being told
    std::string given;              // since the last fence
  };
  using Clients = std::map<ClientId, Client>;
  struct Asker {
    ClientId client = 0;
    std::string word;             // of the command, to which the answer belongs
    std::uint32_t processes = 0;  // that it wants to have started
  };

  /// Empty, or what is wrong with it: the connection is then dropped.
  std::string on(Clients::value_type& client, std::string_view line, Instant now, ClientOutputs& out);
  std::string begin(Clients::value_type& client, const PmiLine& line, ClientOutputs& out);
  std::string put(Clients::value_type& client, const PmiLine& line, ClientOutputs& out);
  std::optional<std::string> find(const PmiWorld& world, std::string_view key) const;
  std::string tell(Clients::value_type& client, const PmiLine& line, ClientOutputs& out);
  std::string ask_for_name(Clients::value_type& client, const PmiLine& line, Instant now, ClientOutputs& out);
  PmiWorld& world_of(std::uint32_t process);
  void enter_fence(PmiWorld& world, ClientOutputs& out);
  void leave_fence(PmiWorld& world, std::string_view failure, ClientOutputs& out);
  std::string part_of_spawn(Clients::value_type& client, std::string_view line, Instant now,
                            ClientOutputs& out);
  static void spawned(const Asker& asker, ClientOutputs& out);
  void drop(Clients::iterator client, const std::string& why, ClientOutputs& out);
  void forget(Clients::iterator client, const std::string& why, bool is_cause, ClientOutputs& out);
  static void answer(ClientId client, std::string_view line, ClientOutputs& out);

  LocalProcesses local_;
  std::uint32_t universe_;
  std::vector<PmiWorld> worlds_;  // their processes rise
  Clients clients_;
  wire::ProcessSet lost_;  // of the job
  OpenInquiries<Asker> inquiries_;
};

}  // namespace charmtree::proto
