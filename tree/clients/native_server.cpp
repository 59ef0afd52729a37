// SPDX-License-Identifier: Apache-2.0
// Every rule about who may say what when is in the on() functions; whoever breaks one is dropped in one
// place.
#include "tree/clients/native_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tree/clients/ccs_answer.hpp"
#include "tree/wire/ccs_message.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

namespace native = wire::native;

static_assert(static_cast<int>(native::Stream::out) == static_cast<int>(Stream::out));
static_assert(static_cast<int>(native::Stream::err) == static_cast<int>(Stream::err));

namespace {
/// A layout of very many runs is not told: the table tells it, too; nor is one that is of another number of
/// processes.
void add_places(const LocalProcesses& local, const NativeJob& job, native::Welcome& welcome) {
  welcome.hosts = std::max(job.hosts, welcome.host + 1);
  welcome.local = local.ranges();
  const auto add = [](std::uint64_t sum, const wire::HostRun& run) {
    return sum + std::uint64_t{run.hosts} * run.processes;
  };
  const bool is_whole =
      std::accumulate(job.layout.begin(), job.layout.end(), std::uint64_t{0}, add) == welcome.total;
  if (is_whole && job.layout.size() <= native::kMaxLayout) welcome.layout = job.layout;
}
}  // namespace

NativeServer::NativeServer(LocalProcesses local, std::uint32_t host, std::uint32_t epoch, NativeJob job)
    : local_(std::move(local)),
      host_(host),
      epoch_(epoch),
      pending_(kMaxStrangers + local.size(), kHelloLimit),
      parts_(local_, host, job.bears_fences),
      places_(local.count),
      job_(std::move(job)) {}

// ---- connections

void NativeServer::opened(ClientId client, Instant now, ClientOutputs& out) {
  if (finished_) {
    out.push_back(CloseClient{client});
    return;
  }
  clients_.try_emplace(client);
  if (const std::optional<ClientId> evicted = pending_.enter(client, now))
    drop_stranger(*evicted, Nuisance::crowd, "too many connections without a hello", out);
}

void NativeServer::received(ClientId id, std::string_view bytes, Instant now, ClientOutputs& out) {
  now_ = now;
  const auto client = clients_.find(id);
  if (client == clients_.end() || client->second.stage == Stage::aborted) return;
  client->second.decoder.append(bytes);
  for (bool more = true; more;) {
    const std::string wrong = next_message(*client, more, out);
    if (!wrong.empty()) return drop(client, wrong, out);
  }
  if (client->second.stage == Stage::stranger && client->second.decoder.buffered() > native::kMaxHello) {
    drop(client, "its first message is no hello", out);
  }
}

void NativeServer::closed(ClientId id, Instant, ClientOutputs& out) {
  const auto client = clients_.find(id);
  if (client == clients_.end()) return;
  client->second.nuisance = Nuisance::closed;
  const bool stranger = client->second.stage == Stage::stranger;
  forget(client, stranger ? "closed without a hello" : "closed its connection without ct_finalize", out);
}

void NativeServer::tick(Instant now, ClientOutputs& out) {
  while (const std::optional<ClientId> late = pending_.expire(now))
    drop_stranger(*late, Nuisance::silent, "no hello in time", out);
  parts_.offers().tick(now, out);
}

Instant NativeServer::next_deadline() const {
  return earlier(pending_.next_deadline(), parts_.offers().next_deadline());
}

void NativeServer::drop_stranger(ClientId id, Nuisance kind, const std::string& why, ClientOutputs& out) {
  const auto stranger = clients_.find(id);
  stranger->second.nuisance = kind;
  drop(stranger, why, out);
}

void NativeServer::drop(Clients::iterator client, const std::string& why, ClientOutputs& out) {
  out.push_back(CloseClient{client->first});
  forget(client, why, out);
}

/// Removes a connection, and says so to whom it concerns: the engine if it was a process that had not said
/// good-bye.
void NativeServer::forget(Clients::iterator it, const std::string& why, ClientOutputs& out) {
  const ClientId id = it->first;
  const Client client = std::move(it->second);
  clients_.erase(it);
  parts_.forget(id, out);
  switch (client.stage) {
    case Stage::stranger:
      pending_.leave(id);
      note(client.nuisance, fmt::format("dropped a native connection: {}", why), out);
      break;
    case Stage::joined:
      places_[local_.rank_of(client.process)].holder.reset();
      parts_.vacate(client.process);
      note(Nuisance::left, fmt::format("process {} left before it registered: {}", client.process, why), out);
      break;
    case Stage::registered:
      out.push_back(ClientLost{client.process, why});
      break;
    case Stage::ended:
    case Stage::aborted:
      break;
  }
}

void NativeServer::note(Nuisance kind, std::string text, ClientOutputs& out) {
  const auto bit = static_cast<std::size_t>(kind);
  if (noted_.test(bit)) return;
  noted_.set(bit);
  out.push_back(ClientNote{std::move(text)});
}

// ---- messages

std::string NativeServer::next_message(Clients::value_type& client, bool& more, ClientOutputs& out) {
  more = false;
  if (client.second.stage == Stage::aborted) return {};
  auto frame = client.second.decoder.next();
  if (!frame) return frame.error().what;
  if (!frame->has_value()) return {};
  auto message = native::decode_from_client(**frame);
  if (!message) return message.error().what;
  more = true;
  return dispatch([&](auto& m) { return on(client, m, out); }, *message);
}

/// Why this hello cannot be accepted.
std::optional<NativeServer::Objection> NativeServer::objection(const native::Hello& hello) const {
  if (hello.version != native::kVersion) {
    return Objection{Nuisance::old_version, fmt::format("client library speaks version {}, this launcher {}",
                                                        hello.version, native::kVersion)};
  }
  if (!local_.contains(hello.process)) {
    return Objection{Nuisance::unexpected,
                     fmt::format("process {} is not expected on this host", hello.process)};
  }
  if (places_[local_.rank_of(hello.process)].holder)
    return Objection{Nuisance::duplicate, fmt::format("process {} has joined already", hello.process)};
  return {};
}

std::string NativeServer::on(Clients::value_type& client, const native::Hello& hello, ClientOutputs& out) {
  if (client.second.stage != Stage::stranger) return "second hello";
  if (const auto wrong = objection(hello)) {
    client.second.nuisance = wrong->kind;
    out.push_back(ToClient{client.first, native::to_frame(native::Refused{wrong->why})});
    return wrong->why;
  }
  const std::uint32_t local_rank = local_.rank_of(hello.process);
  Place& place = places_[local_rank];
  place.holder = client.first;
  pending_.leave(client.first);
  client.second.stage = Stage::joined;
  client.second.process = hello.process;
  client.second.is_waiting = place.is_awaited;
  native::Welcome welcome{hello.process, local_.total, local_rank,    local_.size(),
                          host_,         epoch_,       place.restarts};
  add_places(local_, job_, welcome);
  out.push_back(ToClient{client.first, native::to_frame(welcome)});
  return {};
}

std::string NativeServer::on(Clients::value_type& client, native::Put& put, ClientOutputs& out) {
  if (client.second.stage != Stage::joined) return "registered out of turn";
  client.second.stage = Stage::registered;
  out.push_back(Registered{client.second.process, wire::Tuple{0, std::move(put.tuple)}});
  return {};
}

/// Of an epoch that is over: it is about to hear of that, and will enter again.
std::string NativeServer::on(Clients::value_type& client, const native::BarrierEnter& enter,
                             ClientOutputs& out) {
  if (client.second.stage != Stage::registered || client.second.in_barrier || enter.epoch > epoch_)
    return "entered a barrier out of turn";
  if (enter.epoch < epoch_) return {};
  client.second.in_barrier = true;
  out.push_back(BarrierEntered{client.second.process, BarrierKind::all});
  return {};
}

std::string NativeServer::on(Clients::value_type& client, native::Print& print, ClientOutputs& out) {
  if (client.second.stage != Stage::joined && client.second.stage != Stage::registered)
    return "printed out of turn";
  out.push_back(
      Printed{client.second.process, static_cast<Stream>(print.stream), std::move(print.text), false});
  return {};
}

std::string NativeServer::on(Clients::value_type& client, native::Abort& abort, ClientOutputs& out) {
  if (client.second.stage != Stage::joined && client.second.stage != Stage::registered)
    return "aborted out of turn";
  client.second.stage = Stage::aborted;
  out.push_back(Aborted{client.second.process, abort.code, std::move(abort.text)});
  return {};
}

std::string NativeServer::on(Clients::value_type& client, const native::Finalize& finalize,
                             ClientOutputs& out) {
  if (client.second.stage != Stage::registered || client.second.in_barrier ||
      parts_.is_waiting({client.first, client.second.process, true}))
    return "finalized out of turn";
  client.second.stage = Stage::ended;
  fail_requests(client.second, out);
  parts_.ended(client.second.process, out);
  out.push_back(Ended{client.second.process, finalize.code, finalize.peers});
  out.push_back(BarrierEntered{client.second.process, BarrierKind::leave});
  return {};
}

template <OneOf<NativeParts::Message> M>
std::string NativeServer::on(Clients::value_type& client, M& message, ClientOutputs& out) {
  const auto& [id, state] = client;
  // A process that finalizes still answers, until all do.
  const bool answers = OneOf<M, std::variant<native::Answer, native::Offer>> && state.stage == Stage::ended;
  if (state.stage != Stage::joined && state.stage != Stage::registered && !answers)
    return "asked for something out of turn";
  return parts_.on({id, state.process, state.stage != Stage::joined}, message, now_, out);
}

// ---- requests

std::string NativeServer::on(Clients::value_type& client, const native::Handler& handler, ClientOutputs&) {
  if (client.second.stage != Stage::joined && client.second.stage != Stage::registered)
    return "registered a handler out of turn";
  return client.second.requests.add(handler) ? std::string{} : "registered too many handlers";
}

std::string NativeServer::on(Clients::value_type& client, native::Reply& reply, ClientOutputs& out) {
  std::string wrong = client.second.requests.reply(reply);
  hand_over_answer(client.second, out);
  return wrong;
}

std::string NativeServer::on(Clients::value_type& client, const native::ReplyData& data, ClientOutputs& out) {
  std::string wrong = client.second.requests.reply(data);
  hand_over_answer(client.second, out);
  return wrong;
}

std::string NativeServer::on(Clients::value_type& client, const native::Kept& kept, ClientOutputs& out) {
  const std::uint32_t process = client.second.process;
  if (const auto given_up = client.second.requests.keep(kept))
    out.push_back(failed_request(process, *given_up, "keeps too many requests unanswered"));
  return {};
}

void NativeServer::hand_over_answer(Client& client, ClientOutputs& out) {
  auto answer = client.requests.take_answer();
  if (!answer) return;
  out.push_back(
      RequestAnswered{client.process, answer->token, true, std::move(answer->bytes), {}, answer->merge});
}

/// Of a process that is done while the job goes on. One that is lost ends the job, or is started anew: there
/// the root knows what it was asked, and says so.
void NativeServer::fail_requests(Client& client, ClientOutputs& out) {
  for (const std::uint32_t token : client.requests.take_unanswered())
    out.push_back(failed_request(client.process, token, "has ended"));
}

wire::Blob NativeServer::coded(const wire::CcsDelivery& request) {
  wire::Blob frames = coded_token_ == request.token ? coded_.lock() : nullptr;
  if (!frames) {
    const native::Request first{request.token, request.handler, request.address, request.port, 0, {}};
    frames = std::make_shared<const std::string>(native::to_frames(first, request.data));
    coded_token_ = request.token;
    coded_ = frames;
  }
  return frames;
}

void NativeServer::request(std::uint32_t process, std::string payload, ClientOutputs& out) {
  const auto holder = local_.contains(process) ? places_[local_.rank_of(process)].holder : std::nullopt;
  const auto client = holder ? clients_.find(*holder) : clients_.end();
  const auto request = wire::parse_ccs_delivery(payload);
  const bool there = client != clients_.end() && client->second.stage == Stage::registered;
  std::string why = !there ? "has ended" : !request ? request.error().what : "";
  if (why.empty()) why = client->second.requests.ask(*request);
  if (!why.empty()) return out.push_back(failed_request(process, payload, why));
  out.push_back(ToClient{client->first, {}, coded(*request)});
}

// ---- from the engine

void NativeServer::table(const wire::Blob& coded, ClientOutputs& out) {
  const std::uint32_t before = std::exchange(epoch_, wire::epoch_of(*coded));
  const bool is_new = epoch_ != before;
  const std::string frame = native::to_frame(native::Table{});
  for (auto& [id, client] : clients_) {
    if (client.stage != Stage::registered || client.is_waiting) continue;
    if (is_new) client.in_barrier = false;
    out.push_back(ToClient{id, frame, {}, {coded}});
  }
}

void NativeServer::release(BarrierKind kind, ClientOutputs& out) {
  for (auto& [id, client] : clients_) {
    if (kind == BarrierKind::leave && client.stage == Stage::ended) {
      out.push_back(ToClient{id, native::to_frame(native::Finished{})});
    }
  }
  if (kind != BarrierKind::all) return;
  for (auto& [id, client] : clients_) {
    if (!client.in_barrier || client.stage != Stage::registered) continue;
    client.in_barrier = false;
    out.push_back(ToClient{id, native::to_frame(native::BarrierRelease{})});
  }
}

/// Only who has the table knows those processes.
void NativeServer::lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) {
  if (processes.empty()) return;  // only counts of barriers begin anew
  const std::string frames = native::lost_frames(processes);
  for (const auto& [id, client] : clients_) {
    if (client.stage == Stage::registered) out.push_back(ToClient{id, frames});
  }
  parts_.lost(processes, out);
}

void NativeServer::join(std::uint32_t process) {
  local_.joined.add(process);
  places_.emplace_back();
  pending_.widen();
}

void NativeServer::vacate(std::uint32_t process, std::uint32_t restarts, bool is_awaited,
                          ClientOutputs& out) {
  if (!local_.contains(process)) return;
  Place& place = places_[local_.rank_of(process)];
  place.restarts = restarts;
  place.is_awaited = is_awaited;
  parts_.vacate(process);
  const auto holder = std::exchange(place.holder, std::nullopt);
  if (!holder) return;
  parts_.forget(*holder, out);
  if (clients_.erase(*holder) > 0) out.push_back(CloseClient{*holder});
}

/// Whoever waits for its table gets one that has these in it.
void NativeServer::renewed(const wire::Renewed& message, ClientOutputs& out) {
  epoch_ = message.epoch;
  const std::string frame = native::to_frame(native::Renewed{message.epoch, message.blocks});
  for (auto& [id, client] : clients_) {
    if (client.stage != Stage::registered) continue;
    client.in_barrier = false;
    if (!client.is_waiting) out.push_back(ToClient{id, frame});
  }
}

void NativeServer::readmit(const wire::Readmit& message, ClientOutputs& out) {
  const auto holder =
      local_.contains(message.process) ? places_[local_.rank_of(message.process)].holder : std::nullopt;
  const auto client = holder ? clients_.find(*holder) : clients_.end();
  if (client == clients_.end() || client->second.stage != Stage::registered) return;
  client->second.is_waiting = false;
  out.push_back(ToClient{client->first, native::to_frame(native::Missed{message.barriers})});
  out.push_back(ToClient{client->first, native::to_frame(native::Table{}), {}, {message.table}});
}

void NativeServer::finish(ClientOutputs& out) {
  finished_ = true;
  for (const auto& [id, client] : clients_) {
    if (client.stage != Stage::stranger) out.push_back(ToClient{id, native::to_frame(native::Finished{})});
    out.push_back(CloseClient{id});
  }
  clients_.clear();
  pending_.clear();
  parts_.finish();
}

}  // namespace charmtree::proto
