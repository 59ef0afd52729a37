// SPDX-License-Identifier: Apache-2.0
// PMI, by which processes of MPICH, Intel MPI and their kin find each other: version 1 as hydra serves it,
// version 2 as Slurm does. Each process is started with a connection of its own (PMI_FD), or makes one
// (PMI_PORT; pmi_strangers), over which it agrees on a version, asks, and waits for each answer. What it puts
// is known on its host at once and, behind the next fence of all processes of its world, on every host: a
// host keeps all of it, so that no get leaves the host. Each world has a key-value space of its own.
//
// A process has Joined when it says init (version 2: fullinit), and Ended with finalize; after that its exit
// status counts. It may say init again, as hydra lets it: MPI is opened again, or a script has started its
// next MPI program, which inherits the connection. One that says nothing is no MPI program, and nothing is
// awaited of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tree/clients/mpi_server.hpp"
#include "tree/clients/open_inquiries.hpp"
#include "tree/clients/pmi/pmi_barriers.hpp"
#include "tree/clients/pmi/pmi_commands.hpp"
#include "tree/clients/pmi/pmi_spawn.hpp"
#include "tree/clients/pmi/pmi_strangers.hpp"
#include "tree/clients/pmi/pmi_values.hpp"
#include "tree/clients/pmi/pmi_words.hpp"
#include "tree/wire/mpi_service.hpp"
#include "tree/wire/pmi_standard.hpp"
#include "tree/wire/process_set.hpp"
#include "tree/wire/programs.hpp"

namespace charmtree::proto {

/// What processes ask of their job.
struct PmiJob {
  std::string kvs_name;  // no other job on one of these hosts has it
  std::string mapping;   // wire::process_mapping
  std::uint32_t universe = 0;
  std::vector<std::uint32_t> programs = {0};              // the first process of each
  std::size_t most_value = wire::MpiService::kMostValue;  // of version 1
};

/// A world, as its processes on this host know it.
struct PmiWorld {
  wire::World who;
  std::string kvs_name, mapping;
  std::vector<std::uint32_t> programs;  // the first process of each
  std::string parent = {};              // the kvs_name of those who had it started
  PmiValues values = {};
  std::uint32_t here = 0;             // of a spawned one: its processes of this host
  std::set<std::uint32_t> gone = {};  // those of them that have had a connection, and have none
  PmiBarriers barriers = {};
  std::uint64_t requests = 0;  // since the last fence
};

class PmiServer : public MpiServer {
public:
  PmiServer(LocalProcesses local, PmiJob job);

  void made_for(ClientId client, std::uint32_t process) override;
  void opened(ClientId client, Instant now, ClientOutputs& out) override;
  void received(ClientId client, std::string_view bytes, Instant now, ClientOutputs& out) override;
  void closed(ClientId client, Instant now, ClientOutputs& out) override;
  void tick(Instant now, ClientOutputs& out) override;
  Instant next_deadline() const override;

  void fenced(const FenceDone& fence, ClientOutputs& out) override;
  void answered(const wire::Answered& answer, ClientOutputs& out) override;
  void topology(const std::string& file, const wire::Blob& xml, ClientOutputs& out) override;
  void begun(const wire::WorldBegun& world, ClientOutputs& out) override;
  void lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) override;
  void join(std::uint32_t process) override { local_.joined.add(process); }
  void vacate(std::uint32_t process, std::uint32_t restarts, bool is_awaited, ClientOutputs& out) override;
  void reshape(const LocalProcesses& local, const std::vector<std::uint32_t>&) override { local_ = local; }

  /// Of version 2, values are of kMostValue2 at most: its clients are not told, and have it compiled in.
  static constexpr std::size_t kMostName = wire::kMostPmiName, kMostKey = wire::kMostPmiKey,
                               kMostValue = wire::MpiService::kMostValue, kMostValue2 = wire::kMostPmiValue;
  /// Of one request.
  static constexpr std::size_t kMostRequest = 1U << 20;

private:
  enum class Stage : std::uint8_t {
    silent,  // no init yet
    joined,
    asks,     // for a name, or for further processes
    awaits,   // an attribute of this host, or its topology
    ended,    // finalize: nothing is awaited any more, and init begins anew
    aborted,  // whatever comes is ignored
  };
  struct Client {
    std::uint32_t process = 0;
    Stage stage = Stage::silent;
    PmiVersion version = PmiVersion::one;
    const PmiCommand* asked = nullptr;  // what is answered next
    std::string thread;                 // of the process, that has asked it
    std::string buffer;                 // the beginning of a request
    std::optional<PmiSpawn> spawn;      // that is being told
    std::string given;                  // that not all know yet
    std::size_t in_fence = 0;           // so many bytes of it are on their way to all
    std::string awaited;                // its key
  };
  using Clients = std::map<ClientId, Client>;
  struct Asker {
    ClientId client = 0;
    std::uint32_t processes = 0;  // that it wants to have started
  };

  // Those that return a text: empty, or what is wrong with the request: the connection is then dropped.
  std::string on(Clients::value_type& client, std::string_view text, Instant now, ClientOutputs& out);
  void introduce(ClientId client, const PmiStrangers::Named& named, Instant now, ClientOutputs& out);
  std::string do_deed(Clients::value_type& client, const PmiWords& words, Instant now, ClientOutputs& out);
  std::string agree(Clients::value_type& client, const PmiWords& words, ClientOutputs& out);
  std::string join_job(Clients::value_type& client, ClientOutputs& out);
  std::string put(Clients::value_type& client, const PmiWords& words, ClientOutputs& out);
  std::string ring(Clients::value_type& client, const PmiWords& words, ClientOutputs& out);
  std::string give(Client& client, std::string_view key, std::string_view value);
  std::string put_attribute(Clients::value_type& client, const PmiWords& words, ClientOutputs& out);
  void tell_awaited(std::string_view key, const std::string& value, const wire::World& who,
                    std::uint32_t program, ClientOutputs& out);
  bool awaits_topology(Clients::value_type& client, const PmiWords& words, ClientOutputs& out);
  void get_attribute(Clients::value_type& client, const PmiWords& words, ClientOutputs& out);
  std::optional<std::string> find(std::uint32_t process, std::string_view key);
  std::optional<std::string> attribute_of_job(std::uint32_t process, std::string_view key);
  std::uint32_t programs_of(std::uint32_t process) const;
  void tell(Clients::value_type& client, const PmiWords& words, ClientOutputs& out);
  std::string ask_for_name(Clients::value_type& client, const PmiWords& words, Instant now,
                           ClientOutputs& out);
  PmiWorld& world_of(std::uint32_t process);
  std::string enter(Clients::value_type& client, std::string_view group, ClientOutputs& out);
  void settle(PmiWorld& world, ClientOutputs& out);
  void begin(const PmiBarriers::Step& step, PmiWorld& world, ClientOutputs& out);
  void finish_barrier(const PmiBarriers::Step& step, PmiWorld& world, ClientOutputs& out);
  std::string part_of_spawn(Clients::value_type& client, std::string_view text, Instant now,
                            ClientOutputs& out);
  void spawned(const Clients::value_type& client, const Asker& asker, std::string_view first,
               ClientOutputs& out) const;
  void drop(Clients::iterator client, const std::string& why, ClientOutputs& out);
  void forget(Clients::iterator client, const std::string& why, bool is_cause, ClientOutputs& out);
  static void answer(const Clients::value_type& client, int rc, const PmiFields& fields, ClientOutputs& out);
  static void refuse(const Clients::value_type& client, std::string_view why, ClientOutputs& out);
  void answer_value(const Clients::value_type& client, const std::optional<std::string>& value,
                    ClientOutputs& out) const;
  std::size_t most_value(PmiVersion version) const;

  LocalProcesses local_;
  std::uint32_t universe_;
  std::size_t most_value_;
  std::vector<PmiWorld> worlds_;  // with processes on this host, or the job's own; their processes rise
  std::vector<std::uint32_t> firsts_ = {0};  // the first process of each world of the job
  Clients clients_;
  PmiStrangers strangers_;
  std::set<std::uint32_t> connected_;                // have a connection, or had one and did not say finalize
  std::map<std::uint32_t, std::uint32_t> finished_;  // MPI programs, by the process that has finished some
  wire::ProcessSet lost_;                            // of the job
  bool asks_topology_ = false;
  std::optional<std::string> topology_;  // the file
  OpenInquiries<Asker> inquiries_;
};

}  // namespace charmtree::proto
