// SPDX-License-Identifier: Apache-2.0
// Which processes of the job are silent, as their launchers tell the root, and what the user is to read about
// it: those that fall silent or speak again at about the same time together.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/wire/process_set.hpp"
#include "tree/wire/silence.hpp"

namespace charmtree::proto {

class Silences {
public:
  /// What comes so soon after another is told with it.
  static constexpr Duration kTogether = 500ms;

  void on(const wire::Silence& told, Instant now);
  /// These are lost or have ended: nobody waits for a word of theirs.
  void gone(wire::ProcessSet::Range processes);
  /// Those of one state, and how long the shortest silence of them has lasted.
  struct News {
    wire::Silence::State state;
    std::vector<std::uint32_t> processes;
    Duration least;
  };
  /// What is to be told now, by state.
  std::vector<News> take(Instant now);
  Instant next_deadline() const { return due_; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(silent_.size()); }
  wire::ProcessSet silent() const;

private:
  std::map<std::uint32_t, wire::Silence> silent_;
  std::map<std::uint32_t, wire::Silence> untold_;  // the last of each process
  Instant due_ = kNever;
};

}  // namespace charmtree::proto
