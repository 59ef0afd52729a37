// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/trust.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/base/handle.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::proto {

namespace {
bool all_different(std::vector<std::uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

/// Finds out whether a child owns a host or a process: it does if its subtree has it.
class OwnedByChild final : public wire::Ownership {
public:
  OwnedByChild(const Subtree& subtree, LinkId link) : subtree_(subtree), link_(link) {}

  bool owns(wire::Owned what, std::uint32_t number) const override {
    switch (what) {
      case wire::Owned::host:
        return subtree_.owns(link_, number);
      case wire::Owned::process:
        return subtree_.owns_process(link_, number);
      case wire::Owned::process_once:
        // Output waits for credit, while its process may be moved, or get another number. A launcher that
        // reports a loss may not know yet which processes have been moved away from there.
        return subtree_.has_owned_process(link_, number);
    }
    return false;
  }
  bool owns(wire::Owned what, wire::ProcessSet::Range range) const override {
    if (what == wire::Owned::host) return false;
    if (subtree_.owns_processes(link_, range)) return true;
    if (what == wire::Owned::process || range.first > range.last) return false;
    for (std::uint64_t process = range.first; process <= range.last; ++process) {
      if (!subtree_.has_owned_process(link_, static_cast<std::uint32_t>(process))) return false;
    }
    return true;
  }

private:
  const Subtree& subtree_;
  LinkId link_;
};

/// A launcher hands back hosts that it was given to start, not its own, each once, and none that is up.
bool may_say(const Seat& seat, LinkId link, const wire::HandBack& message) {
  std::vector<std::uint32_t> hosts;
  for (const wire::HostFailure& entry : message.hosts) hosts.push_back(entry.host);
  return all_different(hosts) && std::all_of(hosts.begin(), hosts.end(), [&](std::uint32_t host) {
           return seat.launch.gave(link, host) && !seat.launch.subtree().find(host)->answered;
         });
}

/// A child may say that of its own processes and hosts alone, and only where it is wanted.
bool may_say_for_watchers(const Seat& seat, LinkId link, const wire::Facts& facts) {
  const Subtree& subtree = seat.launch.subtree();
  const auto ended = [&](const wire::ProcessSet::Range& range) {
    return subtree.owns_processes(link, range);
  };
  const auto started = [&](const wire::StartedBy& each) {
    return subtree.owns(link, each.host) && subtree.owns(link, each.by);
  };
  if (!seat.job.names_who_started() && !facts.started_by.empty()) return false;
  if (!seat.job.names_who_ended() && !facts.who_ended.empty()) return false;
  return std::all_of(facts.who_ended.begin(), facts.who_ended.end(), ended) &&
         std::all_of(facts.started_by.begin(), facts.started_by.end(), started);
}

/// Of all processes of a host at once, or of one.
bool may_name(const Subtree& subtree, LinkId link, const wire::ProcessIds& told) {
  const Subtree::Entry* host = subtree.find(told.host);
  if (!subtree.owns(link, told.host)) return false;
  if (told.ids.size() == 1) return subtree.has_owned_process(link, told.first);
  return told.first == host->first_process && told.ids.size() == host->processes;
}

/// Facts are about the child's own hosts and processes, none of them told twice, and no count is beyond its
/// processes.
bool may_say(const Seat& seat, LinkId link, const wire::Facts& facts, std::uint32_t epoch) {
  const Subtree& subtree = seat.launch.subtree();
  const Child& child = seat.launch.children().at(link);
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
    bool owned = seat.job.provision.by_topology() && told.topology.sockets > 0 && told.topology.cores > 0 &&
                 told.topology.pus > 0;
    for (std::uint32_t i = 0; owned && i < told.hosts; ++i) owned = subtree.owns(link, told.first_host + i);
    return owned;
  };
  const auto own = [&](std::uint32_t index) { return subtree.owns(link, index); };
  const auto named = [&](const wire::ProcessIds& told) { return may_name(subtree, link, told); };
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
         std::all_of(facts.blind.begin(), facts.blind.end(), own) &&
         std::all_of(facts.process_ids.begin(), facts.process_ids.end(), named) &&
         may_say_for_watchers(seat, link, facts) && (!facts.code || process(facts.code->process)) &&
         (!facts.first_ok || process(*facts.first_ok)) &&
         fits(facts.crash_acks, facts.epoch == epoch ? child.crash_acks : 0) &&
         fits(facts.registered, child.registered) && fits(facts.joined, 0) &&
         // There it may be said again who has ended, or processes come from elsewhere.
         (seat.job.repairs() || seat.job.loss.recovery == wire::Recovery::in_place ||
          fits(finished, child.finished)) &&
         std::all_of(facts.barrier.begin(), facts.barrier.end(),
                     [&](auto entered) { return fits(entered, 0); });
}

/// A child speaks for the processes of its hosts alone, and each of them gives every other one pair.
bool may_say(const Seat& seat, LinkId link, const wire::QueuePairs& block) {
  if (!block.well_formed() || block.sources == 0 || block.targets == 0 || block.sources > seat.job.processes)
    return false;
  const std::uint64_t most =
      std::uint64_t{seat.launch.subtree().most_processes_of(link)} * seat.job.processes;
  const std::uint64_t given = seat.launch.children().at(link).queue_pairs;
  if (given + std::uint64_t{block.sources} * block.targets > most) return false;
  for (std::uint32_t i = 0; i < block.sources; ++i) {
    if (!seat.launch.subtree().owns_process(link, block.first_source + i)) return false;
  }
  return true;
}

/// Checks all that holds for a message, first that it names only what its sender owns.
bool may_say(const Seat& seat, LinkId link, const wire::Message& message, std::uint32_t epoch) {
  const Subtree& subtree = seat.launch.subtree();
  const auto is_told = [&](std::uint32_t host, Subtree::Told what) {
    return subtree.find(host)->has_told(what);
  };
  const wire::MessageType& type = message.type();
  if (type.goes_down() || !type.names_own(message.bytes(), OwnedByChild{subtree, link})) return false;
  if (!type.is_judged) return true;
  return handle(
      message, [&](const wire::Facts& m) { return may_say(seat, link, m, epoch); },
      [&](const wire::Output& m) {
        return m.stream == 1 || m.stream == 2 || (m.stream == 3 && seat.job.terminal);
      },
      [&](const wire::QueuePairsUp& m) { return may_say(seat, link, m.block); },
      [&](const wire::Fenced&) { return seat.job.loss.recovery == wire::Recovery::in_place; },
      [&](const wire::NewHostKey& m) { return seat.launch.gave(link, m.host); },
      [&](const wire::Reached&) { return seat.job.repairs(); },
      [&](const wire::Waiting&) { return false; },  // Adoptions have taken those that are awaited
      [&](const wire::Claimed&) { return false; }, [&](const wire::Taken&) { return false; },
      [&](const wire::Idle&) { return seat.launch.children().at(link).serves(); },
      [&](const wire::Swept&) { return seat.launch.children().at(link).sweeps(); },
      [&](const wire::Stamps& m) { return seat.job.reports.stamps && !subtree.find(m.host)->stamped; },
      [&](const wire::HandBack& m) { return may_say(seat, link, m); },
      [&](const wire::SignRequest& m) { return seat.launch.gave(link, m.host); },
      [&](const wire::Bindings& m) {
        const auto is_one = [](const wire::Binding& each) {
          return each.pus.size() <= wire::Remit::kMostPus;
        };
        return seat.job.reports.bindings && m.processes.size() == subtree.find(m.host)->processes &&
               !is_told(m.host, Subtree::Told::bindings) &&
               std::all_of(m.processes.begin(), m.processes.end(), is_one);
      },
      [&](const wire::Checkup& m) {
        return seat.job.checkup && !subtree.find(m.host)->answered &&
               !is_told(m.host, Subtree::Told::checkup) && m.errors.size() <= wire::Checkup::kMaxErrors;
      });
}

bool has_clock(const wire::Message& message) {
  bool has_clock = true;
  handle(message, [&](const wire::Hello& m) { has_clock = m.clock != kNever; });
  return has_clock;
}

/// What a host tells once in a run.
void note_told(Launch& launch, LinkId link, const wire::Message& message) {
  using Told = Subtree::Told;
  handle(
      message, [&](const wire::Checkup& m) { launch.subtree().told(m.host, Told::checkup); },
      [&](const wire::Bindings& m) { launch.subtree().told(m.host, Told::bindings); },
      [&](const wire::QueuePairsUp& m) {
        launch.find(link)->queue_pairs += std::uint64_t{m.block.sources} * m.block.targets;
      });
}

/// Shortens the texts of one child to what it may say.
class Cutter final : public wire::TextCutter {
public:
  Cutter(Allowances& allowances, LinkId link, Instant now)
      : allowances_(allowances), link_(link), now_(now) {}
  void operator()(std::string& text) override { allowances_.cut(link_, text, now_); }

private:
  Allowances& allowances_;
  LinkId link_;
  Instant now_;
};

}  // namespace

wire::Remit Trust::remit(const Launch& launch, const wire::JobSpec& job, LinkId link, bool is_claimed) {
  const auto found = launch.children().find(link);
  if (found == launch.children().end()) return {0, 0};
  if (found->second.adopts() || is_claimed) return {job.hosts, job.processes};
  return {found->second.below.size() + 1, launch.subtree().most_processes_of(link)};
}

Error Trust::lie() {
  return Error{Errc::bad_peer, Phase::run, "its launcher spoke for hosts that it was not given"};
}

std::optional<Error> Trust::refusal(LinkId link, const wire::Message& message, std::uint32_t epoch,
                                    Turn& turn) {
  const Seat seat = turn.seat();
  if (!may_say(seat, link, message, epoch)) return lie();
  if (!has_clock(message)) return Error{Errc::bad_peer, Phase::run, "its launcher has no clock"};
  allowances_.set(link, remit(seat.launch, seat.job, link, false));
  if (message.type().is_counted && !allowances_.message(link, turn.now()))
    return Error{Errc::bad_peer, Phase::run, "its launcher said more than there can be to say"};
  note_told(seat.launch, link, message);
  return {};
}

bool Trust::has_room(LinkId link, const wire::Message& message, Instant now) {
  bool has_room = true;
  handle(message, [&](const wire::Note& m) { has_room = allowances_.line(link, m.text.size(), now); });
  return has_room;
}

void Trust::shorten_texts(LinkId link, wire::Message& message, Instant now) {
  if (message.is<wire::Note>()) return;
  Cutter cut{allowances_, link, now};
  message.type().cut_texts(message.bytes(), cut);
}

void Trust::leave_out_lines(LinkId link, std::size_t from, Turn& turn) {
  const Overloaded look{[&](const Say& say) {
                          return say.tone != Tone::error &&
                                 !allowances_.line(link, say.text.size(), turn.now());
                        },
                        [](const auto&) { return false; }};
  const auto too_much = [&](const Action& each) { return dispatch(look, each); };
  Actions& out = turn.out();
  const auto begin = out.begin() + static_cast<std::ptrdiff_t>(from);
  out.erase(std::remove_if(begin, out.end(), too_much), out.end());
}

void Trust::tell_left_out(const Launch& launch, Turn& turn, bool all) {
  for (const auto& [link, lines] : allowances_.take_left_out(turn.now(), all)) {
    const auto child = launch.children().find(link);
    if (child == launch.children().end()) continue;
    turn.act(
        Say{Tone::info, fmt::format("{} more {} from {} {} left out", lines, lines == 1 ? "line" : "lines",
                                    child->second.host.name, lines == 1 ? "was" : "were")});
  }
}

}  // namespace charmtree::proto
