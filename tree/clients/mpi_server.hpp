// SPDX-License-Identifier: Apache-2.0
// What the servers of MPI programs (PMI, PMIx) have in common: their processes find each other by fences, and
// need neither a node table nor what Charm++ prints, asks and is told over its connection.
#pragma once

#include <string>
#include <string_view>

#include "tree/clients/client_server.hpp"

namespace charmtree::proto {

class MpiServer : public ClientServer {
public:
  bool fork(std::uint32_t, std::uint32_t, ClientOutputs&) override { return false; }
  void table(const wire::Blob&, ClientOutputs&) override {}
  void release(BarrierKind, ClientOutputs&) override {}
  void printed(std::uint32_t, ClientOutputs&) override {}
  void scanned(std::uint32_t, std::string_view, ClientOutputs&) override {}
  void request(std::uint32_t process, std::string payload, ClientOutputs& out) override;
  void queue_pairs(std::uint32_t, std::string_view, ClientOutputs&) override {}
  void finish(ClientOutputs&) override {}
  ProgramKind program() const override { return ProgramKind::mpi; }

protected:
  /// The connection ended before that.
  static constexpr const char* kLeftEarly = "it left without MPI_Finalize";
  /// `unsaid`: the library's own word where the program gives no reason.
  static Aborted abort(std::uint32_t process, int code, std::string_view why, std::string_view unsaid);
};

}  // namespace charmtree::proto
