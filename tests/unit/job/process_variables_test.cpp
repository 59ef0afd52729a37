// SPDX-License-Identifier: Apache-2.0
#include "tree/job/process_variables.hpp"

#include <catch2/catch.hpp>

namespace charmtree::process_variables_test {

using namespace charmtree::proto;
using wire::EnvLike;

TEST_CASE("a process finds its place by our names, and by those of one other launcher", "[environment]") {
  const ProcessPlace place{{0, 8}, 5, 1, 4};
  const Environment ours = {"CHARMTREE_PROCESSES=8", "CHARMTREE_LOCAL_PROCESS=1"};
  CHECK(place_variables(EnvLike::none, place, 3) == ours);
  const auto besides = [&](EnvLike like) {
    const Environment all = place_variables(like, place, 3);
    CHECK(std::equal(ours.begin(), ours.end(), all.begin()));
    return Environment(all.begin() + 2, all.end());
  };
  CHECK(besides(EnvLike::openmpi) ==
        Environment{"OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1",
                    "OMPI_COMM_WORLD_NODE_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=4"});
  CHECK(besides(EnvLike::mpich) ==
        Environment{"PMI_RANK=5", "PMI_SIZE=8", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=4"});
  CHECK(besides(EnvLike::slurm) == Environment{"SLURM_PROCID=5", "SLURM_NTASKS=8", "SLURM_NPROCS=8",
                                               "SLURM_LOCALID=1", "SLURM_NODEID=3"});
}

TEST_CASE("the ranks of processes that others have started are those of their own world", "[environment]") {
  const Environment all = place_variables(EnvLike::mpich, {{8, 2}, 9, 1, 2}, 0);
  CHECK(value_of(all, "PMI_RANK") == "1");
  CHECK(value_of(all, "CHARMTREE_PROCESSES") == "2");
}

TEST_CASE("only what is known is expanded in an argument", "[environment]") {
  CHECK(expanded("in.%r", 7, "n1") == "in.7");
  CHECK(expanded("%h:%r%r", 7, "n1") == "n1:77");
  CHECK(expanded("50%% %d %", 7, "n1") == "50% %d %");
  CHECK(expanded("%%r", 7, "n1") == "%r");
  CHECK(expanded("", 7, "n1").empty());
}

TEST_CASE("processes find the job's files, and its libraries before others", "[job]") {
  wire::StagedFiles staged;
  staged.files = {{"files/a", "", 1, "", false}};
  CHECK(staged_variables(staged, "/cache/job", {"LD_LIBRARY_PATH=/own"}) ==
        Environment{"CHARMTREE_STAGED=/cache/job/files"});
  staged.files.push_back({"lib/libx.so", "", 1, "", false});
  CHECK(staged_variables(staged, "/cache/job", {"A=b"}) ==
        Environment{"CHARMTREE_STAGED=/cache/job/files", "LD_LIBRARY_PATH=/cache/job/lib"});
  CHECK(staged_variables(staged, "/cache/job", {"LD_LIBRARY_PATH=/own:/other"}).back() ==
        "LD_LIBRARY_PATH=/cache/job/lib:/own:/other");
  CHECK(staged_variables(staged, "/cache/job", {"LD_LIBRARY_PATH="}).back() ==
        "LD_LIBRARY_PATH=/cache/job/lib");
}

}  // namespace charmtree::process_variables_test
