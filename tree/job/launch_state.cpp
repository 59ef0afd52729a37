// SPDX-License-Identifier: Apache-2.0
#include "tree/job/launch_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tree/base/exit_status.hpp"
#include "tree/wire/fold.hpp"

namespace charmtree::proto {

namespace {

int status_of(Errc code) {
  if (code == Errc::no_program) return kNotFound;
  return code == Errc::not_executable ? kNotExecutable : kLauncherFailed;
}

}  // namespace

void LaunchState::begin(const std::set<std::uint32_t>& absent, Instant now) {
  absent_ = absent;
  answered_.insert(absent.begin(), absent.end());
  await_answers(now);
}

void LaunchState::take_over() {
  numbered_ = true;
  for (const Host& host : hosts_) answered_.insert(host.index);
  up_ = answered_.size();
  idle_ = static_cast<std::uint32_t>(
      std::count_if(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.processes == 0; }));
}

void LaunchState::answered(const std::vector<std::uint32_t>& up, std::vector<wire::HostFailure> failed,
                           Instant now) {
  for (const std::uint32_t host : up) up_ += answered_.insert(host).second ? 1 : 0;
  for (wire::HostFailure& failure : failed) {
    answered_.insert(failure.host);
    failures_.push_back(std::move(failure));
  }
  await_answers(now);
}

void LaunchState::numbered(Instant now) {
  numbered_ = true;
  for (const wire::HostFailure& failure : failures_) left_out_.insert(failure.host);
  failures_.clear();
  answered_.clear();
  for (const Host& host : hosts_) {
    if (host.processes == 0) answered_.insert(host.index);
  }
  up_ = answered_.size();
  idle_ = static_cast<std::uint32_t>(up_);
  await_answers(now);
}

Duration LaunchState::patience() const {
  return job_.checkup ? job_.timeout * 3 / 2 : kSilence * job_.timeout + job_.launch.wait;
}

void LaunchState::await_answers(Instant now) {
  answer_by_ = answered_.size() < hosts_.size() && !stalled_ ? now + patience() : kNever;
}

void LaunchState::stalled(bool stalled, Instant now) {
  stalled_ = stalled;
  await_answers(now);
}

void LaunchState::files_move(std::uint32_t percent, Instant now) {
  staged_ = percent;
  await_answers(now);
}

std::vector<wire::HostFailure> LaunchState::give_up_silent() {
  answer_by_ = kNever;
  const Error error{Errc::timed_out, Phase::hello,
                    fmt::format("no news from its launcher for {:g} s", seconds(patience())),
                    "see ++timeout"};
  std::vector<wire::HostFailure> silent;
  for (const Host& host : hosts_) {
    if (answered_.insert(host.index).second) silent.push_back({host.index, error});
  }
  failures_.insert(failures_.end(), silent.begin(), silent.end());
  return silent;
}

std::vector<wire::HostFailure> LaunchState::failures() const {
  std::vector<wire::HostFailure> failures = failures_;
  std::stable_sort(failures.begin(), failures.end(),
                   [](const wire::HostFailure& a, const wire::HostFailure& b) { return a.host < b.host; });
  return failures;
}

std::vector<std::string> LaunchState::failure_lines() const {
  const std::vector<wire::HostFailure> failures = this->failures();
  std::vector<std::string> lines;
  std::vector<bool> listed(failures.size());
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (listed[i]) continue;
    std::vector<std::string> names;
    for (std::size_t j = i; j < failures.size(); ++j) {
      if (!(failures[j].error == failures[i].error)) continue;
      listed[j] = true;
      names.push_back(hosts_[failures[j].host].name);
    }
    const std::string count = names.size() > 1 ? fmt::format(" ({} hosts)", names.size()) : "";
    lines.push_back(fmt::format("{}: {}{}", wire::fold_names(names), to_string(failures[i].error), count));
  }
  return lines;
}

int LaunchState::failure_status() const {
  return status_of(failures().front().error.code);
}

std::set<std::uint32_t> LaunchState::failed_hosts() const {
  std::set<std::uint32_t> hosts = absent_;
  for (const wire::HostFailure& failure : failures_) hosts.insert(failure.host);
  return hosts;
}

std::string LaunchState::left_out() const {
  std::set<std::uint32_t> hosts = absent_;
  hosts.insert(left_out_.begin(), left_out_.end());
  if (job_.launch.on_host_failure != wire::OnHostFailure::drop || hosts.empty() || !numbered_) return {};
  std::vector<std::string> names;
  for (const std::uint32_t host : hosts) names.push_back(hosts_[host].name);
  return fmt::format("the program ran without {} of {} hosts: {} (++on-host-failure drop)", names.size(),
                     hosts_.size(), wire::fold_names(names));
}

std::vector<std::string> LaunchState::unanswered() const {
  std::vector<std::string> names;
  for (const Host& host : hosts_) {
    if (!answered_.contains(host.index)) names.push_back(host.name);
  }
  return names;
}

std::string LaunchState::summary() const {
  return fmt::format("{} of {} hosts are up", up_, hosts_.size());
}

void LaunchState::describe(JobStatus& status) const {
  status.hosts = static_cast<std::uint32_t>(hosts_.size()) - idle_;
  status.hosts_up = static_cast<std::uint32_t>(up_) - idle_;
  status.hosts_failed = static_cast<std::uint32_t>(failures_.size());
  status.staged = staged_;
}

}  // namespace charmtree::proto
