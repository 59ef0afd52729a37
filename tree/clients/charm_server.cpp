// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/charm_server.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/clients/ccs_answer.hpp"
#include "tree/wire/ccs_message.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

using wire::CharmType;

namespace {
constexpr std::uint32_t kMaxPort = 65535;
constexpr std::string_view kOldVersion = "this program is Charm++ 6.8 or older; build it with 6.9 or newer";
constexpr std::string_view kClosedEarly = "closed its connection without `ending`";
}  // namespace

CharmServer::CharmServer(LocalProcesses local, CharmLimits limits)
    : local_(local),
      limits_(limits),
      pending_(limits.spare_connections + local.count, limits.first_message),
      seats_(local.count) {}

void CharmServer::opened(ClientId id, Instant now, ClientOutputs& out) {
  if (finished_) {
    out.push_back(CloseClient{id});
    return;
  }
  connections_.try_emplace(id);
  if (const std::optional<ClientId> evicted = pending_.enter(id, now)) {
    note(Nuisance::crowd,
         fmt::format("dropped the oldest of {} connections that had not sent `initnode`",
                     pending_.capacity() + 1),
         out);
    drop(*evicted, out);
  }
}

void CharmServer::received(ClientId id, std::string_view bytes, Instant now, ClientOutputs& out) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  connection.decoder.append(bytes);
  if (connection.client != nullptr) {
    connection.client->heard(now, out);
    await(*connection.client);
  }
  for (;;) {
    const auto message = connection.decoder.next();
    if (!message) return break_off(id, connection, message.error(), out);
    if (!message->has_value() || !handle(id, connection, **message, now, out)) return;
  }
}

void CharmServer::closed(ClientId id, Instant, ClientOutputs& out) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (CharmClient* client = found->second.client) {
    leave(*client, std::string{kClosedEarly}, out);
  } else {
    note(Nuisance::closed, "a connection was closed before it had sent `initnode`", out);
  }
  pending_.leave(id);
  connections_.erase(found);
}

void CharmServer::tick(Instant now, ClientOutputs& out) {
  while (const std::optional<ClientId> expired = pending_.expire(now)) {
    note(Nuisance::silent,
         fmt::format("dropped a connection that sent no `initnode` within {} s",
                     seconds(limits_.first_message)),
         out);
    drop(*expired, out);
  }
  if (now < clients_deadline_) return;
  clients_deadline_ = kNever;
  for (Seat& seat : seats_) {
    if (!seat.client) continue;
    seat.client->tick(now, out);
    await(*seat.client);
  }
}

Instant CharmServer::next_deadline() const {
  return earlier(pending_.next_deadline(), clients_deadline_);
}

bool CharmServer::fork(std::uint32_t process, std::uint32_t children, ClientOutputs& out) {
  CharmClient* client = find(process);
  if (client != nullptr) client->fork(children, out);
  return client != nullptr;
}

/// False if nobody here wants it, or it is none.
bool CharmServer::expand(const wire::Blob& coded) {
  if (std::none_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.client != nullptr; }))
    return false;
  const Result<wire::NodeTable> table = wire::decode_table(*coded);
  if (!table) return false;
  table_ = std::make_shared<const CharmTable>(
      CharmTable{table->processes(), table->pes_per_process,
                 std::make_shared<const std::string>(wire::charm_table_entries(*table))});
  return true;
}

void CharmServer::table(const wire::Blob& coded, ClientOutputs& out) {
  if (!expand(coded)) return;
  for (Seat& seat : seats_) {
    if (!seat.client) continue;
    seat.client->table(table_, out);
    await(*seat.client);
  }
}

void CharmServer::vacate(std::uint32_t process, std::uint32_t, bool, ClientOutputs& out) {
  if (!local_.contains(process)) return;
  Seat& seat = seats_[process - local_.first];
  if (seat.client) {
    const ClientId id = seat.client->id();
    seat.client.reset();
    drop(id, out);
  }
  seat.taken = false;
}

void CharmServer::regroup(ClientOutputs& out) {
  for (Seat& seat : seats_) {
    if (seat.client) {
      seat.client->regroup(out);
      connections_.erase(seat.client->id());
    }
    seat = Seat{};
  }
  table_.reset();
  clients_deadline_ = kNever;
}

void CharmServer::reshape(const LocalProcesses& local, const std::vector<std::uint32_t>& names) {
  std::vector<Seat> seats(local.count);
  for (std::uint32_t i = 0; i < local.count; ++i) {
    const std::optional<std::uint32_t> before = process_of(names[i]);
    if (!before) continue;
    seats[i] = std::move(seats_[*before - local_.first]);
    if (seats[i].client) seats[i].client->renumber(local.first + i);
  }
  seats_ = std::move(seats);
  names_ = names;
  local_ = local;
}

std::optional<std::uint32_t> CharmServer::process_of(std::uint32_t name) const {
  if (names_.empty()) return local_.contains(name) ? std::optional{name} : std::nullopt;
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return {};
  return local_.first + static_cast<std::uint32_t>(found - names_.begin());
}

void CharmServer::recover(const wire::Blob& coded, std::uint32_t crashed, ClientOutputs& out) {
  if (!expand(coded)) return;
  for (Seat& seat : seats_) {
    if (seat.client) seat.client->recover(table_, crashed, out);
  }
  for (Seat& seat : seats_) {
    if (!seat.client) continue;
    seat.client->announce(out);
    seat.client->tell_barriers(out);
  }
}

void CharmServer::admit(std::uint32_t process, ClientOutputs& out) {
  CharmClient* client = find(process);
  if (client == nullptr || !table_) return;
  client->table(table_, out);
  await(*client);
}

void CharmServer::release(BarrierKind kind, ClientOutputs& out) {
  for (Seat& seat : seats_) {
    if (!seat.client) continue;
    seat.client->release(kind, out);
    await(*seat.client);
  }
}

void CharmServer::printed(std::uint32_t process, ClientOutputs& out) {
  CharmClient* client = find(process);
  if (client == nullptr) return;
  client->printed(out);
  await(*client);
}

void CharmServer::scanned(std::uint32_t process, std::string_view input, ClientOutputs& out) {
  CharmClient* client = find(process);
  if (client == nullptr) return;
  const std::string why = client->scanned(input, out);
  if (why.empty()) return await(*client);
  const ClientId id = client->id();
  leave(*client, why, out);
  drop(id, out);
}

void CharmServer::queue_pairs(std::uint32_t process, std::string_view pairs, ClientOutputs& out) {
  CharmClient* client = find(process);
  if (client == nullptr) return;
  client->queue_pairs(pairs, out);
  await(*client);
}

void CharmServer::request(std::uint32_t process, std::string payload, ClientOutputs& out) {
  if (CharmClient* client = find(process)) return client->request(std::move(payload), out);
  out.push_back(failed_request(process, payload, "is gone"));
}

void CharmServer::seen(std::uint32_t process, Sight sight, Instant now, ClientOutputs& out) {
  CharmClient* client = find(process);
  if (client == nullptr) return;
  client->seen(sight, now, out);
  await(*client);
}

void CharmServer::finish(ClientOutputs& out) {
  if (std::exchange(finished_, true)) return;
  for (Seat& seat : seats_) {
    if (!seat.client) continue;
    seat.client->finish(out);
    connections_.erase(seat.client->id());
    seat.client.reset();
  }
  while (!connections_.empty()) drop(connections_.begin()->first, out);
  clients_deadline_ = kNever;
}

bool CharmServer::handle(ClientId id, Connection& connection, const wire::CharmMessage& message, Instant now,
                         ClientOutputs& out) {
  if (message.type == CharmType::initnode) {
    if (!enrol(id, connection, message.payload, out)) return false;
    connection.client->heard(now, out);
    await(*connection.client);
    return true;
  }
  if (message.type == CharmType::old_initnode) {
    refuse_old(id, message.payload, out);
    return false;
  }
  const std::string why = connection.client->on(message, now, out);
  await(*connection.client);
  if (why.empty()) return true;
  leave(*connection.client, why, out);
  drop(id, out);
  return false;
}

bool CharmServer::enrol(ClientId id, Connection& connection, std::string_view payload, ClientOutputs& out) {
  const wire::CharmInitnode initnode = wire::parse_charm_initnode(payload);
  const std::optional<std::uint32_t> process = process_of(initnode.number);
  if (!process) {
    note(Nuisance::unexpected,
         fmt::format("dropped a connection that claims to be process {}, which is not on this host",
                     initnode.number),
         out);
  } else if (initnode.data_port > kMaxPort) {
    note(Nuisance::garbage, fmt::format("dropped a connection: no data port can be {}", initnode.data_port),
         out);
  } else if (!awaits(*process)) {
    note(Nuisance::duplicate,
         fmt::format("dropped a second connection that claims to be process {}", initnode.number), out);
  } else {
    Seat& seat = seats_[*process - local_.first];
    seat.taken = true;
    seat.client = std::make_unique<CharmClient>(*process, id, limits_);
    connection.client = seat.client.get();
    pending_.leave(id);
    out.push_back(Registered{*process, wire::Tuple{static_cast<std::uint16_t>(initnode.data_port), {}}, id});
    return true;
  }
  drop(id, out);
  return false;
}

/// Its own protocol could not go on anyway, and would wait for its table for ever.
void CharmServer::refuse_old(ClientId id, std::string_view payload, ClientOutputs& out) {
  const std::uint32_t process = wire::parse_old_charm_initnode(payload);
  if (awaits(process)) {
    seats_[process - local_.first].taken = true;
    out.push_back(Refused{process, std::string{kOldVersion}});
  } else {
    note(Nuisance::old_version,
         fmt::format("dropped a connection of Charm++ 6.8 or older that claims to be process {}", process),
         out);
  }
  drop(id, out);
}

void CharmServer::break_off(ClientId id, Connection& connection, const Error& error, ClientOutputs& out) {
  if (connection.client != nullptr) {
    leave(*connection.client, error.what, out);
  } else {
    note(Nuisance::garbage, fmt::format("dropped a connection: {}", error.what), out);
  }
  drop(id, out);
}

void CharmServer::drop(ClientId id, ClientOutputs& out) {
  pending_.leave(id);
  connections_.erase(id);
  out.push_back(CloseClient{id});
}

void CharmServer::leave(CharmClient& client, std::string why, ClientOutputs& out) {
  client.lost(std::move(why), out);
  seats_[client.process() - local_.first].client.reset();
}

CharmClient* CharmServer::find(std::uint32_t process) {
  return local_.contains(process) ? seats_[process - local_.first].client.get() : nullptr;
}

void CharmServer::note(Nuisance kind, std::string text, ClientOutputs& out) {
  const auto bit = static_cast<std::size_t>(kind);
  if (noted_.test(bit)) return;
  noted_.set(bit);
  out.push_back(ClientNote{std::move(text)});
}

}  // namespace charmtree::proto
