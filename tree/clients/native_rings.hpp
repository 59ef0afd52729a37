// SPDX-License-Identifier: Apache-2.0
// The rings of the job that native clients of this host are in (kvs/ring has those of the tree). All
// that live here enter one together. With a lost process it fails, here and now: every host hears of losses.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tree/clients/fence_entries.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::proto {

class NativeRings {
public:
  /// `local`: of the job; must outlive the object.
  explicit NativeRings(const LocalProcesses& local) : local_(local) {}

  void enter(ClientId client, std::uint32_t process, wire::native::FenceEnter enter, ClientOutputs& out);
  void over(const RingDone& ring, ClientOutputs& out);
  void lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out);
  /// It is in one that is not over.
  bool is_inside(std::uint32_t process) const { return entries_.entered(process) > 0; }
  void forget(ClientId client) { clients_.erase(client); }

private:
  struct Entry {
    std::uint32_t process = 0;
    ClientId client = 0;
    std::uint32_t id = 0;
    std::string value = {};
  };
  using Entries = FenceEntries<Entry>;
  wire::Fence fence(std::uint32_t number) const;
  /// `ends`: of the runs of this host in the ring that is over, if that is why.
  void settle(const std::vector<wire::RingEnds>& ends, ClientOutputs& out);
  void tell(const Entries::Step& step, const std::vector<wire::RingRun>& runs,
            const std::vector<wire::RingEnds>& ends, ClientOutputs& out) const;

  const LocalProcesses& local_;
  Entries entries_;
  wire::ProcessSet lost_;
  std::set<ClientId> clients_;  // that have entered one, and are there
  std::uint32_t waiting_ = 0;   // the number of the last one that was entered
};

}  // namespace charmtree::proto
