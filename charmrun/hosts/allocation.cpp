// SPDX-License-Identifier: Apache-2.0
// Variables: the manuals of the managers; what Slurm sets where was seen with 22.05.
#include "charmrun/hosts/allocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "charmrun/hosts/host_set.hpp"
#include "charmrun/hosts/nodelist.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

using Found = Result<std::optional<Allocation>>;

Error unclear(std::string what, std::string fix) {
  return {Errc::bad_input, Phase::nodelist, std::move(what), std::move(fix)};
}

constexpr std::string_view kInstead = "name the hosts by ++host or ++nodelist, or run here by ++rm none";

/// The first of these variables that is set and not empty.
std::optional<std::string> first_of(const AllocationView& view, const std::array<const char*, 3>& names) {
  for (const char* name : names) {
    if (name == nullptr) break;
    auto value = view.variable(name);
    if (value && !value->empty()) return value;
  }
  return {};
}

/// Slurm's `4(x2),1`: a number for each host.
std::optional<std::vector<std::uint32_t>> counts_in(std::string_view text) {
  std::vector<std::uint32_t> counts;
  for (const std::string& word : split_list(text)) {
    const std::string_view each = word;
    const auto open = each.find("(x");
    std::uint32_t count = 0;
    std::uint32_t times = 1;
    if (!read_whole(each.substr(0, open), count) || count > wire::kMaxProcesses) return {};
    if (open != std::string_view::npos) {
      if (!each.ends_with(')') || !read_whole(each.substr(open + 2, each.size() - open - 3), times))
        return {};
      if (times > kMaxNodelistHosts) return {};
    }
    if (counts.size() + times > kMaxNodelistHosts) return {};
    counts.insert(counts.end(), times, count);
  }
  return counts;
}

/// Hosts of a list of Slurm's, a line for each, with its slots; nothing in `tasks`: one.
Result<std::string> slurm_lines(const std::string& name, const std::string& list, const std::string& tasks) {
  auto hosts = read_hosts("$" + name, list);
  if (!hosts) return unclear(hosts.error().what, std::string{kInstead});
  std::vector<std::uint32_t> slots(hosts->size(), 1);
  if (!tasks.empty()) {
    auto counts = counts_in(tasks);
    if (!counts || counts->size() != hosts->size())
      return unclear(
          fmt::format("Slurm's environment contradicts itself: {} hosts in ${}, and '{}' tasks on them",
                      hosts->size(), name, quotable(tasks)),
          std::string{kInstead});
    slots = std::move(*counts);
  }
  std::string text;
  for (std::size_t i = 0; i < slots.size(); ++i)
    text += fmt::format("{} slots={}\n", (*hosts)[i].name, slots[i]);
  return text;
}

class Slurm {
public:
  Slurm(const AllocationView& view, bool whole_job) : view_(view), whole_job_(whole_job) {}

  Found find() {
    const auto job = first_of(view_, {"SLURM_JOB_ID", "SLURM_JOBID"});
    if (!job) return std::optional<Allocation>{};
    allocation_.manager = fmt::format("Slurm job {}", quotable(*job));
    if (const auto parts = view_.variable("SLURM_HET_SIZE"); parts && !whole_job_) return of_parts(*parts);
    allocation_.starter = ResourceManager::slurm;
    const auto step = view_.variable("SLURM_STEP_NODELIST");
    if (step && !whole_job_ && !is_interactive()) return of_step(*step);
    const auto list = first_of(view_, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
    if (!list) return std::optional<Allocation>{};
    const bool counts_tasks =
        first_of(view_, {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE"}).has_value();
    // In a step they are the step's.
    const auto tasks = counts_tasks && !step ? view_.variable("SLURM_TASKS_PER_NODE") : std::nullopt;
    return with("SLURM_JOB_NODELIST", *list, tasks.value_or(""));
  }

private:
  Found with(const std::string& name, const std::string& list, const std::string& tasks) {
    auto text = slurm_lines(name, list, tasks);
    if (!text) return text.error();
    allocation_.hosts += *text;
    allocation_.source = "$" + name;
    return std::optional{allocation_};
  }
  /// The shell that salloc starts on the first host means the whole job.
  bool is_interactive() const { return view_.variable("SLURM_STEP_ID") == "4294967290"; }
  Found of_step(const std::string& list) {
    const auto tasks = view_.variable("SLURM_STEP_NUM_TASKS").value_or("1");
    if (tasks != "1")
      return unclear(fmt::format("srun has started {} of this charmrun", quotable(tasks)),
                     "start one: salloc or sbatch, and then charmrun without srun");
    allocation_.manager += ", this step of it (++rm slurm-job: all of it)";
    return with("SLURM_STEP_NODELIST", list, view_.variable("SLURM_STEP_TASKS_PER_NODE").value_or(""));
  }
  /// Of a heterogeneous job, one after the other.
  Found of_parts(std::string_view parts) {
    constexpr std::uint32_t kMostParts = 128;
    std::uint32_t count = 0;
    if (!read_whole(parts, count) || count == 0 || count > kMostParts)
      return unclear(fmt::format("$SLURM_HET_SIZE cannot be '{}'", quotable(parts)), std::string{kInstead});
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("SLURM_JOB_NODELIST_HET_GROUP_{}", i);
      const auto list = view_.variable(name);
      if (!list) return unclear(fmt::format("${} is not set", name), std::string{kInstead});
      const auto tasks = view_.variable(fmt::format("SLURM_TASKS_PER_NODE_HET_GROUP_{}", i));
      if (auto found = with(name, *list, tasks.value_or("")); !found) return found;
    }
    return std::optional{allocation_};
  }

  const AllocationView& view_;
  bool whole_job_;
  Allocation allocation_;
};

/// The first name in each line.
bool names_this_machine(std::string_view text, const AllocationView& view) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find_first_of(" \t\r"));
    if (!line.empty() && view.is_here(line)) return true;
  }
  return false;
}

/// A manager that tells its hosts by a file.
struct ByFile {
  ResourceManager manager;
  std::string_view name;
  std::array<const char*, 3> job, file;  // variables, of which one is set
  bool is_on_a_host;                     // the job's script runs on one of them
};
constexpr std::array kByFile = {
    ByFile{ResourceManager::pbs, "PBS job", {"PBS_JOBID"}, {"PBS_NODEFILE"}, true},
    ByFile{ResourceManager::lsf, "LSF job", {"LSB_JOBID"}, {"LSB_DJOB_HOSTFILE"}, true},
    ByFile{ResourceManager::sge, "Grid Engine job", {"JOB_ID"}, {"PE_HOSTFILE"}, true},
    ByFile{ResourceManager::oar,
           "OAR job",
           {"OAR_JOB_ID", "OAR_JOBID"},
           {"OAR_NODEFILE", "OAR_NODE_FILE"},
           true},
    ByFile{ResourceManager::kubernetes,
           "Kubernetes, role",
           {"K_MPI_JOB_ROLE"},
           {"OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"},
           false},
};

Found find_by_file(const ByFile& row, const AllocationView& view) {
  const auto job = first_of(view, row.job);
  const auto path = first_of(view, row.file);
  if (!job || !path) return std::optional<Allocation>{};
  auto text = view.read_file(*path);
  if (!text) return std::optional<Allocation>{};
  if (row.is_on_a_host && !names_this_machine(*text, view)) return std::optional<Allocation>{};
  return std::optional{Allocation{fmt::format("{} {}", row.name, quotable(*job)), std::move(*text), *path}};
}

/// LSF's list where there is no file: `h1 4 h2 2`, or a name for each slot.
Found find_lsf_variables(const AllocationView& view) {
  const auto job = view.variable("LSB_JOBID");
  for (const char* name : {"LSB_MCPU_HOSTS", "LSB_HOSTS"}) {
    auto list = view.variable(name);
    if (!job || !list || list->empty()) continue;
    if (std::string_view{name} == "LSB_HOSTS") std::replace(list->begin(), list->end(), ' ', '\n');
    return std::optional{
        Allocation{fmt::format("LSF job {}", quotable(*job)), *list, "$" + std::string{name}}};
  }
  return std::optional<Allocation>{};
}

Found find_in(ResourceManager manager, const AllocationView& view) {
  if (manager == ResourceManager::slurm || manager == ResourceManager::slurm_job)
    return Slurm{view, manager == ResourceManager::slurm_job}.find();
  const auto* row = std::find_if(kByFile.begin(), kByFile.end(),
                                 [manager](const ByFile& each) { return each.manager == manager; });
  if (row == kByFile.end()) return std::optional<Allocation>{};
  auto found = find_by_file(*row, view);
  const bool is_lsf = manager == ResourceManager::lsf;
  return is_lsf && found && !*found ? find_lsf_variables(view) : found;
}

}  // namespace

Found find_allocation(ResourceManager wanted, const AllocationView& view) {
  if (wanted == ResourceManager::none) return std::optional<Allocation>{};
  if (wanted != ResourceManager::automatic) {
    auto found = find_in(wanted, view);
    if (found && !*found)
      return unclear("++rm: we are not in an allocation of that resource manager",
                     "without ++rm the one in whose allocation we are is found");
    return found;
  }
  std::optional<Allocation> only;
  for (const ResourceManager manager :
       {ResourceManager::slurm, ResourceManager::pbs, ResourceManager::lsf, ResourceManager::sge,
        ResourceManager::oar, ResourceManager::kubernetes}) {
    auto found = find_in(manager, view);
    if (!found) return found;
    if (!*found) continue;
    if (only)
      return unclear(fmt::format("we are in {} and in {}", only->manager, (*found)->manager),
                     "choose one by ++rm slurm, pbs, lsf, sge, oar or kubernetes");
    only = std::move(*found);
  }
  return only;
}

}  // namespace charmtree
