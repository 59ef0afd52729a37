// SPDX-License-Identifier: Apache-2.0
// What becomes of a CCS request that the process it is for will never answer. Stock clients break on no
// reply at all: theirs is empty.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "tree/proto/client_server.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree::proto {

/// `request`: payload of `req_fw`, with its whole header; `why`: what stands behind "process N".
inline RequestAnswered failed_request(std::uint32_t process, std::string_view request, std::string_view why) {
  return {process,
          wire::parse_ccs_forwarded(request).token,
          true,
          {},
          fmt::format("process {} {}", process, why)};
}

}  // namespace charmtree::proto
