// SPDX-License-Identifier: Apache-2.0
// The answer to a CCS request as it leaves its host.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "tree/clients/client_server.hpp"
#include "tree/wire/ccs_message.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/pieces.hpp"

namespace charmtree::proto {

/// That of a process that will never give one. `why`: what stands behind "process N". Stock clients break on
/// no reply at all: theirs is empty.
inline RequestAnswered failed_request(std::uint32_t process, std::uint32_t token, std::string_view why) {
  return {process, token, true, {}, fmt::format("process {} {}", process, why)};
}
/// `request`: payload of `req_fw`, with its whole header.
inline RequestAnswered failed_request(std::uint32_t process, std::string_view request, std::string_view why) {
  return failed_request(process, wire::parse_ccs_forwarded(request).token, why);
}

/// At least one.
inline std::vector<wire::CcsAnswer> pieces(const RequestAnswered& answer) {
  std::vector<wire::CcsAnswer> pieces;
  wire::for_each_piece(answer.bytes, wire::kCcsPiece, [&](std::string_view bytes, bool) {
    pieces.push_back({answer.process, answer.token, answer.answered,
                      static_cast<std::uint32_t>(answer.bytes.size()), std::string{bytes}, answer.failure,
                      answer.merge});
  });
  return pieces;
}

}  // namespace charmtree::proto
