// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/allocation.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "charmrun/hosts/nodelist.hpp"

namespace charmtree::allocation_test {

namespace {

using Variables = std::map<std::string, std::string>;

const std::map<std::string, std::string> kFiles = {
    {"/pbs", "n2\nn1\nn2\n"}, {"/pe", "n1 4 all.q@n1 UNDEFINED\nn2.example 2 all.q@n2 UNDEFINED\n"},
    {"/oar", "n1\nn1\nn3\n"}, {"/k8s", "app-worker-0.app.ns.svc slots=2\napp-worker-1.app.ns.svc slots=2\n"},
    {"/strange", "x1\nx2\n"},
};

/// Of a process on n1.
Result<std::optional<Allocation>> find(const Variables& variables,
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
                                  [](std::string_view host) { return host == "n1"; }});
}

/// "n1:2 n2:1 by what": hosts and slots as they will be read; or the error.
std::string hosts_in(const Variables& variables, ResourceManager wanted = ResourceManager::automatic) {
  const auto found = find(variables, wanted);
  if (!found) {
    CHECK(found.error().code == Errc::bad_input);
    return found.error().what + "; " + found.error().fix;
  }
  if (!*found) return "none";
  const auto list = parse_nodelist((*found)->hosts, (*found)->source);
  REQUIRE(list.ok());
  CHECK(list->gives_slots);
  std::string text;
  for (const NodelistHost& host : list->hosts) text += host.name + ':' + std::to_string(host.slots) + ' ';
  return text + "by " + (*found)->manager;
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
  CHECK(hosts_in({{"PBS_JOBID", "1"}, {"PBS_NODEFILE", "/strange"}}) == "none");
  CHECK(hosts_in({{"PBS_JOBID", "1"}, {"PBS_NODEFILE", "/gone"}}) == "none");
  CHECK(hosts_in({{"PBS_NODEFILE", "/pbs"}}) == "none");
}

TEST_CASE("of two allocations one has to be chosen") {
  const Variables both = slurm({{"PBS_JOBID", "1"}, {"PBS_NODEFILE", "/pbs"}});
  CHECK(hosts_in(both).starts_with("we are in Slurm job 7 and in PBS job 1; choose one by ++rm"));
  CHECK(hosts_in(both, ResourceManager::pbs) == "n2:2 n1:1 by PBS job 1");
  CHECK(hosts_in(both, ResourceManager::none) == "none");
  CHECK(hosts_in(both, ResourceManager::lsf).starts_with("++rm: we are not in an allocation"));
}

}  // namespace charmtree::allocation_test
