// SPDX-License-Identifier: Apache-2.0
// Ports for the processes of this host: sockets that are bound, and that nobody else has, one for each
// process and kind. Those of a kind follow each other by the ranks of the processes on the host, if that many
// are free in a row; they are bound together when the first one is asked for. Sockets that have been handed
// out are not kept.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/clients/client_server.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/port_kind.hpp"

namespace charmtree::io {

class HostPorts {
public:
  /// Where rows are sought.
  struct Range {
    std::uint16_t first = 0, last = 0;
  };
  /// Rows are sought in so many places.
  static constexpr int kTries = 32;

  /// Of the machine: where no port is that the kernel gives to who asks for any.
  HostPorts() = default;
  explicit HostPorts(Range range) : range_(range) {}

  /// For the processes of another run. Launchers with the same seed seek in the same places: where the ports
  /// of all hosts are the same, the node table is short.
  void begin(std::uint64_t seed);

  /// The socket for this process. One that has had its socket is in its place again: it gets the same port if
  /// that is free. Error: why there is none.
  Result<UniqueFd> take(const proto::PassedPort& port);

private:
  struct Row {
    bool is_sought = false;
    std::uint16_t first = 0;
    std::vector<UniqueFd> sockets;  // by rank, those that are not handed out; none: there is no row
  };
  void seek(Row& row, const proto::PassedPort& port);

  std::optional<Range> range_;  // none: the machine is asked when a row is sought, which most jobs never do
  std::uint64_t seed_ = 0;
  std::array<Row, wire::kPortKinds> rows_;
};

}  // namespace charmtree::io
