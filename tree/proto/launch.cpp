// SPDX-License-Identifier: Apache-2.0
// A host goes pool -> logging_in -> up, or logging_in -> waiting -> logging_in for transient failures (each
// try has a new link), or it is given up: handed back towards the root if the root may have better keys or
// names, else reported as failed. A login's place in the window is free again when the launcher there has
// greeted or the login has failed.
#include "tree/proto/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace charmtree::proto {

namespace {

constexpr std::uint32_t kLateWindow = 128;  // logins in flight with late binding: latency / occupancy or more
// Between two logins with late binding, at least.
constexpr Duration kPace = 500us;
constexpr std::uint32_t kMostAsked = 1024;  // hosts at a time
constexpr int kPresumedDead = 4;            // a login of so many times the latency counts for nothing

/// Failures that the root, with the user's keys, agent, ssh configuration and name service, may not have.
bool root_may_do_better(Errc code) {
  switch (code) {
    case Errc::no_such_host:
    case Errc::no_usable_key:
    case Errc::not_authorised:
    case Errc::remote_shell:
    case Errc::host_key_unknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

Launch::Launch(const wire::JobSpec& job, wire::Blob coded_job, const LaunchConfig& config, Random& random)
    : job_(job),
      coded_job_(std::move(coded_job)),
      config_(config),
      random_(random),
      pool_(job.shape, config.level),
      curve_(config.postal) {
  if (pool_.is_late()) config_.window = kLateWindow;
  if (job.batch != 0) config_.window = job.batch;
}

void Launch::add(std::vector<Host> hosts, Instant now, Actions& out) {
  if (stopped_) return;
  asked_ = false;
  had_hosts_ = had_hosts_ || !hosts.empty();
  for (const Host& host : hosts) subtree_.add(host);
  keep_this_machine(hosts);
  pool_.add(std::move(hosts));
  if (next_login_ == kNever) next_login_ = now;
  serve(out);
  pump(now, out);
}

/// `local` means the root's machine: among other hosts nobody else may start such an entry.
void Launch::keep_this_machine(std::vector<Host>& hosts) {
  if (job_.private_network) return;
  const auto mine = std::stable_partition(
      hosts.begin(), hosts.end(), [this](const Host& host) { return profile(host).via != Via::local; });
  for (auto host = mine; host != hosts.end(); ++host) pool_.add_single(std::move(*host));
  hosts.erase(mine, hosts.end());
}

bool Launch::take_back(Host host, Instant now, Actions& out) {
  if (stopped_ || std::find(taken_back_.begin(), taken_back_.end(), host.index) != taken_back_.end())
    return false;
  taken_back_.push_back(host.index);
  subtree_.bind(host.index, kParentLink);
  pool_.add_single(std::move(host));
  if (next_login_ == kNever) next_login_ = now;
  pump(now, out);
  return true;
}

void Launch::login(Child child, Instant now, Actions& out) {
  const LinkId link = next_link_++;
  if (child.first_tried == kNever) child.first_tried = now;
  child.state = Child::State::logging_in;
  child.retry_at = kNever;
  ++child.attempts;
  child.stamps = {};
  child.stamps.host = child.host.index;
  child.stamps.parent = config_.self;
  child.stamps.level = config_.level + 1;
  child.stamps.attempts = child.attempts;
  child.stamps.times[wire::Stamps::begun] = now;
  begun_.emplace(link, now);
  out.push_back(Login{link, child.host, profile(child.host), child.via, job_.timeout});
  children_.emplace(link, std::move(child));
}

Via Launch::usual_via(const Host& host) const {
  const Profile& shared = profile(host);
  return shared.via == Via::ssh && shared.ssh_command_only ? Via::command : shared.via;
}

void Launch::pump(Instant now, Actions& out) {
  while (begun_.size() < config_.window && !waiting_.empty() && waiting_.begin()->first <= now) {
    const LinkId link = waiting_.extract(waiting_.begin()).value().second;
    Child child = std::move(children_.at(link));
    children_.erase(link);
    login(std::move(child), now, out);
  }
  while (!pool_.is_late() && begun_.size() < config_.window && !pool_.empty()) login_next(now, out);
  ask_parent(out);
}

void Launch::login_next(Instant now, Actions& out) {
  Child child;
  child.host = *pool_.take();
  child.via = usual_via(child.host);
  login(std::move(child), now, out);
}

/// With late binding one login at a time, and only when nothing else has happened: those who have answered
/// take hosts first, and a launcher that is kept busy by its logins begins no more than it can carry on.
void Launch::tick(Instant now, Actions& out) {
  if (pool_.is_late() && now >= next_login_ && begun_.size() < config_.window && !pool_.empty()) {
    login_next(now, out);
    next_login_ = now + kPace;
  }
  pump(now, out);
}

/// What an answering child gets of the hosts that are left. From now on it can do what we can, and so will
/// those that are still on their way to become launchers, each by so much less as it is later: the shares are
/// as the numbers of hosts that each can start until the same end.
std::size_t Launch::postal_share(Instant now) {
  if (pool_.left() == 0) return 0;
  std::vector<Duration> later;
  for (const auto& [link, begun] : begun_) {
    const Duration age = now - begun;
    if (age < kPresumedDead * config_.postal.latency) later.push_back(config_.postal.latency - age);
  }
  return curve_.share(pool_.left(), later);
}

void Launch::give(LinkId link, std::vector<Host> hosts, Actions& out) {
  if (hosts.empty()) return;
  Child& child = children_.at(link);
  for (const Host& host : hosts) subtree_.bind(host.index, link);
  child.below.insert(child.below.end(), hosts.begin(), hosts.end());
  out.push_back(Send{link, wire::Assign{std::move(hosts)}});
}

void Launch::ask(LinkId link, std::uint32_t hosts, Instant now, Actions& out) {
  if (!pool_.is_late() || stopped_) return;
  hungry_.emplace_back(link, std::max(hosts, 1U));
  serve(out);
  pump(now, out);
}

/// First come, first served, but never more than half of what is left.
void Launch::serve(Actions& out) {
  while (!hungry_.empty() && pool_.left() > 0) {
    const auto [link, wanted] = hungry_.front();
    hungry_.pop_front();
    const Child* child = find(link);
    if (child == nullptr || child->state != Child::State::up) continue;
    give(link, pool_.split(std::min<std::size_t>(wanted, (pool_.left() + 1) / 2)), out);
  }
}

void Launch::ask_parent(Actions& out) {
  if (config_.is_root || asked_ || !had_hosts_ || !pool_.is_late() || stopped_) return;
  if (!pool_.empty() || begun_.size() >= config_.window) return;
  asked_ = true;
  out.push_back(Send{kParentLink, wire::Ask{bite_}});
  bite_ = std::min(2 * bite_, kMostAsked);
}

void Launch::on(const LinkUp& event, Instant now, Actions& out) {
  Child* child = find(event.link);
  if (child == nullptr || child->state != Child::State::logging_in) return;
  begun_.erase(event.link);
  child->state = Child::State::up;
  if (child->sweeper) {
    out.push_back(Send{event.link, wire::Sweep{job_.id, child->host.index}});
    return;
  }
  child->welcomed = now;
  using S = wire::Stamps;
  auto& times = child->stamps.times;
  if (event.times.begun != kNever) times[S::begun] = event.times.begun;
  times[S::resolved] = event.times.resolved;
  times[S::connected] = event.times.connected;
  times[S::handshaken] = event.times.handshaken;
  times[S::authenticated] = event.times.authenticated;
  times[S::executed] = event.times.executed;
  times[S::hello] = now;
  out.push_back(Send{event.link, wire::Welcome{coded_job_, child->host, config_.level + 1}});
  subtree_.bind(child->host.index, event.link);
  give(event.link, pool_.is_late() ? pool_.split(postal_share(now)) : pool_.share(child->host.index), out);
  pump(now, out);
}

bool Launch::hand_back(const Child& child, const Error& error, Actions& out) {
  if (config_.is_root || !root_may_do_better(error.code)) return false;
  out.push_back(Send{kParentLink, wire::HandBack{{{child.host.index, error}}}});
  subtree_.remove(child.host.index);
  return true;
}

bool Launch::try_again(LinkId link, const LoginFailed& event, Instant now, Actions& out) {
  Child& child = children_.at(link);
  if (event.error.code == Errc::no_usable_key && child.via == Via::ssh) {
    if (!said_fallback_) {
      said_fallback_ = true;
      out.push_back(Say{Tone::info, fmt::format("{}: {}; using the ssh command for such hosts",
                                                child.host.name, event.error.what)});
    }
    Child again;
    again.host = std::move(child.host);
    again.sweeper = child.sweeper;
    again.via = Via::command;
    again.attempts = child.attempts;
    again.first_tried = child.first_tried;
    children_.erase(link);
    login(std::move(again), now, out);
    return true;
  }
  if (!is_transient(event.error.code) || child.retries >= config_.retries) return false;
  const Duration pause = config_.first_pause * (1 << child.retries);
  const Instant retry_at = now + random_.between(pause / 2, pause + pause / 2);
  if (retry_at - child.first_tried >= job_.timeout) return false;
  ++child.retries;
  child.state = Child::State::waiting;
  child.retry_at = retry_at;
  waiting_.emplace(retry_at, link);
  return true;
}

void Launch::on(const LoginFailed& event, Instant now, Actions& out, std::vector<wire::HostFailure>& failed) {
  Child* child = find(event.link);
  if (child == nullptr || child->state != Child::State::logging_in) return;
  begun_.erase(event.link);
  if (child->sweeper && (event.error.code != Errc::no_usable_key || child->via != Via::ssh)) {
    child->state = Child::State::lost;
    return;
  }
  if (try_again(event.link, event, now, out)) {
    pump(now, out);
    return;
  }
  const std::uint32_t host = child->host.index;
  pool_.failed(host);
  if (!hand_back(*child, event.error, out)) {
    Error error = event.error;
    if (child->retries > 0) error.what += fmt::format(" ({} tries)", child->retries + 1);
    failed.push_back({host, std::move(error)});
  }
  children_.erase(event.link);
  pump(now, out);
}

void Launch::hello(LinkId link, const wire::Hello& hello, Instant now) {
  Child* child = find(link);
  if (child == nullptr || child->heard) return;
  child->heard = true;
  const Instant middle = child->welcomed + (now - child->welcomed) / 2;
  child->clock_offset = hello.clock - middle;
}

Instant Launch::next_deadline() const {
  if (begun_.size() >= config_.window) return kNever;
  const Instant again = waiting_.empty() ? kNever : waiting_.begin()->first;
  return pool_.is_late() && !pool_.empty() ? earlier(again, next_login_) : again;
}

void Launch::sweep(LinkId lost, Instant now, Actions& out) {
  const auto add = [&](const Host& host, Via via) {
    Child sweeper;
    sweeper.host = host;
    sweeper.via = via;
    sweeper.state = Child::State::waiting;
    sweeper.retry_at = now;
    sweeper.sweeper = true;
    waiting_.emplace(now, next_link_);
    children_.emplace(next_link_++, std::move(sweeper));
  };
  const Child& child = children_.at(lost);
  add(child.host, child.via);
  for (const Host& host : child.below) {
    if (subtree_.owns(lost, host.index)) add(host, usual_via(host));
  }
  pump(now, out);
}

void Launch::stop(Actions& out) {
  stopped_ = true;
  pool_.clear();
  hungry_.clear();
  for (auto it = children_.begin(); it != children_.end();) {
    if (it->second.open()) {
      ++it;
      continue;
    }
    if (it->second.state == Child::State::logging_in) {
      out.push_back(CancelLogin{it->first});
      begun_.erase(it->first);
    }
    waiting_.erase({it->second.retry_at, it->first});
    it = children_.erase(it);
  }
}

Child* Launch::find(LinkId link) {
  const auto it = children_.find(link);
  return it == children_.end() ? nullptr : &it->second;
}

}  // namespace charmtree::proto
