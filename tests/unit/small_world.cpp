// SPDX-License-Identifier: Apache-2.0
// A queue of closures by time and, at equal times, by order of scheduling. Actions only ever schedule, so
// that a launcher's turn is never nested in another's.
#include "tests/unit/small_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "health/adoption_socket.hpp"
#include "tree/base/signals.hpp"
#include "tree/job/output_queue.hpp"

namespace charmtree::test {

using namespace proto;

namespace {

constexpr Duration kLatency = 5ms, kLoginMost = 250ms;

RootPlan make_plan(const Plan& plan) {
  RootPlan root;
  root.time_limit = plan.time_limit;
  root.int_ends = plan.int_ends;
  wire::JobSpec& job = root.job;
  job.id = "0123456789abcdef";
  job.arguments = {"./app"};
  job.hosts = plan.hosts;
  job.launch.shape = plan.shape;
  job.launch.batch = plan.batch;
  job.launch.on_failure = plan.on_failure;
  job.launch.wait = plan.wait;
  job.launch.login_rate = plan.login_rate;
  job.grace = plan.grace;
  job.input.process = plan.input_process;
  job.input.to_all = plan.input_to_all;
  job.input.is_typed = plan.input_is_typed;
  job.output.spool = plan.spool;
  job.launch.login_occupancy = plan.login_occupancy;
  job.launch.login_latency = plan.login_latency;
  job.reports.stamps = plan.stamps;
  job.checkup = plan.checkup;
  job.provision = plan.provision;
  job.spawn.bind = plan.bind;
  job.reports.bindings = plan.report_bindings;
  job.spawn.fork_clients = plan.fork_clients;
  job.heartbeat = plan.heartbeat;
  job.silence = plan.silence;
  job.reports.watched = root.tells_progress = plan.watched;
  job.loss.recovery = plan.on_loss;
  job.starts_together = plan.starts_together;
  job.session = plan.session;
  job.loss.keep_alive = plan.keep_alive;
  job.profiles.resize(1);
  job.profiles[0].host_keys = plan.host_keys;
  job.profiles[0].user = plan.user;
  job.profiles[0].forwarded_keys = plan.forwarded_keys;
  for (const std::string& key : plan.forwarded_keys) root.key_names[key] = "the key " + key;
  for (std::uint32_t i = 0; i < plan.hosts; ++i) {
    Host host;
    host.index = i;
    host.name = fmt::format("n{:02}", i);
    host.first_process = job.processes;
    if (!plan.session && i + plan.spares < plan.hosts)
      host.processes = plan.slots.empty() ? 1 : plan.slots[i % plan.slots.size()];
    job.processes += host.processes;
    root.hosts.push_back(std::move(host));
  }
  return root;
}

}  // namespace

SmallWorld::SmallWorld(const Plan& plan)
    : actors(make_plan(plan).job.processes),
      random_layout_(plan.random_layout),
      can_fork_(plan.can_fork),
      plan_(make_plan(plan)),
      random_(plan.seed) {
  start_root(plan_);
}

void SmallWorld::start_root(const RootPlan& plan) {
  root_ = launchers_.size();
  launchers_.push_back(std::make_unique<Launcher>());
  launchers_[root_]->skew = random_.between(-1000s, 1000s);
  launchers_[root_]->node = std::make_unique<Node>(plan, random_.next());
  schedule(now_, [this, id = root_] { deliver(id, Begin{}); });
}

void SmallWorld::take_over() {
  RootPlan plan = plan_;
  plan.hosts = kept.value().hosts;
  plan.takes_over = kept->shape;
  start_root(plan);
}

void SmallWorld::schedule(Duration when, std::function<void()> what) {
  queue_.emplace(std::pair{std::max(when, now_), sequence_++}, std::move(what));
}

void SmallWorld::run(Duration limit) {
  while (!queue_.empty() && queue_.begin()->first.first <= limit) {
    auto next = queue_.extract(queue_.begin());
    now_ = next.key().first;
    next.mapped()();
  }
}

std::size_t SmallWorld::find(std::uint32_t host) const {
  for (std::size_t id = launchers_.size(); id-- > 0;) {
    if (launchers_[id]->host == host && launchers_[id]->alive) return id;
  }
  throw NobodyThere(fmt::format("no launcher on host {}", host));
}

bool SmallWorld::said_anywhere(std::string_view text, std::optional<Tone> tone) const {
  return std::any_of(said.begin(), said.end(), [&](const Say& say) {
    return say.text.find(text) != std::string::npos && (!tone || say.tone == *tone);
  });
}

std::size_t SmallWorld::alive() const {
  const auto lives = [](const auto& each) { return each->alive; };
  return static_cast<std::size_t>(
      std::count_if(launchers_.begin(), launchers_.end(), lives) +
      std::count_if(actors.begin(), actors.end(), [](const Actor& a) { return a.alive; }));
}

// ---- launchers

void SmallWorld::deliver(std::size_t id, const Event& event) {
  Launcher& launcher = *launchers_[id];
  if (!launcher.alive || launcher.frozen) return;
  if (id == root_ && stopped_) return held_.push_back(event);
  Actions actions;
  launcher.node->on(event, local(launcher), actions);
  for (const Action& action : actions) {
    record(id, action);
    std::visit([&](const auto& a) { perform(id, a); }, action);
  }
  arm(id);
}

void SmallWorld::arm(std::size_t id) {
  Launcher& launcher = *launchers_[id];
  const Instant deadline = launcher.node->next_deadline();
  if (!launcher.alive || deadline == kNever || deadline == launcher.armed) return;
  launcher.armed = deadline;
  schedule(deadline.time_since_epoch() - launcher.skew, [this, id, &launcher] {
    launcher.armed = kNever;
    if (!launcher.alive || launcher.frozen) return;
    if (launcher.node->next_deadline() > local(launcher)) return arm(id);
    deliver(id, Tick{});
    if (launcher.alive && launcher.node->next_deadline() <= local(launcher))
      throw std::logic_error("ticks without end");
  });
}

void SmallWorld::leave(std::size_t id) {
  Launcher& launcher = *launchers_[id];
  launcher.alive = false;
  last_exit_at = now_;
  if (launcher.to_parent) close(launcher.to_parent, Direction::up);
  for (auto& [link, wire] : launcher.children) {
    if (wire) close(wire, Direction::down);
  }
}

void SmallWorld::kill_launcher(std::uint32_t host) {
  const std::size_t id = find(host);
  leave(id);
  for (Actor& actor : actors) {
    if (actor.alive && actor.launcher == id && !actor.outlives_launcher) dies(actor, 0, 9);
  }
}

void SmallWorld::freeze_launcher(std::uint32_t host) {
  launchers_[find(host)]->frozen = true;
}

void SmallWorld::unplug(std::uint32_t host) {
  Launcher& launcher = *launchers_[find(host)];
  launcher.frozen = launcher.unplugged = true;
}

void SmallWorld::cut_link(std::uint32_t host) {
  const WireRef wire = launchers_[find(host)]->to_parent;
  hang_up(wire, Direction::up, "connection reset");
  hang_up(wire, Direction::down, "connection reset");
}

// ---- links

void SmallWorld::send(const WireRef& wire, Direction direction, const wire::Message& message) {
  const bool up = direction == Direction::up;
  const auto frames = wire::encode_frames(message);
  if (!frames) {
    const SendRefused refused{up ? kParentLink : wire->link, frames.error()};
    return schedule(now_, [this, wire, up, refused] { deliver(up ? wire->child : wire->parent, refused); });
  }
  const std::uint32_t parent = launchers_[wire->parent]->host, child = launchers_[wire->child]->host;
  sent.push_back({up ? child : parent, up ? parent : child, now_, message});
  Duration& last = up ? wire->last_up : wire->last_down;
  last = std::max(last, now_ + random_.between(100us, kLatency));
  schedule(last, [this, wire, direction, bytes = *frames] { arrive(wire, direction, bytes); });
}

void SmallWorld::arrive(const WireRef& wire, Direction direction, const std::string& bytes) {
  const bool up = direction == Direction::up;
  if (!(up ? wire->parent_open : wire->child_open)) return;
  wire::LinkReader& reader = up ? wire->up : wire->down;
  const std::size_t cut = random_.below(bytes.size());
  for (const std::string_view piece :
       {std::string_view{bytes}.substr(0, cut), std::string_view{bytes}.substr(cut)}) {
    (void)reader.append(piece);
    for (;;) {
      const LinkId link = link_of(wire, direction);
      auto message = reader.next(launchers_[up ? wire->parent : wire->child]->node->remit(link));
      if (!message) {
        hang_up(wire, direction, "broke the protocol");
        return close(wire, up ? Direction::down : Direction::up);
      }
      if (!message->has_value()) break;
      deliver(up ? wire->parent : wire->child, LinkMessage{link, std::move(**message)});
    }
  }
}

/// The end that sends in `direction` has closed; the other learns it behind whatever is under way.
void SmallWorld::close(const WireRef& wire, Direction direction) {
  const bool up = direction == Direction::up;
  (up ? wire->child_open : wire->parent_open) = false;
  Duration& last = up ? wire->last_up : wire->last_down;
  last = std::max(last, now_ + random_.between(100us, kLatency));
  schedule(last, [this, wire, direction] { hang_up(wire, direction, "closed by the other side"); });
}

void SmallWorld::hang_up(const WireRef& wire, Direction direction, const char* why) {
  const bool up = direction == Direction::up;
  bool& open = up ? wire->parent_open : wire->child_open;
  if (!std::exchange(open, false)) return;
  deliver(up ? wire->parent : wire->child,
          LinkDown{link_of(wire, direction), {Errc::link_lost, Phase::run, why}});
}

void SmallWorld::forge(std::uint32_t host, const wire::Message& message) {
  send(launchers_[find(host)]->to_parent, Direction::up, message);
}

// ---- actions

void SmallWorld::record(std::size_t id, const Action& action) {
  std::string text = fmt::format("{} {} {}", now_.count(), id, action.index());
  if (const auto* a = std::get_if<Send>(&action)) {
    const auto frames = wire::encode_frames(a->message);
    text += fmt::format(" {} {}", a->link, frames ? *frames : frames.error().what);
  }
  if (const auto* a = std::get_if<Login>(&action)) text += fmt::format(" {} {}", a->link, a->host.index);
  if (const auto* a = std::get_if<ClientSend>(&action)) text += fmt::format(" {} {}", a->client, a->bytes);
  if (const auto* a = std::get_if<Show>(&action)) text += a->output.text;
  if (const auto* a = std::get_if<Say>(&action)) text += a->text;
  for (const char c : text) trace = (trace ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;  // FNV-1a
}

void SmallWorld::perform(std::size_t id, const CancelLogin& a) {
  if (launchers_[id]->children.erase(a.link) == 0) throw std::logic_error("cancelled a login that is none");
}

void SmallWorld::perform(std::size_t id, const Send& a) {
  const bool up = a.link == kParentLink || a.link == kAdopterLink;
  const Launcher& launcher = *launchers_[id];
  const WireRef wire = a.link == kParentLink    ? launcher.to_parent
                       : a.link == kAdopterLink ? launcher.to_adopter
                                                : launcher.children.at(a.link);
  if (!wire) throw std::logic_error("sent on a link that is not up");
  send(wire, up ? Direction::up : Direction::down, a.message);
}

void SmallWorld::perform(std::size_t id, const CloseLink& a) {
  if (a.link == kParentLink) return close(launchers_[id]->to_parent, Direction::up);
  if (a.link == kAdopterLink) return close(std::exchange(launchers_[id]->to_adopter, nullptr), Direction::up);
  close(launchers_[id]->children.at(a.link), Direction::down);
}

/// What the receiving end calls it.
LinkId SmallWorld::link_of(const WireRef& wire, Direction direction) const {
  if (direction == Direction::up) return wire->link;
  return launchers_[wire->child]->to_adopter == wire ? kAdopterLink : kParentLink;
}

/// Who relays does nothing else: the wire leads to the launcher that waits from now on.
void SmallWorld::perform(std::size_t id, const Relay& a) {
  const WireRef wire = std::exchange(launchers_[id]->to_parent, nullptr);
  for (std::size_t there = 1; there < launchers_.size(); ++there) {
    Launcher& waiting = *launchers_[there];
    if (!waiting.alive || there == id || waiting.adoption_socket != a.socket || !waiting.to_parent) continue;
    wire->child = there;
    waiting.to_adopter = wire;
    launchers_[id]->alive = false;
    return soon(kReaction, [this, there] { deliver(there, LinkUp{kAdopterLink, {}, {}, {}}); });
  }
  launchers_[id]->to_parent = wire;
  soon(kReaction, [this, id] { deliver(id, NobodyWaits{}); });
}

void SmallWorld::perform(std::size_t id, const ReplaceParent&) {
  close(launchers_[id]->to_parent, Direction::up);
  launchers_[id]->to_parent = std::exchange(launchers_[id]->to_adopter, nullptr);
}

void SmallWorld::perform(std::size_t id, const Probe& a) {
  const bool up = a.link == kParentLink;
  const WireRef wire = up ? launchers_[id]->to_parent : launchers_[id]->children.at(a.link);
  const bool answers = !launchers_[up ? wire->parent : wire->child]->unplugged;
  const Evidence found{1h, answers ? 0s : 1h, answers};
  schedule(now_ + (answers ? 1ms : a.within), [this, id, link = a.link, found] {
    deliver(id, Probed{link, found});
  });
}

void SmallWorld::perform(std::size_t id, const Prepare& a) {
  if (a.job->repairs()) launchers_[id]->adoption_socket = health::adoption_socket(*a.job, a.self.index);
  const auto error = prepare ? prepare(a.self.index) : std::nullopt;
  Prepared answer{0x0A000000 + a.self.index, error.value_or(Error{}), !error.has_value()};
  if (cpus) answer.cpus = cpus(a.self.index);
  answer.random_layout = random_layout_;
  answer.can_fork = can_fork_;
  if (a.job->checkup) {
    answer.checkup.emplace();
    answer.checkup->host = a.self.index;
    answer.checkup->clock = local(*launchers_[id]);
    answer.checkup->wall_ms = now_.count();
  }
  soon(kReaction, [this, id, answer] { deliver(id, answer); });
}

void SmallWorld::perform(std::size_t id, const proto::Signal& a) {
  Actor& actor = actors.at(a.process);
  if (!actor.spawned || actor.launcher != id) throw std::logic_error("signalled a process of somebody else");
  actor.signals.push_back(a.signal);
  actor.signal_times.push_back(now_);
  if (a.signal >= signals::kContinue || a.signal == signals::kUser1) return;
  if (a.signal == signals::kKill || !actor.stubborn)
    soon(kReaction, [this, &actor, a] { dies(actor, 0, a.signal); });
}

void SmallWorld::perform(std::size_t id, const StopSelf&) {
  if (id != root_) throw std::logic_error("a launcher that is not the root stopped itself");
  stopped_ = launchers_[root_]->node->suspended();
  stops += stopped_ ? 1 : 0;
}

void SmallWorld::user_signal(int signal) {
  if (signal == signals::kContinue) stopped_ = false;
  deliver(root_, UserSignal{signal});
  if (!stopped_) {
    for (const Event& event : std::exchange(held_, {})) deliver(root_, event);
  }
}

void SmallWorld::perform(std::size_t id, const KillLeftovers& a) {
  std::uint32_t killed = 0;
  for (Actor& actor : actors) {
    if (!actor.alive || actor.host != a.host) continue;
    ++killed;
    dies(actor, 0, 9);
  }
  soon(kReaction, [this, id, killed] { deliver(id, LeftoversKilled{killed}); });
}

void SmallWorld::perform(std::size_t, const ClientSend& a) {
  for (Actor& actor : actors) {
    if (actor.client != a.client) continue;
    actor.hears_at =
        std::max(actor.hears_at, now_ + random_.between(0ms, kReaction));  // bytes keep their order
    schedule(actor.hears_at,
             [this, &actor, bytes = a.bytes + (a.tail ? *a.tail : "")] { hears(actor, bytes); });
  }
}

void SmallWorld::perform(std::size_t, const ClientClose& a) {
  for (Actor& actor : actors) {
    if (actor.client != a.client) continue;
    actor.client = 0;
    if (!actor.stubborn) soon(kReaction * 4, [this, &actor] { dies(actor, 1, 0); });
  }
}

void SmallWorld::perform(std::size_t id, const DrainOutput& a) {
  schedule(now_, [this, id, a] { deliver(id, OutputDrained{a.process}); });
}

void SmallWorld::perform(std::size_t id, const WriteInput& a) {
  Actor& actor = actors.at(a.process);
  actor.input += a.bytes;
  actor.input_ended = actor.input_ended || a.end;
  if (actor.deaf || a.bytes.empty()) return;
  const InputWritten event{a.process, static_cast<std::uint32_t>(a.bytes.size())};
  soon(kReaction, [this, id, event] { deliver(id, event); });
}

void SmallWorld::perform(std::size_t id, const RecallPipe& a) {
  const InputRecalled event{std::exchange(actors.at(a.process).input, {})};
  soon(kReaction, [this, id, event] { deliver(id, event); });
}

void SmallWorld::perform(std::size_t id, const Show& a) {
  (static_cast<Stream>(a.output.stream) == Stream::out ? out : err) += a.output.text;
  Duration written = now_ + random_.between(0ms, kReaction);
  if (written >= reader_stops) written = std::max(written, reader_goes_on);
  schedule(written, [this, id, cost = output_cost(a.output)] { deliver(id, OutputWritten{cost}); });
  if (!a.output.wants_receipt) return;
  schedule(written, [this, id, process = a.output.process] { deliver(id, Shown{process}); });
}

void SmallWorld::perform(std::size_t, const PauseOutput& a) {
  if (a.paused) ++pauses;
}

void SmallWorld::perform(std::size_t, const PauseClient& a) {
  if (a.paused) ++pauses;
}

void SmallWorld::perform(std::size_t id, const SpoolWrite& a) {
  launchers_[id]->spool[a.offset] = *a.bytes;
  schedule(now_ + kReaction, [this, id] { deliver(id, Spooled{}); });
}

void SmallWorld::perform(std::size_t id, const SpoolRead& a) {
  const std::string bytes = launchers_[id]->spool.at(a.offset);
  if (bytes.size() != a.size) throw std::logic_error("another piece was spooled there");
  schedule(now_ + kReaction, [this, id, bytes] { deliver(id, Unspooled{bytes}); });
}

void SmallWorld::perform(std::size_t id, const ReadInput& a) {
  ++reads;
  InputRead event{user_input.substr(input_at_, a.bytes)};
  if (plan_.job.input.is_typed) event.bytes.resize(std::min(event.bytes.size(), event.bytes.find('\n') + 1));
  input_at_ += event.bytes.size();
  event.end = input_at_ == user_input.size();
  soon(kReaction, [this, id, event] { deliver(id, event); });
}

void SmallWorld::perform(std::size_t, const RunOver& a) {
  runs.push_back(a.result);
  if (run_over) schedule(now_, run_over);
}

void SmallWorld::next_run(const std::vector<std::uint32_t>& processes) {
  RunPlan plan{plan_.job, processes};
  for (const std::uint32_t each : processes) plan.job.processes += each;
  plan.job.input.process = wire::kNoProcess;
  for (Actor& actor : actors) actor.spawned = false;
  deliver(root_, NextRun{std::make_shared<const RunPlan>(std::move(plan))});
}

void SmallWorld::perform(std::size_t id, const Finish& a) {
  if (id == root_) {
    result = a;
    result_at = now_;
  } else if (launchers_[id]->host == wire::kRootIndex) {
    former.push_back(a);
  }
  leave(id);
}

void SmallWorld::perform(std::size_t id, const Login& action) {
  launchers_[id]->children[action.link] = nullptr;
  const Try attempt{launchers_[id]->host, action.host.index, ++tries_of_[action.host.index], action.via,
                    now_};
  tries.push_back(attempt);
  Outcome outcome = login ? login(attempt) : Outcome{};
  if (outcome.after == kForever) return;
  const Duration after = outcome.after > 0ms ? outcome.after : random_.between(20ms, kLoginMost);
  schedule(now_ + after, [this, id, action, outcome] {
    Launcher& launcher = *launchers_[id];
    if (!launcher.alive || !launcher.children.contains(action.link)) return;  // cancelled
    if (!outcome.error && !outcome.wants_signed.empty()) {
      unsigned_.emplace(std::pair{id, action.link}, std::pair{action, outcome});
      return deliver(id, SignatureWanted{action.link, outcome.wants_signed});
    }
    if (!outcome.error) return start(id, action, outcome);
    launcher.children.erase(action.link);
    deliver(id, LoginFailed{action.link, *outcome.error, {}});
  });
}

void SmallWorld::perform(std::size_t id, const Signed& a) {
  auto asked = unsigned_.extract({id, a.link});
  if (asked.empty() || !launchers_[id]->children.contains(a.link))
    throw std::logic_error("a signature for a login that wants none");
  if (!a.signature.empty() && a.signature != "signed " + asked.mapped().second.wants_signed)
    throw std::logic_error("a signature of something else");
  soon(kReaction, [this, id, good = !a.signature.empty(), asked = std::move(asked.mapped())] {
    Launcher& launcher = *launchers_[id];
    if (!launcher.alive || !launcher.children.contains(asked.first.link)) return;  // cancelled
    if (good) return start(id, asked.first, asked.second);
    launcher.children.erase(asked.first.link);
    deliver(id, LoginFailed{asked.first.link, {Errc::no_usable_key, Phase::authenticate, "unsigned"}, {}});
  });
}

void SmallWorld::perform(std::size_t id, const Sign& a) {
  signs.push_back(a);
  const SignatureMade event{a.launcher, a.login, agent ? agent(a) : "signed " + a.data};
  soon(kReaction, [this, id, event] { deliver(id, event); });
}

void SmallWorld::start(std::size_t id, const Login& action, const Outcome& outcome) {
  const std::size_t child = launchers_.size();
  launchers_.push_back(std::make_unique<Launcher>());
  Launcher& launcher = *launchers_.back();
  launcher.host = action.host.index;
  launcher.skew = random_.between(-1000s, 1000s);
  launcher.node = std::make_unique<Node>(random_.next());
  launcher.to_parent = std::make_shared<Wire>(Wire{id, child, action.link});
  (void)launcher.to_parent->up.append(wire::make_greeting());
  launchers_[id]->children[action.link] = launcher.to_parent;
  deliver(id, LinkUp{action.link, {}, outcome.key, {}});
}

}  // namespace charmtree::test
