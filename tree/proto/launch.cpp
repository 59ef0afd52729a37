// SPDX-License-Identifier: Apache-2.0
// A host goes pool -> logging_in -> up, or logging_in -> waiting -> logging_in for transient failures (each
// try has a new link), or it is given up: handed back to the parent, which tries it once itself, if that one
// may have better keys or names, else reported as failed. A login's place in the window is free again when
// the launcher there has greeted or the login has failed.
#include "tree/proto/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/proto/launch_failure.hpp"

namespace charmtree::proto {

namespace {

// Logins in flight to begin with: latency / occupancy or more.
constexpr std::uint32_t kFirstWindow = 128;
// Between two logins with late binding, at least.
constexpr Duration kPace = 500us;
constexpr std::uint32_t kMostAsked = 1024;   // hosts at a time
constexpr int kPresumedDead = 4;             // a login of so many times the latency counts for nothing
constexpr std::uint32_t kMostDoublings = 3;  // of the pause between two tries without a fixed number of them
constexpr double kRateUnit = 1e6;            // seconds, of wire::LaunchRules::login_rate

bool was_turned_away(Errc code) {
  return code == Errc::busy || code == Errc::penalised;
}

/// The host has not answered at all.
bool is_not_reached(Errc code) {
  return code == Errc::no_such_host || code == Errc::timed_out || code == Errc::unreachable;
}

/// Failures that a host may get over in its first minutes.
bool may_come_up(Errc code) {
  return is_not_reached(code) || code == Errc::refused;
}

LoginWindow::Config window_of(const wire::LaunchRules& rules) {
  return {kFirstWindow, rules.batch, rules.max_logins};
}

}  // namespace

Launch::Launch(const wire::JobSpec& job, wire::Blob coded_job, const LaunchConfig& config, Random& random)
    : job_(job),
      coded_job_(std::move(coded_job)),
      config_(config),
      random_(random),
      pool_(job.launch.shape, config.level),
      window_(window_of(job.launch)),
      patience_(job.launch.patience),
      curve_(config.postal),
      login_rate_(config.is_root ? job.launch.login_rate : 0) {
  if (job.checkup) config_.retries = 0;  // the user wants to know now
}

void Launch::add(std::vector<Host> hosts, std::uint64_t login_rate, Instant now, Actions& out) {
  if (stopped_) return;
  asked_ = false;
  had_hosts_ = had_hosts_ || !hosts.empty();
  login_rate_ += std::min(login_rate, job_.launch.login_rate);
  for (const Host& host : hosts) subtree_.add(host);
  keep_this_machine(hosts);
  pool_.add(std::move(hosts));
  // A part of the rate is no login at once: many parts would be many.
  next_login_ = std::max(next_login_, login_rate_limited() && !config_.is_root ? now + pace() : now);
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
  next_login_ = std::max(next_login_, now);
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
  take_numbers(back);
  if (stopped_) {
    shelved_.push_back(std::move(back));
    return false;
  }
  pool_.add_single(std::move(back));
  next_login_ = std::max(next_login_, now);
  pump(now, out);
  return true;
}

/// As they are in this run: it may have had others when it was given to a child.
void Launch::take_numbers(Host& host) const {
  const Subtree::Entry* entry = subtree_.find(host.index);
  if (entry == nullptr) return;
  host.first_process = entry->first_process;
  host.processes = entry->processes;
}

/// False if its machine admits no login now: it waits for that.
bool Launch::enter(Child child, Instant now, Actions& out) {
  const std::uint32_t machine = child.host.machine;
  if (child.visits() || gate_.admits(machine, now)) {
    login(std::move(child), now, out);
    return true;
  }
  const LinkId link = next_link_++;
  child.retry_at = gate_.opens(machine);
  if (child.retry_at > now) {
    waiting_.emplace(child.retry_at, link);
  } else {
    child.retry_at = kNever;
    blocked_[machine].push_back(link);
  }
  children_.emplace(link, std::move(child));
  return false;
}

/// With hosts that are just slow. So is a session, before anybody waits for a run.
bool Launch::is_patient() const {
  const bool is_first = job_.session && job_.processes == 0 && job_.launch.patience == Duration{0};
  return is_first || job_.launch.on_failure == wire::OnHostFailure::abort;
}

void Launch::login(Child child, Instant now, Actions& out) {
  const LinkId link = next_link_++;
  if (child.first_tried == kNever) child.first_tried = now;
  child.login_begun();
  child.retry_at = kNever;
  ++child.attempts;
  child.stamps = {};
  child.stamps.host = child.host.index;
  child.stamps.parent = config_.self;
  child.stamps.level = config_.level + 1;
  child.stamps.attempts = child.attempts;
  child.stamps.times[wire::Stamps::begun] = now;
  begun_.emplace(link, now);
  gate_.begun(child.host.machine);
  next_login_ = now + pace();
  if (!is_patient() && !child.visits()) judged_.push_back(link);
  out.push_back(Login{link, child.host, profile(child.host), child.via, job_.timeout});
  children_.emplace(link, std::move(child));
}

/// Accounts for the end of a login; those that waited for the same machine may be next. No error: success.
void Launch::login_ended(LinkId link, const Child& child, const Error* error, Instant now) {
  const std::uint32_t machine = child.host.machine;
  const Instant begun = begun_.extract(link).mapped();
  skip_ended_logins();
  if (error == nullptr) {
    gate_.succeeded(machine);
    window_.succeeded(now - begun);
    patience_.succeeded(now - begun);
  } else {
    gate_.failed(machine, error->code, now);
    window_.failed(error->code, begun, now);
  }
  const auto it = blocked_.find(machine);
  if (it == blocked_.end()) return;
  for (std::uint32_t i = 0; i < MachineGate::kMost && !it->second.empty(); ++i) {
    children_.at(it->second.front()).retry_at = now;
    waiting_.emplace(now, it->second.front());
    it->second.pop_front();
  }
  if (it->second.empty()) blocked_.erase(it);
}

/// Between two logins. Never longer than all logins take together, even if hardly any rate is left to us.
Duration Launch::pace() const {
  const Duration pace = pool_.is_late() ? kPace : Duration{0};
  if (!login_rate_limited()) return pace;
  const std::uint64_t least = job_.launch.login_rate / std::max(job_.hosts, 1U);
  const auto rate = static_cast<double>(std::max({login_rate_, least, std::uint64_t{1}}));
  return std::max(pace,
                  std::chrono::duration_cast<Duration>(std::chrono::duration<double>(kRateUnit / rate)));
}

bool Launch::may_login(Instant now) const {
  return window_.admits(begun_.size()) && (!login_rate_limited() || now >= next_login_);
}

Via Launch::usual_via(const Host& host) const {
  return profile(host).usual_via();
}

void Launch::pump(Instant now, Actions& out) {
  while (may_login(now) && !waiting_.empty() && waiting_.begin()->first <= now) {
    const LinkId link = waiting_.extract(waiting_.begin()).value().second;
    Child child = std::move(children_.at(link));
    children_.erase(link);
    enter(std::move(child), now, out);
  }
  while (!is_paced() && may_login(now) && !pool_.empty()) login_next(now, out);
  ask_parent(out);
}

bool Launch::login_next(Instant now, Actions& out) {
  Child child;
  child.host = *pool_.take();
  child.via = usual_via(child.host);
  return enter(std::move(child), now, out);
}

/// With late binding one login at a time, and only when nothing else has happened: those who have answered
/// take hosts first, and a launcher that is kept busy by its logins begins no more than it can carry on.
void Launch::tick(Instant now, Actions& out, std::vector<wire::HostFailure>& failed) {
  give_up_silent(now, failed);
  if (is_paced() && now >= next_login_ && window_.admits(begun_.size())) {
    while (!pool_.empty() && !login_next(now, out)) {
    }
  }
  pump(now, out);
}

/// Such a login goes on (cut off before it has authenticated, sshd would count it against us), but for
/// nothing.
void Launch::give_up_silent(Instant now, std::vector<wire::HostFailure>& failed) {
  while (patience_ends() <= now) {
    Child& child = children_.at(judged_.front());
    child.given_up = true;
    pool_.failed(child.host.index);
    const Error error{Errc::timed_out, Phase::connect, "silent for too long", "see ++host-patience"};
    miss(child.host, error, now);
    failed.push_back({child.host.index, error});
    judged_.pop_front();
    skip_ended_logins();
  }
}

/// When the oldest login loses it.
Instant Launch::patience_ends() const {
  if (judged_.empty()) return kNever;
  const Duration own = job_.launch.patience;  // of this run
  return begun_.at(judged_.front()) + (own > Duration{0} ? own : patience_.get());
}

/// From here on the oldest one to be judged is under way.
void Launch::skip_ended_logins() {
  while (!judged_.empty() && !begun_.contains(judged_.front())) judged_.pop_front();
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
  for (const Host& host : hosts) {
    subtree_.bind(host.index, link);
    child.below.emplace(host.index, host);
  }
  const std::size_t all = hosts.size() + pool_.waiting() + 1;
  const std::uint64_t rate = std::min(login_rate_, login_rate_ / all * hosts.size() + 1);
  login_rate_ -= rate;
  child.login_rate += rate;
  out.push_back(Send{link, wire::Assign{std::move(hosts), rate}});
}

void Launch::ask(LinkId link, const wire::Ask& message, Instant now, Actions& out) {
  if (!pool_.is_late() || stopped_) return;
  Child& child = children_.at(link);
  const std::uint64_t rate = std::min(message.login_rate, child.login_rate);
  child.login_rate -= rate;
  login_rate_ += rate;
  // It asks once, and again when it has got some.
  const auto asked =
      std::find_if(hungry_.begin(), hungry_.end(), [&](auto& each) { return each.first == link; });
  if (asked == hungry_.end())
    hungry_.emplace_back(link, std::max(message.hosts, 1U));
  else
    asked->second = std::max(asked->second, message.hosts);
  serve(out);
  pump(now, out);
}

/// First come, first served, but never more than half of what is left.
void Launch::serve(Actions& out) {
  while (!hungry_.empty() && pool_.left() > 0) {
    const auto [link, wanted] = hungry_.front();
    if (find_up(link) != nullptr) {
      std::vector<Host> hosts = pool_.split(std::min<std::size_t>(wanted, (pool_.left() + 1) / 2));
      if (hosts.empty()) return;  // names of one machine, which is ours
      give(link, std::move(hosts), out);
    }
    hungry_.pop_front();
  }
}

void Launch::ask_parent(Actions& out) {
  if (config_.is_root || asked_ || !had_hosts_ || !pool_.is_late() || stopped_) return;
  if (!pool_.empty() || !window_.admits(begun_.size())) return;
  asked_ = true;
  const bool idle = begun_.empty() && waiting_.empty() && blocked_.empty();  // nothing to be tried again
  out.push_back(Send{kParentLink, wire::Ask{bite_, idle ? std::exchange(login_rate_, 0) : 0}});
  bite_ = std::min(2 * bite_, kMostAsked);
}

void Launch::on(const LinkUp& event, Instant now, Actions& out) {
  Child* child = find(event.link);
  if (child == nullptr || child->state() != Child::State::logging_in) return;
  login_ended(event.link, *child, nullptr, now);
  if (child->given_up) {
    out.push_back(CloseLink{event.link});
    children_.erase(event.link);
    pump(now, out);
    return;
  }
  child->logged_in();
  if (child->sweeper) return out.push_back(Send{event.link, wire::Sweep{job_.id, child->host.index}});
  if (child->adopter) return;  // whoever wants to adopt somebody there says whom
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
  if (config_.is_root || job_.checkup || !parent_may_do_better(error.code)) return false;
  out.push_back(Send{kParentLink, wire::HandBack{{{child.host.index, error}}}});
  subtree_.remove(child.host.index);
  return true;
}

/// To the ssh command, which knows more ways to authenticate.
bool Launch::fall_back(LinkId link, const LoginFailed& event, Instant now, Actions& out) {
  Child& child = children_.at(link);
  if (event.error.code != Errc::no_usable_key || child.via != Via::ssh) return false;
  if (!said_fallback_) {
    said_fallback_ = true;
    out.push_back(
        Say{config_.is_root ? Tone::info : Tone::verbose,  // one such line is enough
            fmt::format("{}: {}; using the ssh command for such hosts", child.host.name, event.error.what)});
  }
  Child again;
  again.host = std::move(child.host);
  again.sweeper = child.sweeper;
  again.adopter = child.adopter;
  again.via = Via::command;
  again.attempts = child.attempts;
  again.first_tried = child.first_tried;
  again.insistence = child.insistence;
  children_.erase(link);
  enter(std::move(again), now, out);
  return true;
}

/// A host that is coming up is tried as long as the user wants to wait, one that is too busy until the
/// time-out, and all others a few times. A visit has less time: it tries again where sshd was too busy, and,
/// as long as it insists, where the host was not reached.
bool Launch::try_again(LinkId link, const LoginFailed& event, Instant now) {
  Child& child = children_.at(link);
  const Errc code = event.error.code;
  const bool turned_away = was_turned_away(code);
  const Duration wait = child.visits() ? child.insistence : job_.launch.wait;
  const bool may_change = child.visits() ? is_not_reached(code) : may_come_up(code);
  const bool coming_up =
      may_change && now - child.first_tried < wait && (config_.is_root || code != Errc::no_such_host);
  const bool a_few_times = !child.visits() && is_transient(code) && child.retries < config_.retries;
  if (!turned_away && !coming_up && !a_few_times) return false;
  std::uint32_t& times = turned_away ? child.turned_away : child.retries;
  const Duration pause = config_.first_pause * (1 << std::min(times, kMostDoublings));
  const Duration penalty = code == Errc::penalised ? MachineGate::kPenalty : Duration{0};
  const Instant retry_at = now + penalty + random_.between(pause / 2, pause + pause / 2);
  if (retry_at - child.first_tried >= (coming_up ? wait : job_.timeout)) return false;
  ++times;
  child.put_off();
  child.retry_at = retry_at;
  waiting_.emplace(retry_at, link);
  return true;
}

void Launch::on(const LoginFailed& event, Instant now, Actions& out, std::vector<wire::HostFailure>& failed) {
  Child* child = find(event.link);
  if (child == nullptr || child->state() != Child::State::logging_in) return;
  login_ended(event.link, *child, &event.error, now);
  if (!child->given_up && (fall_back(event.link, event, now, out) || try_again(event.link, event, now))) {
    pump(now, out);
    return;
  }
  if (child->visits()) {
    child->lost();
    child->error = event.error;
    return;
  }
  const std::uint32_t host = child->host.index;
  if (!child->given_up) {
    pool_.failed(host);
    if (!hand_back(*child, event.error, out)) {
      Error error = event.error;
      const std::uint32_t tries = child->retries + child->turned_away + 1;
      if (tries > 1) error.what += fmt::format(" ({} tries)", tries);
      miss(child->host, error, now);
      failed.push_back({host, std::move(error)});
    }
  }
  children_.erase(event.link);
  pump(now, out);
}

Instant Launch::next_deadline() const {
  const Instant patience = patience_ends();
  if (!window_.admits(begun_.size())) return patience;
  Instant login = waiting_.empty() ? kNever : waiting_.begin()->first;
  if (login_rate_limited() && login != kNever) login = std::max(login, next_login_);
  if (is_paced() && !pool_.empty()) login = earlier(login, next_login_);
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

}  // namespace charmtree::proto
