// SPDX-License-Identifier: Apache-2.0
// Processes whose hosts are lost, to be started again on others (DESIGN D24): when, since none may run twice,
// and where. Knows nothing of links or programs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class Relocation {
public:
  /// Nothing is left of a job on a host that nobody reaches when this time has passed.
  explicit Relocation(Duration bound) : bound_(bound) {}

  /// These were on that host, from which nothing is heard any more. Not `bounded`: only fenced() is proof
  /// there.
  void lost(std::uint32_t host, std::vector<std::uint32_t> processes, Instant now, bool bounded = true);
  /// Nothing of the job is left there.
  void fenced(std::uint32_t host);
  /// Processes whose old selves are dead by now, each once; those of one host together.
  std::vector<std::vector<std::uint32_t>> take(Instant now);
  /// One for which the time has passed, and proves nothing; those of its host are forgotten.
  std::optional<std::uint32_t> take_hopeless(Instant now);
  Instant next_deadline() const;

private:
  struct Group {
    std::vector<std::uint32_t> processes;
    Instant dead_by;
    bool is_proof = true;  // that this time has passed
  };
  Duration bound_;
  std::map<std::uint32_t, Group> groups_;  // by host
};

/// A host that can take processes, and how many it has.
struct Shelter {
  std::uint32_t host;
  std::uint32_t processes;
};
/// Where they go: all of them to the first host that has none, else each to the one with the fewest.
/// Precondition: there is a host; its count grows by what it gets.
std::vector<wire::Share> shelter(const std::vector<std::uint32_t>& processes, std::vector<Shelter>& hosts);

}  // namespace charmtree::proto
