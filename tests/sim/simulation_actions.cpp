// SPDX-License-Identifier: Apache-2.0
// What a launcher's shell does for it.
#include <fmt/format.h>

#include <algorithm>

#include "debug/answer_set.hpp"
#include "health/adoption_socket.hpp"
#include "stacks/stack_set.hpp"
#include "tests/sim/simulation.hpp"
#include "tests/sim/staged_bytes.hpp"
#include "tree/base/signals.hpp"
#include "tree/job/output_queue.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {
constexpr Duration kDisk = 50us;  // for one order
}

// ---- logins

void Simulation::perform(std::uint32_t id, const proto::Login& action, Duration& now) {
  const auto number = static_cast<std::uint32_t>(logins_.size());
  logins_.push_back({id, action.host.index, action.link});
  launchers_[id].children[action.link] = Slot{number};
  login_begins(number, action, now);
}

void Simulation::perform(std::uint32_t id, const CancelLogin& action, Duration&) {
  const auto child = launchers_[id].children.find(action.link);
  if (child == launchers_[id].children.end() || child->second.wire != kNobody)
    return wrong(fmt::format("host {} cancelled a login that is none", launchers_[id].host));
  end_login(child->second.login);
  launchers_[id].children.erase(child);
}

void Simulation::perform(std::uint32_t id, const Signed& action, Duration& now) {
  using Signature = Login::Signature;
  const auto child = launchers_[id].children.find(action.link);
  if (child == launchers_[id].children.end() || logins_[child->second.login].signature != Signature::wanted)
    return wrong(fmt::format("host {} has a signature for a login that wants none", launchers_[id].host));
  const std::uint32_t number = child->second.login;
  logins_[number].signature = action.signature.empty() ? Signature::refused : Signature::given;
  put(now + random_.between(0ms, kReaction), Answer{number});
}

void Simulation::perform(std::uint32_t id, const Sign& action, Duration& now) {
  put(now + random_.between(0ms, kReaction),
      ToNode{id, SignatureMade{action.launcher, action.login, signature(action)}});
}

// ---- links

void Simulation::perform(std::uint32_t id, const Send& action, Duration& now) {
  const Launcher& launcher = launchers_[id];
  const bool up = action.link == kParentLink || action.link == kAdopterLink;
  std::uint32_t number = action.link == kAdopterLink ? launcher.adopter : launcher.wire;
  if (!up) {
    const auto child = launcher.children.find(action.link);
    number = child == launcher.children.end() ? kNobody : child->second.wire;
  }
  if (number == kNobody && action.link == kAdopterLink) return;  // it did not wait
  if (number == kNobody) return wrong(fmt::format("host {} sent on a link that is not up", launcher.host));
  send(number, up, action.message, now);
}

void Simulation::perform(std::uint32_t id, const CloseLink& action, Duration& now) {
  if (action.link == kParentLink) return hang_up(launchers_[id].wire, true, now, "closed by the other side");
  if (action.link == kAdopterLink) {
    const std::uint32_t wire = std::exchange(launchers_[id].adopter, kNobody);
    return wire == kNobody ? void() : hang_up(wire, true, now, "closed by the other side");
  }
  const auto child = launchers_[id].children.find(action.link);
  if (child == launchers_[id].children.end() || child->second.wire == kNobody)
    return wrong(fmt::format("host {} closed a link that is none", launchers_[id].host));
  hang_up(child->second.wire, false, now, "closed by the other side");
  launchers_[id].children.erase(child);
}

/// Who relays does nothing else, so the wire leads to the launcher that waits from now on.
void Simulation::perform(std::uint32_t id, const Relay& action, Duration& now) {
  const std::uint32_t wire = launchers_[id].wire;
  for (const std::uint32_t there : launchers_on_[action.host]) {
    Launcher& waiting = launchers_[there];
    if (!waiting.node || waiting.adoption_socket.empty()) continue;
    if (waiting.adoption_socket != action.socket) {
      wrong(fmt::format("host {} waits at another socket than it is sought at", action.host));
      continue;
    }
    if (waiting.adopter != kNobody) hang_up(waiting.adopter, true, now, "closed by the other side");
    waiting.adopter = wire;
    wires_[wire].child = there;
    launchers_[id].wire = kNobody;
    leave(id, now);
    put(now + network_.delay(), ToNode{there, LinkUp{kAdopterLink, {}, {}, {}}});
    return;
  }
  put(now, ToNode{id, NobodyWaits{}});
}

void Simulation::perform(std::uint32_t id, const ReplaceParent&, Duration& now) {
  Launcher& launcher = launchers_[id];
  hang_up(launcher.wire, true, now, "closed by the other side");
  launcher.wire = std::exchange(launcher.adopter, kNobody);
  launcher.level = launchers_[wires_[launcher.wire].parent].level + 1;
}

/// A host that has power answers, whatever its launcher does; it acknowledges what arrives.
void Simulation::perform(std::uint32_t id, const Probe& action, Duration& now) {
  constexpr Duration kLongAgo = 1h;
  const Launcher& launcher = launchers_[id];
  const bool up = action.link == kParentLink;
  const Wire& wire = wires_[up ? launcher.wire : launcher.children.at(action.link).wire];
  const bool answers = has_power(up ? wire.parent : wire.child);
  const Duration last = up ? wire.last_down : wire.last_up;
  Evidence found{!wire.is_dead && last <= now ? now - last : kLongAgo, wire.is_dead ? kLongAgo : 0s, answers};
  const Duration after = answers ? 2 * network_.delay() : action.within;
  put(now + after, ToNode{id, Probed{action.link, found}});
}

// ---- processes

void Simulation::perform(std::uint32_t id, const Prepare& action, Duration& now) {
  if (action.job->repairs())
    launchers_[id].adoption_socket = health::adoption_socket(*action.job, action.self.index);
  if (!action.job->spawn.staged.files.empty())
    launchers_[id].waits_for_files = action;
  else
    make_ready(id, action, now);
}

void Simulation::make_ready(std::uint32_t id, const Prepare& action, Duration& now) {
  cost(id, now, ms(settings_.setup));
  put(now, ToNode{id, prepared(id, action)});
}

void Simulation::perform(std::uint32_t id, const Spawn& action, Duration& now) {
  if (!has_files(launchers_[id].files.get(), launchers_[id].staged))
    wrong("a process that begins before the job's files are there");
  cost(id, now, ms(settings_.spawn));
  if (auto error = spawn_error(id, action))
    return put(now, ToNode{id, SpawnFailed{action.process, std::move(*error)}});
  process_begins(id, action, now);
  if (action.process >= process_count()) return;
  SimProcess& process = process_at(action.process);
  process.launcher = id;
  process.alive = true;
  launchers_[id].started.insert(action.process);
  process.held = action.held;
  put(now, ToNode{id, Spawned{action.process, process.id(action.process)}});
  if (!process.held) begins(action.process, now);
}

void Simulation::perform(std::uint32_t id, const AdoptProcess& action, Duration& now) {
  if (process_at(action.process).launcher != id || process_at(action.parent).launcher != id ||
      process_of(action.client) != action.process)
    return wrong(fmt::format("host {} adopts a process of somebody else", launchers_[id].host));
  put(now, ToNode{id, ProcessAdopted{action.process, is_found(action)}});
}

void Simulation::perform(std::uint32_t id, const proto::Signal& action, Duration& now) {
  if (action.process >= process_count() || process_at(action.process).launcher != id)
    return wrong(fmt::format("host {} signals a process that it has not", launchers_[id].host));
  SimProcess& process = process_at(action.process);
  if (action.signal == signals::kContinue && std::exchange(process.held, false)) begins(action.process, now);
  const bool is_harmless = action.signal >= signals::kContinue || action.signal == signals::kUser1;
  if (action.signal == signals::kKill || (!is_harmless && !process.stubborn))
    put(now + random_.between(0ms, kReaction), Dies{action.process, 0, action.signal, process.lives_before});
}

void Simulation::perform(std::uint32_t id, const KillLeftovers& action, Duration& now) {
  if (action.host >= launchers_on_.size()) return put(now + 1ms, ToNode{id, LeftoversKilled{0}});
  const std::vector<std::uint32_t> there = launchers_on_[action.host];
  std::set<std::uint32_t> left;
  for (const std::uint32_t owner : there) {
    for (const std::uint32_t number : launchers_[owner].started) {
      const SimProcess& process = process_at(number);
      if (process.launcher == owner && process.alive) left.insert(number);
    }
  }
  for (const std::uint32_t number : left) exits(number, 0, signals::kKill, now);
  if (!launchers_[id].is_welcomed) {  // a sweeper finds a launcher that hangs, too
    for (const std::uint32_t other : there) {
      if (launchers_[other].node && launchers_[other].is_welcomed) leave(other, now);
    }
  }
  put(now + 1ms, ToNode{id, LeftoversKilled{static_cast<std::uint32_t>(left.size())}});
}

void Simulation::perform(std::uint32_t id, const ClientSend& action, Duration& now) {
  const std::size_t bytes = action.bytes.size() + (action.tail ? action.tail->size() : 0);
  cost(id, now, ms(settings_.send));
  if (action.shared.coded && std::exchange(launchers_[id].table, action.shared.coded) != action.shared.coded)
    cost(id, now, Duration{static_cast<Duration::rep>(settings_.share * process_count())});
  cost(id, now, Duration{static_cast<Duration::rep>(settings_.client * static_cast<double>(bytes))});
  const std::uint32_t number = process_of(action.client);
  if (number == kNobody || process_at(number).launcher != id ||
      life_of(action.client) > process_at(number).lives_before)
    return wrong(fmt::format("host {} writes to a client that it has not", launchers_[id].host));
  const SimProcess& process = process_at(number);
  if (process.lives_before == life_of(action.client) && process.alive && process.connected)
    hears(number, action, now);
}

void Simulation::perform(std::uint32_t, const ClientClose& action, Duration& now) {
  const std::uint32_t number = process_of(action.client);
  if (number == kNobody || process_at(number).stubborn) return;
  put(now + random_.between(0ms, kReaction), Dies{number, 1, 0, life_of(action.client)});
}

void Simulation::perform(std::uint32_t id, const LookAtClient& action, Duration& now) {
  if (process_of(action.client) != action.process)
    return wrong(fmt::format("host {} looks at somebody else's client", launchers_[id].host));
  put(now + random_.between(0ms, kReaction),
      ToNode{id, ClientSeen{action.process, sight_of(action.process)}});
}

void Simulation::perform(std::uint32_t id, const LookForMpi& action, Duration& now) {
  put(now + kReaction, ToNode{id, MpiLoaded{action.process, {}}});
}

void Simulation::perform(std::uint32_t id, const stacks::ReadStacks& action, Duration& now) {
  constexpr auto kThreeLooks = 200ms;
  stacks::StackSet all;
  for (const std::uint32_t process : launchers_[id].started) {
    const stacks::Seen what = does(process);
    const SimProcess& there = process_at(process);
    if (there.alive && there.launcher == id) all.add(process, what.frames, what.motion);
    if (action.crashed && there.crashed && there.launcher == id)
      all.add(process, what.frames, stacks::Motion::crashed);
  }
  put(now + kThreeLooks, ToNode{id, stacks::StacksRead{action.number, all.take()}});
}

/// A debugger that prints the number of each process.
void Simulation::perform(std::uint32_t id, const debug::Debug& action, Duration& now) {
  using What = debug::DebugOrder::What;
  const debug::DebugOrder& order = action.order;
  if (order.what == What::interrupt || order.what == What::end) return;
  debug::AnswerSet all;
  for (const auto& range : order.which) {
    for (const std::uint32_t process : launchers_[id].started) {
      const SimProcess& there = process_at(process);
      if (there.alive && there.launcher == id && range.first <= process && process <= range.last)
        all.add(debug::AnswerSet::Kind::said, fmt::format("rank = {}", process), process);
    }
  }
  put(now + random_.between(0ms, kReaction),
      ToNode{id, debug::DebugSaid{order.session, order.number, all.take()}});
}

/// A tool that says what it reads, and ends when that ends; without an input at once.
void Simulation::perform(std::uint32_t id, const debug::RunTool& action, Duration& now) {
  using What = debug::ToolOrder::What;
  using Said = debug::ToolSaid;
  const debug::ToolOrder& order = action.order;
  if (order.what == What::begin) tool_beside_[{id, order.session}] = order.which.front().first;
  const auto say = [&](Said::What what, const std::string& bytes, Duration at) {
    const std::uint32_t process = tool_beside_.at({id, order.session});  // whomever the order is for
    put(at, ToNode{id, debug::ToolSpoke{{order.session, what, 0, bytes, {{process, process}}}}});
  };
  const Duration later = now + random_.between(0ms, kReaction);
  if (order.what == What::begin) say(Said::What::started, {}, now);
  if (order.what == What::input && !order.bytes.empty()) say(Said::What::output, order.bytes, later);
  if (order.what == What::input ? order.bytes.empty() : order.what == What::begin && !order.has_input)
    say(Said::What::ended, {}, later);
}

// ---- input and output

void Simulation::perform(std::uint32_t id, const DrainOutput& action, Duration& now) {
  put(now, ToNode{id, OutputDrained{action.process}});
}

void Simulation::perform(std::uint32_t, const PauseOutput& action, Duration& now) {
  if (action.process < process_count()) is_paused(action.process, action.paused, now);
}

void Simulation::perform(std::uint32_t, const PauseClient& action, Duration& now) {
  const std::uint32_t process = process_of(action.client);
  if (process < process_count()) is_paused(process, action.paused, now);
}

void Simulation::perform(std::uint32_t id, const SpoolWrite& action, Duration& now) {
  Launcher& launcher = launchers_[id];
  const std::uint64_t end = action.offset + action.bytes->size();
  const bool fits = static_cast<double>(end) <= settings_.disk;
  if (static_cast<double>(end) > settings_.spool) wrong("a spool larger than it may be");
  if (fits) {
    if (launcher.spool.size() < end) launcher.spool.resize(end);
    std::copy(action.bytes->begin(), action.bytes->end(),
              launcher.spool.begin() + static_cast<std::ptrdiff_t>(action.offset));
  }
  launcher.disk_free_at = std::max(launcher.disk_free_at, now) + kDisk;
  put(launcher.disk_free_at, ToNode{id, fits ? Spooled{} : Spooled{"/tmp: no space"}});
}

void Simulation::perform(std::uint32_t id, const SpoolRead& action, Duration& now) {
  Launcher& launcher = launchers_[id];
  if (action.offset + action.size > launcher.spool.size()) return wrong("a spool read behind its end");
  std::string bytes = launcher.spool.substr(action.offset, action.size);
  if (action.last) launcher.spool.clear();
  launcher.disk_free_at = std::max(launcher.disk_free_at, now) + kDisk;
  put(launcher.disk_free_at, ToNode{id, Unspooled{std::move(bytes)}});
}

void Simulation::perform(std::uint32_t id, const WriteInput& action, Duration& now) {
  if (takes_input(action))
    put(now,
        ToNode{id, input::InputWritten{action.process, static_cast<std::uint32_t>(action.bytes.size())}});
}

void Simulation::perform(std::uint32_t id, const input::RecallPipe& action, Duration& now) {
  put(now, ToNode{id, input::InputRecalled{input_left(action.process)}});
}

// ---- the user, and the end

void Simulation::perform(std::uint32_t id, const input::ReadInput& action, Duration& now) {
  put(now, ToNode{id, user_input_read(action)});
}

/// The screen takes its time, and none while it is stopped.
void Simulation::perform(std::uint32_t id, const Show& action, Duration& now) {
  const auto size = static_cast<double>(action.output.text.size());
  screen_free_at_ =
      std::max(screen_free_at_, now) + Duration{static_cast<Duration::rep>(settings_.screen * size)};
  if (screen_free_at_ >= screen_stops() && screen_free_at_ < screen_goes_on())
    screen_free_at_ = screen_goes_on();
  const std::size_t cost = output_cost(action.output);
  unwritten_ += cost;
  put(screen_free_at_, Written{id, cost});
  if (action.output.wants_receipt) put(screen_free_at_, ToNode{id, Shown{action.output.process}});
}

void Simulation::perform(std::uint32_t id, const StopSelf&, Duration& now) {
  if (id != root_) return wrong("a launcher that is not the root stops itself");
  if (!launchers_[id].node->suspended()) return;
  stop(id);
  if (settings_.held == 0) return;
  put(now + ms(settings_.held), [this, id](Duration then) {
    if (launchers_[id].node) turn(id, UserSignal{signals::kContinue}, then);
    go_on(id, then);
  });
}

void Simulation::perform(std::uint32_t id, const Finish&, Duration& now) {
  leave(id, now);
}

}  // namespace charmtree::sim
