// SPDX-License-Identifier: Apache-2.0
// Processes 2, 3 and 4 of six on one host, for tests of what becomes of it when some are lost.
#pragma once

#include <catch2/catch.hpp>

#include "tests/unit/what_happened.hpp"
#include "tree/job/host_processes.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::test {

class ThreeProcesses {
public:
  static constexpr Instant kNow{1s};

  /// Started. `job` is for six.
  explicit ThreeProcesses(wire::JobSpec job) {
    job.processes = 6;
    Host host;
    host.first_process = 2;
    host.processes = 3;
    processes.emplace(std::make_shared<wire::JobSpec>(std::move(job)), host);
    on(proto::Prepared{0x0A000001});
    processes->spawn(out);
    for (std::uint32_t process = 2; process < 5; ++process) on(proto::Spawned{process});
  }
  /// Native ones, by connections of their numbers; all have their table.
  void all_register() {
    for (std::uint32_t process = 2; process < 5; ++process) joins(process, process);
    wire::NodeTable table{0, 1, {{0, 0, 1, {{}, {}}}, up.facts.blocks.at(0), {9, 5, 1, {{}}}}};
    processes->table(wire::encode(table), kNow, out, up);
    forget();
  }
  void joins(proto::ClientId client, std::uint32_t process) {
    on(proto::ClientOpened{proto::ClientKind::native, client});
    says(client, wire::native::Hello{wire::native::kVersion, process, 1, "test"});
    says(client, wire::native::Put{"tuple"});
  }
  template <class E>
  void on(const E& event) {
    processes->on(event, kNow, out, up);
  }
  void says(proto::ClientId client, const wire::native::FromClient& message) {
    on(proto::ClientBytes{proto::ClientKind::native, client, wire::native::to_frame(message)});
  }
  void forget() {
    out.clear();
    up = {};
  }
  std::uint32_t entered(proto::BarrierKind kind = proto::BarrierKind::all) const {
    return up.facts.barrier[static_cast<std::size_t>(kind)];
  }

  std::optional<proto::HostProcesses> processes;
  proto::Actions out;
  proto::Upward up;
};

}  // namespace charmtree::test
