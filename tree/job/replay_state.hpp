// SPDX-License-Identifier: Apache-2.0
// What a launcher has said for good of its own processes and those below: who has ended, how, and who is
// lost. A new parent is told all of it again, since nobody knows how much of it the old one has passed on. So
// everybody on the way to the root may hear it twice, and passes on only what is new.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class ReplayState {
public:
  /// Leaves in `facts` what is not known yet of who has ended, and remembers it.
  void sift(wire::Facts& facts);
  /// A message that matters later, too, is remembered: a LinkLost with processes, an AbortUp.
  void note(const wire::Message& message);
  /// Everybody has been told of these: it need not be said again that they are lost.
  void forget_lost(const wire::ProcessSet& lost);

  /// All of it, as facts whose counts of processes are 0: these were told by the first to hear them.
  wire::Facts facts() const;
  const std::vector<wire::Message>& messages() const { return messages_; }

private:
  wire::ProcessSet ended_;
  std::set<std::uint32_t> exited_;
  std::vector<wire::ProcessExit> exits_;
  std::optional<wire::Code> code_;
  std::optional<std::uint32_t> first_ok_;
  // A host tells of all processes that it starts with, then of those that come later one by one.
  std::map<std::uint32_t, wire::ProcessIds> ids_of_hosts_, ids_of_single_;  // by the first process
  std::vector<wire::Message> messages_;
};

}  // namespace charmtree::proto
