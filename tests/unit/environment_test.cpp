// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/environment.hpp"

#include <catch2/catch.hpp>

using namespace charmtree::proto;

TEST_CASE("what launchers set for their own processes is never passed on", "[environment]") {
  const Environment kept = {"PATH=/bin", "CmiFoo=1", "PMIFOO=1", "MPI_HOME=/opt/mpi", "NETSTARTER=1"};
  Environment all = kept;
  for (const char* name :
       {"NETSTART",         "NETMAGIC",         "CmiMyNode",         "CmiNumNodes",
        "CmiMyNodeSize",    "CmiMyForks",       "CmiProcessPerHost", "CmiProcessPerSocket",
        "CmiOneWthPerCore", "CmiIpcPoolSize",   "CmiIpcCutoff",      "CmiLocal",
        "PMI_RANK",         "PMI_FD",           "PMIX_NAMESPACE",    "OMPI_COMM_WORLD_RANK",
        "MPIRUN_RANK",      "MP_CHILD",         "SLURM_PROCID",      "HYDI_CONTROL_FD",
        "CHARMTREE_SOCKET", "CHARMTREE_PROCESS"})
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
