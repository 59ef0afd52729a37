// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmi/pmi_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/wire/pmi_standard.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::proto {

namespace {

static_assert(PmiServer::kMostKey + PmiServer::kMostValue + 8 <= wire::kMostGiven, "one put is always taken");
constexpr std::string_view kTopology = "PMI_hwloc_xmlfile";
/// The first words of each program, whatever version it is going to speak.
constexpr std::string_view kAgrees = "cmd=init ";

std::string name_of(const PmiWorld& first, std::uint32_t process) {
  return fmt::format("{}_{}", first.kvs_name, process);
}

constexpr const char* kNotInOne = "PMI-1 has no value with a blank";

std::string short_name(std::string_view text) {
  return std::string{text.substr(0, PmiServer::kMostKey)};
}

}  // namespace

PmiServer::PmiServer(LocalProcesses local, PmiJob job)
    : local_(std::move(local)),
      universe_(job.universe),
      most_value_(job.most_value),
      strangers_(local_.size()) {
  worlds_.push_back(
      {{0, local_.total}, std::move(job.kvs_name), std::move(job.mapping), std::move(job.programs)});
}

std::size_t PmiServer::most_value(PmiVersion version) const {
  return version == PmiVersion::one ? most_value_ : kMostValue2;
}

PmiWorld& PmiServer::world_of(std::uint32_t process) {
  const auto behind =
      std::upper_bound(worlds_.begin(), worlds_.end(), process,
                       [](std::uint32_t number, const PmiWorld& world) { return number < world.who.first; });
  return *std::prev(behind);
}

std::uint32_t PmiServer::programs_of(std::uint32_t process) const {
  const auto found = finished_.find(process);
  return found == finished_.end() ? 0 : found->second;
}

/// Hosts without processes of the world keep its number alone: a job may have many worlds.
void PmiServer::begun(const wire::WorldBegun& begun, ClientOutputs&) {
  if (begun.programs.empty()) return;
  PmiWorld world;
  world.who.first = begun.programs.front().first;
  const std::uint32_t parent = *std::prev(std::upper_bound(firsts_.begin(), firsts_.end(), begun.by));
  firsts_.push_back(world.who.first);
  for (const wire::Share& share : begun.shares) {
    world.who.size += share.processes;
    if (local_.contains(share.first_process)) world.here += share.processes;
  }
  if (world.here == 0) return;
  world.kvs_name = name_of(worlds_.front(), world.who.first);
  world.parent = parent == 0 ? worlds_.front().kvs_name : name_of(worlds_.front(), parent);
  world.mapping = wire::process_mapping(begun.shares);
  for (const wire::FurtherProgram& each : begun.programs) world.programs.push_back(each.first);
  if (begun.service == kPmiService) world.values.put_all(begun.given, 0);
  worlds_.push_back(std::move(world));
}

void PmiServer::made_for(ClientId client, std::uint32_t process) {
  clients_[client].process = process;
  connected_.insert(process);
}

void PmiServer::opened(ClientId client, Instant now, ClientOutputs& out) {
  if (!clients_.contains(client)) strangers_.opened(client, now, out);
}

/// As hydra answers who has made its connection itself: four lines.
void PmiServer::introduce(ClientId client, const PmiStrangers::Named& named, Instant now,
                          ClientOutputs& out) {
  const std::uint32_t process = named.process;
  if (!local_.contains(process) || connected_.contains(process))
    return strangers_.drop(client, fmt::format("no process {} is awaited", process), out);
  made_for(client, process);
  const wire::World& world = world_of(process).who;
  out.push_back(ToClient{client, fmt::format("cmd=initack rc=0\ncmd=set size={}\ncmd=set rank={}\n"
                                             "cmd=set debug=0\n",
                                             world.size, process - world.first)});
  received(client, named.rest, now, out);
}

void PmiServer::received(ClientId id, std::string_view bytes, Instant now, ClientOutputs& out) {
  if (strangers_.contains(id)) {
    const auto named = strangers_.received(id, bytes, out);
    if (named) introduce(id, *named, now, out);
    return;
  }
  const auto client = clients_.find(id);
  if (client == clients_.end()) return;
  Client& state = client->second;
  state.buffer += bytes;
  std::size_t begin = 0;
  while (state.stage != Stage::aborted) {
    const std::string_view rest = std::string_view{state.buffer}.substr(begin);
    if (state.version == PmiVersion::two && !rest.empty() &&
        kAgrees.starts_with(rest.substr(0, kAgrees.size()))) {
      if (rest.size() < kAgrees.size()) break;
      state.version = PmiVersion::one;  // until the next program has agreed on one
    }
    const PmiExtent next = first_request(state.version, rest);
    if (!next.is_sound) return drop(client, "a request that does not begin with its length", out);
    if (next.end == 0) break;
    const std::string text{rest.substr(next.begin, next.size)};
    begin += next.end;
    if (const std::string wrong = on(*client, text, now, out); !wrong.empty())
      return drop(client, wrong, out);
  }
  state.buffer.erase(0, begin);
  if (state.buffer.size() > kMostRequest)
    drop(client, fmt::format("a request of more than {} bytes", kMostRequest), out);
}

void PmiServer::tick(Instant now, ClientOutputs& out) {
  strangers_.tick(now, out);
  inquiries_.tick(now, out);
}

Instant PmiServer::next_deadline() const {
  return earlier(strangers_.next_deadline(), inquiries_.next_deadline());
}

void PmiServer::closed(ClientId id, Instant, ClientOutputs& out) {
  strangers_.closed(id);
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
  PmiWorld& world = world_of(client.process);
  world.barriers.leave(client.process);
  if (client.stage == Stage::ended) connected_.erase(client.process);
  world.gone.insert(client.process);
  if (world.who.is_spawned() && world.gone.size() == world.here) world.values.clear();
  const bool has_joined = client.stage != Stage::silent && client.stage < Stage::ended;
  if (has_joined)
    out.push_back(ClientLost{client.process, why, is_cause});
  else if (client.stage == Stage::silent && !client.buffer.empty())
    out.push_back(ClientNote{fmt::format("process {}: {}", client.process, why)});
}

void PmiServer::answer(const Clients::value_type& client, int rc, const PmiFields& fields,
                       ClientOutputs& out) {
  const auto& [id, state] = client;
  out.push_back(ToClient{id, pmi_answer(*state.asked, state.thread, rc, fields)});
}

void PmiServer::refuse(const Clients::value_type& client, std::string_view why, ClientOutputs& out) {
  const std::string word = one_word(why);
  answer(client, 1, {{pmi_reason_key(client.second.version), word}}, out);
}

/// Of version 2 an answer that it is not there is one, too.
void PmiServer::answer_value(const Clients::value_type& client, const std::optional<std::string>& value,
                             ClientOutputs& out) const {
  const PmiVersion version = client.second.version;
  const bool found = value && value->size() <= most_value(version);
  if (found && version == PmiVersion::one && !fits_version_one(*value)) return refuse(client, kNotInOne, out);
  if (version == PmiVersion::two)
    return found ? answer(client, 0, {{"found", "TRUE"}, {"value", *value}}, out)
                 : answer(client, 0, {{"found", "FALSE"}}, out);
  return found ? answer(client, 0, {{"value", *value}}, out)
               : answer(client, 1, {{"msg", "no_such_key"}, {"value", "unknown"}}, out);
}

// ---- requests

std::string PmiServer::on(Clients::value_type& client, std::string_view text, Instant now,
                          ClientOutputs& out) {
  Client& state = client.second;
  if (state.spawn) return part_of_spawn(client, text, now, out);
  ++world_of(state.process).requests;
  const PmiWords words{state.version, text};
  const std::string name = short_name(words.command());
  if (name.empty() && cuts_texts(state.asked)) return {};  // the rest of a text with a newline
  if (name.empty()) return fmt::format("'{}' is no request", short_name(text));
  if (state.stage == Stage::asks || state.stage == Stage::awaits)
    return fmt::format("{} before an answer", name);
  state.asked = find_pmi_command(state.version, words.command());
  state.thread = words.value("thrid");
  if (state.asked == nullptr) return fmt::format("'{}' is no request that is known", name);
  if (state.thread.size() > kMostKey) return fmt::format("a thread of {} bytes", state.thread.size());
  const PmiDeed deed = state.asked->deed;
  if (deed == PmiDeed::agree) return agree(client, words, out);
  if (deed == PmiDeed::join) return join_job(client, out);
  if (state.stage == Stage::silent) return fmt::format("{} before init", name);
  if (deed == PmiDeed::abort) {
    const bool is_first = state.version == PmiVersion::one;
    const std::string why = is_first ? std::string{words.rest("message")} : words.text("msg");
    state.stage = Stage::aborted;
    world_of(state.process).barriers.leave(state.process);
    out.push_back(abort(state.process, words.number("exitcode", 1), why, "abort"));
    return {};
  }
  if (state.stage == Stage::ended) return fmt::format("{} after finalize", name);
  if (deed != PmiDeed::spawn) return do_deed(client, words, now, out);
  state.spawn.emplace(state.version);
  return part_of_spawn(client, text, now, out);
}

std::string PmiServer::do_deed(Clients::value_type& client, const PmiWords& words, Instant now,
                               ClientOutputs& out) {
  Client& state = client.second;
  switch (state.asked->deed) {
    case PmiDeed::put:
      return put(client, words, out);
    case PmiDeed::fence:
      return enter(client, words.value("group"), out);
    case PmiDeed::ring:
      return ring(client, words, out);
    case PmiDeed::finalize:
      if (world_of(state.process).barriers.entered(state.process) > 0) return "finalize in a barrier";
      state.stage = Stage::ended;
      ++finished_[state.process];
      state.given.clear();
      state.in_fence = 0;
      answer(client, 0, {}, out);
      out.push_back(Ended{state.process, 0});
      return {};
    case PmiDeed::publish:
    case PmiDeed::look_up:
    case PmiDeed::unpublish:
      return ask_for_name(client, words, now, out);
    case PmiDeed::put_node_attribute:
      return put_attribute(client, words, out);
    case PmiDeed::get_node_attribute:
      get_attribute(client, words, out);
      return {};
    default:
      if (!awaits_topology(client, words, out)) tell(client, words, out);
      return {};
  }
}

/// What a process may know at any time.
void PmiServer::tell(Clients::value_type& client, const PmiWords& words, ClientOutputs& out) {
  const Client& state = client.second;
  const PmiWorld& world = world_of(state.process);
  switch (state.asked->deed) {
    case PmiDeed::get:
      return answer_value(client, find(state.process, words.text("key")), out);
    case PmiDeed::get_job_attribute:
      return answer_value(client, attribute_of_job(state.process, words.text("key")), out);
    case PmiDeed::limits:
      return answer(client, 0,
                    {{"kvsname_max", std::to_string(kMostName)},
                     {"keylen_max", std::to_string(kMostKey)},
                     {"vallen_max", std::to_string(most_value_)}},
                    out);
    case PmiDeed::program:
      return answer(client, 0, {{"appnum", std::to_string(wire::program_of(world.programs, state.process))}},
                    out);
    case PmiDeed::name_kvs:
      return answer(client, 0, {{state.version == PmiVersion::one ? "kvsname" : "jobid", world.kvs_name}},
                    out);
    case PmiDeed::universe:
      return answer(client, 0, {{"size", std::to_string(universe_)}}, out);
    default:
      if (state.version == PmiVersion::two) return refuse(client, "not served", out);
      return answer(client, -1, {{"reason", "not_served"}, {"msg", "not_served"}}, out);
  }
}

std::string PmiServer::agree(Clients::value_type& client, const PmiWords& words, ClientOutputs& out) {
  Client& state = client.second;
  if (world_of(state.process).barriers.entered(state.process) > 0) return "init in a barrier";
  const int version = words.number("pmi_version", 0);
  if (version != 1 && version != 2) {
    answer(client, 1, {{"pmi_version", "1"}, {"pmi_subversion", "2"}}, out);
    return fmt::format("version {} of PMI is not served", short_name(words.value("pmi_version")));
  }
  answer(client, 0, {{"pmi_version", std::to_string(version)}, {"pmi_subversion", version == 1 ? "2" : "0"}},
         out);
  if (version == 2) {
    state.version = PmiVersion::two;
    state.stage = Stage::silent;
    return {};
  }
  state.stage = Stage::joined;
  out.push_back(Joined{state.process});
  return {};
}

std::string PmiServer::join_job(Clients::value_type& client, ClientOutputs& out) {
  Client& state = client.second;
  if (world_of(state.process).barriers.entered(state.process) > 0) return "fullinit in a barrier";
  const PmiWorld& world = world_of(state.process);
  const std::string rank = std::to_string(state.process - world.who.first),
                    size = std::to_string(world.who.size),
                    program = std::to_string(wire::program_of(world.programs, state.process));
  PmiFields fields{{"pmi-version", "2"}, {"pmi-subversion", "0"}, {"rank", rank},         {"size", size},
                   {"appnum", program},  {"debugged", "FALSE"},   {"pmiverbose", "FALSE"}};
  if (!world.parent.empty()) fields.emplace_back("spawner-jobid", world.parent);
  answer(client, 0, fields, out);
  state.stage = Stage::joined;
  out.push_back(Joined{state.process});
  return {};
}

std::string PmiServer::put(Clients::value_type& client, const PmiWords& words, ClientOutputs& out) {
  Client& state = client.second;
  std::string key = words.text("key"), value = words.text("value");
  const std::size_t most = most_value(state.version);
  if (key.empty() || key.size() > kMostKey)
    return fmt::format("a put with a key of more than {} bytes, or none", kMostKey);
  if (value.size() > most) return fmt::format("a value of {} bytes: {} are allowed", value.size(), most);
  if (key.starts_with(wire::kPmiReserved)) return refuse(client, "the key is reserved", out), std::string{};
  if (std::string wrong = give(state, key, value); !wrong.empty()) return wrong;
  world_of(state.process).values.put(std::move(key), std::move(value), programs_of(state.process));
  answer(client, 0, {}, out);
  return {};
}

/// With the next fence.
std::string PmiServer::give(Client& client, std::string_view key, std::string_view value) {
  client.given += PmiValues::give(key, value);
  if (client.given.size() <= wire::kMostGiven) return {};
  return fmt::format("puts of more than {} bytes before a barrier", wire::kMostGiven);
}

/// What a process has put, or is known of the job. A mapping that is too long is not told: then clients find
/// out by themselves, with one barrier more.
std::optional<std::string> PmiServer::find(std::uint32_t process, std::string_view key) {
  const PmiWorld& world = world_of(process);
  if (auto found = world.values.find(key, programs_of(process))) return found;
  if (key == wire::kPmiMapping && !world.mapping.empty() && world.mapping.size() <= most_value_)
    return world.mapping;
  if (key == kTopology && topology_ && !topology_->empty()) return *topology_;
  if (key != "PMI_dead_processes") return {};
  std::string dead;
  for (const auto& [first, last] : lost_.ranges()) {
    for (std::uint64_t each = first; each <= last && world.who.contains(first); ++each)
      dead += fmt::format("{}{}", dead.empty() ? "" : ",", each - world.who.first);
  }
  if (dead.empty()) return {};
  return dead;
}

/// A process that is alone here has its own look, which is as quick.
bool PmiServer::awaits_topology(Clients::value_type& client, const PmiWords& words, ClientOutputs& out) {
  Client& state = client.second;
  const PmiDeed deed = state.asked->deed;
  if (deed != PmiDeed::get && deed != PmiDeed::get_job_attribute) return false;
  if (words.value("key") != kTopology || topology_ || local_.size() < 2) return false;
  state.stage = Stage::awaits;
  state.awaited = kTopology;
  if (!std::exchange(asks_topology_, true)) out.push_back(TopologyWanted{});
  return true;
}

void PmiServer::topology(const std::string& file, const wire::Blob&, ClientOutputs& out) {
  topology_ = file;
  for (auto& client : clients_) {
    Client& state = client.second;
    if (state.stage != Stage::awaits || state.awaited != kTopology) continue;
    state.stage = Stage::joined;
    answer_value(client, find(state.process, kTopology), out);
  }
}

// ---- of version 2

std::optional<std::string> PmiServer::attribute_of_job(std::uint32_t process, std::string_view key) {
  if (key == "universeSize") return std::to_string(universe_);
  if (key == "hasNameServ") return "TRUE";
  return key.starts_with(wire::kPmiReserved) ? find(process, key) : std::nullopt;
}

std::string PmiServer::put_attribute(Clients::value_type& client, const PmiWords& words, ClientOutputs& out) {
  const std::string key = words.text("key"), value = words.text("value");
  if (key.empty() || key.size() > kMostKey || value.size() > kMostValue2)
    return fmt::format("an attribute of {} bytes, called by {}", value.size(), key.size());
  const std::uint32_t process = client.second.process;
  PmiWorld& world = world_of(process);
  if (!world.values.put_attribute(key, value, programs_of(process)))
    return refuse(client, "too many attributes", out), std::string{};
  answer(client, 0, {}, out);
  tell_awaited(key, value, world.who, programs_of(process), out);
  return {};
}

/// Answers those of the world, and of the program, that wait for it.
void PmiServer::tell_awaited(std::string_view key, const std::string& value, const wire::World& who,
                             std::uint32_t program, ClientOutputs& out) {
  for (auto& client : clients_) {
    Client& state = client.second;
    if (state.stage != Stage::awaits || state.awaited != key || !who.contains(state.process)) continue;
    if (programs_of(state.process) != program) continue;
    state.stage = Stage::joined;
    answer_value(client, value, out);
  }
}

void PmiServer::get_attribute(Clients::value_type& client, const PmiWords& words, ClientOutputs& out) {
  Client& state = client.second;
  const PmiWorld& world = world_of(state.process);
  std::string key = words.text("key");
  const auto found = world.values.attribute(key, programs_of(state.process));
  if (found || words.value("wait") != "TRUE") return answer_value(client, found, out);
  state.stage = Stage::awaits;
  state.awaited = std::move(key);
}

/// A fence that brings the values of the neighbours.
std::string PmiServer::ring(Clients::value_type& client, const PmiWords& words, ClientOutputs& out) {
  Client& state = client.second;
  const std::string left = words.text("ring-left"), right = words.text("ring-right");
  if (left.size() > kMostValue2 || right.size() > kMostValue2)
    return fmt::format("values of {} and {} bytes for neighbours", left.size(), right.size());
  const std::string both = PmiValues::give(left, right);
  if (std::string wrong = give(state, PmiValues::ring_key(state.process), both); !wrong.empty()) return wrong;
  return enter(client, {}, out);
}

// ---- other processes

std::string PmiServer::part_of_spawn(Clients::value_type& client, std::string_view text, Instant now,
                                     ClientOutputs& out) {
  auto& [id, state] = client;
  if (std::string wrong = state.spawn->add(text); !wrong.empty()) return wrong;
  if (!state.spawn->is_complete()) return {};
  const std::uint32_t processes = state.spawn->processes();
  wire::WorldWanted wanted = state.spawn->take();
  state.spawn.reset();
  state.stage = Stage::asks;
  wanted.process = state.process;
  wanted.id.service = kPmiService;
  inquiries_.ask(std::move(wanted), {id, processes}, now, out);
  return {};
}

std::string PmiServer::ask_for_name(Clients::value_type& client, const PmiWords& words, Instant now,
                                    ClientOutputs& out) {
  using Deed = wire::NameInquiry::Deed;
  auto& [id, state] = client;
  const std::string name = words.text(state.version == PmiVersion::one ? "service" : "name");
  const std::string port = words.text("port");
  if (name.empty() || name.size() > wire::kMostName || port.size() > wire::kMostPublished)
    return fmt::format("a name of {} bytes for a port of {}", name.size(), port.size());
  const PmiDeed asked = state.asked->deed;
  if (asked == PmiDeed::publish && words.value("port").data() == nullptr)
    return refuse(client, "a name with a newline", out), std::string{};
  const Deed deed = asked == PmiDeed::publish   ? Deed::publish
                    : asked == PmiDeed::look_up ? Deed::look_up
                                                : Deed::unpublish;
  state.stage = Stage::asks;
  inquiries_.ask(wire::NameInquiry{state.process, {kPmiService, 0}, deed, name, port}, {id}, now, out);
  return {};
}

void PmiServer::answered(const wire::Answered& message, ClientOutputs& out) {
  if (message.id.service != kPmiService) return;
  const auto asker = inquiries_.take(message);
  const auto client = asker ? clients_.find(asker->client) : clients_.end();
  if (client == clients_.end() || client->second.stage != Stage::asks) return;
  client->second.stage = Stage::joined;
  if (!message.failure.empty()) return refuse(*client, message.failure, out);
  switch (client->second.asked->deed) {
    case PmiDeed::spawn:
      return spawned(*client, *asker, message.bytes, out);
    case PmiDeed::look_up:
      if (client->second.version == PmiVersion::one && !fits_version_one(message.bytes))
        return refuse(*client, kNotInOne, out);
      if (client->second.version == PmiVersion::one)
        return answer(*client, 0, {{"port", message.bytes}}, out);
      return answer(*client, 0, {{"value", message.bytes}, {"port", message.bytes}},
                    out);  // Slurm's, MPICH's
    default:
      return answer(*client, 0, {}, out);
  }
}

/// Each has an error code of its own.
void PmiServer::spawned(const Clients::value_type& client, const Asker& asker, std::string_view first,
                        ClientOutputs& out) const {
  std::string codes = "0";
  for (std::uint32_t i = 1; i < asker.processes; ++i) codes += ",0";
  if (client.second.version == PmiVersion::one) return answer(client, 0, {{"errcodes", codes}}, out);
  std::uint32_t process = 0;
  if (!read_whole(first, process)) return refuse(client, "nobody is started", out);
  answer(client, 0, {{"jobid", name_of(worlds_.front(), process)}, {"errcodes", codes}}, out);
}

// ---- fences

std::string PmiServer::enter(Clients::value_type& client, std::string_view text, ClientOutputs& out) {
  const auto& [id, state] = client;
  PmiWorld& world = world_of(state.process);
  auto group = PmiGroup::read(text, state.process, world.who, local_);
  if (!group) return fmt::format("a barrier of '{}', in which it is not", short_name(text));
  std::string wrong =
      world.barriers.enter(group->fence, {state.process, id, state.asked, group->tag, state.thread});
  if (wrong.empty()) settle(world, out);
  return wrong;
}

void PmiServer::settle(PmiWorld& world, ClientOutputs& out) {
  for (const PmiBarriers::Step& step : world.barriers.settle(local_, lost_, is_of_host))
    step.is_over ? finish_barrier(step, world, out) : begin(step, world, out);
}

/// Who is in a group need not wait for what goes to all with the plain barrier.
void PmiServer::begin(const PmiBarriers::Step& step, PmiWorld& world, ClientOutputs& out) {
  FenceEntered fence;
  fence.fence = step.fence;
  fence.processes = static_cast<std::uint32_t>(step.entries.size());
  fence.requests = std::exchange(world.requests, 0);
  for (const PmiEntry& entry : step.entries) {
    const auto client = clients_.find(entry.client);
    if (client == clients_.end()) continue;
    fence.given += client->second.given;
    if (step.is_plain()) client->second.in_fence = client->second.given.size();
  }
  out.push_back(std::move(fence));
}

void PmiServer::fenced(const FenceDone& fence, ClientOutputs& out) {
  if (fence.fence.protocol != kPmiService || fence.fence.processes.empty()) return;
  PmiWorld& world = world_of(fence.fence.processes.front().first);
  if (!world.barriers.over(fence, local_)) return;
  std::set<std::uint32_t> programs;  // of those that are in it: one, unless MPI is opened again by some alone
  for (const std::uint32_t process : local_.among(fence.fence.processes)) {
    if (world.barriers.entered(process) > 0) programs.insert(programs_of(process));
  }
  for (const std::uint32_t program : programs) world.values.put_all(*fence.given, program);
  settle(world, out);
}

void PmiServer::finish_barrier(const PmiBarriers::Step& step, PmiWorld& world, ClientOutputs& out) {
  for (const PmiEntry& entry : step.entries) {
    const auto client = clients_.find(entry.client);
    if (client == clients_.end()) continue;
    Client& state = client->second;
    if (step.is_plain()) state.given.erase(0, std::exchange(state.in_fence, 0));
    const bool is_ring = entry.asked->deed == PmiDeed::ring;
    const auto ring = is_ring ? world.values.ring(entry.process, programs_of(entry.process)) : std::nullopt;
    std::string why = step.failure;
    if (is_ring && !ring && why.empty()) why = "it is in no ring, or a neighbour has given nothing";
    const std::string word = one_word(why);
    PmiFields fields;
    const std::string tag = std::to_string(entry.tag);
    if (state.version == PmiVersion::one) fields.emplace_back("tag", tag);
    if (!why.empty())
      fields.emplace_back(pmi_reason_key(state.version), word);
    else if (ring)
      fields = {{"ring-count", ring->place}, {"ring-left", ring->left}, {"ring-right", ring->right}};
    out.push_back(
        ToClient{entry.client, pmi_answer(*entry.asked, entry.thread, why.empty() ? 0 : 1, fields)});
  }
  if (step.is_plain() && !step.entries.empty())
    world.values.end_ring(programs_of(step.entries.front().process));
}

void PmiServer::lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) {
  lost_.add_all(processes);
  for (PmiWorld& world : worlds_) settle(world, out);
}

// ---- the rest

void PmiServer::vacate(std::uint32_t process, std::uint32_t, bool, ClientOutputs& out) {
  connected_.erase(process);
  finished_.erase(process);
  const auto client = std::find_if(clients_.begin(), clients_.end(),
                                   [&](const auto& each) { return each.second.process == process; });
  if (client == clients_.end()) return;
  out.push_back(CloseClient{client->first});
  clients_.erase(client);
  world_of(process).barriers.leave(process);
}

}  // namespace charmtree::proto
