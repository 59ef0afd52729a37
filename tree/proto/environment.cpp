// SPDX-License-Identifier: Apache-2.0
// Sources: the variables that Charm++'s charmrun sets and its clients read (getenv in its machine layers);
// those that hydra, mpirun and srun set for their ranks; those that sshd, PAM and the desktop set for a
// login.
#include "tree/proto/environment.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace charmtree::proto {

namespace {

constexpr std::array<std::string_view, 19> kLauncherNames = {
    "NETSTART",          "NETMAGIC",         "CmiMyNode",       "CmiNumNodes",  "CmiMyNodeSize",
    "CmiMyForks",        "CmiLocal",         "CmiIpcPoolSize",  "CmiIpcCutoff", "CHARMTREE_JOB",
    "CHARMTREE_PROCESS", "CHARMTREE_SOCKET", "HYDI_CONTROL_FD", "MPIRUN_RANK",  "MPIRUN_NPROCS",
    "MP_CHILD",          "MP_PROCS",         "SLURM_PROCID",    "SLURM_LOCALID"};
constexpr std::array<std::string_view, 6> kLauncherPrefixes = {
    "CmiProcessPer", "CmiOneWthPer", "PMI_", "PMIX_", "OMPI_COMM_WORLD_", "MPI_LOCAL"};

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

bool is_launcher_variable(const std::string& entry) {
  return is_one_of(name_of(entry), kLauncherNames, kLauncherPrefixes);
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

std::string_view value_of(const Environment& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (name_of(entry) == name)
      return std::string_view{entry}.substr(std::min(entry.size(), name.size() + 1));
  }
  return {};
}

}  // namespace charmtree::proto
