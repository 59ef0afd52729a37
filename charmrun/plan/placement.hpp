// SPDX-License-Identifier: Apache-2.0
// How many processes and PEs a job has and how many of them each host gets, as far as that is known before
// the hosts have told what they are (tree/job/provision). The outcome depends on the order of the hosts and
// the options alone, never on the tree, the transport or time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

/// How many processes, and worker threads in each.
struct Counts {
  std::uint32_t processes = 1;
  std::uint32_t pes_per_process = 1;
  std::vector<std::string> notes;  // for the user, one line each
};

/// Counts by Charm++'s rules (++n, else +p / ++ppn, else +p, else `unsaid`), with the checks that it leaves
/// out: what is given must agree exactly. Error: Errc::bad_input, Phase::options, naming the options that do
/// not agree.
Result<Counts> count_processes(const Options& options, std::uint32_t unsaid = 1);

/// The slots of each host of a list.
struct HostSlots {
  HostSlots(std::vector<std::uint32_t> slots, bool is_given = false)  // NOLINT(google-explicit-constructor)
      : each(std::move(slots)), given(is_given) {}
  std::uint64_t total() const;
  std::vector<std::uint32_t> each;
  bool given = false;  // Nodelist::gives_slots
  /// Where nobody says how many processes there are, and no slots are given, each host gets one; else there
  /// is one in all, as with Charm++.
  bool one_each = false;
  /// Hosts without processes belong to the job, too: processes may be started there later.
  bool with_idle = false;
};

/// The processes of one host: first_process ... first_process + processes - 1.
struct HostShare {
  std::uint32_t host = 0;  // position in the list
  std::uint32_t first_process = 0;
  std::uint32_t processes = 0;
  friend bool operator==(const HostShare&, const HostShare&) = default;
};

struct Placement {
  Counts counts;
  wire::Provision provision;     // by_topology(): the counts are the hosts' to tell, and stand for them only
  std::vector<HostShare> hosts;  // only hosts with processes, unless all are wanted; in list order
};

/// Spreads `processes` over hosts with these slots in blocks: each host gets processes * slots / (all slots)
/// rounded down, and what is left goes one each to the hosts that lost most by rounding, the earlier of
/// equals first. With one slot each, 7 on 3 hosts are 3 + 2 + 2, and 2 on 3 hosts use the first two. No slots
/// at all: no shares.
std::vector<HostShare> share_out(std::uint32_t processes, std::span<const std::uint32_t> slots);

/// Fills the slots of one host after the other, as launchers of MPI do; when all are taken, again from the
/// first host on. No slots at all: as one each.
std::vector<HostShare> fill_slots(std::uint32_t processes, std::span<const std::uint32_t> slots);

/// As `given` says: fill_slots, or else share_out.
std::vector<HostShare> split_among(std::uint32_t processes, std::span<const std::uint32_t> slots, bool given);

/// Counts and shares of a job on a list of hosts, of which ++numHosts may use the first few. Errors as
/// count_processes, and if there are fewer hosts than ++numHosts, or none. With ++plan
/// the hosts that there are (++numHosts of them at most) get as many processes as they have slots. ++doctor
/// wants to see hosts without processes too, and so do HostSlots::with_idle, a session, in which no host has
/// any, and its runs. Where `wish` counts processes by the hosts' units, slots do not weigh: only hosts
/// without any are left out. ++n with ++processPerHost gives each host that many slots.
Result<Placement> place(const Options& options, HostSlots slots, const wire::Provision& wish = {});

/// Returns MPI_UNIVERSE_SIZE where the user gives none: the slots of all hosts, at least the job's processes.
/// 0, which means the number of processes, if that number depends on the hosts' processors.
std::uint32_t universe_size(std::uint64_t slots, const wire::JobSpec& job);

}  // namespace charmtree
