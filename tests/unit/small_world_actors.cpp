// SPDX-License-Identifier: Apache-2.0
// The processes of the small world, and the client's side of the Charm++ protocol.
#include <fmt/format.h>

#include <stdexcept>

#include "tests/unit/small_world.hpp"
#include "tree/wire/charm_message.hpp"

namespace charmtree::test {

using namespace proto;

namespace {

std::string words(std::initializer_list<std::uint32_t> values) {
  std::string bytes;
  for (const std::uint32_t value : values) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  }
  return bytes;
}

std::uint32_t word(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace

void SmallWorld::perform(std::size_t id, const Spawn& a) {
  const std::uint32_t process = a.process;
  Actor& actor = actors.at(process);
  if (std::exchange(actor.spawned, true)) throw std::logic_error("spawned twice");
  actor.launcher = id;
  actor.host = launchers_[id]->host;
  actor.pus = a.cpus;
  actor.alive = !actor.spawn_error;
  soon(kReaction, [this, id, process, &actor] {
    deliver(id,
            actor.spawn_error ? Event{SpawnFailed{process, *actor.spawn_error}} : Event{Spawned{process}});
    if (actor.alive) play(actor);
  });
}

void SmallWorld::play(Actor& actor) {
  if (actor.life == kForever) return;
  const Duration jitter = random_.between(0ms, kReaction);
  for (std::size_t i = 0; i < actor.chunks.size(); ++i) {
    schedule(now_ + actor.life * (i + 1) / (actor.chunks.size() + 1), [this, &actor, i] {
      if (actor.alive) deliver(actor.launcher, ProcessOutput{number(actor), Stream::out, actor.chunks[i]});
    });
  }
  schedule(now_ + actor.life + jitter, [this, &actor] {
    if (!actor.alive) return;
    if (actor.kind == Actor::Kind::plain) return dies(actor, actor.code, actor.signal);
    connect(actor);
  });
}

void SmallWorld::connect(Actor& actor) {
  actor.client = next_client_++;
  deliver(actor.launcher, ClientOpened{ClientKind::charm, actor.client});
  const std::uint32_t own = number(actor);
  if (actor.old)
    return says(actor, wire::make_charm_message("initnode", words({own, 1, 1000 + own, 0, 0, 0xC0000202})));
  says(actor,
       wire::make_charm_message("initnode", words({own, 2, 2, 1, 0, 0, 0, 1000 + own, 0, 0xC0000202})));
}

void SmallWorld::fork(Actor& parent, std::uint32_t children, std::uint32_t first) {
  for (std::uint32_t process = first; process < first + children; ++process) {
    Actor& child = actors.at(process);
    if (std::exchange(child.spawned, true)) throw std::logic_error("forked and spawned");
    child.launcher = parent.launcher;
    child.host = parent.host;
    child.alive = true;
    soon(kReaction, [this, &child] { connect(child); });
  }
}

void SmallWorld::perform(std::size_t id, const Adopt& a) {
  const Actor& actor = actors.at(a.process);
  if (actor.client != a.client || actor.launcher != id || actors.at(a.parent).launcher != id)
    throw std::logic_error("adopted somebody else's process");
  soon(kReaction, [this, id, a, found = !actor.hidden] { deliver(id, Adopted{a.process, found}); });
}

void SmallWorld::says(Actor& actor, std::string bytes) {
  if (actor.client != 0)
    deliver(actor.launcher, ClientBytes{ClientKind::charm, actor.client, std::move(bytes)});
}

void SmallWorld::ping(std::uint32_t process) {
  says(actors.at(process), wire::make_charm_message("ping"));
}

void SmallWorld::perform(std::size_t id, const LookAtClient& a) {
  ++looks;
  if (actors.at(a.process).client != a.client) throw std::logic_error("looked at somebody else's client");
  soon(kReaction, [this, id, a] { deliver(id, ClientSeen{a.process, actors.at(a.process).sight}); });
}

void SmallWorld::client_bytes(std::uint32_t host, ClientId client, std::string bytes) {
  deliver(find(host), ClientOpened{ClientKind::charm, client});
  deliver(find(host), ClientBytes{ClientKind::charm, client, std::move(bytes)});
}

void SmallWorld::hears(Actor& actor, const std::string& bytes) {
  actor.buffer += bytes;
  while (actor.alive && actor.buffer.size() >= wire::kCharmHeader) {
    const std::size_t size = wire::kCharmHeader + word(actor.buffer, 0);
    if (actor.buffer.size() < size) return;
    const std::string message = actor.buffer.substr(0, size);
    actor.buffer.erase(0, size);
    hears(actor, std::string_view{message.c_str() + 4}, std::string_view{message}.substr(wire::kCharmHeader));
  }
}

void SmallWorld::hears(Actor& actor, std::string_view type, std::string_view payload) {
  if (type == "die") return actor.stubborn ? void() : dies(actor, 1, 0);
  if (type == "nodefork") return fork(actor, word(payload, 0), word(payload, 4));
  if (type == "initnodetab") {
    actor.own = word(payload, 4);
    actor.table = payload.substr(8);
  } else if (type == "scanf-data") {
    actor.scanned = payload.substr(0, payload.size() - 1);
    if (--actor.scans == 0) actor.scan_format.clear();
  } else if (type == "qpdata") {
    actor.qpdata = payload;
  }
  next_step(actor);
}

void SmallWorld::next_step(Actor& actor) {
  using wire::make_charm_message;
  if (actor.entered < actor.barriers) {
    ++actor.entered;
    return says(actor, make_charm_message("barrier", std::string(1, '\0')));
  }
  if (actor.verbs && actor.qpdata.empty()) {
    std::string list;
    for (std::uint32_t to = 0; to < actors.size(); ++to)
      if (to != number(actor)) list += words({0xFFFFFFFF, 7, number(actor), to});
    return says(actor, make_charm_message("qplist", list));
  }
  if (!actor.scan_format.empty()) return says(actor, make_charm_message("scanf", actor.scan_format + '\0'));
  for (std::uint32_t i = 0; i < actor.lines; ++i)
    says(actor, make_charm_message("print", fmt::format("process {} line {}\n", number(actor), i) + '\0'));
  switch (actor.fate) {
    case Actor::Fate::ends:
      return says(actor, make_charm_message("ending", fmt::format("{}", actor.ending) + '\0'));
    case Actor::Fate::aborts:
      return says(actor, make_charm_message("abort", std::string{"on purpose"} + '\0'));
    case Actor::Fate::exits:
      return dies(actor, actor.code, actor.signal);
    case Actor::Fate::stays:
      return;
  }
}

void SmallWorld::dies(Actor& actor, int code, int signal) {
  if (!std::exchange(actor.alive, false)) return;
  last_exit_at = now_;
  const ClientId client = std::exchange(actor.client, 0);
  if (client != 0)
    soon(kReaction, [this, &actor, client] {
      deliver(actor.launcher, ClientClosed{ClientKind::charm, client});
    });
  const ProcessExited event{number(actor), static_cast<std::uint8_t>(code),
                            static_cast<std::uint8_t>(signal)};
  soon(kReaction, [this, &actor, event] { deliver(actor.launcher, event); });
}

}  // namespace charmtree::test
