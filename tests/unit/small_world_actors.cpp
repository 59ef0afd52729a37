// SPDX-License-Identifier: Apache-2.0
// The processes of the small world, and the client's side of the Charm++ protocol.
#include <fmt/format.h>

#include "tests/sim/charm_words.hpp"
#include "tests/unit/small_world.hpp"
#include "tree/wire/charm_message.hpp"

namespace charmtree::test {

using namespace proto;

/// Whether it can be or not, that is the one try.
std::optional<Error> SmallWorld::spawn_error(std::uint32_t id, const Spawn& action) {
  Actor& actor = actors.at(action.process);
  if (std::exchange(actor.spawned, true)) wrong("a process is spawned twice");
  actor.host = launchers_[id].host;
  actor.pus = action.cpus;
  return actor.spawn_error;
}

void SmallWorld::begins(std::uint32_t process, Duration now) {
  Actor& actor = actors[process];
  if (actor.life == kForever) return;
  const Duration start = now + random_.between(0ms, kActorReaction);
  for (std::size_t i = 0; i < actor.chunks.size(); ++i) {
    at(start + actor.life * (i + 1) / (actor.chunks.size() + 1), [this, &actor, i] {
      if (actor.alive) deliver(actor.launcher, ProcessOutput{number(actor), Stream::out, actor.chunks[i]});
    });
  }
  at(start + actor.life + random_.between(0ms, kActorReaction), [this, &actor] {
    if (!actor.alive) return;
    if (actor.kind == Actor::Kind::plain) return exits(number(actor), actor.code, actor.signal, now_);
    connect(actor);
  });
}

void SmallWorld::connect(Actor& actor) {
  actor.connected = true;
  const std::uint32_t own = number(actor);
  deliver(actor.launcher, ClientOpened{ClientKind::charm, client_of(own)});
  if (actor.old)
    return client_says(
        actor, wire::make_charm_message("initnode", sim::words({own, 1, 1000 + own, 0, 0, 0xC0000202})));
  client_says(actor, wire::make_charm_message(
                         "initnode", sim::words({own, 2, 2, 1, 0, 0, 0, 1000 + own, 0, 0xC0000202})));
}

void SmallWorld::fork(Actor& parent, std::uint32_t children, std::uint32_t first) {
  for (std::uint32_t process = first; process < first + children; ++process) {
    Actor& child = actors.at(process);
    if (std::exchange(child.spawned, true)) wrong("a process is forked and spawned");
    child.launcher = parent.launcher;
    child.host = parent.host;
    child.alive = true;
    launchers_[child.launcher].started.insert(process);
    soon([this, &child] { connect(child); });
  }
}

void SmallWorld::client_says(Actor& actor, std::string bytes) {
  if (actor.connected)
    deliver(actor.launcher, ClientBytes{ClientKind::charm, client_of(number(actor)), std::move(bytes)});
}

void SmallWorld::ping(std::uint32_t process) {
  client_says(actors.at(process), wire::make_charm_message("ping"));
}

void SmallWorld::client_bytes(std::uint32_t host, ClientId client, std::string bytes) {
  deliver(find(host), ClientOpened{ClientKind::charm, client});
  deliver(find(host), ClientBytes{ClientKind::charm, client, std::move(bytes)});
}

/// Bytes keep their order.
void SmallWorld::hears(std::uint32_t process, const ClientSend& message, Duration now) {
  Actor& actor = actors[process];
  actor.hears_at = std::max(actor.hears_at, now + random_.between(0ms, kActorReaction));
  at(actor.hears_at, [this, &actor, bytes = message.bytes + (message.tail ? *message.tail : "")] {
    hears_bytes(actor, bytes);
  });
}

void SmallWorld::hears_bytes(Actor& actor, const std::string& bytes) {
  actor.buffer += bytes;
  while (actor.alive && actor.buffer.size() >= wire::kCharmHeader) {
    const std::size_t size = wire::kCharmHeader + sim::word(actor.buffer, 0);
    if (actor.buffer.size() < size) return;
    const std::string message = actor.buffer.substr(0, size);
    actor.buffer.erase(0, size);
    hears_message(actor, std::string_view{message.c_str() + 4},
                  std::string_view{message}.substr(wire::kCharmHeader));
  }
}

void SmallWorld::hears_message(Actor& actor, std::string_view type, std::string_view payload) {
  if (type == "die") return actor.stubborn ? void() : exits(number(actor), 1, 0, now_);
  if (type == "nodefork") return fork(actor, sim::word(payload, 0), sim::word(payload, 4));
  if (type == "initnodetab") {
    actor.own = sim::word(payload, 4);
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
    return client_says(actor, make_charm_message("barrier", std::string(1, '\0')));
  }
  if (actor.verbs && actor.qpdata.empty()) {
    std::string list;
    for (std::uint32_t to = 0; to < actors.size(); ++to)
      if (to != number(actor)) list += sim::words({0xFFFFFFFF, 7, number(actor), to});
    return client_says(actor, make_charm_message("qplist", list));
  }
  if (!actor.scan_format.empty())
    return client_says(actor, make_charm_message("scanf", actor.scan_format + '\0'));
  for (std::uint32_t i = 0; i < actor.lines; ++i) {
    const std::string line = fmt::format("process {} line {}", number(actor), i);
    client_says(actor, make_charm_message("print", fmt::format("{:.<{}}\n", line, actor.line_size) + '\0'));
  }
  switch (actor.fate) {
    case Actor::Fate::ends:
      return client_says(actor, make_charm_message("ending", fmt::format("{}", actor.ending) + '\0'));
    case Actor::Fate::aborts:
      return client_says(actor, make_charm_message("abort", std::string{"on purpose"} + '\0'));
    case Actor::Fate::exits:
      return exits(number(actor), actor.code, actor.signal, now_);
    case Actor::Fate::stays:
      return;
  }
}

bool SmallWorld::takes_input(const WriteInput& action) {
  Actor& actor = actors.at(action.process);
  actor.input += action.bytes;
  actor.input_ended = actor.input_ended || action.end;
  return !actor.deaf && !action.bytes.empty();
}

}  // namespace charmtree::test
