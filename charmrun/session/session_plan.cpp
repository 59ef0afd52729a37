// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_plan.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "tree/wire/job_limits.hpp"

namespace charmtree {

namespace {

/// The run's part of a profile; how its hosts are logged in to stays.
Profile joined(Profile tree, const Profile& run) {
  tree.program = run.program;
  tree.further_programs = run.further_programs;
  tree.directory = run.directory;
  tree.setup = run.setup;
  tree.environment = run.environment;
  tree.extra_arguments = run.extra_arguments;
  return tree;
}

/// Hosts that are logged in to alike may have been given different options by the nodelist; but never the
/// other way round.
Result<std::vector<Profile>> join_profiles(const RootPlan& session, const session::Run& run,
                                           const std::vector<Profile>& profiles) {
  std::vector<Profile> all = session.job.profiles;
  std::vector<std::optional<std::uint32_t>> taken(all.size());
  for (std::size_t i = 0; i < run.hosts.size(); ++i) {
    const std::uint32_t of_run = run.hosts[i].profile, of_tree = session.hosts[i].profile;
    if (of_run >= profiles.size() || taken[of_tree].value_or(of_run) != of_run)
      return bad_input(fmt::format("{}: the options of its hosts are not the session's", run.hosts[i].name));
    if (std::exchange(taken[of_tree], of_run)) continue;
    all[of_tree] = joined(std::move(all[of_tree]), profiles[of_run]);
  }
  return all;
}

Result<void> check_hosts(const RootPlan& session, const session::Run& run) {
  if (run.hosts.size() != session.hosts.size())
    return bad_input(
        fmt::format("the run is for {} hosts, the session has {}", run.hosts.size(), session.hosts.size()));
  std::uint64_t processes = 0;
  for (std::size_t i = 0; i < run.hosts.size(); ++i) {
    if (run.hosts[i].name != session.hosts[i].name)
      return bad_input(fmt::format("the run is for host {}, the session has {}", run.hosts[i].name,
                                   session.hosts[i].name));
    processes += run.hosts[i].processes;
  }
  if (processes == 0 || processes > wire::kMaxProcesses)
    return bad_input(fmt::format("a run cannot have {} processes", processes));
  return {};
}

}  // namespace

session::Run describe_run(const RootPlan& plan) {
  session::Run run{
      wire::encode(plan.job), {}, plan.time_limit, plan.int_ends, plan.bad_exit == proto::BadExit::ends,
      plan.shows_output};
  for (const Host& host : plan.hosts) run.hosts.push_back({host.name, host.profile, host.processes});
  return run;
}

Result<proto::RunPlan> plan_run(const RootPlan& session, const session::Run& run) {
  auto job = wire::decode_job(*run.job);
  if (!job) return job.error();
  if (auto fits = check_hosts(session, run); !fits) return fits.error();
  auto profiles = join_profiles(session, run, job->profiles);
  if (!profiles) return profiles.error();
  const wire::JobSpec& tree = session.job;
  proto::RunPlan plan{std::move(*job),
                      {},
                      run.time_limit,
                      run.int_ends,
                      run.ends_on_bad_exit ? proto::BadExit::ends : proto::BadExit::waits,
                      run.shows_output};
  wire::JobSpec& own = plan.job;
  const bool recovers =
      own.loss.recovery != wire::Recovery::none && own.loss.recovery != wire::Recovery::by_program;
  if (own.checkup || own.terminal || recovers || own.arguments.empty())
    return bad_input("a session cannot run that");
  own.profiles = std::move(*profiles);
  own.id = tree.id;
  own.secret = tree.secret;
  own.hosts = tree.hosts;
  own.launch = tree.launch;
  own.heartbeat = tree.heartbeat;
  own.private_network = tree.private_network;
  own.session = true;
  own.reports.stamps = own.reports.watched = false;
  own.loss.restarts = 0;
  for (const session::RunHost& host : run.hosts) plan.processes.push_back(host.processes);
  if (const auto fits = wire::check_job(own, wire::encode(own)->size()); !fits) return fits.error();
  return plan;
}

}  // namespace charmtree
