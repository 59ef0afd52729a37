// SPDX-License-Identifier: Apache-2.0
// What a child may say: it speaks only for the hosts and processes that it was given. Whom a message names
// stands in its row; what else must be true of it, here.
#include <algorithm>

#include "charmrun/node/node.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/wire/message_rows.hpp"

namespace charmtree {

using namespace proto;

namespace {
bool all_different(std::vector<std::uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

/// Of all that a message names, its sender must own each.
class Ownership {
public:
  Ownership(const Subtree& subtree, LinkId link) : subtree_(subtree), link_(link) {}

  template <wire::Owned kWhat, class M, class T>
  bool operator()(const M& message, wire::Names<kWhat, M, T> names) const {
    return owns<kWhat>(message.*names.member);
  }
  template <class M>
  bool operator()(const M&, wire::Nobody) const {
    return true;
  }
  template <class M>
  bool operator()(const M&, wire::Judged) const {
    return true;  // by Node::allowed
  }

private:
  template <wire::Owned kWhat>
  bool owns(std::uint32_t number) const {
    if constexpr (kWhat == wire::Owned::host) return subtree_.owns(link_, number);
    if constexpr (kWhat == wire::Owned::process) return subtree_.owns_process(link_, number);
    // Output waits for credit, while its process may be moved, or get another number.
    if constexpr (kWhat == wire::Owned::process_once) return subtree_.has_owned_process(link_, number);
  }
  template <wire::Owned kWhat>
  bool owns(wire::ProcessSet::Range range) const {
    static_assert(kWhat == wire::Owned::process);
    return subtree_.owns_processes(link_, range);
  }
  template <wire::Owned kWhat, class T>
  bool owns(const std::vector<T>& all) const {
    return std::all_of(all.begin(), all.end(), [&](T each) { return owns<kWhat>(each); });
  }

  const Subtree& subtree_;
  LinkId link_;
};
}  // namespace

bool Node::allowed(LinkId link, const wire::Message& message) const {
  const Subtree& subtree = launch_->subtree();
  const Ownership owns{subtree, link};
  const auto is_told = [&](std::uint32_t host, Subtree::Told what) {
    return subtree.find(host)->has_told(what);
  };
  // What is judged here has already been found to name only what its sender owns.
  const Overloaded judge{
      [&](const wire::Facts& m) { return allowed(link, m); },
      [&](const wire::Output& m) {
        return m.stream == 1 || m.stream == 2 || (m.stream == 3 && job_->terminal);
      },
      [&](const wire::QueuePairsUp& m) { return allowed(link, m.block); },
      [&](const wire::Fenced&) { return job_->restarts_in_place; },
      [&](const wire::NewHostKey& m) { return launch_->gave(link, m.host); },
      [&](const wire::Reached&) { return job_->repairs(); },
      [&](const wire::Waiting&) { return false; },  // about_adoption() has taken those that are awaited
      [&](const wire::Claimed&) { return false; },
      [&](const wire::Taken&) { return false; },
      [&](const wire::Idle&) { return launch_->children().at(link).serves(); },
      [&](const wire::Swept&) { return launch_->children().at(link).sweeper; },
      [&](const wire::Stamps& m) { return job_->stamps && !subtree.find(m.host)->stamped; },
      [&](const wire::HandBack& m) { return allowed(link, m); },
      [&](const wire::SignRequest& m) { return launch_->gave(link, m.host); },
      [&](const wire::Bindings& m) {
        const auto is_one = [](const wire::Binding& each) {
          return each.pus.size() <= wire::Remit::kMostPus;
        };
        return job_->report_bindings && m.processes.size() == subtree.find(m.host)->processes &&
               !is_told(m.host, Subtree::Told::bindings) &&
               std::all_of(m.processes.begin(), m.processes.end(), is_one);
      },
      [&](const wire::Checkup& m) {
        return job_->checkup && !subtree.find(m.host)->answered && !is_told(m.host, Subtree::Told::checkup) &&
               m.errors.size() <= wire::Checkup::kMaxErrors;
      },
      [&](const wire::InputTaken&) {
        return job_->input_to_all || subtree.owns_process(link, job_->input_process);
      },
      [&](const wire::InputReturned& m) {
        return subtree.owns_process(link, job_->input_process) &&
               (!desk_ || desk_->can_take_back(m.bytes.size()));
      },
  };
  return std::visit(
      [&]<class M>(const M& each) {
        constexpr auto& row = wire::kRowOf<M>;
        const auto owns_all = [&](auto... names) { return (owns(each, names) && ...); };
        if (row.goes_down || !std::apply(owns_all, row.says)) return false;
        if constexpr (row.kIsJudged)
          return judge(each);
        else
          return true;
      },
      static_cast<const wire::AnyMessage&>(message));
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
