// SPDX-License-Identifier: Apache-2.0
// The end of a launch, and the next one over what is left of the tree: for another run of the program.
#include <algorithm>
#include <utility>

#include "tree/overlay/launch.hpp"

namespace charmtree::proto {

/// Whatever goes on at `link` is over, without a result.
void Launch::cancel(LinkId link, Actions& out) {
  const Child& child = children_.at(link);
  switch (child.state()) {
    case Child::State::logging_in:
      out.push_back(CancelLogin{link});
      in_flight_.cancelled(link);
      queue_.cancelled(child.host.machine);
      break;
    case Child::State::waiting:
      queue_.remove(link, child.host.machine);
      break;
    case Child::State::up:
      out.push_back(CloseLink{link});
      break;
    case Child::State::done:
    case Child::State::lost:
      break;
  }
}

void Launch::stop(Actions& out) {
  stopped_ = true;
  for (Host& host : pool_.clear()) postponed_.keep(std::move(host));
  requests_.clear();
  in_flight_.judge_no_more();
  for (auto it = children_.begin(); it != children_.end();) {
    const Child& child = it->second;
    if (child.visits() || !child.begins()) {
      ++it;
      continue;
    }
    cancel(it->first, out);
    if (!child.given_up) postponed_.keep(child.host);
    it = children_.erase(it);
  }
}

/// Nobody logs in to an unconfirmed host: old processes would be beside new ones.
std::vector<Host> Launch::take_lost(const std::set<std::uint32_t>& unconfirmed, Instant now,
                                    std::vector<wire::HostFailure>& failed) {
  std::map<std::uint32_t, Error> errors;
  for (const auto& [link, child] : children_) {
    if (child.visits() && child.state() == Child::State::lost) errors.emplace(child.host.index, child.error);
  }
  const Error late{
      Errc::timed_out, Phase::connect, "what the last run left there was not cleaned up in time", {}};
  std::vector<Host> hosts = postponed_.take(now, failed);
  const auto take = [&](const Host& host) {
    subtree_.bind(host.index, kParentLink);
    if (!unconfirmed.contains(host.index)) return hosts.push_back(host);
    const auto error = errors.find(host.index);
    postponed_.could_not_start(host, error == errors.end() ? late : error->second, now, failed);
  };
  for (const auto& [link, child] : children_) {
    if (child.stays() || child.visits()) continue;
    take(child.host);
    for (const auto& [index, host] : child.below) take(host);
  }
  return hosts;
}

void Launch::begin_run(wire::Blob coded_job, const std::set<std::uint32_t>& unconfirmed, Instant now,
                       Actions& out, std::vector<wire::HostFailure>& failed) {
  coded_job_ = std::move(coded_job);
  stopped_ = false;
  own_requests_.begin_run();
  std::vector<Host> hosts = take_lost(unconfirmed, now, failed);
  for (auto it = children_.begin(); it != children_.end();) {
    Child& child = it->second;
    if (child.stays()) {
      child.begin_run();
      ++it;
    } else {
      cancel(it->first, out);
      it = children_.erase(it);
    }
  }
  subtree_.begin_run(job_.is_numbered_late(), job_.session);
  if (hosts.empty()) return;
  for (Host& host : hosts) subtree_.number(host);
  keep_this_machine(hosts);
  pool_.add(std::move(hosts));
  pace_.resume(now);
  pump(now, out);
}

}  // namespace charmtree::proto
