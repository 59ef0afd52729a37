// SPDX-License-Identifier: Apache-2.0
// The stacks of many processes, those with the same one together: what hosts tell is added up, and the sum
// stays as small as Stacks may be. If there are too many groups or functions, the innermost frames are
// left out until they fit. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stacks/messages.hpp"

namespace charmtree::stacks {

class StackSet {
public:
  using Ranges = std::vector<wire::ProcessSet::Range>;

  /// One process, which is in no group yet. `frames`: the outermost first; of more than kMostStackFrames
  /// those in the middle are left out.
  void add(std::uint32_t process, const std::vector<std::string>& frames, Motion motion);
  /// What these do is not known, and why.
  void add_unread(const Ranges& processes, std::string_view why);
  /// Of other processes; sound.
  void add(const Stacks& more);
  bool empty() const { return groups_.empty(); }
  /// The largest groups first.
  Stacks take();

private:
  using Key = std::pair<std::vector<std::uint32_t>, Motion>;
  std::uint32_t place_of(std::string_view name);
  void put(Key key, std::uint32_t processes, const Ranges& which);
  std::size_t names_used() const;
  void fit();

  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> places_;
  std::map<Key, wire::ProcessGroup> groups_;
  std::size_t deepest_ = kMostStackFrames;  // frames that are kept
};

}  // namespace charmtree::stacks
