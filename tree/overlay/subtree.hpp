// SPDX-License-Identifier: Apache-2.0
// Which hosts and processes are below a launcher and through which link each is reached. Also the authority
// on what a child may speak for: only hosts that it was given (DESIGN D2), and the processes that are there.
// A host has a range of processes; single ones may have been moved to other hosts since (D24).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tree/turn/events.hpp"
#include "tree/wire/moved_processes.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::proto {

class Subtree {
public:
  /// What is told of a host once in a run.
  enum class Told : std::uint8_t { failure = 1, checkup = 2, bindings = 4 };
  struct Entry {
    LinkId link;  // kParentLink: not handed to a child (yet)
    std::uint32_t first_process;
    std::uint32_t processes;
    std::uint32_t present = 0;             // those that are there, less the moved ones, and others
    bool answered = false;                 // its processes are started, or it has failed
    bool registered = false;               // its tuples have come
    bool stamped = false;                  // its start-up times have come
    std::optional<std::uint32_t> by = {};  // whose launcher started it, as far as that is told
    bool failed = false;                   // for good
    std::uint8_t told = 0;                 // Told, in this run
    bool has_told(Told what) const { return (told & static_cast<std::uint8_t>(what)) != 0; }
  };

  /// A host that this launcher must get started.
  void add(const Host& host);
  /// The host is now reached through `link`.
  void bind(std::uint32_t host, LinkId link);
  /// The host, which had none, gets these processes: it has yet to answer for them.
  void give(const wire::Share& share);
  /// All hosts lose their processes, to be given others. What was said under the old numbers may still come.
  void renumber();
  /// Gives it the processes of this run: it may have had others when it was given to a child.
  void number(Host& host) const;
  /// All hosts with processes have yet to answer for these, too.
  void await_start();
  /// All hosts have yet to answer, but for those that cannot be started, unless that is tried again (`anew`).
  /// `numbered_late`: they lose their processes, too.
  void begin_run(bool numbered_late, bool anew);
  /// These are on that host from now on, which may be none of ours.
  void moved(const wire::Share& share);
  /// The host is no longer ours (handed back).
  void remove(std::uint32_t host);
  void answered(std::uint32_t host);
  /// It cannot be started, and nobody tries any more.
  void failed(std::uint32_t host);
  void registered(std::uint32_t host);
  void stamped(std::uint32_t host);
  void told(std::uint32_t host, Told what);
  /// Its launcher was started, or has been adopted, by that of host `by`.
  void started(const wire::StartedBy& told);

  const Entry* find(std::uint32_t host) const;
  /// The hosts whose launchers that of `host` started, and all that these did.
  std::vector<std::uint32_t> children_of(std::uint32_t host) const;
  std::vector<std::uint32_t> all_below(std::uint32_t host) const;
  /// `host` and all below it are reached through `link`.
  void move(std::uint32_t host, LinkId link);
  /// Every host below `link` has started its processes.
  bool is_up(LinkId link) const;
  /// The link that leads to `process`; nothing if it is not below us or not bound.
  std::optional<LinkId> route(std::uint32_t process) const;
  /// The links that lead to these processes, each with its own; what is not below us is left out.
  std::map<LinkId, std::vector<wire::ProcessSet::Range>> split(
      const std::vector<wire::ProcessSet::Range>& processes) const;
  /// All that lead to processes, without ranges.
  std::map<LinkId, std::vector<wire::ProcessSet::Range>> links_with_processes() const;
  /// Of those below us, or only those that `link` leads to; 0: there are none.
  std::uint32_t lowest_process(std::optional<LinkId> link = {}) const;
  /// True if `host` was given to the child at `link`.
  bool owns(LinkId link, std::uint32_t host) const;
  bool owns_process(LinkId link, std::uint32_t process) const;
  bool owns_processes(LinkId link, wire::ProcessSet::Range range) const;
  /// The process is below `link`, or was before it was moved.
  bool has_owned_process(LinkId link, std::uint32_t process) const;
  /// The processes of all hosts given to the child at `link`, those included that have been moved away since.
  std::uint32_t most_processes_of(LinkId link) const;
  std::vector<std::uint32_t> hosts_below(LinkId link) const;

  /// Which these are.
  std::vector<wire::ProcessSet::Range> processes_below(LinkId link) const;

  /// The groups (`processes`, of which `which` are the lowest) are of processes below `link`.
  template <class Group>
  bool speaks_for(LinkId link, const std::vector<Group>& groups) const {
    const auto is_below = [&](const Group& group) {
      return group.processes <= most_processes_of(link) &&
             std::all_of(group.which.begin(), group.which.end(),
                         [&](const auto& range) { return owns_processes(link, range); });
    };
    return std::all_of(groups.begin(), groups.end(), is_below);
  }

  std::uint32_t processes() const { return processes_; }
  /// Every host below has answered / registered (true for a leaf).
  bool all_answered() const { return answered_ == entries_.size(); }
  bool all_registered() const { return registered_ == entries_.size(); }

private:
  /// Where a process is (null: not below us), and the end of those behind it that are there, too.
  struct Place {
    const Entry* entry;
    std::uint64_t end;
  };
  using Entries = std::map<std::uint32_t, Entry>;  // by host index
  Place place_of(std::uint32_t process) const;
  Entries::iterator host_with(std::uint32_t process);
  const Entry* first_entry_of(std::uint32_t process) const;
  void count_out(const Entry& entry);
  void count_in(Entry& entry, std::uint32_t processes);
  void take_all();
  void put_back_all();

  Entries entries_;
  std::map<std::uint32_t, std::uint32_t> first_processes_;  // first process -> host index
  std::map<LinkId, std::uint32_t> link_processes_;          // of bound hosts
  std::map<LinkId, std::uint32_t> moved_away_;              // from there
  wire::MovedProcesses moved_;
  std::map<LinkId, wire::ProcessSet> former_;  // numbers in this run, before those of now
  std::uint32_t processes_ = 0;
  std::size_t answered_ = 0, registered_ = 0;
};

}  // namespace charmtree::proto
