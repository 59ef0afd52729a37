// SPDX-License-Identifier: Apache-2.0
#include "tree/job/environment.hpp"

#include <catch2/catch.hpp>

namespace charmtree::environment_test {

using namespace charmtree::proto;

TEST_CASE("what launchers set for their own processes is never passed on", "[environment]") {
  const Environment kept = {
      "PATH=/bin",           "CmiFoo=1",          "PMIFOO=1",          "MPI_HOME=/opt/mpi", "NETSTARTER=1",
      "OMPI_MCA_btl=tcp",    "PMIX_MCA_gds=hash", "HYDRA_HOST_FILE=h", "SLURM_JOB_ID=7",    "MV2_IBA_HCA=x",
      "SLURM_JOB_NODELIST=n"};
  Environment all = kept;
  for (const char* name : {"NETSTART",
                           "NETMAGIC",
                           "CmiMyNode",
                           "CmiNumNodes",
                           "CmiMyNodeSize",
                           "CmiMyForks",
                           "CmiProcessPerHost",
                           "CmiProcessPerSocket",
                           "CmiOneWthPerCore",
                           "CmiIpcPoolSize",
                           "CmiIpcCutoff",
                           "CmiLocal",
                           "PMI_RANK",
                           "PMI_FD",
                           "PMIX_NAMESPACE",
                           "OMPI_COMM_WORLD_RANK",
                           "MPIRUN_RANK",
                           "MP_CHILD",
                           "SLURM_PROCID",
                           "HYDI_CONTROL_FD",
                           "PMI_PORT",
                           "PMIX_RANK",
                           "OMPI_UNIVERSE_SIZE",
                           "OMPI_MCA_orte_ess_node_rank",
                           "MPI_LOCALNRANKS",
                           "MPI_LOCALRANKID",
                           "SLURM_PMIX_MAPPING_SERV",
                           "SLURM_STEP_ID",
                           "SLURM_STEPID",
                           "SLURM_SRUN_COMM_HOST",
                           "MV2_COMM_WORLD_RANK",
                           "PALS_RANKID",
                           "FLUX_TASK_RANK",
                           "JSM_NAMESPACE_RANK",
                           "CHARMTREE_SOCKET",
                           "CHARMTREE_PROCESS",
                           "CHARMTREE_PROCESSES",
                           "CHARMTREE_LOCAL_PROCESS",
                           "CHARMTREE_HOST"})
    all.push_back(std::string{name} + "=stale");
  CHECK(without_launcher_variables(all) == kept);
  const Environment ours(all.begin() + static_cast<std::ptrdiff_t>(kept.size()), all.end());
  CHECK(launcher_variables(all) == ours);
}

TEST_CASE("what belongs to a host or a login session stays there", "[environment]") {
  const Environment kept = {"PATH=/bin", "DISPLAY=:0", "HOMEBREW=1", "LANG=C", "KRB5_CONFIG=x"};
  Environment all = kept;
  for (const char* name :
       {"HOME", "USER", "LOGNAME", "SHELL", "MAIL", "PWD", "OLDPWD", "SHLVL", "HOSTNAME", "TMPDIR",
        "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "SSH_CONNECTION", "DBUS_SESSION_BUS_ADDRESS", "KRB5CCNAME"})
    all.push_back(std::string{name} + "=here");
  CHECK(forwardable(all) == kept);
}

TEST_CASE("the later source wins, in place; values are bytes", "[environment]") {
  Environment base = {"A=1", "B=2", "NOVALUE"};
  const std::string odd{"C=x=y\nz \xff\xfe", 11};
  overlay(base, {"B=3", odd, "A=", "B=4"});
  CHECK(base == Environment{"A=", "B=4", "NOVALUE", odd});
  CHECK(value_of(base, "C") == odd.substr(2));
  CHECK(value_of(base, "A").empty());
  CHECK(value_of(base, "NOVALUE").empty());
  CHECK(value_of(base, "MISSING").empty());
}

TEST_CASE("what a user sets is a name and a value, and no launcher's own variable", "[environment]") {
  CHECK(why_not_settable("A=").empty());
  CHECK(why_not_settable("OMPI_MCA_btl=tcp").empty());
  CHECK(why_not_settable("A") == "NAME=VALUE");
  CHECK(why_not_settable("=x") == "NAME=VALUE");
  CHECK_FALSE(why_not_settable("NETSTART=0 127.0.0.1 1 1 0").empty());
  CHECK_FALSE(why_not_settable("CmiProcessPerCore=1").empty());
}

}  // namespace charmtree::environment_test
