// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/process_request.hpp"

#include <fmt/format.h>

#include "tree/io/link/leftovers.hpp"
#include "tree/job/environment.hpp"
#include "tree/job/process_variables.hpp"
#include "tree/job/provision.hpp"

namespace charmtree::io {

namespace {

std::vector<std::string> environment_of(const ProcessHost& host, std::uint32_t process) {
  std::vector<std::string> environment = host.environment;
  if (const std::uint32_t number = wire::program_of(host.job.spawn.further, process); number > 0)
    proto::overlay(environment, host.job.spawn.further[number - 1].environment);
  proto::overlay(
      environment,
      {fmt::format("NETSTART={} 127.0.0.1 {} {} 0", process, host.port, host.job.magic),
       fmt::format("NETMAGIC={}", host.job.magic), "CHARMTREE_JOB=" + job_mark(host.job.id, host.self.index),
       fmt::format("CHARMTREE_PROCESS={}", process), "CHARMTREE_HOST=" + host.self.name,
       "CHARMTREE_SOCKET=" + host.socket});
  if (!host.job.spawn.staged.files.empty())
    proto::overlay(environment, proto::staged_variables(host.job.spawn.staged, host.staged, environment));
  proto::overlay(environment, proto::cpu_hints(host.job.provision));
  return environment;
}

/// Null: that process's program was not sent.
const wire::StagedProgram* staged_program(const wire::JobSpec& job, std::uint32_t process) {
  const std::vector<wire::StagedProgram>& programs = job.spawn.staged.programs;
  const std::uint32_t number = wire::program_of(job.spawn.further, process);
  return number < programs.size() ? &programs[number] : nullptr;
}

std::vector<std::string> command_of(const ProcessHost& host, std::uint32_t process,
                                    const std::vector<std::string>& more) {
  const Profile& profile = host.job.profiles[host.self.profile];
  const std::uint32_t number = wire::program_of(host.job.spawn.further, process);
  std::vector<std::string> command =
      number == 0 ? host.job.arguments : host.job.spawn.further[number - 1].arguments;
  command.insert(command.end(), profile.extra_arguments.begin(), profile.extra_arguments.end());
  for (std::size_t i = 1; host.job.spawn.expands && i < command.size(); ++i)
    command[i] = proto::expanded(command[i], process, host.self.name);
  if (const wire::StagedProgram* staged = staged_program(host.job, process);
      staged != nullptr && staged->word > 0 && staged->word < command.size())
    command[staged->word] = host.staged + "/" + staged->name;
  command.insert(command.end(), more.begin(), more.end());
  if (!host.job.spawn.runscript.empty()) {
    command[0] = file_of(host, process);
    command.insert(command.begin(), host.job.spawn.runscript);
  }
  return command;
}

}  // namespace

std::string file_of(const ProcessHost& host, std::uint32_t process) {
  const wire::StagedProgram* staged = staged_program(host.job, process);
  return staged != nullptr && staged->word == 0 ? host.staged + "/" + staged->name
                                                : host.job.file_of(host.self, process);
}

std::vector<std::uint32_t> first_processes(const wire::JobSpec& job, const Host& self) {
  if (!job.spawn.further.empty() && job.is_numbered_late()) return {};
  std::vector<std::uint32_t> processes{self.first_process};
  for (const wire::FurtherProgram& each : job.spawn.further) {
    if (each.first > self.first_process && each.first - self.first_process < self.processes)
      processes.push_back(each.first);
  }
  return processes;
}

const std::string& directory_of(const wire::JobSpec& job, const Host& self, std::uint32_t process) {
  const std::uint32_t number = wire::program_of(job.spawn.further, process);
  const bool has_own = number > 0 && !job.spawn.further[number - 1].directory.empty();
  return has_own ? job.spawn.further[number - 1].directory : job.profiles[self.profile].directory;
}

SpawnRequest request_of(const ProcessHost& host, std::uint32_t process,
                        const std::vector<std::string>& more) {
  SpawnRequest request;
  request.arguments = command_of(host, process, more);
  request.program = host.job.spawn.runscript.empty() ? file_of(host, process) : host.job.spawn.runscript;
  request.environment = environment_of(host, process);
  request.directory = directory_of(host.job, host.self, process);
  request.fixed_addresses = !host.job.spawn.keep_address_randomisation;
  request.limits = host.job.spawn.limits;
  request.at_root = host.job.private_network;
  return request;
}

}  // namespace charmtree::io
