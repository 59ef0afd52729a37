// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/mpiexec_message.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/describe.hpp"

namespace charmtree::wire {

template <>
inline constexpr std::size_t kMostText<Ticket> = Ticket::kMostBytes;
template <>
inline constexpr std::uint64_t kMostElements<Ticket> = Ticket::kMostPlaces;
template <>
inline constexpr std::size_t kMostText<RankReport> = RankReport::kMostText;
template <>
inline constexpr bool kMayBeCut<RankReport> = true;

CT_MEMBERS(Ticket, s.version, s.secret, s.processes, s.patience, s.script, s.places)
CT_MEMBERS(RankReport, s.host, s.rank, s.size, s.trouble)

static bool is_sound(const Ticket& ticket) {
  return ticket.secret.size() == Ticket::kSecret && ticket.patience >= Duration{0};
}

/// The host stands at the beginning of lines of ours.
static bool is_sound(const RankReport& report) {
  return std::all_of(report.host.begin(), report.host.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '.' || c == '_';
  });
}

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

}  // namespace

std::string to_line(const Ticket& ticket) {
  Writer out;
  put(out, ticket);
  return to_hex(out.bytes());
}

/// The version comes first, so that what follows may be different in another one.
Result<Ticket> ticket_of(std::string_view line, std::string_view version) {
  const Error no_ticket{Errc::bad_input, Phase::hello, "this is not what a script of ++mpiexec says"};
  if (line.size() > Ticket::kMostBytes) return no_ticket;
  const std::string bytes = from_hex(line);
  Reader in{bytes};
  const std::string theirs = in.string();
  if (in.ok() && !theirs.empty() && theirs != version) {
    return Error{Errc::wrong_version, Phase::hello,
                 fmt::format("charmrun here is version {}, the one that called mpiexec {}", version, theirs)};
  }
  auto ticket = decode_whole<Ticket>(bytes);
  if (!ticket) return no_ticket;
  return std::move(*ticket);
}

std::string to_frame(const RankReport& report) {
  FrameWriter out;
  put(out, report);
  return out.take_frame(rank_report);
}

Result<RankReport> decode_rank_report(const Frame& frame) {
  auto report = decode_whole<RankReport>(frame.payload);
  if (frame.type != rank_report || !report)
    return Error{Errc::bad_peer, Phase::hello, "it said something else than its rank"};
  return std::move(*report);
}

std::string begin_frame() {
  return make_frame(begin, {});
}

bool is_begin(const Frame& frame) {
  return frame.type == begin && frame.payload.empty();
}

}  // namespace charmtree::wire
