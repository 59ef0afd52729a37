// SPDX-License-Identifier: Apache-2.0
// Time, launchers and links. A happening that finds its launcher busy waits in line until it is free. A
// launcher or a link end that is gone swallows what was under way to it.
#include "tests/sim/world.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/dice.hpp"
#include "tests/sim/trees.hpp"
#include "tests/sim/vocabulary.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {

constexpr std::uint32_t kTicksInARow = 1000;  // without any time passing: a launcher that goes round
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
  job.arguments = {"./my_app"};
  job.hosts = hosts.size();
  const std::uint32_t each = whole(settings.processes);
  const std::uint32_t wanted = hosts.size() - whole(settings.spares);
  job.processes = wanted * each;
  job.launch.on_failure = static_cast<wire::OnHostFailure>(whole(settings.policy));
  job.launch.patience = ms(settings.patience);
  job.launch.shape = {whole(settings.branching), whole(settings.levels)};
  job.launch.batch = whole(settings.batch);
  if (settings.by_cores != 0) job.provision = {CpuUnit::core, 1};
  job.loss.recovery = recovery_of(settings);
  job.loss.keep_alive = ms(settings.keep_alive);
  if (settings.reruns != 0) {
    plan.restart = RestartRules{whole(settings.reruns), {"again"}};
    plan.bad_exit = BadExit::ends;
  }
  job.starts_together =
      starts_together(settings) && whole(settings.sabotage) != static_cast<std::uint32_t>(Sabotage::haste);
  job.grace = ms(settings.grace);
  job.timeout = ms(settings.timeout);
  job.heartbeat = {ms(settings.heartbeat), 1s, ms(settings.orphan_after)};
  job.reports.stamps = settings.stamps != 0;
  job.output.labelled = settings.prints != 0;
  job.output.spool = static_cast<std::uint64_t>(settings.spool);
  job.profiles.resize(1);
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
    : settings_(settings),
      random_(seed),
      hosts_(settings_, random_),
      network_(settings_, random_),
      checks_(settings_, hosts_),
      launchers_on_(hosts_.size()),
      processes_(hosts_.size() * std::size_t{whole(settings_.processes)}) {
  kill_inner_host(hosts_, settings_, random_);
  reachable_ = hosts_.reachable();
  living_ = hosts_.living();
  outcome_.failed = hosts_.size() - living_;
  outcome_.ideal = ideal_pool(hosts_, ms(settings_.occupancy));
  if (settings_.stubborn > 0) {
    for (Process& process : processes_) process.is_stubborn = uniform(random_) < settings_.stubborn;
  }
  begin_root(make_plan(settings_, hosts_), 0ms);
  draw_faults();
}

void World::happen(const TakeOver&, Duration now) {
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
}

void World::begin_root(RootPlan plan, Duration now) {
  Launcher root;
  root.host = wire::kRootIndex;
  root.level = 0;
  root.skew = random_.between(-1000s, 1000s);
  root.is_welcomed = true;
  root.node = std::make_unique<Node>(std::move(plan), random_.next());
  root_ = static_cast<std::uint32_t>(launchers_.size());
  launchers_.push_back(std::move(root));
  ++launchers_alive_;
  put(now, ToNode{root_, Begin{}});
}

Outcome World::run() {
  while (!queue_.empty() && !is_done()) {
    std::pop_heap(queue_.begin(), queue_.end());
    Entry next = std::move(queue_.back());
    queue_.pop_back();
    if (next.at > ms(settings_.limit)) {
      if (outcome_.status < 0 && !is_root_gone_)
        checks_.wrong(fmt::format("still going after {:g} s", settings_.limit / 1000));
      break;
    }
    take(std::move(next.what), next.at);
  }
  finish();
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

void World::put(Duration at, Happening happening) {
  queue_.push_back({at, sequence_++, std::make_unique<Happening>(std::move(happening))});
  std::push_heap(queue_.begin(), queue_.end());
}

/// The launcher to which it happens.
std::uint32_t World::waits_for(const Happening& happening) const {
  if (const auto* what = std::get_if<ToNode>(&happening)) return what->to;
  if (const auto* what = std::get_if<Arrival>(&happening))
    return what->up ? wires_[what->wire].parent : wires_[what->wire].child;
  if (const auto* what = std::get_if<HangUp>(&happening))
    return what->up ? wires_[what->wire].parent : wires_[what->wire].child;
  if (const auto* what = std::get_if<Answer>(&happening)) return logins_[what->login].launcher;
  if (const auto* what = std::get_if<Step>(&happening)) return processes_[what->process].launcher;
  return kNobody;
}

void World::take(std::unique_ptr<Happening> what, Duration now) {
  const std::uint32_t id = waits_for(*what);
  if (id != kNobody) {
    Launcher& launcher = launchers_[id];
    if (!launcher.node) return;
    if (launcher.free_at > now || !launcher.waiting.empty()) {
      launcher.waiting.push_back(std::move(what));
      if (launcher.waiting.size() == 1) put(launcher.free_at, Wake{id});
      return;
    }
  }
  std::visit([&](auto& each) { happen(each, now); }, *what);
}

void World::happen(const Wake& what, Duration now) {
  Launcher& launcher = launchers_[what.to];
  if (!launcher.node) return launcher.waiting.clear();
  if (launcher.free_at <= now) {
    const std::unique_ptr<Happening> first = std::move(launcher.waiting[launcher.next]);
    if (++launcher.next == launcher.waiting.size()) {
      launcher.waiting.clear();
      launcher.next = 0;
    }
    std::visit([&](auto& each) { happen(each, now); }, *first);
  }
  if (!launcher.waiting.empty()) put(std::max(launcher.free_at, now), Wake{what.to});
}

// ---- a launcher's turn

template <class What>
void World::log(Duration now, std::uint32_t id, const What& what) const {
  if (settings_.log == 0) return;
  const std::uint32_t host = launchers_[id].host;
  fmt::print("{:12.6f} {:>7} {}\n", seconds(now), id == root_ ? "root" : fmt::format("n{:06}", host),
             describe(what));
}

Duration World::turn(std::uint32_t id, const Event& event, Duration now) {
  Launcher& launcher = launchers_[id];
  ++outcome_.events;
  note(static_cast<std::uint64_t>(now.count()) * 31 + id);
  note(mark(event));
  log(now, id, event);
  Actions actions;
  launcher.node->on(event, Instant{now + launcher.skew}, actions);
  if (id == root_)
    is_screen_last_ = std::any_of(actions.begin(), actions.end(), [](const Action& action) {
      return std::holds_alternative<proto::Finish>(action);
    });
  for (const Action& action : actions) {
    note(mark(action));
    log(now, id, action);
    std::visit([&](const auto& each) { perform(id, each, now); }, action);
  }
  launcher.free_at = now;
  if (launcher.node) arm(id, now);
  return now;
}

void World::cost(std::uint32_t id, Duration& now, Duration what) const {
  now += launchers_[id].slowness == 1 ? what : scaled(what, launchers_[id].slowness);
}

void World::arm(std::uint32_t id, Duration now) {
  Launcher& launcher = launchers_[id];
  const Instant deadline = launcher.node->next_deadline();
  if (deadline == kNever || launcher.armed <= deadline) return;
  launcher.armed = deadline;
  put(std::max(deadline.time_since_epoch() - launcher.skew, now), ToNode{id, Tick{}});
}

void World::count_tick(Launcher& launcher, Duration now) {
  launcher.ticks = launcher.ticked_at == now ? launcher.ticks + 1 : 0;
  launcher.ticked_at = now;
  if (launcher.ticks != kTicksInARow) return;
  checks_.wrong(fmt::format("the launcher of host {} asks for ticks without end", launcher.host));
  settings_.limit = 0;
}

void World::happen(ToNode& what, Duration now) {
  Launcher& launcher = launchers_[what.to];
  if (std::holds_alternative<Tick>(what.event)) {
    launcher.armed = kNever;
    count_tick(launcher, now);
  }
  turn(what.to, what.event, now);
}

// ---- links

void World::happen(Arrival& what, Duration now) {
  const Wire& wire = wires_[what.wire];
  if (wire.is_dead || !(what.up ? wire.parent_open : wire.child_open)) return;
  const std::uint32_t to = what.up ? wire.parent : wire.child;
  launchers_[to].was_told = true;
  cost(to, now, ms(settings_.receive));
  cost(to, now, Duration{static_cast<Duration::rep>(settings_.cipher * static_cast<double>(what.bytes))});
  cost(to, now,
       Duration{static_cast<Duration::rep>(settings_.tuple * static_cast<double>(tuples_in(what.message)))});
  if (const auto* welcome = std::get_if<wire::Welcome>(&what.message)) {
    if (settings_.reruns != 0) begin_run(wire::decode_job(*welcome->job)->loss.restarts);
    retire_idle(launchers_[to].host);
    launchers_[to].is_welcomed = true;
    ++welcomed_;
    checks_.welcomed(launchers_[to].host, welcome->self);
    if (lies(Sabotage::usurpers)) checks_.welcomed(launchers_[to].host, welcome->self);
  }
  if (const auto* recover = std::get_if<wire::Recover>(&what.message))
    launchers_[to].epoch = wire::epoch_of(*recover->table);
  if (std::holds_alternative<wire::Relaunch>(what.message)) launchers_[to].said_idle = false;
  const LinkId down = launchers_[to].adopter == what.wire ? kAdopterLink : kParentLink;
  turn(to, LinkMessage{what.up ? wire.link : down, std::move(what.message)}, now);
}

void World::happen(HangUp& what, Duration now) {
  Wire& wire = wires_[what.wire];
  bool& open = what.up ? wire.parent_open : wire.child_open;
  if (!std::exchange(open, false)) return;
  const std::uint32_t to = what.up ? wire.parent : wire.child;
  const bool is_adopter = !what.up && launchers_[to].adopter == what.wire;
  if (is_adopter) launchers_[to].adopter = kNobody;
  const LinkId down = is_adopter ? kAdopterLink : kParentLink;
  turn(to, LinkDown{what.up ? wire.link : down, {Errc::link_lost, Phase::run, what.why}}, now);
}

/// The end on this side of the link closes; the other learns it behind whatever is under way.
void World::hang_up(std::uint32_t number, bool up, Duration now, std::string why) {
  Wire& wire = wires_[number];
  (up ? wire.child_open : wire.parent_open) = false;
  if (wire.is_dead) return;
  put(network_.arrival(wire, up, now, 0), HangUp{number, up, std::move(why)});
}

/// What a message is worth on the wire. In small worlds, and on some links of large ones, it really is coded
/// and decoded.
std::size_t World::size_of(std::uint32_t number, wire::Message& message) {
  constexpr std::uint32_t kSmallWorld = 2000, kSample = 64;
  const bool is_table = std::holds_alternative<wire::TableDown>(message);
  if (hosts_.size() > kSmallWorld && (number % kSample != 0 || is_table)) return estimate(message);
  const auto frames = wire::encode_frames(message);
  if (!frames) {
    checks_.wrong("a message that is too large");
    return estimate(message);
  }
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(*frames);
  const auto frame = decoder.next();
  if (decoder.buffered() > 0) return frames->size();  // a long list, in parts
  auto decoded = wire::decode_message((*frame)->type, (*frame)->payload);
  if (decoded)
    message = std::move(*decoded);
  else
    checks_.wrong("a message that cannot be decoded");
  return frames->size();
}

std::size_t World::tuples_in(const wire::Message& message) const {
  std::size_t tuples = 0;
  if (const auto* facts = std::get_if<wire::Facts>(&message)) {
    for (const wire::TupleBlock& block : facts->blocks) tuples += block.tuples.size();
  }
  return tuples;
}

std::size_t World::estimate(const wire::Message& message) const {
  constexpr std::size_t kSmall = 32, kHost = 20, kBlock = 10, kFailure = 60;
  if (const auto* welcome = std::get_if<wire::Welcome>(&message)) return kSmall + welcome->job->size();
  if (const auto* assign = std::get_if<wire::Assign>(&message)) return kSmall + assign->hosts.size() * kHost;
  if (const auto* table = std::get_if<wire::TableDown>(&message)) return kSmall + table->table->size();
  if (const auto* facts = std::get_if<wire::Facts>(&message))
    return kSmall + facts->hosts_up.size() * 3 + facts->hosts_failed.size() * kFailure +
           facts->blocks.size() * kBlock + 2 * tuples_in(message);
  return kSmall;
}

// ---- logins

void World::perform(std::uint32_t id, const proto::Login& action, Duration& now) {
  Launcher& launcher = launchers_[id];
  const auto number = static_cast<std::uint32_t>(logins_.size());
  const std::uint32_t host = action.host.index;
  const Hosts::Answer answer = hosts_.answer(host, id == root_);
  logins_.push_back({id, host, action.link, answer.after, answer.code});
  launcher.children[action.link] = Slot{number};
  checks_.login_begun(++launcher.in_flight);
  const bool reaches_sshd = answer.code != Errc::refused && answer.code != Errc::unreachable &&
                            !(answer.code == Errc::timed_out && hosts_[host].nature != Nature::silent);
  if (reaches_sshd && hosts_.sshd(host).is_relevant())
    put(now + network_.delay(), Knock{number});
  else
    put(now + answer.after, Answer{number});
  cost(id, now, ms(settings_.occupancy));
}

void World::happen(const Knock& what, Duration now) {
  Login& login = logins_[what.login];
  if (login.is_over) return;
  if (!hosts_.sshd(login.host).admits(random_)) {
    login.code = Errc::dropped;
    put(now + network_.delay(), Answer{what.login});
    return;
  }
  login.is_pending = true;
  put(now + login.after * 8 / 10, Admitted{what.login});
  put(now + login.after, Answer{what.login});
}

void World::happen(const Admitted& what, Duration) {
  Login& login = logins_[what.login];
  if (std::exchange(login.is_pending, false)) --hosts_.sshd(login.host).pending;
}

void World::end_login(Login& login) {
  if (std::exchange(login.is_over, true)) return;
  --launchers_[login.launcher].in_flight;
  if (std::exchange(login.is_pending, false)) --hosts_.sshd(login.host).pending;
}

void World::happen(const Answer& what, Duration now) {
  Login& login = logins_[what.login];
  if (login.is_over) return;
  end_login(login);
  const std::uint32_t id = login.launcher;
  if (login.code != Errc::internal) {
    launchers_[id].children.erase(login.link);
    turn(id, LoginFailed{login.link, login_error(login.code), {}}, now);
    return;
  }
  if (!is_ending()) {
    outcome_.hosts_up = now;
    ++outcome_.launchers;
  }
  const std::uint32_t child = start_launcher(login, launchers_[id].level + 1);
  launchers_[id].children[login.link].wire = launchers_[child].wire;
  put(now, ToNode{child, Tick{}});  // from here on it waits for its parent's first word
  turn(id, LinkUp{login.link, {}, {}, {}}, now);
}

std::uint32_t World::start_launcher(const Login& login, std::uint32_t level) {
  const auto child = static_cast<std::uint32_t>(launchers_.size());
  Launcher launcher;
  launcher.host = login.host;
  launcher.level = level;
  launcher.wire = static_cast<std::uint32_t>(wires_.size());
  launcher.skew = random_.between(-1000s, 1000s);
  launcher.slowness = hosts_[login.host].slowness;
  launcher.is_orphan = launchers_[login.launcher].is_orphan;
  launcher.was_paused = launcher.is_orphan && launchers_[login.launcher].was_paused;
  launcher.node = std::make_unique<Node>(random_.next());
  launchers_.push_back(std::move(launcher));
  launchers_on_[login.host].push_back(child);
  wires_.push_back({login.launcher, child, login.link});
  ++launchers_alive_;
  outcome_.deepest = std::max(outcome_.deepest, level);
  outcome_.widest = std::max(outcome_.widest, ++launchers_[login.launcher].widest);
  return child;
}

/// A launcher's process ends, however; its links break off behind what it has said.
void World::leave(std::uint32_t id, Duration now) {
  Launcher& launcher = launchers_[id];
  if (id == root_) numbered_ = job_processes();
  launcher.node.reset();
  launchers_alive_ -= lies(Sabotage::lingering) ? 0 : 1;
  if (launcher.was_told || id == root_) outcome_.all_gone = now;  // others know of no job
  if (launcher.is_welcomed && launcher.host != wire::kRootIndex) checks_.left(launcher.host);
  for (const std::uint32_t wire : {launcher.wire, launcher.adopter}) {
    if (wire != kNobody) hang_up(wire, true, now, "closed by the other side");
  }
  for (const auto& [link, slot] : launcher.children) {
    end_login(logins_[slot.login]);
    if (slot.wire != kNobody) hang_up(slot.wire, false, now, "closed by the other side");
  }
  launcher.children.clear();
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
    for (const Launcher& launcher : launchers_)
      end.launchers -= may_stay && launcher.node && launcher.is_orphan ? 1 : 0;
    for (const Process& process :
         processes_) {  // an orphan that slept while its host was swept starts some yet
      if (process.state == Process::State::unborn || process.state == Process::State::gone) continue;
      const Launcher& launcher = launchers_[process.launcher];
      const bool is_unswept = launcher.was_paused || is_root_gone_;
      end.processes -= may_stay && launcher.is_orphan && is_unswept ? 1 : 0;
    }
    if (goes_on()) allow_if_all_lost();
    for (int status = 0; lost_at_its_end_ && status <= kMostStatus; ++status) checks_.grazed(status);
    is_root_gone_ ? checks_.ended_without_root(end) : checks_.ended(end);
    const Duration bound =
        kSlack + ms(settings_.grace) + ms(settings_.pause * settings_.pause_for) +
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
