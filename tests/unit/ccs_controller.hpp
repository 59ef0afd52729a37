// SPDX-License-Identifier: Apache-2.0
// A router of CCS requests, its clients and its processes.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ccs/router.hpp"
#include "tests/unit/charm_capture.hpp"
#include "tree/wire/big_endian.hpp"

namespace charmtree::ccs_controller {

using charm_capture::hex;

inline constexpr std::uint32_t kOwn = 0x0A000001, kPeer = 0xC0000207;

inline Instant at(Duration since_start) {
  return Instant{since_start};
}

/// A request as a stock client sends it. `pe` and the list in hex.
inline std::string request(std::string_view pe, std::string_view handler, const std::string& data = {},
                           std::string_view pes = "") {
  std::string bytes = wire::make_ccs_reply_head(static_cast<std::uint32_t>(data.size())) + hex(pe);
  bytes.append(handler).append(wire::kCcsHandler - handler.size(), '\0');
  return bytes + hex(pes) + data;
}

/// The token of the request of that number, from 1, of a router whose secret is all zeros.
inline std::uint32_t token(std::uint32_t number) {
  return ccs::TokenSeal{{}}.seal(number);
}
inline std::string token_bytes(std::uint32_t number) {
  std::string bytes;
  wire::write_u32(bytes, token(number));
  return bytes;
}

inline ccs::Plan plan_with(Duration timeout) {
  ccs::Plan plan{kOwn};
  plan.timeout = timeout;
  return plan;
}

/// A job of 4 processes with 2 PEs each, and what has become of its clients' requests.
class Controller {
public:
  explicit Controller(bool started = true) : Controller(ccs::Plan{kOwn}, started) {}
  explicit Controller(ccs::Plan plan, bool started = true) : router(std::move(plan)) {
    if (started) start();
  }
  void start() { router.start({4, 2}, at(0s), out, down); }
  void opens(proto::ClientId client, std::uint32_t address = kPeer, Duration now = 0s) {
    router.on(proto::ClientOpened{proto::ClientKind::ccs, client, address, 4242}, at(now), out);
  }
  void says(proto::ClientId client, const std::string& bytes, Duration now = 0s) {
    router.on(proto::ClientBytes{proto::ClientKind::ccs, client, bytes}, at(now), out, down);
  }
  void asks(proto::ClientId client, const std::string& bytes) {
    opens(client);
    says(client, bytes);
  }
  /// The request of that number. False: too many answers that nobody was asked for.
  bool answers(std::uint32_t process, std::uint32_t number, const std::string& bytes) {
    const auto length = static_cast<std::uint32_t>(bytes.size());
    return router.on(wire::CcsAnswer{process, token(number), true, length, bytes}, at(0s), out, down);
  }
  /// All bytes sent to the client so far.
  std::string got(proto::ClientId client) const {
    std::string bytes;
    for (const proto::Action& action : out) {
      const auto* send = get_if<proto::ClientSend>(&action);
      if (send != nullptr && send->client == client) bytes += send->bytes;
    }
    return bytes;
  }
  bool closed(proto::ClientId client) const {
    return std::any_of(out.begin(), out.end(), [&](const proto::Action& action) {
      const auto* close = get_if<proto::ClientClose>(&action);
      return close != nullptr && close->client == client;
    });
  }
  std::vector<std::string> said() const {
    std::vector<std::string> lines;
    for (const proto::Action& action : out) {
      if (const auto* say = get_if<proto::Say>(&action)) lines.push_back(say->text);
    }
    return lines;
  }
  const wire::CcsForward& sent(std::size_t i) const { return get<wire::CcsForward>(down.at(i).second); }

  ccs::Router router;
  proto::Actions out;
  ccs::Requests down;
};

inline const std::string kNothing = hex("00000000");

}  // namespace charmtree::ccs_controller
