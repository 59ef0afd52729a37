// SPDX-License-Identifier: Apache-2.0
// Messages <-> frames; what they consist of says message_members.hpp.
#include "tree/wire/messages.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tree/base/type_functions.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/message_limits.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::wire {

namespace {

Error malformed_message(std::string_view what) {
  return {Errc::bad_peer, Phase::run, fmt::format("malformed {}", what)};
}

bool is_too_large(const Message& message, std::size_t payload) {
  const auto* facts = get_if<Facts>(&message);
  return payload > most_payload(static_cast<std::uint8_t>(message.index()), {}) ||
         (facts != nullptr && tuple_bytes(facts->blocks) > kMaxTableData);
}

/// Its receiver takes it, but takes no more memory for a list than it has to.
bool is_long(const Message& message, std::size_t payload) {
  const bool is_list = holds_alternative<Facts>(message) || holds_alternative<HandBack>(message);
  return is_list && payload > kMaxList;
}

/// Moves the second half of a list to an empty one; false: it is too short.
template <class T>
bool divide(std::vector<T>& list, std::vector<T>& rest) {
  const auto middle = list.begin() + static_cast<std::ptrdiff_t>((list.size() + 1) / 2);
  rest.assign(std::make_move_iterator(middle), std::make_move_iterator(list.end()));
  list.erase(middle, list.end());
  return !rest.empty();
}

/// What is no list stays with the first part.
template <class T>
bool divide(T&, T&) {
  return false;
}

/// All lists among the members, each with a part; false: they are all too short.
template <Described S>
bool divide_lists(S& value, S& rest) {
  return Members<S>::with(value, [&](auto&... member) {
    return Members<S>::with(rest, [&](auto&... further) {
      bool divided = false;
      ((divided |= divide(member, further)), ...);
      return divided;
    });
  });
}

/// Takes half of the lists out of a message, the later part; nothing: there is none.
std::optional<Message> take_half(Message& message) {
  if (auto* assign = get_if<Assign>(&message)) {
    Assign rest;
    if (divide(assign->hosts, rest.hosts)) return rest;
  } else if (auto* handed = get_if<HandBack>(&message)) {
    HandBack rest;
    if (divide(handed->hosts, rest.hosts)) return rest;
  } else if (auto* facts = get_if<Facts>(&message)) {
    Facts rest;
    if (divide_lists(*facts, rest)) return rest;
  }
  return {};
}

Error too_large(const Message& message, std::size_t payload) {
  const auto name =
      dispatch([](const auto& m) { return Members<std::decay_t<decltype(m)>>::kName; }, message);
  const std::size_t most = most_payload(static_cast<std::uint8_t>(message.index()), {});
  const bool mib = most >= 1U << 20;
  return {
      Errc::bad_input, Phase::run,
      fmt::format("a message between launchers is too large ({}, {:.1f} {unit} of at most {} {unit})", name,
                  static_cast<double>(payload) / (mib ? 1U << 20 : 1U << 10), most >> (mib ? 20 : 10),
                  fmt::arg("unit", mib ? "MiB" : "KiB")),
      holds_alternative<Facts>(message) ? "register shorter tuples or start fewer processes on a host" : ""};
}

}  // namespace

bool Facts::empty() const {
  return hosts_up.empty() && hosts_failed.empty() && blocks.empty() && barrier == decltype(barrier){} &&
         crash_acks == 0 && registered == 0 && joined == 0 && ended == 0 && !code && exited_ok == 0 &&
         exits.empty() && topologies.empty() && random_layout.empty() && blind.empty() && who_ended.empty() &&
         started_by.empty() && process_ids.empty();
}

PeersUsed Facts::peers_of_ended() const {
  return peers.processes <= std::uint64_t{ended} + exited_ok ? peers : PeersUsed{};
}

Blob encode(const JobSpec& job) {
  return encode_whole(job);
}
namespace {

/// Every host knows where the files of all its programs are, each of which has a process.
bool is_division(const JobSpec& job) {
  return is_division(job.spawn.further, job.processes) &&
         std::all_of(job.profiles.begin(), job.profiles.end(), [&job](const Profile& each) {
           return each.further_programs.size() == job.spawn.further.size();
         });
}

}  // namespace

Result<JobSpec> decode_job(std::string_view bytes) {
  auto job = decode_whole<JobSpec>(bytes);
  if (!job || !is_division(*job)) return malformed_message("job description");
  return std::move(*job);
}
Blob encode(const NodeTable& table) {
  return encode_whole(table);
}
Result<NodeTable> decode_table(std::string_view bytes) {
  auto table = decode_whole<NodeTable>(bytes);
  if (!table) return malformed_message("node table");
  return std::move(*table);
}

std::uint32_t epoch_of(std::string_view table) {
  return Reader{table}.u32();
}

Blob encode(const std::vector<Share>& shares) {
  return encode_whole(shares);
}
Result<std::vector<Share>> decode_shares(std::string_view bytes) {
  auto shares = decode_whole<std::vector<Share>>(bytes);
  if (!shares) return malformed_message("process numbers");
  std::uint64_t next_host = 0, next_process = 0;
  for (const Share& share : *shares) {
    if (share.host < next_host || share.first_process != next_process)
      return malformed_message("process numbers");
    next_host = std::uint64_t{share.host} + 1;
    next_process += share.processes;
  }
  return std::move(*shares);
}

bool goes_down(const Message& message) {
  return message.index() < Message{Hello{}}.index();
}

Result<std::string> encode_frames(const Message& message) {
  FrameWriter out;
  dispatch([&](const auto& value) { put(out, value); }, message);
  const std::size_t size = out.payload_size();
  const bool fits = !is_too_large(message, size);
  const auto whole = [&] { return out.take_frame(static_cast<std::uint8_t>(message.index())); };
  if (fits && !is_long(message, size)) return whole();
  Message first = message;
  const std::optional<Message> second = take_half(first);
  if (!second && fits) return whole();
  if (!second) return too_large(message, size);
  auto frames = encode_frames(first);
  const auto more = frames ? encode_frames(*second) : frames;
  if (!more) return more.error();
  return *frames + *more;
}

Result<Message> decode_message(std::uint8_t type, std::string_view payload, const Remit& remit) {
  if (type >= AnyMessage::kTypes)
    return Error{Errc::bad_peer, Phase::run, fmt::format("unknown message type {}", type)};
  auto message = decode_alternative<AnyMessage, Message>(type, payload, remit);
  if (!message) return malformed_message(fmt::format("message of type {}", type));
  return std::move(*message);
}

}  // namespace charmtree::wire

template struct charmtree::FunctionsOf<charmtree::wire::AnyMessage>;
