// SPDX-License-Identifier: Apache-2.0
// A PmiServer for processes 2 and 3 of 4, by whichever version they speak; the connection of process n is 10
// + n.
#pragma once

#include <string>
#include <string_view>

#include "tests/unit/what_happened.hpp"
#include "tree/clients/pmi/pmi_server.hpp"

namespace charmtree::test {

struct PmiBench {
  explicit PmiBench(std::uint32_t universe)
      : server{proto::LocalProcesses{2, 2, 4}, proto::PmiJob{"kvs_job_0", "(vector,(0,2,2))", universe}} {}

  void connect(std::uint32_t process) {
    server.made_for(10 + process, process);
    server.opened(10 + process, {}, outputs);
  }
  std::string said_to(std::uint32_t process) const {
    std::string all;
    for (const proto::ToClient& sent : only<proto::ToClient>(outputs)) {
      if (sent.client == 10 + process) all += sent.bytes;
    }
    return all;
  }
  /// Why the process has lost its connection; empty: it has not.
  std::string lost() const {
    const auto all = only<proto::ClientLost>(outputs);
    return all.empty() ? "" : all[0].why;
  }
  /// As hosts give it.
  static std::string pair(std::string_view key, std::string_view value) {
    wire::Writer out;
    out.string(key);
    out.string(value);
    return out.take();
  }

  proto::PmiServer server;
  proto::ClientOutputs outputs;
};

}  // namespace charmtree::test
