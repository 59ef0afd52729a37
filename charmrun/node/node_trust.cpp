// SPDX-License-Identifier: Apache-2.0
// What a child may say: it speaks only for the hosts and processes that it was given.
#include <algorithm>

#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

namespace {
bool all_different(std::vector<std::uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}
}  // namespace

bool Node::allowed(LinkId link, const wire::Message& message) const {
  const Subtree& subtree = launch_->subtree();
  const auto host = [&](std::uint32_t index) { return subtree.owns(link, index); };
  const auto process = [&](std::uint32_t number) { return subtree.owns_process(link, number); };
  // Output waits for credit, while its process may be moved, or get another number.
  const auto was_process = [&](std::uint32_t number) { return subtree.has_owned_process(link, number); };
  const auto processes = [&](wire::ProcessSet::Range range) { return subtree.owns_processes(link, range); };
  if (const auto* m = std::get_if<wire::Facts>(&message)) return allowed(link, *m);
  if (const auto* m = std::get_if<wire::Output>(&message))
    return was_process(m->process) &&
           (m->stream == 1 || m->stream == 2 || (m->stream == 3 && job_->terminal));
  if (const auto* m = std::get_if<wire::ScanUp>(&message)) return was_process(m->process);
  if (const auto* m = std::get_if<wire::AbortUp>(&message)) return process(m->process);
  if (const auto* m = std::get_if<wire::Rejoined>(&message)) return process(m->process);
  if (const auto* m = std::get_if<wire::CcsAnswer>(&message)) return process(m->process);
  if (const auto* m = std::get_if<wire::Left>(&message)) return process(m->process);
  if (const auto* m = std::get_if<wire::Silence>(&message)) return was_process(m->process);
  if (const auto* m = std::get_if<wire::PesWanted>(&message)) return process(m->process);
  if (const auto* m = std::get_if<wire::QueuePairsUp>(&message)) return allowed(link, m->block);
  if (const auto* m = std::get_if<wire::LinkLost>(&message))
    return host(m->host) && std::all_of(m->processes.begin(), m->processes.end(), processes) &&
           std::all_of(m->hosts.begin(), m->hosts.end(), host);
  if (const auto* m = std::get_if<wire::Fenced>(&message)) return job_->restarts_in_place && host(m->host);
  if (const auto* m = std::get_if<wire::NewHostKey>(&message)) return launch_->gave(link, m->host);
  if (const auto* m = std::get_if<wire::Note>(&message)) return host(m->host);
  if (const auto* m = std::get_if<wire::Done>(&message))
    return std::all_of(m->unconfirmed.begin(), m->unconfirmed.end(), host);
  if (const auto* m = std::get_if<wire::Reached>(&message))
    return job_->repairs() && host(m->host) &&
           std::all_of(m->processes.begin(), m->processes.end(), processes);
  if (std::holds_alternative<wire::Waiting>(message) || std::holds_alternative<wire::Claimed>(message) ||
      std::holds_alternative<wire::Taken>(message))
    return false;  // about_adoption() has taken those that are awaited
  if (const auto* m = std::get_if<wire::Idle>(&message))
    return launch_->children().at(link).serves() &&
           std::all_of(m->unconfirmed.begin(), m->unconfirmed.end(), host) &&
           std::all_of(m->unbounded.begin(), m->unbounded.end(), host);
  if (const auto* m = std::get_if<wire::Confirmed>(&message))
    return std::all_of(m->hosts.begin(), m->hosts.end(), host);
  if (std::holds_alternative<wire::Swept>(message)) return launch_->children().at(link).sweeper;
  if (const auto* m = std::get_if<wire::Stamps>(&message))
    return job_->stamps && host(m->host) && !subtree.find(m->host)->stamped;
  if (const auto* m = std::get_if<wire::HandBack>(&message)) return allowed(link, *m);
  if (const auto* m = std::get_if<wire::SignRequest>(&message))
    return host(m->launcher) && launch_->gave(link, m->host);
  if (const auto* m = std::get_if<wire::Bindings>(&message)) {
    const auto is_one = [](const wire::Binding& each) { return each.pus.size() <= wire::Remit::kMostPus; };
    return job_->report_bindings && host(m->host) &&
           m->processes.size() == subtree.find(m->host)->processes &&
           !subtree.find(m->host)->has_told(Subtree::Told::bindings) &&
           std::all_of(m->processes.begin(), m->processes.end(), is_one);
  }
  if (const auto* m = std::get_if<wire::Checkup>(&message)) {
    return job_->checkup && host(m->host) && !subtree.find(m->host)->answered &&
           !subtree.find(m->host)->has_told(Subtree::Told::checkup) &&
           m->errors.size() <= wire::Checkup::kMaxErrors;
  }
  if (std::holds_alternative<wire::InputTaken>(message))
    return job_->input_to_all || process(job_->input_process);
  if (const auto* m = std::get_if<wire::InputReturned>(&message))
    return process(job_->input_process) && (!desk_ || desk_->can_take_back(m->bytes.size()));
  return true;
}

/// A launcher hands back hosts that it was given to start, not its own, each once, and none that is up.
bool Node::allowed(LinkId link, const wire::HandBack& message) const {
  std::vector<std::uint32_t> hosts;
  for (const wire::HostFailure& entry : message.hosts) hosts.push_back(entry.host);
  return all_different(hosts) && std::all_of(hosts.begin(), hosts.end(), [&](std::uint32_t host) {
           return launch_->gave(link, host) && !launch_->subtree().find(host)->answered;
         });
}

/// Facts are about the child's own hosts and processes, none of them told twice, and no count is beyond its
/// processes.
bool Node::allowed(LinkId link, const wire::Facts& facts) const {
  const Subtree& subtree = launch_->subtree();
  const Child& child = launch_->children().at(link);
  const std::uint32_t processes = subtree.most_processes_of(link);
  const auto process = [&](std::uint32_t number) { return subtree.owns_process(link, number); };
  const auto unanswered = [&](std::uint32_t index) {
    const Subtree::Entry* entry = subtree.find(index);
    return subtree.owns(link, index) &&  // who has failed may fail in each run
           (!entry->answered || (entry->failed && !entry->has_told(Subtree::Told::failure)));
  };
  const auto block = [&](const wire::TupleBlock& b) {
    const Subtree::Entry* entry = subtree.find(b.host);
    return subtree.owns(link, b.host) && !entry->registered && entry->first_process == b.first_process &&
           entry->processes == b.tuples.size();
  };
  const auto fits = [&](std::uint64_t more, std::uint32_t told) {
    return told <= processes && more <= processes - told;
  };
  const auto topology = [&](const wire::HostTopology& told) {
    bool owned = job_->provision.by_topology() && told.topology.sockets > 0 && told.topology.cores > 0 &&
                 told.topology.pus > 0;
    for (std::uint32_t i = 0; owned && i < told.hosts; ++i) owned = subtree.owns(link, told.first_host + i);
    return owned;
  };
  const auto own = [&](std::uint32_t index) { return subtree.owns(link, index); };
  std::vector<std::uint32_t> answers = facts.hosts_up, blocks, exits;
  for (const wire::HostFailure& failure : facts.hosts_failed) answers.push_back(failure.host);
  for (const wire::TupleBlock& each : facts.blocks) blocks.push_back(each.host);
  for (const wire::ProcessExit& exit : facts.exits) exits.push_back(exit.process);
  const std::uint64_t finished = std::uint64_t{facts.ended} + facts.exited_ok + exits.size();
  return std::all_of(answers.begin(), answers.end(), unanswered) && all_different(answers) &&
         std::all_of(facts.blocks.begin(), facts.blocks.end(), block) && all_different(blocks) &&
         std::all_of(exits.begin(), exits.end(), process) && all_different(exits) &&
         std::all_of(facts.topologies.begin(), facts.topologies.end(), topology) &&
         std::all_of(facts.random_layout.begin(), facts.random_layout.end(), own) &&
         std::all_of(facts.blind.begin(), facts.blind.end(), own) && watching_allowed(link, facts) &&
         (!facts.code || process(facts.code->process)) && (!facts.first_ok || process(*facts.first_ok)) &&
         fits(facts.crash_acks, facts.epoch == epoch_ ? child.crash_acks : 0) &&
         fits(facts.registered, child.registered) &&
         // There it may be said again who has ended, or processes come from elsewhere.
         (job_->repairs() || job_->restarts_in_place || fits(finished, child.finished)) &&
         std::all_of(facts.barrier.begin(), facts.barrier.end(),
                     [&](auto entered) { return fits(entered, 0); });
}

}  // namespace charmtree
