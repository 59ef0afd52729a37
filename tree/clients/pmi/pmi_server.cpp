// SPDX-License-Identifier: Apache-2.0
// Source of the words: MPICH's clients and hydra, as they talk (PMI 1.1).
#include "tree/clients/pmi/pmi_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/clients/pmi/process_mapping.hpp"

namespace charmtree::proto {

namespace {
constexpr auto kService = static_cast<std::uint8_t>(ClientKind::pmi);
static_assert(PmiServer::kMostKey + PmiServer::kMostValue + 8 <= wire::kMostGiven, "one put is always taken");

void read_pairs(std::string_view given, PmiWorld& world) {
  for (wire::Reader pairs{given}; pairs.ok() && pairs.left() > 0;) {
    std::string key = pairs.string(PmiServer::kMostKey), value = pairs.string(PmiServer::kMostValue);
    if (pairs.ok()) world.values.insert_or_assign(std::move(key), std::move(value));
  }
}
}  // namespace

PmiServer::PmiServer(LocalProcesses local, PmiJob job) : local_(std::move(local)), universe_(job.universe) {
  worlds_.push_back(
      {{0, local_.total}, std::move(job.kvs_name), std::move(job.mapping), std::move(job.programs)});
}

PmiWorld& PmiServer::world_of(std::uint32_t process) {
  const auto behind =
      std::upper_bound(worlds_.begin(), worlds_.end(), process,
                       [](std::uint32_t number, const PmiWorld& world) { return number < world.who.first; });
  return *std::prev(behind);
}

void PmiServer::begun(const wire::WorldBegun& begun, ClientOutputs&) {
  if (begun.programs.empty()) return;
  PmiWorld world;
  world.who.first = begun.programs.front().first;
  for (const wire::Share& share : begun.shares) world.who.size += share.processes;
  world.kvs_name = fmt::format("{}_{}", worlds_.front().kvs_name, world.who.first);
  world.mapping = process_mapping(begun.shares);
  for (const wire::FurtherProgram& each : begun.programs) world.programs.push_back(each.first);
  if (begun.service == kService) read_pairs(begun.given, world);
  worlds_.push_back(std::move(world));
}

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
  if (state.spawn) return part_of_spawn(client, text, now, out);
  ++world_of(state.process).requests;
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
  if (command == "barrier_in") {
    state.stage = Stage::in_fence;
    return enter_fence(world_of(state.process), out), std::string{};
  }
  if (command == "finalize") {
    state.stage = Stage::ended;
    answer(id, "finalize_ack rc=0", out);
    out.push_back(Ended{state.process, 0});
    return {};
  }
  if (command == "publish_name" || command == "lookup_name" || command == "unpublish_name")
    return ask_for_name(client, line, now, out);
  if (command == "spawn") {
    state.spawn.emplace();
    return part_of_spawn(client, text, now, out);
  }
  return tell(client, line, out);
}

/// What a process may know at any time.
std::string PmiServer::tell(Clients::value_type& client, const PmiLine& line, ClientOutputs& out) {
  const auto& [id, state] = client;
  const std::string_view command = line.command();
  const PmiWorld& world = world_of(state.process);
  if (command == "get") {
    const auto value = find(world, line.value("key"));
    answer(id,
           value ? fmt::format("get_result rc=0 value={}", *value)
                 : "get_result rc=1 msg=no_such_key value=unknown",
           out);
  } else if (command == "get_maxes")
    answer(
        id,
        fmt::format("maxes rc=0 kvsname_max={} keylen_max={} vallen_max={}", kMostName, kMostKey, kMostValue),
        out);
  else if (command == "get_appnum")
    answer(id, fmt::format("appnum rc=0 appnum={}", wire::program_of(world.programs, state.process)), out);
  else if (command == "get_my_kvsname")
    answer(id, fmt::format("my_kvsname rc=0 kvsname={}", world.kvs_name), out);
  else if (command == "get_universe_size")
    answer(id, fmt::format("universe_size rc=0 size={}", universe_), out);
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
  world_of(state.process).values.insert_or_assign(std::string{key}, std::string{value});
  answer(id, "put_result rc=0", out);
  return {};
}

/// What a process has put, or is known of the job. A mapping that is too long is not told: then clients find
/// out by themselves, with one barrier more.
std::optional<std::string> PmiServer::find(const PmiWorld& world, std::string_view key) const {
  if (const auto found = world.values.find(key); found != world.values.end()) return found->second;
  if (key == "PMI_process_mapping" && !world.mapping.empty() && world.mapping.size() <= kMostValue)
    return world.mapping;
  if (key != "PMI_dead_processes") return {};
  std::string dead;
  for (const auto& [first, last] : lost_.ranges()) {
    for (std::uint64_t process = first; process <= last && world.who.contains(first); ++process)
      dead += fmt::format("{}{}", dead.empty() ? "" : ",", process - world.who.first);
  }
  if (dead.empty()) return {};
  return dead;
}

std::string PmiServer::part_of_spawn(Clients::value_type& client, std::string_view line, Instant now,
                                     ClientOutputs& out) {
  auto& [id, state] = client;
  if (std::string wrong = state.spawn->add(line); !wrong.empty()) return wrong;
  if (!state.spawn->is_complete()) return {};
  const std::uint32_t processes = state.spawn->processes();
  wire::WorldWanted wanted = state.spawn->take();
  state.spawn.reset();
  state.stage = Stage::asks;
  wanted.process = state.process;
  wanted.id.service = kService;
  inquiries_.ask(std::move(wanted), {id, "spawn", processes}, now, out);
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
  if (asker->word == "spawn" && why.empty()) return spawned(*asker, out);
  const bool has_port = asker->word == "lookup" && why.empty();
  answer(asker->client,
         fmt::format("{}_result rc={}{}{}", asker->word, why.empty() ? 0 : 1,
                     has_port      ? " port="
                     : why.empty() ? ""
                                   : " msg=",
                     has_port ? message.bytes : why),
         out);
}

/// Each has an error code of its own.
void PmiServer::spawned(const Asker& asker, ClientOutputs& out) {
  std::string codes = "0";
  for (std::uint32_t i = 1; i < asker.processes; ++i) codes += ",0";
  answer(asker.client, "spawn_result rc=0 errcodes=" + codes, out);
}

// ---- fences

/// When all of the world that live on this host are in it.
void PmiServer::enter_fence(PmiWorld& world, ClientOutputs& out) {
  std::uint32_t entered = 0, living = 0;
  for (const std::uint32_t process : local_.among({world.who.range()}))
    living += lost_.contains(process) ? 0 : 1;
  const auto is_in = [&](const Client& client) {
    return client.stage == Stage::in_fence && world.who.contains(client.process);
  };
  for (const auto& [id, client] : clients_) entered += is_in(client) ? 1 : 0;
  if (world.is_waiting || entered == 0 || entered < living) return;
  world.is_waiting = true;
  ++world.fences;
  if (world.failed && world.failed->fence.number >= world.fences)
    return leave_fence(world, world.failed->failure, out);
  wire::FenceUp fence;
  fence.fence = {kService, {world.who.range()}, world.fences};
  fence.processes = entered;
  fence.requests = std::exchange(world.requests, 0);
  for (auto& [id, client] : clients_) {
    if (is_in(client)) fence.given += std::exchange(client.given, {});
  }
  out.push_back(std::move(fence));
}

void PmiServer::fenced(const wire::FenceDown& fence, ClientOutputs& out) {
  if (fence.fence.service != kService || fence.fence.processes.empty()) return;
  PmiWorld& world = world_of(fence.fence.processes.front().first);
  if (fence.fence.number > world.fences && !fence.failure.empty()) world.failed = fence;
  if (!world.is_waiting || fence.fence.number != world.fences) return;
  read_pairs(*fence.given, world);
  leave_fence(world, fence.failure, out);
}

void PmiServer::leave_fence(PmiWorld& world, std::string_view failure, ClientOutputs& out) {
  world.is_waiting = false;
  std::string word{failure};
  std::replace(word.begin(), word.end(), ' ', '_');
  for (auto& [id, client] : clients_) {
    if (client.stage != Stage::in_fence || !world.who.contains(client.process)) continue;
    client.stage = Stage::joined;
    answer(id, failure.empty() ? "barrier_out rc=0" : fmt::format("barrier_out rc=1 msg={}", word), out);
  }
}

void PmiServer::lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) {
  for (const wire::ProcessSet::Range& range : processes) lost_.add(range);
  for (PmiWorld& world : worlds_) enter_fence(world, out);
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
