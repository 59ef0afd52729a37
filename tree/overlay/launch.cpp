// SPDX-License-Identifier: Apache-2.0
// A host goes pool -> logging_in -> up, or logging_in -> waiting -> logging_in for transient failures (each
// try has a new link), or it is given up: handed back to the parent, which tries it once itself, if that one
// may have better keys or names, else reported as failed. A login's place in the window is free again when
// the launcher there has greeted or the login has failed.
#include "tree/overlay/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/overlay/launch_failure.hpp"

namespace charmtree::proto {

Launch::Launch(const wire::JobSpec& job, wire::Blob coded_job, const LaunchConfig& config, Random& random)
    : job_(job),
      coded_job_(std::move(coded_job)),
      config_(config),
      pool_(job.launch.shape, config.level),
      in_flight_(job),
      pace_(job, config),
      retries_(job, config, random),
      curve_(config.postal),
      postponed_(job) {}

void Launch::add(std::vector<Host> hosts, std::uint64_t login_rate, Instant now, Actions& out) {
  if (stopped_) return;
  own_requests_.answered(!hosts.empty());
  for (const Host& host : hosts) subtree_.add(host);
  keep_this_machine(hosts);
  pool_.add(std::move(hosts));
  pace_.receive(login_rate, now);
  serve(out);
  pump(now, out);
}

void Launch::add_late(std::vector<Host> hosts, wire::Blob coded_job, Instant now, Actions& out) {
  coded_job_ = std::move(coded_job);
  if (stopped_ || hosts.empty()) return;
  for (Host& host : hosts) {
    subtree_.add(host);
    pool_.add_single(std::move(host));
  }
  pace_.resume(now);
  pump(now, out);
}

void Launch::forget_processes() {
  subtree_.renumber();
  for (auto& [link, child] : children_) child.forget_processes();
}

/// `local` means the root's machine: among other hosts nobody else may start such an entry.
void Launch::keep_this_machine(std::vector<Host>& hosts) {
  if (job_.private_network) return;
  const auto mine = std::stable_partition(
      hosts.begin(), hosts.end(), [this](const Host& host) { return profile(host).via != Via::local; });
  for (auto host = mine; host != hosts.end(); ++host) pool_.add_single(std::move(*host));
  hosts.erase(mine, hosts.end());
}

bool Launch::gave(LinkId link, std::uint32_t host) const {
  const auto child = children_.find(link);
  return child != children_.end() && child->second.below.contains(host);
}

/// Once at most: from here on it is not the child's any more.
bool Launch::take_back(LinkId link, std::uint32_t host, Instant now, Actions& out) {
  subtree_.bind(host, kParentLink);
  Host back = std::move(children_.at(link).below.extract(host).mapped());
  subtree_.number(back);
  if (stopped_) {
    postponed_.keep(std::move(back));
    return false;
  }
  pool_.add_single(std::move(back));
  pace_.resume(now);
  pump(now, out);
  return true;
}

/// False if its machine admits no login now: it waits for that.
bool Launch::enter(Child child, Instant now, Actions& out) {
  const std::uint32_t machine = child.host.machine;
  if (child.visits() || queue_.admits(machine, now)) {
    login(std::move(child), now, out);
    return true;
  }
  const LinkId link = next_link_++;
  queue_.add_behind(machine, link, now);
  children_.emplace(link, std::move(child));
  return false;
}

namespace {

/// With each step of a login. A host that is tried again for some time has what is left of that: others may
/// be tried in its place then.
Duration patience_with(const Child& child, const wire::JobSpec& job, Instant now) {
  constexpr Duration kLeast = 100ms;
  if (child.insistence == Duration{0}) return job.timeout;
  return std::clamp(child.first_tried + child.insistence - now, kLeast, std::max(kLeast, job.timeout));
}

}  // namespace

void Launch::login(Child child, Instant now, Actions& out) {
  const LinkId link = next_link_++;
  child.login_begun(config_.self, config_.level + 1, now);
  using Silence = LoginsInFlight::Silence;
  in_flight_.begin(link, child.visits() ? Silence::borne : Silence::judged, now);
  queue_.begun(child.host.machine);
  pace_.begun(now);
  out.push_back(Login{link, child.host, profile(child.host), child.via, patience_with(child, job_, now),
                      child.replaces});
  children_.emplace(link, std::move(child));
}

void Launch::pump(Instant now, Actions& out) {
  const auto may_login = [&] { return in_flight_.has_room() && pace_.allows(now); };
  while (may_login()) {
    const auto link = queue_.take_due(now);
    if (!link) break;
    enter(std::move(children_.extract(*link).mapped()), now, out);
  }
  while (!pace_.is_paced() && may_login() && may_take()) login_next(now, out);
  pass_on(out);
  ask_parent(out);
}

/// One more launcher could be linked to. What must be started from here is started all the same.
bool Launch::has_link() const {
  if (children_.size() < config_.most_links) return true;
  const auto held = std::count_if(children_.begin(), children_.end(), [](const auto& entry) {
    return entry.second.open() || entry.second.begins();
  });
  return static_cast<std::size_t>(held) < config_.most_links;
}

bool Launch::may_take() const {
  return pool_.has_own() || (pool_.left() > 0 && has_link());
}

/// Without a link for one more, and with nobody under way who would get his share or leave his link, those
/// who have answered start what is left: the tree gets deeper. Some of them never had a host, and do not ask.
void Launch::pass_on(Actions& out) {
  if (pool_.left() == 0 || has_link()) return;
  std::vector<LinkId> up;
  for (const auto& [link, child] : children_) {
    if (child.serves()) up.push_back(link);
    const bool is_under_way = child.state() == Child::State::logging_in && !child.visits() && !child.given_up;
    if (is_under_way || (child.serves() && child.is_claimed)) return;
  }
  for (; !up.empty() && pool_.left() > 0; up.pop_back()) {
    std::vector<Host> hosts = pool_.split((pool_.left() + up.size() - 1) / up.size());
    give(up.back(), hosts.empty() ? pool_.split(pool_.left()) : std::move(hosts), out);
  }
}

bool Launch::login_next(Instant now, Actions& out) {
  Child child;
  child.host = *pool_.take();
  child.via = profile(child.host).usual_via();
  return enter(std::move(child), now, out);
}

/// With late binding one login at a time, and only when nothing else has happened: those who have answered
/// take hosts first, and a launcher that is kept busy by its logins begins no more than it can carry on.
void Launch::tick(Instant now, Actions& out, std::vector<wire::HostFailure>& failed) {
  give_up_silent(now, failed);
  if (pace_.is_paced() && now >= pace_.next() && in_flight_.has_room()) {
    while (may_take() && !login_next(now, out)) {
    }
  }
  pump(now, out);
}

/// Such a login goes on (cut off before it has authenticated, sshd would count it against us), but for
/// nothing.
void Launch::give_up_silent(Instant now, std::vector<wire::HostFailure>& failed) {
  while (const auto link = in_flight_.take_silent(now)) {
    Child& child = children_.at(*link);
    child.given_up = true;
    pool_.failed(child.host.index);
    postponed_.could_not_start(
        child.host, {Errc::timed_out, Phase::connect, "silent for too long", "see ++host-patience"}, now,
        failed);
  }
}

/// What an answering child gets of the hosts that are left. From now on it can do what we can, and so will
/// those that are still on their way to become launchers, each by so much less as it is later: with late
/// binding the shares are as the numbers of hosts that each can start until the same end; equal ones if we
/// have no link for one more.
std::vector<Host> Launch::hosts_for(const Child& child, Instant now) {
  if (!pool_.is_late()) return pool_.share(child.host.index);
  const std::size_t left = pool_.left();
  if (left == 0) return {};
  const auto later = in_flight_.still_take(config_.postal.latency, now);
  return pool_.split(has_link() ? curve_.share(left, later) : (left + later.size()) / (later.size() + 1));
}

void Launch::give(LinkId link, std::vector<Host> hosts, Actions& out) {
  if (hosts.empty()) return;
  Child& child = children_.at(link);
  for (const Host& host : hosts) {
    subtree_.bind(host.index, link);
    child.below.emplace(host.index, host);
  }
  const std::uint64_t rate = pace_.give(hosts.size(), pool_.waiting());
  child.login_rate += rate;
  out.push_back(Send{link, wire::Assign{std::move(hosts), rate}});
}

void Launch::ask(LinkId link, const wire::Ask& message, Instant now, Actions& out) {
  if (!pool_.is_late() || stopped_) return;
  Child& child = children_.at(link);
  const std::uint64_t rate = std::min(message.login_rate, child.login_rate);
  child.login_rate -= rate;
  pace_.take_back(rate);
  requests_.add(link, message.hosts);
  serve(out);
  pump(now, out);
}

/// Never more than half of what is left.
void Launch::serve(Actions& out) {
  while (pool_.left() > 0) {
    const auto request = requests_.first();
    if (!request) return;
    if (find_up(request->link) != nullptr) {
      std::vector<Host> hosts = pool_.split(std::min<std::size_t>(request->hosts, (pool_.left() + 1) / 2));
      if (hosts.empty()) return;  // names of one machine, which is ours
      give(request->link, std::move(hosts), out);
    }
    requests_.served();
  }
}

void Launch::ask_parent(Actions& out) {
  if (config_.is_root || !own_requests_.may_ask() || !pool_.is_late() || stopped_) return;
  if (!pool_.empty() || !in_flight_.has_room()) return;
  const bool idle = in_flight_.empty() && queue_.empty();  // nothing to be tried again
  out.push_back(Send{kParentLink, wire::Ask{own_requests_.ask(), idle ? pace_.give_all() : 0}});
}

void Launch::on(const LinkUp& event, Instant now, Actions& out) {
  Child* child = find(event.link);
  if (child == nullptr || child->state() != Child::State::logging_in) return;
  in_flight_.succeeded(event.link, now);
  queue_.succeeded(child->host.machine, now);
  if (child->given_up) {
    out.push_back(CloseLink{event.link});
    children_.erase(event.link);
    pump(now, out);
    return;
  }
  child->logged_in();
  if (child->sweeps()) return out.push_back(Send{event.link, wire::Sweep{job_.id, child->host.index}});
  if (child->adopts()) return;  // whoever wants to adopt somebody there says whom
  child->welcome(event.times, now);
  out.push_back(Send{event.link, wire::Welcome{coded_job_, child->host, config_.level + 1}});
  subtree_.bind(child->host.index, event.link);
  give(event.link, hosts_for(*child, now), out);
  pump(now, out);
}

bool Launch::hand_back(const Child& child, const Error& error, Actions& out) {
  if (config_.is_root || job_.checkup || !parent_may_do_better(error.code)) return false;
  out.push_back(Send{kParentLink, wire::HandBack{{{child.host.index, error}}}});
  subtree_.remove(child.host.index);
  return true;
}

/// To the ssh command, which knows more ways to authenticate, or to a launcher of our own in the place of one
/// that is not the same.
bool Launch::fall_back(LinkId link, const LoginFailed& event, Instant now, Actions& out) {
  const Child& child = children_.at(link);
  Child again;
  std::string_view how;
  if (event.error.code == Errc::no_usable_key && child.via == Via::ssh) {
    again = child.by(Via::command);
    how = "using the ssh command for such hosts";
  } else if (is_unusable_launcher(event.error.code) && profile(child.host).stages && !child.replaces) {
    again = child.by(child.via);
    again.replaces = true;
    how = "such hosts get ours";
  } else {
    return false;
  }
  if (said_fallbacks_.insert(how).second) {
    out.push_back(Say{config_.is_root ? Tone::info : Tone::verbose,  // one such line is enough
                      fmt::format("{}: {}; {}", child.host.name, event.error.what, how)});
  }
  children_.erase(link);
  enter(std::move(again), now, out);
  return true;
}

bool Launch::try_again(LinkId link, const LoginFailed& event, Instant now) {
  Child& child = children_.at(link);
  const auto at = retries_.next(child, event.error.code, now);
  if (!at) return false;
  child.put_off();
  queue_.add(link, *at);
  return true;
}

void Launch::on(const LoginFailed& event, Instant now, Actions& out, std::vector<wire::HostFailure>& failed) {
  Child* child = find(event.link);
  if (child == nullptr || child->state() != Child::State::logging_in) return;
  in_flight_.failed(event.link, event.error.code, now);
  queue_.failed(child->host.machine, event.error.code, now);
  if (!child->given_up && (fall_back(event.link, event, now, out) || try_again(event.link, event, now))) {
    pump(now, out);
    return;
  }
  if (child->visits()) {
    child->lost();
    child->error = event.error;
    return;
  }
  if (!child->given_up) {
    pool_.failed(child->host.index);
    if (!hand_back(*child, event.error, out)) {
      Error error = event.error;
      if (child->tries() > 1) error.what += fmt::format(" ({} tries)", child->tries());
      postponed_.could_not_start(child->host, std::move(error), now, failed);
    }
  }
  children_.erase(event.link);
  pump(now, out);
}

Instant Launch::next_deadline() const {
  const Instant patience = in_flight_.patience_ends();
  if (!in_flight_.has_room()) return patience;
  Instant login = pace_.retry_at(queue_.next());
  if (may_take()) login = earlier(login, pace_.next());
  return earlier(login, patience);
}

Child* Launch::find(LinkId link) {
  const auto it = children_.find(link);
  return it == children_.end() ? nullptr : &it->second;
}

Child* Launch::find_up(LinkId link) {
  Child* child = find(link);
  return child != nullptr && child->state() == Child::State::up ? child : nullptr;
}

/// A login to a host whose launcher was lost.
Child& Launch::visit(const Host& host, Via via, Child::Purpose purpose, Instant now) {
  const LinkId link = next_link_++;
  Child& visitor = children_[link];
  visitor.host = host;
  visitor.purpose = purpose;
  visitor.via = via;
  queue_.add(link, now);
  return visitor;
}

void Launch::sweep(LinkId lost, const std::set<std::uint32_t>& unconfirmed, Instant now, Actions& out) {
  const Child& child = children_.at(lost);
  const auto sweep = [&](const Host& host, Via via) {
    if (!child.idle || unconfirmed.contains(host.index)) visit(host, via, Child::Purpose::sweep, now);
  };
  sweep(child.host, child.via);
  for (const auto& [index, host] : child.below) sweep(host, profile(host).usual_via());
  pump(now, out);
}

void Launch::adopt(const Host& host, Duration insistence, Instant now, Actions& out) {
  visit(host, profile(host).usual_via(), Child::Purpose::adopt, now).insistence = insistence;
  pump(now, out);
}

void Launch::sweep_instead(const Host& host, Instant now, Actions& out) {
  for (auto& [link, child] : children_) {
    if (!child.adopts() || !child.open() || child.host.index != host.index) continue;
    if (child.state() != Child::State::up) {
      child.purpose = Child::Purpose::sweep;
      child.insistence = {};
      return;
    }
    child.lost();
    out.push_back(CloseLink{link});
  }
  visit(host, profile(host).usual_via(), Child::Purpose::sweep, now);
  pump(now, out);
}

void Launch::abandon(Actions& out) {
  for (auto& [link, child] : children_) {
    if (!child.open()) continue;
    cancel(link, out);
    child.lost();
  }
}

void Launch::adopted(LinkId link, std::map<std::uint32_t, Host> below, Instant now) {
  Child& child = children_.at(link);
  child.purpose = Child::Purpose::job;
  child.is_claimed = true;
  child.welcomed = now;
  child.below = std::move(below);
  subtree_.move(child.host.index, link);
  subtree_.started({child.host.index, config_.self});
}

void Launch::claimed(LinkId link, Instant now, Actions& out) {
  children_.at(link).is_claimed = false;
  pump(now, out);
}

}  // namespace charmtree::proto
