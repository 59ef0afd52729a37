// SPDX-License-Identifier: Apache-2.0
// CCS (Converse Client-Server), protocol version 2: what a client of a running job sends to the launcher, and
// the header under which the launcher hands it to a process and gets the answer back. All integers are 4
// bytes, big-endian. One request comes on a connection, and one reply goes back: its length and its bytes.
// (Charm++: ccs-server.C, conv-ccs.h.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"

namespace charmtree::wire {

inline constexpr std::size_t kCcsHandler = 32;              // the name's field, NUL included
inline constexpr std::size_t kCcsRequestHeader = 40;        // length, PE, handler
inline constexpr std::size_t kCcsForwardedHeader = 58;      // of `req_fw` and `reply_fw`
inline constexpr std::uint32_t kMaxCcsRequest = 64U << 20;  // data of one request

/// A request as its client sent it.
struct CcsRequest {
  std::int32_t pe = 0;             // -1: all; -k: the k PEs of the list
  std::string handler;             // at most 31 bytes
  std::vector<std::uint32_t> pes;  // if pe < -1
  std::string data;
  friend bool operator==(const CcsRequest&, const CcsRequest&) = default;
};

/// Whether there is a complete request at the beginning of these bytes.
bool is_whole_ccs_request(std::string_view bytes);
/// That request once it is complete, in a job with so many PEs. Error bad_peer: it cannot be right; at once
/// if it has more PEs or data than there can be.
Result<std::optional<CcsRequest>> parse_ccs_request(std::string_view bytes, std::uint32_t pes_of_job);
/// A request as clients send it.
std::string make_ccs_request(const CcsRequest& request);

/// By what its client has signed a request.
struct CcsSignature {
  bool is_signed = false;
  std::uint8_t level = 0;
  std::uint32_t reply_salt = 0;
};

/// Where a request came from and what its answer is called.
struct CcsOrigin {
  std::uint32_t address = 0;  // IPv4, host byte order, as the processes can reach it
  std::uint16_t port = 0;
  std::uint32_t token = 0;  // comes back in the answer
  CcsSignature signature = {};
};
/// Payload of `req_fw`.
std::string make_ccs_forward(const CcsRequest& request, const CcsOrigin& origin);

/// What stands in front of an answer (`reply_fw`), or of a request on its way (`req_fw`).
struct CcsForwarded {
  std::uint32_t token = 0;
  std::uint32_t length = 0;  // of an answer: 0 means that the handler wants none to be sent
};
/// Precondition: payload.size() >= kCcsForwardedHeader.
CcsForwarded parse_ccs_forwarded(std::string_view payload);

/// A request on its way, for a process that is no Charm++ one.
struct CcsDelivery {
  std::uint32_t address = 0;  // of the client: IPv4, host byte order
  std::uint16_t port = 0;
  std::string handler;
  std::uint32_t token = 0;
  std::string_view data;  // of `payload`
};
/// Payload of `req_fw`. Error bad_peer: it is none.
Result<CcsDelivery> parse_ccs_delivery(std::string_view payload);

/// The length in front of a reply to the client.
std::string make_ccs_reply_head(std::uint32_t length);

}  // namespace charmtree::wire
