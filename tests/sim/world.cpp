// SPDX-License-Identifier: Apache-2.0
// What there is in a world, and when it is at its end.
#include "tests/sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/dice.hpp"
#include "tests/sim/trees.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {

constexpr int kMostStatus = 255;
constexpr Duration kSlack = 10s;     // for the end of a job, beyond grace, notice and pauses
constexpr Duration kTakeOver = 15s;  // until all have been found, or are given up

/// As options_of() has found that it may be.
wire::Recovery recovery_of(const Settings& settings) {
  using wire::Recovery;
  if (settings.restarts != 0) return Recovery::by_program;
  if (settings.in_place != 0) return Recovery::in_place;
  if (settings.reruns != 0) return Recovery::whole;
  return settings.goes_on != 0 ? Recovery::go_on : Recovery::none;
}

RootPlan make_plan(const Settings& settings, const Hosts& hosts) {
  RootPlan plan;
  wire::JobSpec& job = plan.job;
  job.id = "0123456789abcdef";
  // Bytes cost time: with these the description is as long as it was when traces.txt was made.
  job.arguments = {"a"};
  job.hosts = hosts.size();
  const std::uint32_t each = whole(settings.processes);
  const std::uint32_t wanted = hosts.size() - whole(settings.spares);
  job.processes = wanted * each;
  job.launch.on_host_failure = static_cast<wire::OnHostFailure>(whole(settings.policy));
  job.launch.patience = ms(settings.patience);
  job.launch.shape = {whole(settings.branching), whole(settings.levels)};
  job.launch.batch = whole(settings.batch);
  plan.most_links = most_links(settings);
  if (settings.by_cores != 0) job.provision = {CpuUnit::core, 1};
  job.loss.recovery = recovery_of(settings);
  job.loss.keep_alive = ms(settings.keep_alive);
  if (settings.reruns != 0) {
    plan.restart = RestartRules{whole(settings.reruns), {"again"}};
    plan.bad_exit = BadExit::ends;
  }
  job.starts_together =
      starts_together(settings) && whole(settings.sabotage) != static_cast<std::uint32_t>(Sabotage::haste);
  job.spawn.held = settings.held != 0;
  job.grace = ms(settings.grace);
  job.timeout = ms(settings.timeout);
  job.heartbeat = {ms(settings.heartbeat), 1s, ms(settings.orphan_after)};
  job.reports.stamps = settings.stamps != 0;
  job.output.labelled = settings.prints != 0;
  job.output.spool = static_cast<std::uint64_t>(settings.spool);
  job.profiles.resize(1);
  for (std::uint32_t i = 0; i < whole(settings.staged); ++i)
    job.spawn.staged.files.push_back(
        {fmt::format("files/{}", i), "", whole(settings.staged_size), "", false});
  plan.hosts.resize(hosts.size());
  for (std::uint32_t i = 0; i < hosts.size(); ++i) {
    Host& host = plan.hosts[i];
    host.index = i;
    host.name = fmt::format("n{:06}", i);
    if (settings.shared > 0) {
      host.address = fmt::format("m{:06}", hosts[i].machine);
      host.machine = hosts[i].machine + 1;
    }
    if (i >= wanted) continue;
    host.first_process = i * each;
    host.processes = each;
  }
  return plan;
}

}  // namespace

World::World(const Settings& settings, std::uint64_t seed)
    : Simulation(settings, seed),
      hosts_(settings_, random_),
      checks_(settings_, hosts_),
      processes_(hosts_.size() * std::size_t{whole(settings_.processes)}) {
  kill_inner_host(hosts_, settings_, random_);
  reachable_ = hosts_.reachable();
  living_ = hosts_.living();
  outcome_.failed = hosts_.size() - living_;
  outcome_.ideal = ideal_pool(hosts_, ms(settings_.occupancy));
  if (settings_.stubborn > 0) {
    for (Process& process : processes_) process.stubborn = uniform(random_) < settings_.stubborn;
  }
  begin_root(make_plan(settings_, hosts_), 0ms);
  ++launchers_alive_;
  draw_faults();
}

void World::take_over(Duration now) {
  if (is_root_gone_) return;
  if (!kept_) return checks_.wrong("nothing is known of the tree that is to be taken over");
  is_root_awaited_ = false;
  RootPlan plan = make_plan(settings_, hosts_);
  plan.hosts = kept_->hosts;
  plan.takes_over = lies(Sabotage::amnesia) ? TreeShape{} : kept_->shape;
  plan.job.processes = 0;
  for (const Host& host : plan.hosts) plan.job.processes += host.processes;
  unplug_some();
  begin_root(std::move(plan), now);
  ++launchers_alive_;
}

Outcome World::run() {
  while (is_anything_left() && !is_done()) {
    if (step(ms(settings_.limit))) continue;
    if (outcome_.status < 0 && !is_root_gone_)
      checks_.wrong(fmt::format("still going after {:g} s", settings_.limit / 1000));
    break;
  }
  finish();
  outcome_.events = events_;
  outcome_.trace = trace_;
  return outcome_;
}

bool World::is_done() const {
  const std::uint64_t living = std::uint64_t{living_} * whole(settings_.processes);
  switch (whole(settings_.until)) {
    case 1:
      return outcome_.launchers == reachable_ && spawned_ == living;
    case 2:
      return wired_ > 0 && wired_ == processes_.size();
    default:
      return false;
  }
}

World::Seen& World::seen(std::uint32_t id) {
  if (seen_.size() <= id) seen_.resize(id + std::size_t{1});
  return seen_[id];
}

// ---- logins

void World::login_begins(std::uint32_t number, const proto::Login& action, Duration& now) {
  const std::uint32_t host = action.host.index, id = logins_[number].launcher;
  Hosts::Answer answer = hosts_.answer(host, id == root_);
  const bool is_first_step = answer.code == Errc::timed_out && hosts_[host].nature != Nature::silent;
  if (is_first_step) answer.after = std::min(answer.after, action.limit);
  attempts_.push_back({answer.after, answer.code});
  checks_.login_begun(++seen(id).in_flight);
  const bool reaches_sshd = answer.code != Errc::refused && answer.code != Errc::unreachable &&
                            !(answer.code == Errc::timed_out && hosts_[host].nature != Nature::silent);
  if (reaches_sshd && hosts_.sshd(host).is_relevant())
    put(now + network_.delay(), Call{[this, number](Duration at) { knocks(number, at); }});
  else
    put(now + answer.after, Answer{number});
  cost(id, now, ms(settings_.occupancy));
}

/// A login reaches the sshd, which lets it in, or not; and some time later it has authenticated.
void World::knocks(std::uint32_t number, Duration now) {
  if (logins_[number].is_over) return;
  Attempt& attempt = attempts_[number];
  if (!hosts_.sshd(logins_[number].host).admits(random_)) {
    attempt.code = Errc::dropped;
    return put(now + network_.delay(), Answer{number});
  }
  attempt.is_pending = true;
  put(now + attempt.after * 8 / 10, Call{[this, number](Duration) {
        if (std::exchange(attempts_[number].is_pending, false)) --hosts_.sshd(logins_[number].host).pending;
      }});
  put(now + attempt.after, Answer{number});
}

void World::login_over(std::uint32_t number) {
  --seen(logins_[number].launcher).in_flight;
  if (std::exchange(attempts_[number].is_pending, false)) --hosts_.sshd(logins_[number].host).pending;
}

World::LoginEnd World::login_end(std::uint32_t number) {
  const Errc code = attempts_[number].code;
  return code == Errc::internal ? LoginEnd{} : LoginEnd{login_error(code)};
}

// ---- launchers

void World::launcher_begins(std::uint32_t id, std::uint32_t parent, Duration now) {
  if (!is_ending()) {
    outcome_.hosts_up = now;
    ++outcome_.launchers;
  }
  Launcher& launcher = launchers_[id];
  launcher.slowness = hosts_[launcher.host].slowness;
  seen(id).is_orphan = seen(parent).is_orphan;
  seen(id).was_paused = seen(parent).is_orphan && seen(parent).was_paused;
  ++launchers_alive_;
  outcome_.deepest = std::max(outcome_.deepest, launcher.level);
  outcome_.widest = std::max(outcome_.widest, ++seen(parent).widest);
}

void World::launcher_ends(std::uint32_t id, Duration now) {
  const Launcher& launcher = launchers_[id];
  if (id == root_) numbered_ = job_processes();
  launchers_alive_ -= lies(Sabotage::lingering) ? 0 : 1;
  if (seen(id).was_told || id == root_) outcome_.all_gone = now;  // others know of no job
  if (launcher.is_welcomed && launcher.host != wire::kRootIndex) checks_.left(launcher.host);
}

// ---- the end

void World::finish() {
  const bool whole_job = whole(settings_.until) == 0;
  if (!whole_job && !is_done()) checks_.wrong("the launch stopped before its end");
  if (whole_job && outcome_.status < 0 && !is_root_gone_)
    checks_.wrong("nothing happens any more, and the job has not ended");
  if (whole_job && (outcome_.status >= 0 || is_root_gone_)) {
    Checks::End end{outcome_.status, launchers_alive_, spawned_ - gone_};
    const bool may_stay = settings_.heartbeat == 0;  // who is not told does not know
    for (std::uint32_t id = 0; id < launchers_.size(); ++id)
      end.launchers -= may_stay && launchers_[id].node && seen(id).is_orphan ? 1 : 0;
    for (const Process& process :
         processes_) {  // an orphan that slept while its host was swept starts some yet
      if (!process.alive) continue;
      const Seen& launcher = seen(process.launcher);
      const bool is_unswept = launcher.was_paused || is_root_gone_;
      end.processes -= may_stay && launcher.is_orphan && is_unswept ? 1 : 0;
    }
    if (goes_on()) allow_if_all_lost();
    for (int status = 0; lost_at_its_end_ && status <= kMostStatus; ++status) checks_.grazed(status);
    is_root_gone_ ? checks_.ended_without_root(end) : checks_.ended(end);
    const Duration bound =
        kSlack + ms(settings_.grace) + ms(settings_.pause * settings_.pause_for) + ms(settings_.held) +
        (settings_.lost > 0 ? ms(settings_.notice) : 0ms) +
        (is_root_gone_ ? ms(settings_.keep_alive)
                       : static_cast<int>(roots_lost_.size()) * (ms(settings_.away) + kTakeOver));
    // What the processes have left is waited for as long as it comes.
    const Duration since = std::max(struck_at_, last_remains_at_);
    if (struck_at_ != kNotStruck && outcome_.all_gone - since > bound)
      checks_.wrong(fmt::format("the job ended {:.1f} s after what had to end it, bound {:.1f} s",
                                seconds(outcome_.all_gone - since), seconds(bound)));
  }
  if (settings_.restarts != 0 && outcome_.status == 0) check_recoveries();
  if (settings_.in_place != 0 && outcome_.status == 0) check_restarts();
  if (outlives_losses() && !lost_at_its_end_) check_survivors();
  const bool was_read = !lost_at_its_end_ && !is_unread_ && !checks_.is_excused();
  if (settings_.prints != 0 && outcome_.status == 0 && was_read) check_output();
  outcome_.offences = checks_.offences();
}

}  // namespace charmtree::sim
