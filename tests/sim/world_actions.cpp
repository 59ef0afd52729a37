// SPDX-License-Identifier: Apache-2.0
// What a launcher's shell does for it, but for logins and processes.
#include <fmt/format.h>

#include <algorithm>

#include "health/adoption_socket.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/vocabulary.hpp"
#include "tests/sim/world.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {

/// Who adopts a launcher is its parent, or not far above that one.
constexpr std::uint32_t kMostHops = 3;

Duration bytes_cost(double nanoseconds_each, std::size_t bytes) {
  return Duration{static_cast<Duration::rep>(nanoseconds_each * static_cast<double>(bytes))};
}

}  // namespace

void World::perform(std::uint32_t id, const CancelLogin& action, Duration&) {
  const auto child = launchers_[id].children.find(action.link);
  if (child == launchers_[id].children.end() || child->second.wire != kNobody)
    return checks_.wrong(fmt::format("host {} cancelled a login that is none", launchers_[id].host));
  end_login(logins_[child->second.login]);
  launchers_[id].children.erase(child);
}

void World::perform(std::uint32_t id, const Send& action, Duration& now) {
  Launcher& launcher = launchers_[id];
  const bool up = action.link == kParentLink || action.link == kAdopterLink;
  std::uint32_t number = action.link == kAdopterLink ? launcher.adopter : launcher.wire;
  if (!up) {
    const auto child = launcher.children.find(action.link);
    number = child == launcher.children.end() ? kNobody : child->second.wire;
  }
  if (number == kNobody && action.link == kAdopterLink) return;  // it did not wait
  if (number == kNobody)
    return checks_.wrong(fmt::format("host {} sent on a link that is not up", launcher.host));
  if (const auto* lost = std::get_if<wire::LinkLost>(&action.message)) checks_.link_lost(*lost);
  wire::Message message = action.message;
  if (auto* facts = std::get_if<wire::Facts>(&message); facts != nullptr && lies(Sabotage::slander))
    facts->hosts_up = {0};
  const std::size_t bytes = size_of(number, message);
  if (id == root_) may_be_last(message, now);
  if (std::holds_alternative<wire::Output>(message) && launcher.said_idle)
    checks_.wrong(fmt::format("host {} sends output though it has said Idle", launcher.host));
  if (std::holds_alternative<wire::Idle>(message)) launcher.said_idle = true;
  if (const auto* table = std::get_if<wire::TableDown>(&message); table != nullptr && outcome_.table == 0) {
    outcome_.gathered = now;  // and it is coded here, once
    if (settings_.in_place != 0) root_knows(*table->table);
    outcome_.table = table->table->size();
    cost(id, now, bytes_cost(settings_.tuple, processes_.size()));
  }
  if (const auto* recover = std::get_if<wire::Recover>(&message); recover != nullptr && id == root_)
    root_recovers(*recover);
  if (const auto* renewed = std::get_if<wire::Renewed>(&message); renewed != nullptr && id == root_)
    root_renews(*renewed);
  if (const auto* release = std::get_if<wire::Release>(&message); release != nullptr && id == root_) {
    if (action.link <= std::exchange(released_by_, action.link)) root_releases(*release);  // links rise
  }
  cost(id, now, ms(settings_.send) + bytes_cost(settings_.cipher, bytes));
  note(number * std::uint64_t{2} + (up ? 1 : 0));
  note(mark(message) + bytes);
  Wire& wire = wires_[number];
  if (!(up ? wire.child_open : wire.parent_open))
    return checks_.wrong(fmt::format("host {} sent on a link that has ended", launcher.host));
  const Duration arrives = network_.arrival(wire, up, now, bytes);
  if (lies(Sabotage::standstill) && std::holds_alternative<wire::Assign>(message)) return;
  if (!wire.is_dead) put(arrives, Arrival{number, up, std::move(message), bytes});
}

void World::perform(std::uint32_t id, const CloseLink& action, Duration& now) {
  if (action.link == kParentLink) return hang_up(launchers_[id].wire, true, now, "closed by the other side");
  if (action.link == kAdopterLink) {
    const std::uint32_t wire = std::exchange(launchers_[id].adopter, kNobody);
    return wire == kNobody ? void() : hang_up(wire, true, now, "closed by the other side");
  }
  const auto child = launchers_[id].children.find(action.link);
  if (child == launchers_[id].children.end() || child->second.wire == kNobody)
    return checks_.wrong(fmt::format("host {} closed a link that is none", launchers_[id].host));
  hang_up(child->second.wire, false, now, "closed by the other side");
  launchers_[id].children.erase(child);
}

/// Who relays does nothing else, so the wire leads to the launcher that waits from now on.
void World::perform(std::uint32_t id, const Relay& action, Duration& now) {
  const std::uint32_t wire = launchers_[id].wire;
  for (const std::uint32_t there : launchers_on_[action.host]) {
    Launcher& waiting = launchers_[there];
    if (!waiting.node || waiting.adoption_socket.empty()) continue;
    if (waiting.adoption_socket != action.socket) {
      checks_.wrong(fmt::format("host {} waits at another socket than it is sought at", action.host));
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

void World::perform(std::uint32_t id, const ReplaceParent&, Duration& now) {
  Launcher& launcher = launchers_[id];
  hang_up(launcher.wire, true, now, "closed by the other side");
  launcher.wire = std::exchange(launcher.adopter, kNobody);
  const std::uint32_t level = launchers_[wires_[launcher.wire].parent].level;
  if (nobody_else_is_lost() && launcher.level - level > kMostHops)
    checks_.wrong(
        fmt::format("host {} at level {} is adopted from level {}", launcher.host, launcher.level, level));
  launcher.level = level + 1;
  launcher.is_orphan = launchers_[wires_[launcher.wire].parent].is_orphan;
}

/// A host that has power answers, whatever its launcher does; it acknowledges what arrives.
void World::perform(std::uint32_t id, const Probe& action, Duration& now) {
  constexpr Duration kLongAgo = 1h;
  const Launcher& launcher = launchers_[id];
  const bool up = action.link == kParentLink;
  const Wire& wire = wires_[up ? launcher.wire : launcher.children.at(action.link).wire];
  const Launcher& there = launchers_[up ? wire.parent : wire.child];
  const bool is_off = there.host != wire::kRootIndex ? hosts_[there.host].is_off : !there.node;
  const Duration last = up ? wire.last_down : wire.last_up;
  Evidence found{!wire.is_dead && last <= now ? now - last : kLongAgo, wire.is_dead ? kLongAgo : 0s, !is_off};
  const Duration after = is_off ? action.within : 2 * network_.delay();
  put(now + after, ToNode{id, Probed{action.link, found}});
}

void World::perform(std::uint32_t id, const Prepare& action, Duration& now) {
  begin_run(action.job->loss.restarts);
  if (action.job->repairs())
    launchers_[id].adoption_socket = health::adoption_socket(*action.job, action.self.index);
  cost(id, now, ms(settings_.setup));
  const std::uint32_t host = launchers_[id].host;
  Prepared answer{0x0A000000 + host, {}, true};
  if (settings_.by_cores != 0) {
    CpuMap& cpus = answer.cpus.emplace();
    for (std::uint32_t core = 0; core < processes_of(settings_, host); ++core) cpus.cores.push_back({core});
  }
  if (hosts_[host].nature == Nature::unready) {
    answer.ok = false;
    answer.error = {Errc::no_directory, Phase::spawn, "no such directory", "check +wd"};
  } else if (hosts_[host].nature == Nature::unspawnable && action.job->waits_for_all()) {
    answer.ok = false;
    answer.error = kMissingProgram;
  }
  if (answer.ok) checks_.ready(host);
  put(now, ToNode{id, answer});
}

void World::perform(std::uint32_t id, const KillLeftovers& action, Duration& now) {
  if (action.host >= launchers_on_.size()) return put(now + 1ms, ToNode{id, LeftoversKilled{0}});
  const std::vector<std::uint32_t> there = launchers_on_[action.host];
  std::set<std::uint32_t> left;
  for (const std::uint32_t owner : there) {
    for (const std::uint32_t number : launchers_[owner].started) {
      const Process& process = processes_[number];
      if (process.launcher == owner && process.state != Process::State::unborn &&
          process.state != Process::State::gone)
        left.insert(number);
    }
  }
  for (const std::uint32_t number : left) exits(number, 0, 9, now);
  if (!launchers_[id].is_welcomed) {  // a sweeper finds a launcher that hangs, too
    for (const std::uint32_t other : there) {
      if (launchers_[other].node && launchers_[other].is_welcomed) leave(other, now);
    }
  }
  put(now + 1ms, ToNode{id, LeftoversKilled{static_cast<std::uint32_t>(left.size())}});
}

void World::perform(std::uint32_t id, const ReadInput&, Duration& now) {
  put(now, ToNode{id, InputRead{{}, true}});
}
void World::perform(std::uint32_t, const ReadHosts&, Duration&) {}
void World::perform(std::uint32_t id, const WriteInput& action, Duration& now) {
  put(now, ToNode{id, InputWritten{action.process, static_cast<std::uint32_t>(action.bytes.size())}});
}
void World::perform(std::uint32_t id, const RecallPipe&, Duration& now) {
  put(now, ToNode{id, InputRecalled{}});
}
void World::perform(std::uint32_t, const ResizeTerminal&, Duration&) {}
void World::perform(std::uint32_t, const ReleaseKeys&, Duration&) {}
void World::perform(std::uint32_t, const StopSelf&, Duration&) {}
void World::perform(std::uint32_t id, const Adopt&, Duration&) {
  checks_.wrong(fmt::format("host {} adopts a process: none of this world forks", launchers_[id].host));
}
void World::perform(std::uint32_t, const StoreHostKey&, Duration&) {}
void World::perform(std::uint32_t, const Sign&, Duration&) {}
void World::perform(std::uint32_t, const Signed&, Duration&) {}
void World::perform(std::uint32_t, const Examined&, Duration&) {}
void World::perform(std::uint32_t, const Progress&, Duration&) {}
void World::perform(std::uint32_t, const RunOver&, Duration&) {}

void World::perform(std::uint32_t id, const Say& action, Duration&) {
  if (id != root_) return checks_.wrong("a launcher that has no user speaks to one");
  checks_.said(action);
}

void World::perform(std::uint32_t, const Record& action, Duration&) {
  if (action.error && !lies(Sabotage::silence)) checks_.reported(action.stamps.host, *action.error);
}

void World::perform(std::uint32_t id, const Finish& action, Duration& now) {
  if (id == root_) {
    outcome_.status = action.status + (lies(Sabotage::mistake) ? 1 : 0);
    if (outlives_losses() && !lost_at_its_end_) settle_losses(action.why.lost);
    outcome_.finished = now;
  }
  leave(id, now);
}

}  // namespace charmtree::sim
