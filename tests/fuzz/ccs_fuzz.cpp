// SPDX-License-Identifier: Apache-2.0
// Any bytes from three clients of a job with keys, in any pieces: a request goes down only whole and right,
// and whoever has no key of level 0 gets none through. The first byte of each piece says whose it is and how
// long it is.
#include <cstdint>
#include <string>

#include "ccs/router.hpp"
#include "tests/fuzz/script.hpp"

namespace {

using namespace charmtree;

constexpr std::uint32_t kProcesses = 3, kPesEach = 2;

using charmtree::fuzz::require;

ccs::Plan plan(bool keys_only) {
  ccs::Plan plan{0x0A000001};
  plan.keys.set(1, {ccs::Key{1, 2, 3, 4, 5, 6, 7, 8}});
  if (keys_only) plan.keys.set(0, {ccs::Key{8, 7, 6, 5, 4, 3, 2, 1}});
  plan.denied = {"denied"};
  plan.timeout = 1s;
  return plan;
}

void check(const wire::CcsSpread& piece) {
  require(piece.first && piece.last && wire::parse_ccs_delivery(piece.bytes).ok());
  require(piece.everybody == piece.processes.empty());
  for (const auto& range : piece.processes) require(range.first <= range.last && range.last < kProcesses);
}

void check(const ccs::Requests& down, bool keys_only) {
  require(down.empty() || !keys_only);  // no fuzzer finds a hash
  std::string payload;
  for (const auto& [process, message] : down) {
    if (const auto* spread = get_if<wire::CcsSpread>(&message)) {
      check(*spread);
      continue;
    }
    const auto& piece = get<wire::CcsForward>(message);
    require(process < kProcesses && piece.process == process);
    payload += piece.bytes;
    if (!piece.last) continue;
    require(payload.size() >= wire::kCcsForwardedHeader);
    require(payload[14 + wire::kCcsHandler - 1] == '\0');
    payload.clear();
  }
  require(payload.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool keys_only = (data[0] & 1) != 0, native = (data[0] & 64) != 0;
  ccs::Router router{plan(keys_only)};
  proto::Actions out;
  ccs::Requests down;
  const Instant now{1s};
  for (proto::ClientId id = 1; id <= 3; ++id)
    router.on(proto::ClientOpened{proto::ClientKind::ccs, id, 0x7F000001, 1}, now, out);
  if ((data[0] & 2) != 0) router.start({kProcesses, kPesEach, native}, now, out, down);
  for (std::size_t at = 1; at < size;) {
    const proto::ClientId id = 1 + data[at] % 3;
    const std::size_t length = std::min<std::size_t>(1 + data[at] / 3, size - at);
    const std::string bytes{reinterpret_cast<const char*>(data + at), length};
    router.on(proto::ClientBytes{proto::ClientKind::ccs, id, bytes.substr(1)}, now, out, down);
    at += length;
  }
  router.start({kProcesses, kPesEach, native}, now, out, down);
  router.printed("text", out);
  if ((data[0] & 128) != 0) router.on(proto::ClientClosed{proto::ClientKind::ccs, 2, true}, now, out);
  if ((data[0] & 4) != 0) router.on(proto::ClientClosed{proto::ClientKind::ccs, 1}, now, out);
  if ((data[0] & 8) != 0) router.gone(1, now, out, down);
  if ((data[0] & 16) != 0) router.start({}, now, out, down);
  for (std::uint32_t token = 1; token <= 3; ++token) {
    const std::string failure = (data[0] & 32) != 0 ? "gone" : "";
    router.on(wire::CcsAnswer{0, token, token != 2, 4, "re", failure}, now, out, down);
  }
  check(down, keys_only);
  router.tick(now + 2s, out, down);
  for (proto::ClientId id = 1; id <= 3; ++id)
    router.on(proto::ClientClosed{proto::ClientKind::ccs, id}, now, out);
  for (std::uint32_t token = 4; token <= 40; ++token)
    router.on(wire::CcsAnswer{0, token, false, 0, {}}, now, out, down);
  require(router.unanswered(0).size() <= 3);  // those that were cut off in the middle of an answer
  router.finish(out);
  return 0;
}
