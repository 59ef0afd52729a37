// SPDX-License-Identifier: Apache-2.0
// The only place that knows which protocols there are.
#include <fmt/format.h>

#include "tree/base/type_functions.hpp"
#include "tree/clients/charm_server.hpp"
#include "tree/clients/client_server.hpp"
#include "tree/clients/native_server.hpp"
#include "tree/clients/pmi/pmi_server.hpp"
#include "tree/clients/pmix/pmix_server.hpp"
#include "tree/wire/pmi_standard.hpp"

namespace charmtree::proto {

namespace {

CharmLimits charm_limits(const wire::JobSpec& job) {
  CharmLimits limits;
  limits.resizes = job.resizes;
  limits.restarts = is_by_program(job.loss.recovery);
  limits.silence = job.silence.after;
  return limits;
}

}  // namespace

std::array<std::unique_ptr<ClientServer>, kClientKinds> make_client_servers(const wire::JobSpec& job,
                                                                            const LocalProcesses& local,
                                                                            std::uint32_t host) {
  std::array<std::unique_ptr<ClientServer>, kClientKinds> servers;
  const auto at = [&](ClientKind kind) -> auto& {
    return servers.at(static_cast<std::size_t>(kind));
  };
  at(ClientKind::charm) = std::make_unique<CharmServer>(local, charm_limits(job));
  at(ClientKind::pmi) = std::make_unique<PmiServer>(
      local, PmiJob{fmt::format("kvs_{}_{}", job.id, job.loss.restarts),
                    wire::process_mapping(job.spawn.mpi.layout), job.spawn.mpi.universe_of(job.processes),
                    wire::first_processes(job.spawn.further), job.spawn.mpi.most_value});
  at(ClientKind::pmix) = std::make_unique<PmixServer>(local, job, host);
  at(ClientKind::native) = std::make_unique<NativeServer>(
      local, host, 0, NativeJob{wire::bears_fences(job.loss.recovery), job.hosts, job.spawn.mpi.layout});
  return servers;
}

}  // namespace charmtree::proto

template struct charmtree::FunctionsOf<charmtree::proto::AnyClientOutput>;
