// SPDX-License-Identifier: Apache-2.0
// Sources: MPICH's page on Hydra and its source, Intel's reference of mpiexec.hydra, the parameters that
// `ompi_info` and `prte_info` list, and what Slurm and the MPI Operator of Kubernetes set for jobs.
#include "charmrun/mpiexec/settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "charmrun/cli/option_table.hpp"

namespace charmtree::mpiexec {

namespace {

using SettingDeed = Setting::Deed;
constexpr std::string_view kKey = "mca:";

constexpr std::string_view kSignals = "a job that ends gets SIGTERM, and SIGKILL after ++grace";
constexpr std::string_view kManager = "++rm says whose allocation counts";
constexpr std::string_view kPlaces = "ranks that follow each other are on one host";

// The first row that fits counts. docs/manual/mpi.md describes them.
constexpr std::array kSettings = {
    // MPICH's Hydra and Intel's
    Setting{"HYDRA_HOST_FILE I_MPI_HYDRA_HOST_FILE", SettingDeed::word, "f"},
    Setting{"I_MPI_HYDRA_HOSTS HYDRA_HOSTS", SettingDeed::word, "hosts"},
    Setting{"MPIEXEC_TIMEOUT I_MPI_HYDRA_JOB_TIMEOUT I_MPI_JOB_TIMEOUT", SettingDeed::word, "timeout"},
    Setting{"I_MPI_JOB_STARTUP_TIMEOUT", SettingDeed::word, "++timeout"},
    Setting{"HYDRA_LAUNCHER HYDRA_BOOTSTRAP I_MPI_HYDRA_BOOTSTRAP", SettingDeed::word, "launcher"},
    Setting{"HYDRA_LAUNCHER_EXEC HYDRA_BOOTSTRAP_EXEC I_MPI_HYDRA_BOOTSTRAP_EXEC", SettingDeed::agent},
    Setting{"HYDRA_LAUNCHER_EXTRA_ARGS HYDRA_LAUNCH_EXTRA_ARGS HYDRA_BOOTSTRAP_EXTRA_ARGS "
            "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
            SettingDeed::arguments},
    Setting{"HYDRA_RMK HYDRA_DEFAULT_RMK I_MPI_HYDRA_RMK", SettingDeed::word, "rmk"},
    Setting{"HYDRA_BINDING", SettingDeed::word, "bind-to"},
    Setting{"HYDRA_MAPPING", SettingDeed::word, "map-by"},
    Setting{"HYDRA_IFACE I_MPI_HYDRA_IFACE", SettingDeed::word, "iface"},
    Setting{"I_MPI_PERHOST", SettingDeed::word, "ppn"},
    Setting{"I_MPI_HYDRA_BRANCH_COUNT", SettingDeed::word, "++branching"},
    Setting{"HYDRA_DEBUG I_MPI_HYDRA_DEBUG", SettingDeed::flag, "verbose"},
    Setting{"HYDRA_PMI_PORT", SettingDeed::flag, "pmi-port"},
    Setting{"HYDRA_ENV I_MPI_HYDRA_ENV HYDRA_PROXY_RETRY_COUNT HYDRA_DEMUX HYDRA_TOPOLIB HYDRA_BSTRAP_* "
            "I_MPI_HYDRA_TOPOLIB I_MPI_HYDRA_COLLECTIVE_LAUNCH I_MPI_HYDRA_PMI_CONNECT I_MPI_HYDRA_CLEANUP "
            "I_MPI_HYDRA_SERVICE_PORT I_MPI_HYDRA_UUID I_MPI_HYDRA_BSTRAP_* "
            "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT",
            SettingDeed::harmless},
    Setting{"MPIEXEC_PORT_RANGE MPIEXEC_PORTRANGE", SettingDeed::harmless},  // the library reads it, too
    Setting{"MPIEXEC_TIMEOUT_SIGNAL I_MPI_JOB_TIMEOUT_SIGNAL I_MPI_JOB_ABORT_SIGNAL "
            "I_MPI_JOB_SIGNAL_PROPAGATION",
            SettingDeed::unused, kSignals},
    Setting{"HYDRA_CKPOINT*", SettingDeed::unused, "there are no checkpoints here"},
    Setting{"HYDRA_FULL_ERROR MPIEXEC_EXECUTABLE MPIEXEC_NUMPROC_FLAG MPIEXEC_MAX_NUMPROCS "
            "MPIEXEC_PREFLAGS MPIEXEC_POSTFLAGS",
            SettingDeed::harmless},  // of others by the same name: a library for Python, and CMake
    Setting{"HYDRA_* I_MPI_HYDRA_* I_MPI_JOB_* MPIEXEC_*", SettingDeed::unused},
    // Open MPI's: by --mca, and as OMPI_MCA_ and PRTE_MCA_ in the environment
    Setting{"mca:plm_rsh_agent mca:plm_ssh_agent mca:orte_rsh_agent mca:pls_rsh_agent", SettingDeed::agent},
    Setting{"mca:plm_rsh_args mca:plm_ssh_args", SettingDeed::arguments},
    Setting{"mca:plm_rsh_num_concurrent mca:plm_ssh_num_concurrent", SettingDeed::word, "++batch"},
    Setting{"mca:orte_default_hostfile mca:prte_default_hostfile", SettingDeed::word, "f"},
    Setting{"mca:rmaps_base_mapping_policy mca:rmaps_default_mapping_policy", SettingDeed::word, "map-by"},
    Setting{"mca:rmaps_ppr_n_pernode", SettingDeed::word, "ppn"},
    Setting{"mca:hwloc_base_binding_policy mca:hwloc_default_binding_policy", SettingDeed::word, "bind-to"},
    Setting{"mca:hwloc_base_report_bindings mca:orte_report_bindings", SettingDeed::flag, "report-bindings"},
    Setting{"mca:orte_tag_output", SettingDeed::flag, "tag-output"},
    Setting{"mca:orte_timestamp_output", SettingDeed::flag, "timestamp-output"},
    Setting{"mca:orte_output_filename", SettingDeed::word, "output-filename"},
    Setting{"mca:orte_abort_on_non_zero_status", SettingDeed::unflag, "continuous"},
    Setting{"mca:mca_base_env_list", SettingDeed::exported},
    Setting{"mca:orte_*_verbose mca:prte_*_verbose mca:plm_*_verbose mca:ras_*_verbose "
            "mca:rmaps_*_verbose mca:odls_*_verbose mca:orte_base_help_aggregate "
            "mca:prte_base_help_aggregate mca:orte_keep_fqdn_hostnames mca:prte_keep_fqdn_hostnames "
            "mca:orte_*tmpdir_base mca:prte_*tmpdir_base mca:orte_no_session_dirs "
            "mca:orte_create_session_dirs mca:orte_hetero_nodes mca:orte_hetero_apps "
            "mca:prte_hetero_nodes mca:orte_retain_aliases mca:orte_strip_prefix "
            "mca:orte_leave_session_attached mca:orte_debug* mca:prte_debug* mca:orte_allow_run_as_root "
            "mca:orte_forward_job_control mca:rmaps_base_oversubscribe mca:orte_startup_timeout",
            SettingDeed::harmless},
    // how its launcher does what ours does otherwise: no connections of its own, no session folders
    Setting{"mca:plm mca:rmaps mca:oob mca:oob_* mca:rml mca:rml_* mca:routed mca:routed_* mca:grpcomm "
            "mca:grpcomm_* mca:state mca:state_* mca:errmgr mca:errmgr_* mca:ess mca:ess_* mca:odls "
            "mca:filem mca:filem_* mca:iof mca:iof_* mca:schizo mca:schizo_* mca:dfs mca:rtc "
            "mca:plm_slurm_* mca:plm_rsh_delay mca:plm_rsh_no_tree_spawn mca:plm_ssh_no_tree_spawn "
            "mca:plm_rsh_assume_same_shell mca:plm_rsh_pass_environ mca:plm_rsh_disable_qrsh "
            "mca:plm_rsh_disable_llspawn",
            SettingDeed::harmless},
    // what Open MPI's launcher sets for its own processes
    Setting{"mca:orte_hnp_uri mca:orte_ess_* mca:orte_app_num mca:orte_local_daemon_uri mca:orte_launch "
            "mca:orte_num_nodes mca:orte_num_restarts mca:orte_precondition_transports "
            "mca:orte_bound_at_launch mca:orte_top_session_dir mca:orte_jobfam_session_dir "
            "mca:orte_daemonize mca:orte_parent_uri mca:prte_hnp_uri mca:prte_ess_*",
            SettingDeed::harmless},
    Setting{"mca:ras mca:ras_*", SettingDeed::unused, kManager},
    Setting{"mca:rmaps_rank_file* mca:orte_rankfile mca:rmaps_*", SettingDeed::unused, kPlaces},
    Setting{"mca:orte_xterm mca:prte_xterm", SettingDeed::unused, "++in-xterm opens windows"},
    Setting{"mca:orte_fork_agent mca:prte_fork_agent", SettingDeed::unused,
            "++runscript names a program that starts each process"},
    Setting{"mca:orte_* mca:prte_* mca:plm_* mca:odls_*", SettingDeed::unused},
};
constexpr Setting kOfItsLauncherAlone{"",
                                      SettingDeed::unused};  // PRRTE has no library that reads its parameters

bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  if (const auto star = pattern.find('*'); star != std::string_view::npos)
    return name.starts_with(pattern.substr(0, star)) && name.ends_with(pattern.substr(star + 1));
  return pattern == name;
}

const Setting* find_row(std::string_view name) {
  const auto* row = std::find_if(kSettings.begin(), kSettings.end(), [&](const Setting& each) {
    for (std::string_view names = each.names; !names.empty();) {
      const std::string_view first = names.substr(0, names.find(' '));
      if (fits(first, name)) return true;
      names.remove_prefix(std::min(names.size(), first.size() + 1));
    }
    return false;
  });
  return row == kSettings.end() ? nullptr : row;
}

}  // namespace

const Setting* find_key(std::string_view key) {
  return find_row(std::string{kKey} + std::string{key});
}

const Setting* find_setting(std::string_view variable) {
  constexpr std::string_view kOpenMpi = "OMPI_MCA_", kPrrte = "PRTE_MCA_";
  if (variable.starts_with(kOpenMpi)) return find_key(variable.substr(kOpenMpi.size()));
  if (!variable.starts_with(kPrrte)) return find_row(variable);
  const Setting* row = find_key(variable.substr(kPrrte.size()));
  return row == nullptr ? &kOfItsLauncherAlone : row;
}

std::vector<FoundSetting> found_settings(const std::vector<std::string>& environment) {
  std::vector<FoundSetting> found;
  for (const std::string& entry : environment) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals);
    const Setting* row = find_setting(name);
    if (row == nullptr || row->deed == SettingDeed::harmless) continue;
    std::string value = entry.substr(equals + 1);
    if (!is_as_without(*row, value)) found.push_back({row, name, std::move(value)});
  }
  const auto place = [](const FoundSetting& each) {
    const bool is_last = each.row == &kOfItsLauncherAlone;
    return is_last ? kSettings.size() : static_cast<std::size_t>(each.row - kSettings.data());
  };
  std::stable_sort(found.begin(), found.end(), [&](const FoundSetting& a, const FoundSetting& b) {
    return std::pair{place(a), a.name} < std::pair{place(b), b.name};
  });
  return found;
}

bool is_as_without(const Setting& row, std::string_view value) {
  const bool is_number = row.text == "timeout" || row.text.starts_with("++");
  if (value.empty() || (is_number && (value == "0" || value == "-1"))) return true;
  return (row.deed == SettingDeed::arguments && value == "--external-launcher") ||
         (row.deed == SettingDeed::agent && (value == "ssh" || value == "ssh : rsh"));
}

bool says_yes(std::string_view value, bool otherwise) {
  constexpr std::string_view kYes = "1 on yes true enable y t", kNo = "0 off no false disable n f";
  std::string lower{value};
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return has_word(kYes, lower) || (!has_word(kNo, lower) && otherwise);
}

}  // namespace charmtree::mpiexec
