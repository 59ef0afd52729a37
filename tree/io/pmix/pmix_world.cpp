// SPDX-License-Identifier: Apache-2.0
#include "tree/io/pmix/pmix_world.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "tree/wire/programs.hpp"

namespace charmtree::io {

pmix_proc_t process_of(const std::string& name_space, std::uint32_t rank) {
  pmix_proc_t process{};
  std::strncpy(static_cast<char*>(process.nspace), name_space.c_str(), PMIX_MAX_NSLEN);
  process.rank = rank;
  return process;
}

namespace {

/// "a,b,c", and "0,1;2,3" of their processes.
std::pair<std::string, std::string> maps_of(const pmix::Describe& job) {
  std::string nodes, processes;
  for (const pmix::Node& node : job.nodes) {
    if (!nodes.empty()) {
      nodes += ',';
      processes += ';';
    }
    nodes += node.name;
    bool is_first = true;
    node.for_each_rank([&](std::uint32_t rank) {
      processes += fmt::format("{}{}", std::exchange(is_first, false) ? "" : ",", rank);
    });
  }
  return {nodes, processes};
}

/// Which of the job's programs each process runs. The library works out nothing more of a process of which it
/// is told something.
void add_programs(const pmix::Describe& job, const PmixLibrary& library, InfoList& about) {
  for (std::uint32_t number = 0; number < job.programs.size(); ++number) {
    const std::uint32_t first = job.programs[number];
    InfoList program{library};
    program.add(PMIX_APPNUM, number);
    program.add(PMIX_APP_SIZE,
                (number + 1 < job.programs.size() ? job.programs[number + 1] : job.size) - first);
    program.add(PMIX_APPLDR, &first, PMIX_PROC_RANK);
    about.add(PMIX_APP_INFO_ARRAY, program);
  }
  for (std::uint32_t node = 0; node < job.nodes.size(); ++node) {
    std::uint16_t on_host = 0;
    job.nodes[node].for_each_rank([&](std::uint32_t rank) {
      const std::uint32_t number = wire::program_of(job.programs, rank),
                          in_program = rank - job.programs[number];
      InfoList process{library};
      process.add(PMIX_RANK, &rank, PMIX_PROC_RANK);
      process.add(PMIX_GLOBAL_RANK, &rank, PMIX_PROC_RANK);
      process.add(PMIX_APP_RANK, &in_program, PMIX_PROC_RANK);
      process.add(PMIX_APPNUM, number);
      process.add(PMIX_LOCAL_RANK, &on_host, PMIX_UINT16);
      process.add(PMIX_NODE_RANK, &on_host, PMIX_UINT16);
      process.add(PMIX_NODEID, node);
      process.add(PMIX_HOSTNAME, job.nodes[node].name);
      about.add(PMIX_PROC_INFO_ARRAY, process);
      ++on_host;
    });
  }
}

/// What its own launchers set: scripts choose a GPU by it. Version 4 takes itself for a single process unless
/// it sees a resource manager that it knows.
void add_variables_of_open_mpi(const pmix::Describe& job, const std::vector<std::uint32_t>& here,
                               std::uint32_t place, const std::string& folder,
                               std::vector<std::string>& variables) {
  for (const auto& [name, value] : {std::pair{"COMM_WORLD_SIZE", job.size},
                                    {"COMM_WORLD_RANK", here[place]},
                                    {"COMM_WORLD_LOCAL_SIZE", static_cast<std::uint32_t>(here.size())},
                                    {"COMM_WORLD_LOCAL_RANK", place},
                                    {"COMM_WORLD_NODE_RANK", place},
                                    {"UNIVERSE_SIZE", job.size}})
    variables.push_back(fmt::format("OMPI_{}={}", name, value));
  for (const char* disguise : {"OMPI_MCA_schizo=^orte", "OMPI_MCA_ess=pmi"}) variables.emplace_back(disguise);
  if (!job.shares_machine) return;
  // Files by which a host's processes share memory are called by the machine's name and their place there.
  for (const char* transport : {"vader", "sm"})
    variables.push_back(fmt::format("OMPI_MCA_btl_{}_backing_directory={}", transport, folder));
}

}  // namespace

/// The library works the rest out from the two maps: who is where, with how many.
std::string register_world(const PmixLibrary& library, const pmix::Describe& job, const std::string& folder,
                           const std::optional<pmix_proc_t>& parent) {
  const auto [nodes, processes] = maps_of(job);
  char *node_map = nullptr, *process_map = nullptr;
  if (auto why = library.failure("PMIx_generate_regex", library.generate_regex(nodes.c_str(), &node_map));
      !why.empty())
    return why;
  if (auto why = library.failure("PMIx_generate_ppn", library.generate_ppn(processes.c_str(), &process_map));
      !why.empty())
    return why;
  InfoList about{library};
  about.add(PMIX_JOBID, job.name_space);
  about.add(PMIX_NODE_MAP, node_map, PMIX_REGEX);
  about.add(PMIX_PROC_MAP, process_map, PMIX_REGEX);
  for (const char* key : {PMIX_JOB_SIZE, PMIX_MAX_PROCS}) about.add(key, job.size);
  about.add(PMIX_UNIV_SIZE, job.universe > 0 ? job.universe : job.size);
  about.add(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(job.programs.size()));
  if (job.programs.size() > 1) add_programs(job, library, about);
  about.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(job.nodes.size()));
  for (const char* key : {PMIX_TMPDIR, PMIX_NSDIR}) about.add(key, folder);
  about.add_true(PMIX_TDIR_RMCLEAN);
  if (parent) {
    about.add_true(PMIX_SPAWNED);
    about.add(PMIX_PARENT_ID, &*parent, PMIX_PROC);
  }
  const pmix_proc_t name = process_of(job.name_space, 0);
  const auto here = static_cast<int>(job.here().size());
  return library.failure("PMIx_server_register_nspace",
                         library.register_nspace(static_cast<const char*>(name.nspace), here, about.data(),
                                                 about.size(), nullptr, nullptr));
}

Result<std::vector<std::vector<std::string>>> register_processes(const PmixLibrary& library,
                                                                 const pmix::Describe& job,
                                                                 const std::string& folder) {
  const auto wrong = [](std::string why) { return Error{Errc::internal, Phase::spawn, std::move(why), {}}; };
  std::vector<std::vector<std::string>> all;
  const std::vector<std::uint32_t> here = job.here();
  for (std::uint32_t place = 0; place < here.size(); ++place) {
    const pmix_proc_t process = process_of(job.name_space, here[place]);
    if (auto why = library.failure(
            "PMIx_server_register_client",
            library.register_client(&process, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
        !why.empty())
      return wrong(std::move(why));
    char** variables = nullptr;
    if (auto why = library.failure("PMIx_server_setup_fork", library.setup_fork(&process, &variables));
        !why.empty())
      return wrong(std::move(why));
    std::vector<std::string>& its = all.emplace_back();
    for (char** each = variables; each != nullptr && *each != nullptr; ++each) its.emplace_back(*each);
    add_variables_of_open_mpi(job, here, place, folder, its);
  }
  return all;
}

}  // namespace charmtree::io
