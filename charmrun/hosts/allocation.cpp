// SPDX-License-Identifier: Apache-2.0
// Variables: the manuals of the managers; what Slurm sets where was seen with 22.05, what flux says with
// 0.88.
#include "charmrun/hosts/allocation.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
    std::int64_t end = 0;  // Slurm 23.02
    if (read_whole(view_.variable("SLURM_JOB_END_TIME").value_or(""), end) && end >= view_.now)
      allocation_.seconds_left = end - view_.now;
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
      return unclear(
          fmt::format("srun has started {} of this charmrun", quotable(tasks)),
          "start one: salloc or sbatch, and then charmrun without srun; in a shell of srun's, ++rm "
          "slurm-job uses all of the job and ++rm none this machine");
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
  std::string_view word, name;           // as ++rm and as people call it
  std::array<const char*, 3> job, file;  // variables, of which one is set
  bool is_on_a_host;                     // the job's script runs on one of them
};
constexpr std::array kByFile = {
    ByFile{ResourceManager::pbs, "pbs", "PBS job", {"PBS_JOBID"}, {"PBS_NODEFILE"}, true},
    ByFile{ResourceManager::lsf, "lsf", "LSF job", {"LSB_JOBID"}, {"LSB_DJOB_HOSTFILE"}, true},
    ByFile{ResourceManager::sge, "sge", "Grid Engine job", {"JOB_ID"}, {"PE_HOSTFILE"}, true},
    ByFile{ResourceManager::oar,
           "oar",
           "OAR job",
           {"OAR_JOB_ID", "OAR_JOBID"},
           {"OAR_NODEFILE", "OAR_NODE_FILE"},
           true},
    ByFile{ResourceManager::kubernetes,
           "kubernetes",
           "Kubernetes, role",
           {"K_MPI_JOB_ROLE"},
           {"OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"},
           false},
};

/// What find_by_file() has found out, or why that does not count.
struct ByFileSearch {
  std::optional<Allocation> found;
  std::string why;  // empty: there is no allocation of this manager
};

ByFileSearch find_by_file(const ByFile& row, bool is_asked_for, const AllocationView& view) {
  const auto job = first_of(view, row.job);
  const auto path = first_of(view, row.file);
  if (!job || !path) return {};
  const std::string name = fmt::format("{} {}", row.name, quotable(*job));
  auto text = view.read_file(*path);
  if (!text) return {{}, fmt::format("{}: {}", name, text.error().what)};
  if (!is_asked_for && row.is_on_a_host && !names_this_machine(*text, view))
    return {{}, fmt::format("{}: {} does not name this machine", name, *path)};
  return {Allocation{name, std::move(*text), *path}, {}};
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

/// Of each rank of an instance, from its resource set (RFC 20): what was asked for is shared out by cores, if
/// that comes out even. Empty: not known.
std::vector<std::uint64_t> flux_slots(const std::string& resource_set, std::size_t ranks) {
  const auto set = nlohmann::json::parse(resource_set, nullptr, false);
  const auto execution = set.is_object() ? set.find("execution") : set.end();
  if (execution == set.end() || !execution->is_object()) return {};
  const auto count = execution->find("nslots"), list = execution->find("R_lite");
  if (count == execution->end() || !count->is_number_unsigned() || list == execution->end()) return {};
  const auto ids = [](const nlohmann::json& text) {  // `0-3,7`, as in brackets of a name
    return text.is_string() ? read_hosts("", fmt::format("[{}]", text.get_ref<const std::string&>()))
                            : Result<std::vector<NamedHost>>{std::vector<NamedHost>{}};
  };
  std::vector<std::uint64_t> slots(ranks);
  std::uint64_t all = 0;
  for (const auto& each : *list) {
    if (!each.is_object() || !each.contains("rank") || !each.contains("children")) return {};
    const auto& children = each["children"];
    const auto cores = ids(children.is_object() ? children.value("core", nlohmann::json{}) : children);
    const auto those = ids(each["rank"]);
    if (!cores || !those) return {};
    for (const NamedHost& rank : *those) {
      std::size_t index = 0;
      if (!read_whole(rank.name, index) || index >= ranks) return {};
      slots[index] = cores->size();
      all += cores->size();
    }
  }
  const auto wanted = count->get<std::uint64_t>();
  if (wanted > wire::kMaxProcesses) return {};
  for (std::uint64_t& each : slots) {
    if (all == 0 || each * wanted % all != 0 || each * wanted / all == 0) return {};
    each = each * wanted / all;
  }
  return slots;
}

/// `flux batch` and `flux alloc` begin an instance of Flux, whose brokers are the hosts; a process of
/// `flux run` has those of its job. Nothing: no Flux answers.
Found find_flux(const AllocationView& view) {
  if (view.variable("FLUX_URI").value_or("").empty()) return std::optional<Allocation>{};
  const std::string job = view.variable("FLUX_JOB_ID").value_or("");
  if (const auto tasks = view.variable("FLUX_JOB_SIZE").value_or("1"); !job.empty() && tasks != "1")
    return unclear(
        fmt::format("flux has started {} of this charmrun", quotable(tasks)),
        "start one: flux batch or flux alloc, and then charmrun without flux run; ++rm none uses this "
        "machine");
  const auto said =
      view.run({job.empty() ? Command{"flux", "getattr", "hostlist"} : Command{"flux", "hostlist", "local"},
                {"flux", "getattr", "jobid"},
                {"flux", "kvs", "get", "resource.R"},
                {"flux", "job", "timeleft"},
                {"flux", "getattr", "security.owner"}});
  const auto line = [&](std::size_t i) {
    const std::string text = said.at(i).value_or("");
    return text.substr(0, text.find('\n'));
  };
  const bool is_whole_system = job.empty() && line(4) != view.user;  // it gives hosts by jobs alone
  if (line(0).empty() || is_whole_system) return std::optional<Allocation>{};
  Allocation found;
  found.is_asked_for = true;
  found.source = job.empty() ? "flux getattr hostlist" : "flux hostlist local";
  found.manager = fmt::format("Flux job {}", quotable(job.empty() ? line(1) : job));
  if (job.empty() && line(1).empty()) found.manager = "a Flux instance";
  auto hosts = read_hosts(found.source, line(0));
  if (!hosts) return unclear(hosts.error().what, std::string{kInstead});
  const auto slots = job.empty() ? flux_slots(line(2), hosts->size()) : std::vector<std::uint64_t>{};
  for (std::size_t i = 0; i < hosts->size(); ++i)
    found.hosts += fmt::format("{} slots={}\n", (*hosts)[i].name, slots.empty() ? 1 : slots[i]);
  constexpr std::int64_t kUnlimited = UINT32_MAX;
  std::int64_t left = 0;
  if (read_whole(line(3), left) && left >= 0 && left < kUnlimited) found.seconds_left = left;
  return std::optional{std::move(found)};
}

/// Returns an error if the manager is asked for and its list cannot be read; otherwise adds a remark about
/// that.
Found find_in(ResourceManager manager, bool is_asked_for, const AllocationView& view,
              std::vector<std::string>& remarks) {
  if (manager == ResourceManager::flux) return find_flux(view);
  if (manager == ResourceManager::slurm || manager == ResourceManager::slurm_job)
    return Slurm{view, manager == ResourceManager::slurm_job}.find();
  const auto* row = std::find_if(kByFile.begin(), kByFile.end(),
                                 [manager](const ByFile& each) { return each.manager == manager; });
  if (row == kByFile.end()) return std::optional<Allocation>{};
  ByFileSearch search = find_by_file(*row, is_asked_for, view);
  if (search.found) return std::move(search.found);
  if (manager == ResourceManager::lsf) {
    auto found = find_lsf_variables(view);
    if (*found) return found;
  }
  if (search.why.empty()) return std::optional<Allocation>{};
  if (is_asked_for) return unclear(std::move(search.why), std::string{kInstead});
  remarks.push_back(fmt::format("not used: {} (++rm {} uses it, ++rm none looks for no allocation)",
                                search.why, row->word));
  return std::optional<Allocation>{};
}

/// Returns what a manager sets for its jobs, of which something is missing.
std::string wanted_variables(ResourceManager manager) {
  const auto* row = std::find_if(kByFile.begin(), kByFile.end(),
                                 [manager](const ByFile& each) { return each.manager == manager; });
  if (row != kByFile.end()) return fmt::format("${} and ${} are not both set", row->job[0], row->file[0]);
  if (manager == ResourceManager::flux) return "no Flux answers";
  return "$SLURM_JOB_ID and $SLURM_JOB_NODELIST are not both set";
}

}  // namespace

Result<AllocationSearch> find_allocation(ResourceManager wanted, const AllocationView& view) {
  AllocationSearch search;
  if (wanted == ResourceManager::none) return search;
  if (wanted != ResourceManager::automatic) {
    auto found = find_in(wanted, true, view, search.remarks);
    if (!found) return found.error();
    if (!*found)
      return unclear(fmt::format("++rm: we are not in an allocation of that resource manager: {}",
                                 wanted_variables(wanted)),
                     "without ++rm the one in whose allocation we are is found");
    search.found = std::move(*found);
    return search;
  }
  for (const ResourceManager manager :
       {ResourceManager::slurm, ResourceManager::pbs, ResourceManager::lsf, ResourceManager::sge,
        ResourceManager::oar, ResourceManager::kubernetes, ResourceManager::flux}) {
    auto found = find_in(manager, false, view, search.remarks);
    if (!found) return found.error();
    if (!*found) continue;
    if (search.found)
      return unclear(fmt::format("we are in {} and in {}", search.found->manager, (*found)->manager),
                     "choose one by ++rm slurm, pbs, lsf, sge, oar, kubernetes or flux");
    search.found = std::move(*found);
  }
  if (search.found) search.remarks.clear();
  return search;
}

}  // namespace charmtree
