// SPDX-License-Identifier: Apache-2.0
// Sources: the variables that Charm++'s charmrun sets and its clients read (getenv in its machine layers);
// those that hydra, mpirun and srun set for their ranks; those that sshd, PAM and the desktop set for a
// login.
#include "tree/job/environment.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace charmtree::proto {

using namespace std::string_view_literals;

namespace {

// docs/manual/environment.md lists the same.
constexpr std::array kLauncherNames = {
    // this launcher and Charm++'s
    "NETSTART"sv, "NETMAGIC"sv, "CmiMyNode"sv, "CmiNumNodes"sv, "CmiMyNodeSize"sv, "CmiMyForks"sv,
    "CmiLocal"sv, "CmiIpcPoolSize"sv, "CmiIpcCutoff"sv, "CHARMTREE_JOB"sv, "CHARMTREE_PROCESS"sv,
    "CHARMTREE_SOCKET"sv, "CHARMTREE_RESTARTS"sv, "CHARMTREE_STAGED"sv, "CHARMTREE_PROCESSES"sv,
    "CHARMTREE_LOCAL_PROCESS"sv, "CHARMTREE_HOST"sv,
    // hydra and its kin, mpirun_rsh, POE
    "HYDI_CONTROL_FD"sv, "MPIRUN_RANK"sv, "MPIRUN_NPROCS"sv, "MPIRUN_ID"sv, "MP_CHILD"sv, "MP_PROCS"sv,
    // Open MPI
    "OMPI_UNIVERSE_SIZE"sv, "OMPI_APP_CTX_NUM_PROCS"sv, "OMPI_FIRST_RANKS"sv, "OMPI_NUM_APP_CTX"sv,
    "OMPI_FILE_LOCATION"sv, "OMPI_ARGV"sv, "OMPI_COMMAND"sv, "PRTE_LAUNCHED"sv,
    // srun: of the step and the task; what Slurm says of the job goes along
    "SLURM_PROCID"sv, "SLURM_LOCALID"sv, "SLURM_NODEID"sv, "SLURM_TASK_PID"sv, "SLURM_GTIDS"sv,
    "SLURM_STEPID"sv, "SLURM_LAUNCH_NODE_IPADDR"sv, "SLURM_MPI_TYPE"sv,
    // Cray
    "PALS_RANKID"sv, "PALS_NODEID"sv, "PALS_LOCAL_RANKID"sv, "ALPS_APP_PE"sv};
constexpr std::array kLauncherPrefixes = {"CmiProcessPer"sv,   "CmiOneWthPer"sv,     "PMI_"sv,
                                          "PMIX_"sv,           "MPI_LOCAL"sv,        "MPISPAWN_"sv,
                                          "MV2_COMM_WORLD_"sv, "OMPI_COMM_WORLD_"sv, "OMPI_MCA_ess"sv,
                                          "OMPI_MCA_orte_"sv,  "OMPI_MCA_schizo"sv,  "SLURM_STEP_"sv,
                                          "SLURM_SRUN_"sv,     "SLURM_PMI"sv,        "FLUX_TASK_"sv,
                                          "JSM_NAMESPACE_"sv};
constexpr std::string_view kUsersPmix = "PMIX_MCA_";  // settings of the user's, as OMPI_MCA_ and HYDRA_ are

constexpr std::array<std::string_view, 11> kHostNames = {
    "HOME", "USER", "LOGNAME", "SHELL", "MAIL", "PWD", "OLDPWD", "SHLVL", "HOSTNAME", "TMPDIR", "_"};
constexpr std::array<std::string_view, 4> kHostPrefixes = {"XDG_", "SSH_", "DBUS_", "KRB5CCNAME"};

std::string_view name_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

template <class Names, class Prefixes>
bool is_one_of(std::string_view name, const Names& names, const Prefixes& prefixes) {
  return std::find(names.begin(), names.end(), name) != names.end() ||
         std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
}

bool is_launcher_variable(std::string_view entry) {
  const std::string_view name = name_of(entry);
  return is_one_of(name, kLauncherNames, kLauncherPrefixes) && !name.starts_with(kUsersPmix);
}

template <class Unwanted>
Environment without(Environment environment, Unwanted unwanted) {
  std::erase_if(environment, unwanted);
  return environment;
}

}  // namespace

Environment without_launcher_variables(const Environment& environment) {
  return without(environment, is_launcher_variable);
}

Environment launcher_variables(const Environment& environment) {
  return without(environment, std::not_fn(is_launcher_variable));
}

Environment forwardable(const Environment& environment) {
  return without(environment, [](const std::string& entry) {
    return is_one_of(name_of(entry), kHostNames, kHostPrefixes);
  });
}

Environment without_loader_variables(const Environment& environment) {
  return without(environment, [](const std::string& entry) {
    return std::find(kLoaderNames.begin(), kLoaderNames.end(), name_of(entry)) != kLoaderNames.end();
  });
}

void overlay(Environment& base, const Environment& later) {
  std::map<std::string, std::size_t, std::less<>> index;
  for (std::size_t i = 0; i < base.size(); ++i) index.emplace(name_of(base[i]), i);
  for (const std::string& entry : later) {
    const auto [it, fresh] = index.emplace(name_of(entry), base.size());
    if (fresh)
      base.push_back(entry);
    else
      base[it->second] = entry;
  }
}

std::string_view why_not_settable(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos || equals == 0) return "NAME=VALUE";
  return is_launcher_variable(entry) ? "a variable that no launcher sets for its own processes" : "";
}

std::string_view value_of(const Environment& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (name_of(entry) == name)
      return std::string_view{entry}.substr(std::min(entry.size(), name.size() + 1));
  }
  return {};
}

}  // namespace charmtree::proto
