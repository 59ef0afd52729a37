// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/ccs_message.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/big_endian.hpp"

namespace charmtree::wire {

namespace {

// In the forwarded header: address (4), port (4), salt (4), authentication and level (2), handler (32), PE
// (4), token (4), length (4).
constexpr std::size_t kHandlerAt = 14, kTokenAt = 50, kLengthAt = 54;

Error refused(std::string what) {
  return {Errc::bad_peer, Phase::run, std::move(what), {}};
}

std::uint32_t list_size(std::int32_t pe) {
  return pe < -1 ? static_cast<std::uint32_t>(-std::int64_t{pe}) : 0;
}

Result<void> check_list(std::vector<std::uint32_t> pes, std::uint32_t pes_of_job) {
  std::sort(pes.begin(), pes.end());
  if (pes.back() >= pes_of_job)
    return refused(fmt::format("asked for PE {}; the job has {}", pes.back(), pes_of_job));
  if (std::adjacent_find(pes.begin(), pes.end()) != pes.end()) return refused("named a PE twice");
  return {};
}

}  // namespace

bool is_whole_ccs_request(std::string_view bytes) {
  if (bytes.size() < kCcsRequestHeader) return false;
  const std::size_t listed = list_size(static_cast<std::int32_t>(read_u32(bytes, 4)));
  return bytes.size() >= kCcsRequestHeader + 4 * listed + read_u32(bytes, 0);
}

Result<std::optional<CcsRequest>> parse_ccs_request(std::string_view bytes, std::uint32_t pes_of_job) {
  if (bytes.size() < kCcsRequestHeader) return std::optional<CcsRequest>{};
  const std::uint32_t length = read_u32(bytes, 0);
  if (length > kMaxCcsRequest)
    return refused(fmt::format("sent a request of {} bytes; the limit is {}", length, kMaxCcsRequest));
  CcsRequest request;
  request.pe = static_cast<std::int32_t>(read_u32(bytes, 4));
  const std::uint32_t listed = list_size(request.pe);
  if (listed > pes_of_job)
    return refused(fmt::format("asked for {} PEs; the job has {}", listed, pes_of_job));
  // What else is wrong is said when all has come: who is still writing would not read it.
  if (!is_whole_ccs_request(bytes)) return std::optional<CcsRequest>{};
  if (request.pe >= 0 && static_cast<std::uint32_t>(request.pe) >= pes_of_job)
    return refused(fmt::format("asked for PE {}; the job has {}", request.pe, pes_of_job));
  const std::size_t data_at = kCcsRequestHeader + std::size_t{4} * listed;
  for (std::size_t at = kCcsRequestHeader; at < data_at; at += 4) request.pes.push_back(read_u32(bytes, at));
  if (listed > 0) {
    if (const auto right = check_list(request.pes, pes_of_job); !right) return right.error();
  }
  request.handler = bytes.substr(8, kCcsHandler - 1);
  request.handler.resize(std::min(request.handler.size(), request.handler.find('\0')));
  request.data = bytes.substr(data_at, length);
  return std::optional<CcsRequest>{std::move(request)};
}

std::string make_ccs_request(const CcsRequest& request) {
  std::string bytes;
  write_u32(bytes, static_cast<std::uint32_t>(request.data.size()));
  write_u32(bytes, static_cast<std::uint32_t>(request.pe));
  bytes.append(request.handler).append(kCcsHandler - request.handler.size(), '\0');
  for (const std::uint32_t pe : request.pes) write_u32(bytes, pe);
  return bytes.append(request.data);
}

std::string make_ccs_forward(const CcsRequest& request, const CcsOrigin& origin) {
  std::string payload;
  payload.reserve(kCcsForwardedHeader + 4 * request.pes.size() + request.data.size());
  write_u32(payload, origin.address);
  write_u32(payload, origin.port);
  write_u32(payload, origin.signature.reply_salt);
  payload.push_back(origin.signature.is_signed ? '\1' : '\0');
  payload.push_back(static_cast<char>(origin.signature.level));
  payload.append(request.handler).append(kCcsHandler - request.handler.size(), '\0');
  write_u32(payload, static_cast<std::uint32_t>(request.pe));
  write_u32(payload, origin.token);
  write_u32(payload, static_cast<std::uint32_t>(request.data.size()));
  for (const std::uint32_t pe : request.pes) write_u32(payload, pe);
  return payload.append(request.data);
}

CcsForwarded parse_ccs_forwarded(std::string_view payload) {
  return {read_u32(payload, kTokenAt), read_u32(payload, kLengthAt)};
}

Result<CcsDelivery> parse_ccs_delivery(std::string_view payload) {
  if (payload.size() < kCcsForwardedHeader) return refused("malformed request");
  const CcsForwarded head = parse_ccs_forwarded(payload);
  std::string_view handler = payload.substr(kHandlerAt, kCcsHandler);
  handler = handler.substr(0, handler.find('\0'));
  const std::string_view data = payload.substr(kCcsForwardedHeader);
  if (data.size() != head.length) return refused("malformed request");
  return CcsDelivery{read_u32(payload, 0), static_cast<std::uint16_t>(read_u32(payload, 4)),
                     std::string{handler}, head.token, data};
}

std::string make_ccs_reply_head(std::uint32_t length) {
  std::string head;
  write_u32(head, length);
  return head;
}

}  // namespace charmtree::wire
