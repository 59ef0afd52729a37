// SPDX-License-Identifier: Apache-2.0
// The simulated processes. A plain one exits after its time. A native or Charm++ client registers with its
// port, gets the table, says after its time that it is done, and exits when it is let go. Its connection has
// its own number (from 1) as name.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/charm_words.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/programs.hpp"
#include "tests/sim/world.hpp"
#include "tree/wire/charm_message.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::sim {

using namespace proto;
namespace native = wire::native;

namespace {

/// The messages of either protocol that a process acts upon.
enum class Heard : std::uint8_t { table, go, other };

Heard classify(std::uint32_t kind, const std::string& bytes) {
  if (kind == charm) {
    const std::string_view type{bytes.c_str() + 4};
    return type == "initnodetab" ? Heard::table : type == "die" ? Heard::go : Heard::other;
  }
  static const char finished = native::to_frame(native::Finished{})[wire::kFrameHeader - 1];
  static const char table = native::to_frame(native::Table{})[wire::kFrameHeader - 1];
  const char type = bytes[wire::kFrameHeader - 1];
  return type == table ? Heard::table : type == finished ? Heard::go : Heard::other;
}

}  // namespace

/// What the system gave it, any ephemeral port; or its launcher in its first life, which hosts have in a row.
std::uint16_t World::port_of(std::uint32_t process, std::uint32_t life) const {
  constexpr std::uint16_t kBase = 10'000;
  if (settings_.base_ports != 0 && life == 0)
    return static_cast<std::uint16_t>(kBase + process % whole(settings_.processes));
  constexpr std::uint64_t kPorts = 28232, kStep = 9973;  // no two lives of a process have the same
  const std::uint64_t first = Random{process * 0x9E3779B97F4A7C15ULL}.below(kPorts);
  return static_cast<std::uint16_t>(32768 + (first + life * kStep) % kPorts);
}

ClientKind World::client_kind() const {
  if (enters_fences()) return ClientKind::pmi;
  return whole(settings_.kind) == charm ? ClientKind::charm : ClientKind::native;
}

/// Neighbours do different things.
stacks::Seen World::does(std::uint32_t process) {
  const std::uint64_t which = Random{process * 0x9E3779B97F4A7C15ULL}.below(whole(settings_.stacks));
  return {{"main", "solve", which == 0 ? "work" : fmt::format("work_{}", which)}};
}

std::optional<Error> World::spawn_error(std::uint32_t id, const Spawn&) {
  if (hosts_[launchers_[id].host].nature == Nature::unspawnable) return kMissingProgram;
  return {};
}

void World::process_begins(std::uint32_t id, const Spawn& action, Duration now) {
  const std::uint32_t host = launchers_[id].host;
  action.restarts == 0 ? checks_.spawned(action.process, host) : checks_.restarted(action.process, host);
  if (lies(Sabotage::twins)) checks_.spawned(action.process, host);
  if (action.process >= processes_.size()) return;
  if (action.restarts > 0) settings_.in_place != 0 ? starts_again(action) : starts_anew(action);
  processes_[action.process].state = Process::State::running;
  ++spawned_;
  outcome_.spawned = std::max(outcome_.spawned, now);
}

void World::begins(std::uint32_t number, Duration now) {
  const bool is_plain = whole(settings_.kind) == plain;
  const Act act = !is_plain ? Act::begin : settings_.prints != 0 ? Act::print : Act::exit;
  const Duration start = scaled(ms(settings_.start), 0.5 + uniform(random_));
  put_step(now + start + (act == Act::exit ? ms(settings_.life) : 0ms), number, act);
}

void World::put_step(Duration at, std::uint32_t number, Act act) {
  put(at, Step{number, static_cast<std::uint8_t>(act), processes_[number].lives_before});
}

void World::steps(const Step& what, Duration now) {
  Process& process = processes_[what.process];
  using State = Process::State;
  const bool charm_client = whole(settings_.kind) == charm;
  const std::uint32_t own = what.process;
  if (process.is_cut) return;
  switch (static_cast<Act>(what.act)) {
    case Act::begin: {
      if (process.state != State::running) return;
      process.state = State::joined;
      process.connected = true;
      ++joined_;
      if (enters_fences()) return mpi_begins(own, now);
      now = turn(process.launcher, ClientOpened{client_kind(), client_of(own)}, now);
      const std::uint32_t host = launchers_[process.launcher].host;
      if (charm_client)
        says(own,
             wire::make_charm_message(
                 "initnode", words({own, 1, 1, 1, 0, 0, 0, port_of(own, process.lives_before), 0, host})),
             now);
      else
        says(own,
             native::to_frame(native::Hello{native::kVersion, own, own, "sim"}) +
                 (settings_.base_ports != 0 ? native::to_frame(native::PortWanted{}) : "") +
                 native::to_frame(native::Put{two_bytes(port_of(own, process.lives_before))}),
             now);
      break;
    }
    case Act::finish:
      if (process.state != State::wired) return;
      process.state = State::ended;
      process.is_done = true;
      if (enters_fences()) return says(own, "cmd=finalize\n", now);
      says(own,
           charm_client ? wire::make_charm_message("ending", std::string{"0\0", 2})
                        : native::to_frame(native::Finalize{0}),
           now);
      break;
    case Act::exit:
      exits(own, 0, 0, now);
      break;
    case Act::print:
      prints(own, now);
      break;
    case Act::enter:
      if (enters_fences() && process.state == State::wired) return mpi_enters(own, now);
      [[fallthrough]];
    case Act::ack:
      act(what, now);
      break;
  }
}

void World::hears(std::uint32_t number, const ClientSend& message, Duration now) {
  const Process& process = processes_[number];
  if (enters_fences()) return process.is_cut ? void() : mpi_hears(number, message.bytes, now);
  if (settings_.restarts != 0) return recovering_hears(number, message, now);
  if (settings_.in_place != 0 && whole(settings_.kind) == is_native)
    return renewed_hears(number, message, now);
  if (passes_barriers()) surviving_hears(number, message, now);
  switch (classify(whole(settings_.kind), message.bytes)) {
    case Heard::table:
      return table_comes(number, message.shared.coded ? message.shared.coded : message.tail, now);
    case Heard::go:
      return put(now + random_.between(0ms, kReaction), Dies{number, 0, 0, process.lives_before});
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
    put_step(now, number, Act::print);
  else if (passes_barriers())
    next_round(number, now);
  else
    put_step(now + ms(settings_.life), number, Act::finish);
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
      if (std::string{port, 4} != words({port_of(number, processes_[number].lives_before)})) break;
    }
  } else if (const auto table = wire::decode_table(*coded)) {
    for (const wire::TupleBlock& block : table->blocks) {
      for (const wire::Tuple& tuple : block.tuples) {
        if (tuple.data == two_bytes(port_of(number, processes_[number].lives_before))) ++number;
      }
    }
  }
  const std::size_t all = job_processes();
  if (number != all) checks_.wrong(fmt::format("the table is wrong at process {}", number));
}

void World::process_ends(std::uint32_t number, Duration) {
  processes_[number].state = Process::State::gone;
  gone_ += lies(Sabotage::undying) ? 0 : 1;
}

void World::kill_processes_of(std::uint32_t id) {
  for (Process& process : processes_) {
    if (process.launcher != id || !std::exchange(process.alive, false)) continue;
    process.state = Process::State::gone;
    ++gone_;
  }
}

}  // namespace charmtree::sim
