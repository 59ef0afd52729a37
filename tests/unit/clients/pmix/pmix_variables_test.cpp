// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmix/pmix_variables.hpp"

#include <catch2/catch.hpp>

namespace charmtree::pmix_variables_test {

using namespace charmtree::proto;

TEST_CASE("the address of a server is found again in its variables", "[pmix]") {
  wire::JobSpec job;
  job.spawn.mpi.name_space = "unguessed";
  const auto variables = pmix_server_address(job, 40123);
  CHECK(variables.front() == "PMIX_SERVER_URI41=charmtree-unguessed-server.0;tcp4://127.0.0.1:40123");
  CHECK(pmix_server_port(variables) == 40123);
  CHECK(pmix_server_port({"A=b:1", "PMIX_SERVER_URI2=ns.0;tcp4://127.0.0.1:7"}) == 7);
  for (const char* wrong : {"PMIX_SERVER_URI2=ns.0", "PMIX_SERVER_URI2=a:", "PMIX_SERVER_URI2=a:70000",
                            "PMIX_SERVER_URI2=a:1b", "A=b:1"})
    CHECK(pmix_server_port({wrong}) == 0);
}

TEST_CASE("a spawned process is in a namespace of its own, and each run in another one", "[pmix]") {
  wire::JobSpec job;
  job.spawn.mpi.name_space = "unguessed";
  job.loss.restarts = 2;
  const auto variables = offered_pmix_variables(job, {6, 3}, 7, 5);
  CHECK(variables[0] == "PMIX_NAMESPACE=charmtree-unguessed-2-6");
  CHECK(variables[1] == "PMIX_RANK=1");
  CHECK(pmix_namespace(job, 0) == "charmtree-unguessed-2");
  CHECK(pmix_node_name(5) == "host5");
}

}  // namespace charmtree::pmix_variables_test
