// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/mpi_server.hpp"

#include <fmt/format.h>

#include "tree/clients/ccs_answer.hpp"

namespace charmtree::proto {

void MpiServer::request(std::uint32_t process, std::string payload, ClientOutputs& out) {
  out.push_back(failed_request(process, payload, "takes no requests"));
}

Aborted MpiServer::abort(std::uint32_t process, int code, std::string_view why, std::string_view unsaid) {
  const bool says_why = !why.empty() && why != unsaid;
  return {process, code, fmt::format("MPI_Abort{}{}", says_why ? ": " : "", says_why ? why : "")};
}

}  // namespace charmtree::proto
