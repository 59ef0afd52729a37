// SPDX-License-Identifier: Apache-2.0
// The simulated processes. A plain one exits after its time. A native or Charm++ client registers with its
// port, gets the table, says after its time that it is done, and exits when it is let go. Its connection has
// its own number (from 1) as name.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/dice.hpp"
#include "tests/sim/world.hpp"
#include "tree/base/signals.hpp"
#include "tree/wire/charm_message.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::sim {

using namespace proto;
namespace native = wire::native;

namespace {

enum Kind : std::uint32_t { plain = 0, is_native = 1, charm = 2 };
constexpr Duration kReaction = 1ms;  // of a process, at most

std::string words(std::initializer_list<std::uint32_t> values) {
  std::string bytes;
  for (const std::uint32_t value : values) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  }
  return bytes;
}

std::string two_bytes(std::uint16_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 0xFF)};
}

/// The messages of either protocol that a process acts upon.
enum class Heard : std::uint8_t { table, go, other };

Heard classify(std::uint32_t kind, const std::string& bytes) {
  if (kind == charm) {
    const std::string_view type{bytes.c_str() + 4};
    return type == "initnodetab" ? Heard::table : type == "die" ? Heard::go : Heard::other;
  }
  static const char finished = native::to_frame(native::Finished{})[wire::kFrameHeader - 1];
  static const char table = native::table_header("").value()[wire::kFrameHeader - 1];
  const char type = bytes[wire::kFrameHeader - 1];
  return type == table ? Heard::table : type == finished ? Heard::go : Heard::other;
}

}  // namespace

/// What the system gave it: any ephemeral port.
std::uint16_t World::port_of(std::uint32_t process, std::uint32_t life) const {
  constexpr std::uint64_t kPorts = 28232, kStep = 9973;  // no two lives of a process have the same
  const std::uint64_t first = Random{process * 0x9E3779B97F4A7C15ULL}.below(kPorts);
  return static_cast<std::uint16_t>(32768 + (first + life * kStep) % kPorts);
}

ClientId World::client_of(std::uint32_t process) const {
  return process + ClientId{1} + ClientId{processes_[process].life} * processes_.size();
}
std::uint32_t World::process_of(ClientId client) const {
  return client == 0 ? kNobody : static_cast<std::uint32_t>((client - 1) % processes_.size());
}
std::uint32_t World::life_of(ClientId client) const {
  return static_cast<std::uint32_t>((client - 1) / processes_.size());
}

void World::perform(std::uint32_t id, const Spawn& action, Duration& now) {
  Launcher& launcher = launchers_[id];
  cost(id, now, ms(settings_.spawn));
  if (hosts_[launcher.host].nature == Nature::unspawnable) {
    put(now, ToNode{id, SpawnFailed{action.process, kMissingProgram}});
    return;
  }
  action.restarts == 0 ? checks_.spawned(action.process, launcher.host)
                       : checks_.restarted(action.process, launcher.host);
  if (lies(Sabotage::twins)) checks_.spawned(action.process, launcher.host);
  if (action.process >= processes_.size()) return;
  Process& process = processes_[action.process];
  process.launcher = id;
  launcher.started.insert(action.process);
  if (action.restarts > 0) settings_.in_place != 0 ? starts_again(action) : starts_anew(action);
  process.state = Process::State::running;
  ++spawned_;
  outcome_.spawned = std::max(outcome_.spawned, now);
  put(now, ToNode{id, Spawned{action.process}});
  const Duration start = scaled(ms(settings_.start), 0.5 + uniform(random_));
  if (whole(settings_.kind) == plain && settings_.prints != 0)
    put(now + start, Step{action.process, Act::print, process.life});
  else if (whole(settings_.kind) == plain)
    put(now + start + ms(settings_.life), Step{action.process, Act::exit, process.life});
  else
    put(now + start, Step{action.process, Act::begin, process.life});
}

void World::happen(const Step& what, Duration now) {
  Process& process = processes_[what.process];
  using State = Process::State;
  const bool charm_client = whole(settings_.kind) == charm;
  const std::uint32_t own = what.process;
  if (process.life != what.life || process.is_cut) return;
  switch (what.act) {
    case Act::begin: {
      if (process.state != State::running) return;
      process.state = State::joined;
      ++joined_;
      const auto kind = charm_client ? ClientKind::charm : ClientKind::native;
      now = turn(process.launcher, ClientOpened{kind, client_of(own)}, now);
      const std::uint32_t host = launchers_[process.launcher].host;
      if (charm_client)
        says(own,
             wire::make_charm_message("initnode",
                                      words({own, 1, 1, 1, 0, 0, 0, port_of(own, process.life), 0, host})),
             now);
      else
        says(own,
             native::to_frame(native::Hello{native::kVersion, own, own, "sim"}) +
                 native::to_frame(native::Put{two_bytes(port_of(own, process.life))}),
             now);
      break;
    }
    case Act::finish:
      if (process.state != State::wired) return;
      process.state = State::ended;
      process.is_done = true;
      says(own,
           charm_client ? wire::make_charm_message("ending", std::string{"0\0", 2})
                        : native::to_frame(native::Finalize{0}),
           now);
      break;
    case Act::exit:
      if (process.state != State::unborn) exits(own, 0, 0, now);
      break;
    case Act::print:
      prints(own, now);
      break;
    case Act::enter:
    case Act::ack:
      act(what, now);
      break;
  }
}

void World::happen(const Dies& what, Duration now) {
  if (processes_[what.process].life == what.life) exits(what.process, what.code, what.signal, now);
}

/// Until now its launcher was free.
void World::says(std::uint32_t number, std::string bytes, Duration& now) {
  const std::uint32_t id = processes_[number].launcher;
  if (!launchers_[id].node) return;
  cost(id, now, ms(settings_.receive));
  const auto kind = whole(settings_.kind) == charm ? ClientKind::charm : ClientKind::native;
  now = turn(id, ClientBytes{kind, client_of(number), std::move(bytes)}, now);
}

void World::perform(std::uint32_t id, const ClientSend& action, Duration& now) {
  const std::size_t bytes = action.bytes.size() + (action.tail ? action.tail->size() : 0);
  cost(id, now, ms(settings_.send));
  cost(id, now, Duration{static_cast<Duration::rep>(settings_.client * static_cast<double>(bytes))});
  const std::uint32_t number = process_of(action.client);
  if (number == kNobody || processes_[number].launcher != id ||
      life_of(action.client) > processes_[number].life)
    return checks_.wrong(fmt::format("host {} writes to a client that it has not", launchers_[id].host));
  if (processes_[number].life == life_of(action.client)) hears(number, action, now);
}

void World::hears(std::uint32_t number, const ClientSend& message, Duration now) {
  const Process& process = processes_[number];
  const bool listens =
      process.state != Process::State::unborn && process.state != Process::State::gone && !process.is_cut;
  if (!listens) return;
  if (settings_.restarts != 0) return recovering_hears(number, message, now);
  if (settings_.in_place != 0 && whole(settings_.kind) == is_native)
    return renewed_hears(number, message, now);
  if (passes_barriers()) surviving_hears(number, message, now);
  switch (classify(whole(settings_.kind), message.bytes)) {
    case Heard::table:
      return table_comes(number, message.tail, now);
    case Heard::go:
      return put(now + random_.between(0ms, kReaction), Dies{number, 0, 0, process.life});
    case Heard::other:
      return;
  }
}

void World::table_comes(std::uint32_t number, const wire::Blob& table, Duration now) {
  Process& process = processes_[number];
  if (process.state != Process::State::joined)
    return checks_.wrong(fmt::format("process {} got a table that it does not expect", number));
  check_table(table);
  process.state = Process::State::wired;
  ++wired_;
  outcome_.wired = now;
  if (settings_.prints != 0)
    put(now, Step{number, Act::print, process.life});
  else if (passes_barriers())
    next_round(number, now);
  else
    put(now + ms(settings_.life), Step{number, Act::finish, process.life});
}

/// Every process is in it, with what it registered. Each copy is looked at once.
void World::check_table(const wire::Blob& coded) {
  if (checked_table_ == coded) return;
  checked_table_ = coded;
  std::uint32_t number = 0;
  if (whole(settings_.kind) == charm) {
    constexpr std::size_t kPort = 12;
    for (; (number + 1) * wire::kCharmTableEntry <= coded->size(); ++number) {
      const char* port = coded->data() + number * wire::kCharmTableEntry + kPort;
      if (std::string{port, 4} != words({port_of(number, processes_[number].life)})) break;
    }
  } else if (const auto table = wire::decode_table(*coded)) {
    for (const wire::TupleBlock& block : table->blocks) {
      for (const wire::Tuple& tuple : block.tuples) {
        if (tuple.data == two_bytes(port_of(number, processes_[number].life))) ++number;
      }
    }
  }
  const std::size_t all = job_processes();
  if (number != all) checks_.wrong(fmt::format("the table is wrong at process {}", number));
}

void World::perform(std::uint32_t, const ClientClose& action, Duration& now) {
  const std::uint32_t number = process_of(action.client);
  if (number == kNobody || processes_[number].is_stubborn) return;
  put(now + random_.between(0ms, kReaction), Dies{number, 1, 0, life_of(action.client)});
}

void World::perform(std::uint32_t id, const DrainOutput& action, Duration& now) {
  put(now, ToNode{id, OutputDrained{action.process}});
}

void World::perform(std::uint32_t id, const proto::Signal& action, Duration& now) {
  if (action.process >= processes_.size() || processes_[action.process].launcher != id)
    return checks_.wrong(fmt::format("host {} signals a process that it has not", launchers_[id].host));
  if (action.signal == signals::kKill || !processes_[action.process].is_stubborn)
    put(now + random_.between(0ms, kReaction),
        Dies{action.process, 0, action.signal, processes_[action.process].life});
}

void World::exits(std::uint32_t number, int code, int signal, Duration now) {
  Process& process = processes_[number];
  const auto state = std::exchange(process.state, Process::State::gone);
  if (state == Process::State::gone) return;
  gone_ += lies(Sabotage::undying) ? 0 : 1;
  if (!launchers_[process.launcher].node) return;
  if (whole(settings_.kind) != plain && state != Process::State::running && !process.is_cut) {
    const auto kind = whole(settings_.kind) == charm ? ClientKind::charm : ClientKind::native;
    put(now + random_.between(0ms, kReaction),
        ToNode{process.launcher, ClientClosed{kind, client_of(number)}});
  }
  put(now + random_.between(0ms, kReaction),
      ToNode{process.launcher,
             ProcessExited{number, static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(signal)}});
}

void World::kill_processes_of(std::uint32_t id) {
  for (Process& process : processes_) {
    if (process.launcher != id || process.state == Process::State::unborn) continue;
    if (std::exchange(process.state, Process::State::gone) != Process::State::gone) ++gone_;
  }
}

}  // namespace charmtree::sim
