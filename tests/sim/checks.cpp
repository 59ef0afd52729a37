// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tests/sim/programs.hpp"

namespace charmtree::sim {

namespace {

int status_of(Nature nature) {
  return nature == Nature::unspawnable ? kNoProgram : kLauncherFailed;
}

}  // namespace

Checks::Checks(const Settings& settings, const Hosts& hosts)
    : settings_(settings),
      hosts_(hosts),
      welcomed_(hosts.size()),
      lives_(hosts.size()),
      ready_(hosts.size()),
      host_of_(hosts.size() * std::size_t{whole(settings.processes)}, kNobody),
      now_on_(host_of_) {}

void Checks::wrong(std::string what) {
  if (offences_.size() < kMost) offences_.push_back(std::move(what));
}

void Checks::welcomed(std::uint32_t host, const Host& told) {
  if (told.index != host)
    wrong(fmt::format("the launcher on host {} was told that it is {}", host, told.index));
  if (lives_[host]) wrong(fmt::format("host {} was given a second launcher while the first lives", host));
  if (!hosts_[host].takes_launchers()) wrong(fmt::format("host {} should have no launcher", host));
  if (welcomed_[host]) wrong(fmt::format("host {} was started twice", host));
  lives_[host] = welcomed_[host] = true;
}

void Checks::left(std::uint32_t host) {
  lives_[host] = false;
}

void Checks::retired(std::uint32_t host) {
  lives_[host] = welcomed_[host] = false;
}

void Checks::ready(std::uint32_t host) {
  ready_[host] = true;
}

/// In later runs hosts may be missing.
void Checks::check_start() {
  if (std::exchange(started_, true) || !starts_together(settings_) || is_late(settings_)) return;
  const auto host = std::find(ready_.begin(), ready_.end(), false) - ready_.begin();
  if (static_cast<std::size_t>(host) < ready_.size())
    wrong(fmt::format("a process was spawned before host {} was ready", host));
}

void Checks::spawned(std::uint32_t process, std::uint32_t host) {
  check_start();
  if (process >= host_of_.size()) return wrong(fmt::format("host {} spawned process {}", host, process));
  if (host_of_[process] != kNobody)
    return wrong(fmt::format("process {} spawned on host {} and on {}", process, host_of_[process], host));
  host_of_[process] = now_on_[process] = host;
}

void Checks::restarted(std::uint32_t process, std::uint32_t host) {
  if (process >= host_of_.size()) return wrong(fmt::format("process {} was restarted", process));
  const std::uint32_t before = std::exchange(now_on_[process], host);
  if (before != host && (settings_.in_place == 0 || before == kNobody || lives_[before]))
    wrong(fmt::format("process {} was restarted on host {}, not on {}", process, host, before));
}

void Checks::begin_run() {
  host_of_.assign(host_of_.size(), kNobody);
  welcomed_ = lives_;
  std::erase_if(reported_, [&](std::uint32_t host) {
    return !hosts_[host].is_off && hosts_[host].lives() && !given_up_.contains(host);
  });  // it may come back
}

/// Who was only lost is started again with the next run; who could not be started in time is not.
void Checks::reported(std::uint32_t host, const Error& error) {
  reported_.insert(host);
  const bool was_up = error.code == Errc::link_lost || error.phase == Phase::hello;
  if (!was_up) given_up_.insert(host);
}

void Checks::login_begun(std::uint32_t in_flight) {
  const double most = settings_.batch > 0 ? settings_.batch : settings_.window;
  if (in_flight > most) wrong(fmt::format("{} logins in flight", in_flight));
}

void Checks::said(const proto::Say& say) {
  if (say.text.find("did not confirm") != std::string::npos) excused_ = true;
  if (say.text.find("the rest may be missing") != std::string::npos) output_missed();
  if (say.text.find("nothing bounds for how long") != std::string::npos) refused();
  if (say.text.find("spoke for hosts") != std::string::npos) wrong(say.text);
  if (say.text.find("more lines from") != std::string::npos) wrong(say.text);
}

/// The program is not started again, since something of it may live for ever.
void Checks::refused() {
  constexpr int kAnyStatus = 256;
  if (settings_.heartbeat != 0 && settings_.pause == 0 && settings_.held == 0)
    wrong("a restart was refused, though whoever is alone notices it");
  for (int status = 1; status < kAnyStatus; ++status) allowed_.insert(status);
}

/// The job has ended well, but for that.
void Checks::output_missed() {
  if (settings_.crash + settings_.cut + settings_.lost + settings_.pause == 0)
    wrong("output is said to be missing, and nothing was lost");
  allowed_.insert(kLauncherFailed);
}

void Checks::link_lost(const wire::LinkLost& lost) {
  if (lost.error.code == Errc::bad_peer)
    wrong(fmt::format("host {} was closed for what it said: {}", lost.host, lost.error.what));
}

void Checks::struck(int status) {
  struck_ = true;
  allowed_.insert(status);
}

std::set<int> Checks::statuses() const {
  std::set<int> statuses = allowed_;
  if (is_late(settings_)) {
    const bool spare = settings_.policy == 2;
    const std::size_t left = hosts_.size() - reported_.size();
    const bool enough = left > 0 && (!spare || left + whole(settings_.spares) >= hosts_.size());
    if (struck_) return statuses;
    statuses.insert(enough ? 0 : kLauncherFailed);
    // If nobody is left, it is as the first host has failed; but not all may have in the last of several
    // runs.
    if (left > 0) return statuses;
    if (settings_.reruns == 0 && !may_be_left_out(0)) statuses.erase(kLauncherFailed);
    statuses.insert(status_of(hosts_[0].nature));
    return statuses;
  }
  bool first = true;
  for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host].lives()) continue;
    if (first || struck_) statuses.insert(status_of(hosts_[host].nature));
    first = false;
  }
  if (first && !struck_) statuses.insert(0);
  return statuses;
}

void Checks::ended(const End& end) {
  const std::set<int> expected = statuses();
  if (!expected.contains(end.status))
    wrong(fmt::format("status {}, expected {}", end.status, fmt::join(expected, " or ")));
  nothing_left(end);
  if (!allowed_.empty() && end.status != 0) return;  // it may have ended before all was done
  every_host_once();
  if (!is_numbered_late(settings_))
    every_process_once();
  else if (end.status == 0)
    every_place_once();
  failures_reported();
}

void Checks::ended_without_root(const End& end) {
  nothing_left(end);
}

void Checks::nothing_left(const End& end) {
  if (end.launchers > 0) wrong(fmt::format("{} launchers are left", end.launchers));
  if (end.processes > 0 && !excused_)
    wrong(fmt::format("{} processes are left, and the user was not told", end.processes));
}

void Checks::every_host_once() {
  std::uint32_t missing = 0;
  for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
    if (is_late(settings_) && reported_.contains(host)) continue;
    if (!welcomed_[host] && hosts_[host].takes_launchers() && ++missing == 1)
      wrong(fmt::format("host {} has had no launcher", host));
  }
  if (missing > 1) wrong(fmt::format("{} hosts have had no launcher", missing));
}

/// Numbers follow the nodelist: of two processes on different hosts, the lower number is on the earlier one.
void Checks::every_process_once() {
  std::uint32_t before = 0;
  const bool complete = hosts_.living() == hosts_.size();
  for (std::size_t process = 0; process < host_of_.size(); ++process) {
    const std::uint32_t host = host_of_[process];
    if (host == kNobody && complete) return wrong(fmt::format("process {} was not spawned", process));
    if (host == kNobody) continue;
    if (host < before)
      return wrong(
          fmt::format("process {} is on host {}, one with a lower number on host {}", process, host, before));
    before = host;
  }
}

/// The hosts that are left have processes in their order, as many each as was asked for, without gaps; with
/// spares, as many hosts as the job needs.
void Checks::every_place_once() {
  std::size_t number = 0, places = 0;
  const bool spare = settings_.policy == 2;
  const std::size_t needed = hosts_.size() - whole(settings_.spares);
  for (std::uint32_t host = 0; host < hosts_.size() && places < needed; ++host) {
    const bool left_out = reported_.contains(host);
    places += left_out && spare ? 0 : 1;
    if (left_out) continue;
    for (std::uint32_t i = 0; i < processes_of(settings_, host); ++i, ++number) {
      if (host_of_[number] != host) return wrong(fmt::format("process {} is not on host {}", number, host));
    }
  }
  for (; number < host_of_.size(); ++number) {
    if (host_of_[number] != kNobody) return wrong(fmt::format("there should be no process {}", number));
  }
}

/// It took so long that patience may have ended.
bool Checks::may_be_left_out(std::uint32_t host) const {
  constexpr Duration kLeastPatience = 1900ms;
  const Duration patience = settings_.patience > 0 ? ms(settings_.patience) : kLeastPatience;
  const bool nobody_listened = settings_.pause > 0 && ms(settings_.pause_for) >= kLeastPatience;
  return is_late(settings_) && (hosts_[host].latency >= patience || nobody_listened);
}

void Checks::failures_reported() {
  std::vector<std::uint32_t> silent, slandered;
  for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
    const bool failed = !hosts_[host].lives();
    if (failed && !reported_.contains(host)) silent.push_back(host);
    const bool may_fail = hosts_[host].is_off || may_be_left_out(host);
    if (!failed && reported_.contains(host) && !may_fail) slandered.push_back(host);
  }
  if (!silent.empty()) wrong(fmt::format("not reported as failed: hosts {}", fmt::join(silent, " ")));
  if (!slandered.empty()) wrong(fmt::format("reported as failed: hosts {}", fmt::join(slandered, " ")));
}

}  // namespace charmtree::sim
