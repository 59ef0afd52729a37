// SPDX-License-Identifier: Apache-2.0
// The hosts that a launcher still has to start. take() gives the next host to log into. Late binding (no
// shape): all others stay together, and whoever comes to need some gets them by split(). The static k-ary
// tree of the multi-level start-up paper: contiguous parts in list order, each for one child, which gets its
// part by share() when it has answered; the part of a child that fails goes to the next one.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <vector>

#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

/// The k-ary tree for `hosts` hosts: both given wins; K only: as deep as it takes; D only: the smallest K
/// with K^D >= hosts; neither: 2 levels, K = ceil(sqrt(hosts)).
wire::Shape choose_shape(std::uint32_t hosts, std::uint32_t branching, std::uint32_t levels);

/// True if a tree of this shape cannot hold so many hosts unless its last level widens.
bool widens(const wire::Shape& shape, std::uint32_t hosts);

class HostPool {
public:
  /// `level` of the launcher that owns the pool; the root is 0.
  HostPool(const wire::Shape& shape, std::uint32_t level) : shape_(shape), level_(level) {}

  /// Adds hosts, in list order, to be split among (new) children.
  void add(std::vector<Host> hosts);
  /// Adds a host that must be started from here, with nothing below it.
  void add_single(Host host);

  /// The next host to log into; nothing if the pool is dry.
  std::optional<Host> take();
  /// The hosts for the child that take() gave as `host`; called once, when it has answered.
  std::vector<Host> share(std::uint32_t host);
  /// `host` of take() could not be started: its share goes back and is given to the next host.
  void failed(std::uint32_t host);

  /// Late binding.
  bool is_late() const { return shape_.branching == 0; }
  /// About so many of the hosts that nobody has been given, or as many as there are; the last ones. Names of
  /// one machine stay together: its sshd must not be met by two launchers at a time.
  std::vector<Host> split(std::size_t count);
  /// Hosts for split().
  std::size_t left() const { return rest_.size(); }

  /// There is a host that is bound to be started from here.
  bool has_own() const { return !parts_.empty(); }
  bool empty() const { return parts_.empty() && rest_.empty(); }
  std::size_t waiting() const;
  /// Returns all that have not been given to a child.
  std::vector<Host> clear();

private:
  using Part = std::deque<Host>;  // first: the child, rest: its share

  wire::Shape shape_;
  std::uint32_t level_;
  std::deque<Host> rest_;                              // late binding
  std::list<Part> parts_;                              // not taken
  std::vector<std::pair<std::uint32_t, Part>> taken_;  // host -> its share
};

}  // namespace charmtree::proto
