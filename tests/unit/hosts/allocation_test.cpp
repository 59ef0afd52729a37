// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/allocation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <map>

#include "charmrun/hosts/nodelist.hpp"

namespace charmtree::allocation_test {

namespace {

using Variables = std::map<std::string, std::string>;

constexpr std::int64_t kNow = 1'700'000'000;

/// What Flux 0.88 says in the first program of `flux batch -N2 -n6 -c1 -t 5m`.
std::map<std::string, std::string> answers = {
    {"flux getattr hostlist", "n[1-2]\n"},
    {"flux hostlist local", "n2\n"},
    {"flux getattr jobid", "\u0192cp3ep7\n"},
    {"flux kvs get resource.R",
     R"({"version":1,"execution":{"R_lite":[{"rank":"0","children":{"core":"0-3"}},)"
     R"({"rank":"1","children":{"core":"0,2"}}],"nslots":6,"nodelist":["n[1-2]"]}})"},
    {"flux job timeleft", "287\n"},
    {"flux getattr security.owner", "1000\n"},
};

AllocationView::Answers run(const std::vector<Command>& commands) {
  AllocationView::Answers said;
  for (const Command& words : commands) {
    const auto found = answers.find(fmt::format("{}", fmt::join(words, " ")));
    said.push_back(found == answers.end() ? std::nullopt : std::optional{found->second});
  }
  return said;
}

const std::map<std::string, std::string> kFiles = {
    {"/pbs", "n2\nn1\nn2\n"}, {"/pe", "n1 4 all.q@n1 UNDEFINED\nn2.example 2 all.q@n2 UNDEFINED\n"},
    {"/oar", "n1\nn1\nn3\n"}, {"/k8s", "app-worker-0.app.ns.svc slots=2\napp-worker-1.app.ns.svc slots=2\n"},
    {"/strange", "x1\nx2\n"},
};

/// Of a process on n1.
Result<AllocationSearch> find(const Variables& variables,
                              ResourceManager wanted = ResourceManager::automatic) {
  return find_allocation(wanted, {[&](const std::string& name) -> std::optional<std::string> {
                                    const auto found = variables.find(name);
                                    return found == variables.end() ? std::nullopt
                                                                    : std::optional{found->second};
                                  },
                                  [](const std::string& path) -> Result<std::string> {
                                    const auto found = kFiles.find(path);
                                    if (found == kFiles.end()) return bad_input(path + ": no such file");
                                    return found->second;
                                  },
                                  [](std::string_view host) { return host == "n1"; }, run, kNow, "1000"});
}

/// "n1:2 n2:1 by what": hosts and slots as they will be read; or the error.
std::string hosts_in(const Variables& variables, ResourceManager wanted = ResourceManager::automatic) {
  const auto found = find(variables, wanted);
  if (!found) {
    CHECK(found.error().code == Errc::bad_input);
    return found.error().what + "; " + found.error().fix;
  }
  if (!found->found)
    return found->remarks.empty() ? "none" : fmt::format("{}", fmt::join(found->remarks, "\n"));
  CHECK(found->remarks.empty());
  const Allocation& it = *found->found;
  const auto list = parse_nodelist(it.hosts, it.source);
  REQUIRE(list.ok());
  CHECK(list->gives_slots);
  std::string text;
  for (const NodelistHost& host : list->hosts) text += host.name + ':' + std::to_string(host.slots) + ' ';
  const auto& left = it.seconds_left;
  return text + "by " + it.manager + (left ? fmt::format(", {} s", *left) : "");
}

Variables slurm(Variables more = {}) {
  more.insert({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_JOB_NUM_NODES", "3"}});
  return more;
}

}  // namespace

TEST_CASE("an allocation of Slurm has its tasks as slots, or one for each host") {
  CHECK(hosts_in(slurm({{"SLURM_NTASKS", "7"}, {"SLURM_TASKS_PER_NODE", "4,2,1"}})) ==
        "n1:4 n2:2 n3:1 by Slurm job 7");
  CHECK(hosts_in(slurm({{"SLURM_NTASKS_PER_NODE", "2"}, {"SLURM_TASKS_PER_NODE", "2(x3)"}})) ==
        "n1:2 n2:2 n3:2 by Slurm job 7");
  CHECK(hosts_in(slurm({{"SLURM_TASKS_PER_NODE", "4(x3)"}})) == "n1:1 n2:1 n3:1 by Slurm job 7");
  CHECK(hosts_in({{"SLURM_JOBID", "7"}, {"SLURM_NODELIST", "n[08-09],m"}}) ==
        "n08:1 n09:1 m:1 by Slurm job 7");
  CHECK(hosts_in({{"SLURM_JOB_ID", "7"}}) == "none");
  CHECK(hosts_in({}) == "none");
}

TEST_CASE("when an allocation ends, if its manager says so") {
  CHECK(hosts_in(slurm({{"SLURM_JOB_END_TIME", std::to_string(kNow + 60)}})) ==
        "n1:1 n2:1 n3:1 by Slurm job 7, 60 s");
  for (const char* odd : {"0", "-1", "soon", ""})
    CHECK(hosts_in(slurm({{"SLURM_JOB_END_TIME", odd}})) == "n1:1 n2:1 n3:1 by Slurm job 7");
}

TEST_CASE("an instance of Flux has the slots that were asked for, by cores; a job of it a host each") {
  const Variables instance{{"FLUX_URI", "local:///tmp/flux-x/local-0"}};
  const std::string all = answers["flux kvs get resource.R"];
  CHECK(hosts_in(instance) == "n1:4 n2:2 by Flux job \u0192cp3ep7, 287 s");
  CHECK(hosts_in({{"FLUX_JOB_ID", "1"}}) == "none");
  Variables task = instance;
  task["FLUX_JOB_ID"] = "f3";
  CHECK(hosts_in(task) == "n2:1 by Flux job f3, 287 s");
  task["FLUX_JOB_SIZE"] = "4";
  CHECK(hosts_in(task).starts_with("flux has started 4 of this charmrun"));

  answers["flux job timeleft"] = "4294967295\n";
  for (const char* odd :
       {"", "{}", "[]", "3", R"({"execution":[]})", R"({"execution":{"nslots":6,"R_lite":[{}]}})",
        R"({"execution":{"nslots":6,"R_lite":[{"rank":"9","children":{"core":"0"}}]}})",
        R"({"execution":{"nslots":6,"R_lite":[{"rank":7,"children":[]}]}})",
        R"({"execution":{"nslots":3,"R_lite":[{"rank":"0-1","children":{"core":"0"}}]}})",
        R"({"execution":{"nslots":-1,"R_lite":7}})"}) {
    answers["flux kvs get resource.R"] = odd;
    CHECK(hosts_in(instance) == "n1:1 n2:1 by Flux job \u0192cp3ep7");
  }
  answers["flux getattr security.owner"] = "990\n";
  CHECK(hosts_in(instance) == "none");
  CHECK(hosts_in({{"FLUX_URI", "x"}, {"FLUX_JOB_ID", "f3"}}) == "n2:1 by Flux job f3");
  answers["flux getattr security.owner"] = "1000\n";
  answers.erase("flux getattr hostlist");
  CHECK(hosts_in(instance) == "none");
  CHECK(hosts_in(instance, ResourceManager::flux).starts_with("++rm: we are not in an allocation"));
  answers["flux getattr hostlist"] = "n[1-2]\n";
  answers["flux kvs get resource.R"] = all;
  answers["flux job timeleft"] = "287\n";
}

TEST_CASE("in a step of Slurm the step's hosts count, unless all of the job is asked for") {
  const Variables step = slurm({{"SLURM_STEP_ID", "0"},
                                {"SLURM_STEP_NODELIST", "n2"},
                                {"SLURM_STEP_NUM_TASKS", "1"},
                                {"SLURM_STEP_TASKS_PER_NODE", "1"},
                                {"SLURM_NTASKS", "1"},
                                {"SLURM_TASKS_PER_NODE", "1"}});
  CHECK(hosts_in(step).starts_with("n2:1 by Slurm job 7, this step of it"));
  CHECK(hosts_in(step, ResourceManager::slurm_job) == "n1:1 n2:1 n3:1 by Slurm job 7");
  Variables shell = step;
  shell["SLURM_STEP_ID"] = "4294967290";  // the shell of salloc
  CHECK(hosts_in(shell) == "n1:1 n2:1 n3:1 by Slurm job 7");
  Variables many = step;
  many["SLURM_STEP_NUM_TASKS"] = "4";
  CHECK(hosts_in(many).starts_with("srun has started 4 of this charmrun"));
  CHECK(hosts_in(many).find("++rm slurm-job uses all of the job") != std::string::npos);
}

TEST_CASE("the parts of a heterogeneous job of Slurm follow each other") {
  Variables job{{"SLURM_JOB_ID", "7"},
                {"SLURM_HET_SIZE", "2"},
                {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
                {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "2"},
                {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"},
                {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "1(x2)"}};
  CHECK(hosts_in(job) == "n1:2 n2:1 n3:1 by Slurm job 7");
  job.erase("SLURM_JOB_NODELIST_HET_GROUP_1");
  CHECK(hosts_in(job).starts_with("$SLURM_JOB_NODELIST_HET_GROUP_1 is not set"));
  job["SLURM_HET_SIZE"] = "4000000000";
  CHECK(hosts_in(job).starts_with("$SLURM_HET_SIZE cannot be '4000000000'"));
}

TEST_CASE("what Slurm's variables contradict is refused") {
  const auto tasks = [](std::string text) {
    return hosts_in(slurm({{"SLURM_NTASKS", "1"}, {"SLURM_TASKS_PER_NODE", std::move(text)}}));
  };
  for (const auto* text : {"1", "1,2,3,4", "1(x4)", "x", "1(x", "1(x4000000000)", "99999999(x3)"}) {
    INFO(text);
    CHECK(tasks(text).starts_with("Slurm's environment contradicts itself: 3 hosts in $SLURM_JOB_NODELIST"));
  }
  CHECK(hosts_in(slurm({{"SLURM_JOB_NODELIST", "n[1-"}})).starts_with("$SLURM_JOB_NODELIST:1:5: "));
}

TEST_CASE("other managers tell their hosts by a file in which this machine is") {
  CHECK(hosts_in({{"PBS_JOBID", "1.srv"}, {"PBS_NODEFILE", "/pbs"}}) == "n2:2 n1:1 by PBS job 1.srv");
  CHECK(hosts_in({{"JOB_ID", "3"}, {"PE_HOSTFILE", "/pe"}}) == "n1:4 n2.example:2 by Grid Engine job 3");
  CHECK(hosts_in({{"OAR_JOB_ID", "4"}, {"OAR_NODE_FILE", "/oar"}}) == "n1:2 n3:1 by OAR job 4");
  CHECK(hosts_in({{"LSB_JOBID", "5"}, {"LSB_DJOB_HOSTFILE", "/oar"}}) == "n1:2 n3:1 by LSF job 5");
  CHECK(hosts_in({{"LSB_JOBID", "5"}, {"LSB_MCPU_HOSTS", "n1 4 n2 2"}}) == "n1:4 n2:2 by LSF job 5");
  CHECK(hosts_in({{"LSB_JOBID", "5"}, {"LSB_HOSTS", "n1 n1 n2"}}) == "n1:2 n2:1 by LSF job 5");
  CHECK(hosts_in({{"K_MPI_JOB_ROLE", "launcher"}, {"OMPI_MCA_orte_default_hostfile", "/k8s"}}) ==
        "app-worker-0.app.ns.svc:2 app-worker-1.app.ns.svc:2 by Kubernetes, role launcher");
  CHECK(hosts_in({{"PBS_NODEFILE", "/pbs"}}) == "none");
}

TEST_CASE("a list without this machine is not used, one line says so, and ++rm uses it") {
  const Variables strange{{"PBS_JOBID", "1"}, {"PBS_NODEFILE", "/strange"}};
  CHECK(hosts_in(strange) ==
        "not used: PBS job 1: /strange does not name this machine (++rm pbs uses it, ++rm none looks for no "
        "allocation)");
  CHECK(hosts_in(strange, ResourceManager::pbs) == "x1:1 x2:1 by PBS job 1");
  CHECK(hosts_in(slurm(strange)) == "n1:1 n2:1 n3:1 by Slurm job 7");
  const Variables gone{{"OAR_JOB_ID", "1"}, {"OAR_NODEFILE", "/gone"}};
  CHECK(hosts_in(gone).starts_with("not used: OAR job 1: /gone: no such file (++rm oar uses it"));
  CHECK(hosts_in(gone, ResourceManager::oar).starts_with("OAR job 1: /gone: no such file; name the hosts"));
  CHECK(hosts_in({{"K_MPI_JOB_ROLE", "launcher"}, {"HYDRA_HOST_FILE", "/gone"}})
            .starts_with("not used: Kubernetes, role launcher: /gone: no such file"));
  CHECK(hosts_in({{"LSB_JOBID", "5"}, {"LSB_DJOB_HOSTFILE", "/gone"}, {"LSB_HOSTS", "n1"}}) ==
        "n1:1 by LSF job 5");
  CHECK(hosts_in({{"PBS_JOBID", "1"}}, ResourceManager::pbs)
            .starts_with("++rm: we are not in an allocation of that resource manager: $PBS_JOBID and "
                         "$PBS_NODEFILE are not both set"));
}

TEST_CASE("of two allocations one has to be chosen") {
  const Variables both = slurm({{"PBS_JOBID", "1"}, {"PBS_NODEFILE", "/pbs"}});
  CHECK(hosts_in(both).starts_with("we are in Slurm job 7 and in PBS job 1; choose one by ++rm"));
  CHECK(hosts_in(both, ResourceManager::pbs) == "n2:2 n1:1 by PBS job 1");
  CHECK(hosts_in(both, ResourceManager::none) == "none");
  CHECK(hosts_in(both, ResourceManager::lsf).starts_with("++rm: we are not in an allocation"));
}

}  // namespace charmtree::allocation_test
