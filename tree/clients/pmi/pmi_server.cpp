// SPDX-License-Identifier: Apache-2.0
// Source of the words: MPICH's clients and hydra, as they talk (PMI 1.1).
#include "tree/clients/pmi/pmi_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace charmtree::proto {

namespace {
constexpr auto kService = static_cast<std::uint8_t>(ClientKind::pmi);
static_assert(PmiServer::kMostKey + PmiServer::kMostValue + 8 <= wire::kMostGiven, "one put is always taken");
}  // namespace

void PmiServer::made_for(ClientId client, std::uint32_t process) {
  clients_[client].process = process;
}

/// A connection that was made for nobody is nobody's.
void PmiServer::opened(ClientId client, Instant, ClientOutputs& out) {
  if (!clients_.contains(client)) out.push_back(CloseClient{client});
}

void PmiServer::received(ClientId id, std::string_view bytes, Instant now, ClientOutputs& out) {
  const auto client = clients_.find(id);
  if (client == clients_.end()) return;
  std::string& buffer = client->second.buffer;
  buffer += bytes;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (client->second.stage == Stage::aborted) break;
    const std::string line = buffer.substr(begin, end - begin);
    if (const std::string wrong = on(*client, line, now, out); !wrong.empty())
      return drop(client, wrong, out);
  }
  buffer.erase(0, begin);
  if (buffer.size() > kMostRequest)
    drop(client, fmt::format("a request of more than {} bytes", kMostRequest), out);
}

void PmiServer::closed(ClientId id, Instant, ClientOutputs& out) {
  const auto client = clients_.find(id);
  if (client != clients_.end()) forget(client, kLeftEarly, false, out);
}

void PmiServer::drop(Clients::iterator client, const std::string& why, ClientOutputs& out) {
  out.push_back(CloseClient{client->first});
  forget(client, "it spoke to its launcher (PMI) as no MPI library does: " + why, true, out);
}

void PmiServer::forget(Clients::iterator it, const std::string& why, bool is_cause, ClientOutputs& out) {
  const Client client = std::move(it->second);
  clients_.erase(it);
  if (client.stage == Stage::joined || client.stage == Stage::in_fence || client.stage == Stage::asks)
    out.push_back(ClientLost{client.process, why, is_cause});
  else if (client.stage == Stage::silent && !client.buffer.empty())
    out.push_back(ClientNote{fmt::format("process {}: {}", client.process, why)});
}

void PmiServer::answer(ClientId client, std::string_view line, ClientOutputs& out) {
  out.push_back(ToClient{client, fmt::format("cmd={}\n", line)});
}

// ---- requests

std::string PmiServer::on(Clients::value_type& client, std::string_view text, Instant now,
                          ClientOutputs& out) {
  auto& [id, state] = client;
  if (state.spawn > 0) return part_of_spawn(client, text, out);
  ++requests_;
  const PmiLine line{text};
  const std::string_view command = line.command();
  if (command.empty()) return fmt::format("'{}' is no request", text.substr(0, kMostKey));
  if (command == "init") return begin(client, line, out);
  if (state.stage == Stage::silent) return fmt::format("{} before init", command.substr(0, kMostKey));
  if (state.stage == Stage::in_fence) return fmt::format("{} in a barrier", command.substr(0, kMostKey));
  if (state.stage == Stage::asks) return fmt::format("{} before an answer", command.substr(0, kMostKey));
  if (command == "abort") {
    state.stage = Stage::aborted;
    out.push_back(abort(state.process, line.number("exitcode", 1), line.rest("message"), "abort"));
    return {};
  }
  if (state.stage == Stage::ended) return fmt::format("{} after finalize", command.substr(0, kMostKey));
  if (command == "put") return put(client, line, out);
  if (command == "get") return get(id, line, out), std::string{};
  if (command == "barrier_in") {
    state.stage = Stage::in_fence;
    return enter_fence(out), std::string{};
  }
  if (command == "finalize") {
    state.stage = Stage::ended;
    answer(id, "finalize_ack rc=0", out);
    out.push_back(Ended{state.process, 0});
    return {};
  }
  if (command == "publish_name" || command == "lookup_name" || command == "unpublish_name")
    return ask_for_name(client, line, now, out);
  if (command == "spawn") return part_of_spawn(client, text, out);
  if (command == "get_maxes")
    answer(
        id,
        fmt::format("maxes rc=0 kvsname_max={} keylen_max={} vallen_max={}", kMostName, kMostKey, kMostValue),
        out);
  else if (command == "get_appnum")
    answer(id, fmt::format("appnum rc=0 appnum={}", wire::program_of(job_.programs, state.process)), out);
  else if (command == "get_my_kvsname")
    answer(id, fmt::format("my_kvsname rc=0 kvsname={}", job_.kvs_name), out);
  else if (command == "get_universe_size")
    answer(id, fmt::format("universe_size rc=0 size={}", job_.universe), out);
  else if (command == "create_kvs" || command == "destroy_kvs" || command == "getbyidx")
    answer(id,
           fmt::format("{} rc=-1 reason=not_served msg=not_served",
                       command == "getbyidx" ? "getbyidx_results" : command),
           out);
  else
    return fmt::format("'{}' is no request that is known", command.substr(0, kMostKey));
  return {};
}

std::string PmiServer::begin(Clients::value_type& client, const PmiLine& line, ClientOutputs& out) {
  auto& [id, state] = client;
  if (state.stage != Stage::silent) return "a second init";
  if (line.number("pmi_version", 0) != 1) {
    answer(id, "response_to_init rc=1 pmi_version=1 pmi_subversion=1", out);
    return fmt::format("version {} of PMI is not served", line.value("pmi_version").substr(0, kMostKey));
  }
  state.stage = Stage::joined;
  answer(id, "response_to_init rc=0 pmi_version=1 pmi_subversion=1", out);
  out.push_back(Joined{state.process});
  return {};
}

std::string PmiServer::put(Clients::value_type& client, const PmiLine& line, ClientOutputs& out) {
  auto& [id, state] = client;
  const std::string_view key = line.value("key"), value = line.value("value");
  if (key.empty() || key.size() > kMostKey)
    return fmt::format("a put with a key of more than {} bytes, or none", kMostKey);
  if (value.size() > kMostValue)
    return fmt::format("a value of {} bytes: {} are allowed", value.size(), kMostValue);
  if (key.starts_with("PMI_"))
    return answer(id, "put_result rc=1 msg=the_key_is_reserved", out), std::string{};
  wire::Writer pair;
  pair.string(key);
  pair.string(value);
  state.given += pair.bytes();
  if (state.given.size() > wire::kMostGiven)
    return fmt::format("puts of more than {} bytes before a barrier", wire::kMostGiven);
  values_.insert_or_assign(std::string{key}, std::string{value});
  answer(id, "put_result rc=0", out);
  return {};
}

void PmiServer::get(ClientId client, const PmiLine& line, ClientOutputs& out) const {
  const auto value = find(line.value("key"));
  if (!value) return answer(client, "get_result rc=1 msg=no_such_key value=unknown", out);
  answer(client, fmt::format("get_result rc=0 value={}", *value), out);
}

/// What a process has put, or is known of the job. A mapping that is too long is not told: then clients find
/// out by themselves, with one barrier more.
std::optional<std::string> PmiServer::find(std::string_view key) const {
  if (const auto found = values_.find(key); found != values_.end()) return found->second;
  if (key == "PMI_process_mapping" && !job_.mapping.empty() && job_.mapping.size() <= kMostValue)
    return job_.mapping;
  if (key != "PMI_dead_processes" || lost_.empty()) return {};
  std::string dead;
  for (const auto& [first, last] : lost_.ranges()) {
    for (std::uint64_t process = first; process <= last; ++process)
      dead += fmt::format("{}{}", dead.empty() ? "" : ",", process);
  }
  return dead;
}

/// Nobody can be started for a process that runs.
std::string PmiServer::part_of_spawn(Clients::value_type& client, std::string_view line, ClientOutputs& out) {
  auto& [id, state] = client;
  state.spawn += line.size() + 1;
  if (state.spawn > kMostRequest) return fmt::format("a spawn of more than {} bytes", kMostRequest);
  if (line != "endcmd") return {};
  state.spawn = 0;
  answer(id, "spawn_result rc=1 msg=MPI_Comm_spawn_is_not_served", out);
  return {};
}

// ---- names

std::string PmiServer::ask_for_name(Clients::value_type& client, const PmiLine& line, Instant now,
                                    ClientOutputs& out) {
  using Deed = wire::NameInquiry::Deed;
  auto& [id, state] = client;
  const std::string_view word = line.command().substr(0, line.command().find('_'));
  const std::string_view name = line.value("service"), port = line.value("port");
  if (name.empty() || name.size() > wire::kMostName || port.size() > wire::kMostPublished)
    return fmt::format("a name of {} bytes for a port of {}", name.size(), port.size());
  const Deed deed = word == "publish" ? Deed::publish : word == "lookup" ? Deed::look_up : Deed::unpublish;
  state.stage = Stage::asks;
  inquiries_.ask(wire::NameInquiry{state.process, {kService, 0}, deed, std::string{name}, std::string{port}},
                 {id, std::string{word}}, now, out);
  return {};
}

void PmiServer::answered(const wire::Answered& message, ClientOutputs& out) {
  if (message.id.service != kService) return;
  const auto asker = inquiries_.take(message);
  const auto client = asker ? clients_.find(asker->client) : clients_.end();
  if (client == clients_.end() || client->second.stage != Stage::asks) return;
  client->second.stage = Stage::joined;
  std::string why = message.failure;
  std::replace(why.begin(), why.end(), ' ', '_');
  const bool has_port = asker->word == "lookup" && why.empty();
  answer(asker->client,
         fmt::format("{}_result rc={}{}{}", asker->word, why.empty() ? 0 : 1,
                     has_port      ? " port="
                     : why.empty() ? ""
                                   : " msg=",
                     has_port ? message.bytes : why),
         out);
}

// ---- fences

/// When all of this host that live are in it.
void PmiServer::enter_fence(ClientOutputs& out) {
  std::uint32_t entered = 0, living = 0;
  for (std::uint32_t rank = 0; rank < local_.size(); ++rank)
    living += lost_.contains(local_.at(rank)) ? 0 : 1;
  for (const auto& [id, client] : clients_) entered += client.stage == Stage::in_fence ? 1 : 0;
  if (is_waiting_ || entered == 0 || entered < living) return;
  is_waiting_ = true;
  ++fences_;
  if (failed_ && failed_->fence.number >= fences_) return leave_fence(failed_->failure, out);
  wire::FenceUp fence;
  fence.fence = {kService, {{0, local_.total - 1}}, fences_};
  fence.processes = entered;
  fence.requests = std::exchange(requests_, 0);
  for (auto& [id, client] : clients_) {
    if (client.stage == Stage::in_fence) fence.given += std::exchange(client.given, {});
  }
  out.push_back(std::move(fence));
}

void PmiServer::fenced(const wire::FenceDown& fence, ClientOutputs& out) {
  if (fence.fence.service != kService) return;
  if (fence.fence.number > fences_ && !fence.failure.empty()) failed_ = fence;
  if (!is_waiting_ || fence.fence.number != fences_) return;
  for (wire::Reader pairs{*fence.given}; pairs.ok() && pairs.left() > 0;) {
    std::string key = pairs.string(kMostKey), value = pairs.string(kMostValue);
    if (pairs.ok()) values_.insert_or_assign(std::move(key), std::move(value));
  }
  leave_fence(fence.failure, out);
}

void PmiServer::leave_fence(std::string_view failure, ClientOutputs& out) {
  is_waiting_ = false;
  std::string word{failure};
  std::replace(word.begin(), word.end(), ' ', '_');
  for (auto& [id, client] : clients_) {
    if (client.stage != Stage::in_fence) continue;
    client.stage = Stage::joined;
    answer(id, failure.empty() ? "barrier_out rc=0" : fmt::format("barrier_out rc=1 msg={}", word), out);
  }
}

void PmiServer::lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) {
  for (const wire::ProcessSet::Range& range : processes) lost_.add(range);
  enter_fence(out);
}

// ---- the rest

void PmiServer::vacate(std::uint32_t process, std::uint32_t, bool, ClientOutputs& out) {
  const auto client = std::find_if(clients_.begin(), clients_.end(),
                                   [&](const auto& each) { return each.second.process == process; });
  if (client == clients_.end()) return;
  out.push_back(CloseClient{client->first});
  clients_.erase(client);
}

}  // namespace charmtree::proto
