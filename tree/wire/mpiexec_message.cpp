// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/mpiexec_message.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/codec.hpp"

namespace charmtree::wire {

namespace {

enum Type : std::uint8_t { rank_report = 1, begin = 65 };

constexpr std::string_view kDigits = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

/// Empty if it is not hexadecimal.
std::string from_hex(std::string_view text) {
  std::string bytes;
  if (text.size() % 2 != 0) return bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]), low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return bytes;
}

/// It stands at the beginning of lines of ours.
bool may_be_host(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '.' || c == '_';
  });
}

}  // namespace

std::string to_line(const Ticket& ticket) {
  Writer out;
  out.string(ticket.version);
  out.string(ticket.secret);
  out.varint(ticket.processes);
  out.svarint(ticket.patience.count());
  out.string(ticket.script);
  out.varint(ticket.places.size());
  for (const std::string& place : ticket.places) out.string(place);
  return to_hex(out.bytes());
}

Result<Ticket> ticket_of(std::string_view line, std::string_view version) {
  const Error no_ticket{Errc::bad_input, Phase::hello, "this is not what a script of ++mpiexec says"};
  if (line.size() > Ticket::kMostBytes) return no_ticket;
  const std::string bytes = from_hex(line);
  Reader in{bytes};
  Ticket ticket;
  ticket.version = in.string();
  if (in.ok() && !ticket.version.empty() && ticket.version != version) {
    return Error{
        Errc::wrong_version, Phase::hello,
        fmt::format("charmrun here is version {}, the one that called mpiexec {}", version, ticket.version)};
  }
  ticket.secret = in.string();
  ticket.processes = in.u32();
  ticket.patience = Duration{in.sbounded(0, INT64_MAX / 2)};
  ticket.script = in.string();
  for (std::size_t left = in.count(Ticket::kMostPlaces); left > 0; --left)
    ticket.places.push_back(in.string());
  if (!in.finished() || ticket.secret.size() != Ticket::kSecret) return no_ticket;
  return ticket;
}

std::string to_frame(const RankReport& report) {
  FrameWriter out;
  out.string(std::string_view{report.host}.substr(0, RankReport::kMostText));
  out.varint(report.rank);
  out.varint(report.size);
  out.string(std::string_view{report.trouble}.substr(0, RankReport::kMostText));
  return out.take_frame(rank_report);
}

Result<RankReport> decode_rank_report(const Frame& frame) {
  Reader in{frame.payload};
  RankReport report;
  report.host = in.string(RankReport::kMostText);
  report.rank = in.u32();
  report.size = in.u32();
  report.trouble = in.string(RankReport::kMostText);
  if (frame.type != rank_report || !in.finished() || !may_be_host(report.host))
    return Error{Errc::bad_peer, Phase::hello, "it said something else than its rank"};
  return report;
}

std::string begin_frame() {
  return make_frame(begin, {});
}

bool is_begin(const Frame& frame) {
  return frame.type == begin && frame.payload.empty();
}

}  // namespace charmtree::wire
