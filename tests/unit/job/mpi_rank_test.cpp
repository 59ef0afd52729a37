// SPDX-License-Identifier: Apache-2.0
#include "tree/job/mpi_rank.hpp"

#include <catch2/catch.hpp>

namespace charmtree::mpi_rank_test {

using namespace charmtree::proto;

TEST_CASE("every kind of mpiexec says rank and size in its own variables", "[mpi]") {
  const std::pair<Environment, MpiRank> cases[] = {
      {{"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8"}, {3, 8}},
      {{"MPIRUN_RANK=0", "MPIRUN_NPROCS=2"}, {0, 2}},
      {{"PMI_RANK=7", "PMI_SIZE=8", "PMI_FD=9"}, {7, 8}},
      {{"PMI_ID=1", "PMI_SIZE=2"}, {1, 2}},
      {{"PMIX_RANK=4"}, {4, 0}},
      {{"MP_CHILD=5", "MP_PROCS=6"}, {5, 6}},
      {{"SLURM_PROCID=2", "SLURM_NTASKS=4"}, {2, 4}},
      {{"SLURM_PROCID=0", "SLURM_NTASKS=4", "FLUX_TASK_RANK=5", "FLUX_JOB_SIZE=6"}, {5, 6}},
      {{"SLURM_PROCID=2", "SLURM_NTASKS=", "SLURM_NPROCS=5"}, {2, 5}},
  };
  for (const auto& [environment, expected] : cases) {
    CAPTURE(environment[0]);
    const auto rank = mpi_rank(environment);
    REQUIRE(rank.ok());
    CHECK(*rank == expected);
  }
}

TEST_CASE("the first rank that is not empty counts, with a size of those that agree with it", "[mpi]") {
  const Environment in_an_allocation = {"SLURM_PROCID=0", "SLURM_NTASKS=64", "PMI_RANK=3", "PMI_SIZE=4"};
  CHECK(*mpi_rank(in_an_allocation) == MpiRank{3, 4});
  const Environment pmix_of_srun = {"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=3", "SLURM_PROCID=3",
                                    "SLURM_NTASKS=4"};
  CHECK(*mpi_rank(pmix_of_srun) == MpiRank{3, 4});
  const Environment pmix_in_a_batch_job = {"PMIX_RANK=3", "SLURM_PROCID=0", "SLURM_NTASKS=64"};
  CHECK(*mpi_rank(pmix_in_a_batch_job) == MpiRank{3, 0});
}

TEST_CASE("without a rank there is an error that says where it was looked for", "[mpi]") {
  const auto none = mpi_rank({"PATH=/bin", "PMI_SIZE=4"});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().what.find("PMI_RANK") != std::string::npos);
  for (const char* wrong : {"-1", "1x", "x", "4294967296"}) {
    const auto rank = mpi_rank({std::string{"PMI_RANK="} + wrong, "PMI_SIZE=4"});
    REQUIRE_FALSE(rank.ok());
    CHECK(rank.error().what == std::string{"PMI_RANK is '"} + wrong + "', which is no number");
  }
  CHECK_FALSE(mpi_rank({"PMI_RANK=0", "PMI_SIZE=0"}).ok());
}

}  // namespace charmtree::mpi_rank_test
