// SPDX-License-Identifier: Apache-2.0
// Which links to children are read. A child whose answers wait on its link is not read until most of them
// have gone, whichever messages they answer; so a child that requests without end and takes nothing fills no
// memory. A child whose messages fill the link of another child is not read meanwhile, either.
//
// This cannot stall launchers that keep the protocol: a launcher always reads its parent, whatever waits on
// its own links, so what goes down always goes on, and a link that is not read is read again. What goes up is
// limited elsewhere (io::Runner::kHighWater). What is requested again anyway (wire::MessageRow::asked_again)
// is dropped where too much waits already, in both directions. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "tree/base/time.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

class LinkFlow {
public:
  /// Bytes that wait on a link, above which its child is not read, and the rest at which it is read again.
  static constexpr std::size_t kHeldAbove = 4U << 20, kReadAgain = 1U << 20;
  /// Above this, children whose messages have added to them are not read, until kHeldAbove is left: one slow
  /// host should not slow others down early. Above this, too, is dropped what is requested again.
  static constexpr std::size_t kMostForOthers = 16U << 20;
  /// So often its owner looks at the links while any is full.
  static constexpr Duration kLook = std::chrono::milliseconds{10};

  enum class Held : std::uint8_t {
    no,
    by_own,     // its own answers wait
    by_others,  // what it has caused waits on another link
  };

  /// `size` bytes were queued on the link to a child, on which `backlog` wait now. `cause`: the child whose
  /// message was handled; nothing: no child's.
  void sent(LinkId link, std::size_t size, std::size_t backlog, std::optional<LinkId> cause, Instant now);
  /// So many bytes wait on the link now.
  void look(LinkId link, std::size_t backlog, Instant now);
  void forget(LinkId link);

  Held held(LinkId link) const;
  /// When a full link took bytes last, or has become full; kNever: it is not full.
  Instant took(LinkId link) const;
  bool any_full() const { return !full_.empty(); }
  std::set<LinkId> full() const;

private:
  struct Full {
    std::size_t backlog = 0;  // when it was last looked at
    Instant took{};
    std::set<LinkId> causes = {};
    void see(std::size_t now_waiting, Instant now);
  };
  std::map<LinkId, Full> full_;
};

}  // namespace charmtree::proto
