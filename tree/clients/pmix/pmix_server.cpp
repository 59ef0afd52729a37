// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmix/pmix_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "tree/clients/pmix/pmix_variables.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::proto {

namespace {

constexpr auto kPmixService = static_cast<std::uint8_t>(ClientKind::pmix);

/// OpenPMIx takes two nodes of one name for one.
std::vector<std::string> nodes_of(const wire::JobSpec& job) {
  std::set<std::string> known;
  std::vector<std::string> nodes = job.spawn.mpi.names;
  for (std::size_t host = 0; host < nodes.size(); ++host) {
    if (!known.insert(nodes[host]).second) known.insert(nodes[host] += fmt::format("-{}", host));
  }
  return nodes;
}

std::vector<wire::Share> shares_of(const std::vector<wire::HostRun>& layout) {
  std::vector<wire::Share> shares;
  std::uint32_t next = 0;
  for (const wire::HostRun& run : layout) {
    for (std::uint32_t host = run.first; host - run.first < run.hosts; ++host) {
      shares.push_back({host, next, run.processes});
      next += run.processes;
    }
  }
  return shares;
}

/// FNV-1a, of 64 bits: as every host finds it without a word. Small numbers are the library's own.
std::uint64_t id_of(const wire::Fence& fence) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) hash = (hash ^ ((value >> (8 * i)) & 0xff)) * 0x100000001b3;
  };
  for (const auto& [first, last] : fence.processes) add((std::uint64_t{first} << 32) | last, 8);
  add(fence.number, 4);
  for (const char c : fence.name) add(static_cast<unsigned char>(c), 1);
  return hash | std::uint64_t{1} << 32;
}

/// Of what is said in it; each text has some bytes more.
std::size_t size_of(const wire::WorldWanted& wanted) {
  std::size_t bytes = 0;
  for (const wire::ProgramWanted& each : wanted.programs) {
    for (const auto* texts : {&each.program.arguments, &each.program.environment, &each.hosts}) {
      for (const std::string& text : *texts) bytes += text.size() + 5;
    }
    bytes += each.program.directory.size() + 32;
  }
  return bytes;
}

}  // namespace

PmixServer::PmixServer(LocalProcesses local, const wire::JobSpec& job, std::uint32_t own)
    : local_(std::move(local)),
      own_(own),
      is_needed_(job.spawn.mpi.pmix == wire::MpiService::Pmix::needed),
      stages_(local_.size()) {
  if (job.spawn.mpi.pmix == wire::MpiService::Pmix::none) return;
  nodes_ = nodes_of(job);
  pmix::Describe world = describe(shares_of(job.spawn.mpi.layout));
  world.name_space = pmix_namespace(job, 0);
  world.programs = wire::first_processes(job.spawn.further);
  world.shares_machine = job.private_network && job.hosts > 1;
  world.universe = job.spawn.mpi.universe;
  worlds_.push_back(std::move(world));
}

pmix::Describe PmixServer::describe(const std::vector<wire::Share>& shares) const {
  const auto name_of = [&](std::uint32_t host) {
    return host < nodes_.size() ? nodes_[host] : pmix_node_name(host);
  };
  pmix::Describe world;
  world.host = own_;
  world.host_name = name_of(own_);
  if (shares.empty()) return world;
  std::map<std::uint32_t, std::size_t> places;  // by host
  world.first = shares.front().first_process;
  for (const wire::Share& share : shares) {
    if (share.processes == 0) continue;
    const auto place = places.emplace(share.host, world.nodes.size()).first->second;
    if (place == world.nodes.size()) world.nodes.push_back({name_of(share.host), {}});
    world.nodes[place].ranks.push_back({world.size, world.size + share.processes - 1});
    world.size += share.processes;
  }
  return world;
}

void PmixServer::begun(const wire::WorldBegun& begun, ClientOutputs& out) {
  for (const wire::Share& share : begun.shares) local_.total += share.processes;
  if (worlds_.empty() || begun.programs.empty()) return;
  pmix::Describe world = describe(begun.shares);
  world.name_space = fmt::format("{}-{}", worlds_.front().name_space, world.first);
  world.programs.clear();
  for (const wire::FurtherProgram& each : begun.programs) world.programs.push_back(each.first - world.first);
  world.shares_machine = worlds_.front().shares_machine;
  world.universe = worlds_.front().universe;
  world.parent = begun.by;
  worlds_.push_back(std::move(world));
  tell(worlds_.back(), out);
}

void PmixServer::join(std::uint32_t process) {
  local_.joined.add(process);
  stages_.emplace_back();
}

void PmixServer::opened(ClientId client, Instant, ClientOutputs& out) {
  if (helper_) return out.push_back(CloseClient{client});
  helper_ = client;
  for (const pmix::Describe& world : worlds_) tell(world, out);
}

void PmixServer::tell(const pmix::Message& message, ClientOutputs& out) const {
  if (!helper_) return;
  if (std::string frame = pmix::encode(message); !frame.empty())
    out.push_back(ToClient{*helper_, std::move(frame)});
}

void PmixServer::received(ClientId client, std::string_view bytes, Instant now, ClientOutputs& out) {
  if (helper_ != client) return;
  now_ = now;
  decoder_.append(bytes);
  while (helper_) {
    auto message = decoder_.next();
    if (message && !*message) return;
    std::string wrong = "what it says is no message";
    if (message) wrong = std::visit([&](auto& m) { return on(m, out); }, **message);
    if (wrong.empty()) continue;
    out.push_back(CloseClient{client});
    lose_helper("its PMIx helper speaks nonsense: " + wrong, {}, out);
  }
}

void PmixServer::closed(ClientId client, Instant, ClientOutputs& out) {
  if (helper_ != client) return;
  lose_helper("its PMIx helper has ended", "charmrun ++pmi none starts it without one", out);
}

/// Processes that are joined to it cannot go on.
void PmixServer::lose_helper(const std::string& why, const std::string& fix, ClientOutputs& out) {
  helper_.reset();
  open_.clear();
  wanted_.clear();
  inquiries_.clear();
  if (!std::exchange(is_ready_, true) && is_needed_)
    return out.push_back(ServerReady{{}, Error{Errc::spawn_failed, Phase::spawn, why, fix}});
  out.push_back(ServerReady{});
  for (std::uint32_t rank = 0; rank < stages_.size(); ++rank) {
    if (std::exchange(stages_[rank], Stage::ended) == Stage::joined)
      out.push_back(ClientLost{local_.at(rank), why, true});
  }
}

PmixServer::Stage* PmixServer::stage_of(std::uint32_t process) {
  return local_.contains(process) ? &stages_[local_.rank_of(process)] : nullptr;
}

// ---- the helper's words

std::string PmixServer::on(const pmix::Serving& message, ClientOutputs& out) {
  const auto world = std::find_if(worlds_.begin(), worlds_.end(),
                                  [&](const pmix::Describe& each) { return each.first == message.first; });
  if (world == worlds_.end()) return "a world that is not in the job";
  const std::vector<std::uint32_t> ranks = world->here();
  if (message.variables.size() != ranks.size()) return "variables of other processes";
  if (!served_.insert(message.first).second) return "it is ready twice";
  is_ready_ = true;
  ServerReady ready;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::uint32_t process = message.first + ranks[i];
    if (local_.contains(process)) ready.variables.emplace(process, message.variables[i]);
  }
  if (!ready.variables.empty()) out.push_back(std::move(ready));
  return {};
}

std::string PmixServer::on(const pmix::Failed& message, ClientOutputs& out) {
  if (is_ready_) return "it fails after it was ready";
  if (!is_needed_) out.push_back(ClientNote{fmt::format("no PMIx: {}", message.why)});
  out.push_back(CloseClient{*helper_});
  lose_helper(message.why, message.fix, out);
  return {};
}

std::string PmixServer::on(const pmix::Connected& message, ClientOutputs& out) {
  Stage* stage = stage_of(message.process);
  if (stage == nullptr || !is_ready_) return "a process that is not here has connected";
  if (std::exchange(*stage, Stage::joined) == Stage::silent) out.push_back(Joined{message.process});
  return {};
}

std::string PmixServer::on(const pmix::Finalized& message, ClientOutputs& out) {
  Stage* stage = stage_of(message.process);
  if (stage == nullptr || *stage == Stage::silent) return "a process that is not here has finalised";
  if (std::exchange(*stage, Stage::ended) == Stage::joined) out.push_back(Ended{message.process, 0});
  return {};
}

/// Open MPI prints its own words.
std::string PmixServer::on(pmix::Aborting& message, ClientOutputs& out) {
  Stage* stage = stage_of(message.process);
  if (stage == nullptr || *stage == Stage::silent) return "a process that is not here aborts";
  if (std::exchange(*stage, Stage::ended) == Stage::joined)
    out.push_back(abort(message.process, message.status, message.text, "N/A"));
  return {};
}

std::string PmixServer::on(pmix::Entered& message, ClientOutputs& out) {
  FenceEntered fence;
  fence.fence = {kPmixService, std::move(message.processes), 1, std::move(message.name)};
  auto& group = fence.fence.processes;
  for (const wire::ProcessSet::Range& each : group) {
    if (each.last < each.first) return "a fence of no processes";
  }
  wire::fold(group);
  const std::size_t here = local_.count_among(group);
  if (here == 0 || group.back().last >= local_.total) return "a fence without processes of this host";
  const auto refuse = [&](std::string why) {
    tell(pmix::Over{message.call, std::move(why), {}}, out);
    return std::string{};
  };
  if (!wire::is_sound(fence.fence))
    return refuse(fmt::format("its name is longer than {} bytes, or its processes are in more than {} ranges",
                              wire::kMostFenceName, wire::kMostFenceRanges));
  if (message.given.size() > here * wire::kMostGiven)
    return refuse(
        fmt::format("{} bytes for one fence: {} are allowed", message.given.size(), here * wire::kMostGiven));
  if (open_.size() >= wire::kMostFencesAtOnce * local_.size()) return refuse("too many fences at a time");
  CountedGroups::Group* const its = groups_.use(fence.fence);
  if (its == nullptr) return refuse("too many groups of processes");
  if (!its->fences.enter()) return refuse(its->fences.failure);
  ++its->open;
  fence.fence.number = its->fences.entered;
  fence.processes = static_cast<std::uint32_t>(here);
  fence.given = std::move(message.given);
  open_.emplace(fence.fence, message.call);
  out.push_back(std::move(fence));
  return {};
}

void PmixServer::fenced(const FenceDone& fence, ClientOutputs& out) {
  if (fence.fence.protocol != kPmixService) return;
  const auto open = open_.find(fence.fence);
  if (open != open_.end()) {
    tell(pmix::Over{open->second, fence.failure, fence.given, id_of(fence.fence)}, out);
    open_.erase(open);
    --groups_.use(fence.fence.first())->open;  // a group with an open fence is never forgotten
  } else if (!fence.failure.empty() && local_.count_among(fence.fence.processes) > 0) {
    if (CountedGroups::Group* const its = groups_.use(fence.fence.first()))
      its->fences.fail(fence.fence.number, fence.failure);
  }
}

// ---- inquiries

void PmixServer::tell(const Asker& asker, const std::string& failure, const std::string& bytes,
                      ClientOutputs& out) const {
  switch (asker.subject) {
    case Subject::process:
      return tell(pmix::Over{asker.call, failure, std::make_shared<const std::string>(bytes)}, out);
    case Subject::name:
      return tell(pmix::Named{asker.call, failure, bytes}, out);
    case Subject::world: {
      pmix::Born born{asker.call, failure, 0};
      if (failure.empty() && !read_whole(bytes, born.first)) born.failure = "nobody knows which";
      return tell(born, out);
    }
  }
}

std::string PmixServer::on(const pmix::Inquiring& message, ClientOutputs& out) {
  if (message.about >= local_.total || local_.size() == 0)
    return "an inquiry about a process that is not in the job, or by none";
  const Asker asker{message.call};
  if (lost_.contains(message.about) || inquiries_.size() >= kMostInquiries)
    return tell(asker, "it is lost, or too many are asked", {}, out), std::string{};
  inquiries_.ask(wire::Inquiry{local_.at(0), message.about, {kPmixService, 0}}, asker, now_, out);
  return {};
}

std::string PmixServer::on(pmix::Naming& message, ClientOutputs& out) {
  if (stage_of(message.process) == nullptr) return "a name of a process that is not here";
  const Asker asker{message.call, Subject::name};
  const bool is_short =
      message.name.size() <= wire::kMostName && message.value.size() <= wire::kMostPublished;
  if (!is_short || inquiries_.size() >= kMostInquiries)
    return tell(asker, "it is too long, or too many are asked for", {}, out), std::string{};
  inquiries_.ask(wire::NameInquiry{message.process,
                                   {kPmixService, 0},
                                   message.deed,
                                   std::move(message.name),
                                   std::move(message.value)},
                 asker, now_, out);
  return {};
}

std::string PmixServer::on(pmix::Bearing& message, ClientOutputs& out) {
  const Stage* stage = stage_of(message.process);
  if (stage == nullptr || *stage != Stage::joined) return "others are wanted by a process that is not here";
  const Asker asker{message.call, Subject::world};
  wire::WorldWanted wanted{message.process, {kPmixService, 0}, std::move(message.programs), {}};
  if (inquiries_.size() >= kMostInquiries || size_of(wanted) > wire::kMostWanted / 2)
    return tell(asker, "it is too long, or too many are asked for", {}, out), std::string{};
  inquiries_.ask(std::move(wanted), asker, now_, out);
  return {};
}

void PmixServer::answered(const wire::Answered& answer, ClientOutputs& out) {
  if (answer.id.service != kPmixService) return;
  if (const auto asker = inquiries_.take(answer)) tell(*asker, answer.failure, answer.bytes, out);
}

/// One that is asked again is asked once.
void PmixServer::inquired(const wire::Inquired& inquiry, ClientOutputs& out) {
  if (inquiry.id.service != kPmixService || !helper_ || wanted_.size() >= kMostInquiries) return;
  const bool is_known = std::any_of(wanted_.begin(), wanted_.end(), [&](const auto& each) {
    return each.second.asker == inquiry.asker && each.second.id == inquiry.id;
  });
  if (is_known) return;
  wanted_.emplace(++last_call_, inquiry);
  tell(pmix::Wanted{last_call_, inquiry.process}, out);
}

std::string PmixServer::on(pmix::Given& message, ClientOutputs& out) {
  const auto wanted = wanted_.find(message.call);
  if (wanted == wanted_.end()) return "an answer that nobody waits for";
  const wire::Inquired& inquiry = wanted->second;
  wire::InquiryReply reply{inquiry.process, inquiry.asker, inquiry.id, message.failure,
                           std::move(message.bytes)};
  if (reply.bytes.size() > wire::kMostAnswered) {
    reply.failure =
        fmt::format("it has given {} bytes: {} are allowed", reply.bytes.size(), wire::kMostAnswered);
    reply.bytes.clear();
  }
  wanted_.erase(wanted);
  out.push_back(std::move(reply));
  return {};
}

void PmixServer::lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) {
  lost_.add_all(processes);
  tell(pmix::Lost{processes}, out);
  for (const Asker& asker : inquiries_.take_about(lost_)) tell(asker, "it is lost", {}, out);
}

/// The library's own words are shown as the first process's: they are about what its processes have said.
std::string PmixServer::on(pmix::Logged& message, ClientOutputs& out) {
  const bool is_its_own = message.process == wire::kNoProcess && local_.size() > 0;
  const std::uint32_t process = is_its_own ? local_.at(0) : message.process;
  if (stage_of(process) == nullptr) return "text of a process that is not here";
  out.push_back(Printed{process, Stream::err, std::move(message.text), false});
  tell(pmix::Taken{message.call}, out);
  return {};
}

/// Its exit status alone does not tell that it left too early.
std::string PmixServer::on(const pmix::Heard& message, ClientOutputs& out) {
  Stage* stage = stage_of(message.process);
  if (stage == nullptr) return "a process that is not here has ended";
  if (std::exchange(*stage, Stage::ended) == Stage::joined)
    out.push_back(ClientLost{message.process, kLeftEarly});
  return {};
}

// ---- the rest

void PmixServer::exited(std::uint32_t process, ClientOutputs& out) {
  tell(pmix::Exited{process}, out);
}

}  // namespace charmtree::proto
