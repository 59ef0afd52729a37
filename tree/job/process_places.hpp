// SPDX-License-Identifier: Apache-2.0
// Which processes are on which host by now: where the job's list of hosts has them, unless they were moved
// when their host was lost; and of those that processes have had started. Who has ended as it should is known
// only where somebody asks for the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/moved_processes.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::proto {

class ProcessPlaces {
public:
  /// `hosts` is the job's list, in order; must outlive this object. It may be numbered anew.
  explicit ProcessPlaces(const std::vector<Host>& hosts) : hosts_(hosts) {}

  /// They are on another host from now on.
  void move(const wire::Share& share);
  /// These, which have the next numbers, belong to the job from now on.
  void begin(const wire::Share& share) { begun_.push_back(share); }
  /// These have ended as they should.
  void finished(wire::ProcessSet::Range processes) { finished_.add(processes); }

  const Host& host_of(std::uint32_t process) const;
  /// Returns the names of the hosts of these processes, folded: "h[01-03]".
  std::string names_of(const wire::ProcessSet& processes) const;
  /// Returns true if no host has several processes.
  bool has_one_each() const;
  const wire::MovedProcesses& moved() const { return moved_; }
  /// Those that are on this host and have not ended as they should, in order.
  std::vector<std::uint32_t> unfinished_on(std::uint32_t host) const;
  bool any_finished_on(std::uint32_t host) const;
  /// "host: run: process 3: killed by signal 9 (Killed)"
  std::string about(std::uint32_t process, Phase phase, const std::string& what) const;

private:
  std::vector<std::uint32_t> processes_on(std::uint32_t host) const;

  const std::vector<Host>& hosts_;
  std::vector<wire::Share> begun_;
  wire::MovedProcesses moved_;
  wire::ProcessSet finished_;
};

}  // namespace charmtree::proto
