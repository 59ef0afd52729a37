// SPDX-License-Identifier: Apache-2.0
// The type of a message is its place in its variant, counted from another number for each direction: a frame
// that was sent back is recognised.
#include "tree/wire/native_message.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/base/type_functions.hpp"
#include "tree/wire/pieces.hpp"
#include "tree/wire/pmi_standard.hpp"
#include "tree/wire/shared_values.hpp"
#include "tree/wire/table_members.hpp"

namespace charmtree::wire {

template <>
inline constexpr native::Stream kLast<native::Stream> = native::Stream::err;
template <>
inline constexpr PortKind kLast<PortKind> = PortKind::udp;
template <>
inline constexpr native::FenceEnter::Gives kLast<native::FenceEnter::Gives> = native::FenceEnter::Gives::ring;

template <>
inline constexpr std::size_t kMostText<native::Hello> = native::kMaxLibrary;
template <>
inline constexpr std::size_t kMostText<native::Put> = kMaxTuple;
template <>
inline constexpr std::size_t kMostText<native::Print> = native::kMaxPrint;
template <>
inline constexpr std::size_t kMostText<native::Abort> = native::kMaxAbortText;
template <>
inline constexpr std::size_t kMostText<native::Handler> = native::kMaxHandler;
template <>
inline constexpr std::size_t kMostText<native::Reply> = native::kPiece;
template <>
inline constexpr std::size_t kMostText<native::ReplyData> = native::kPiece;
template <>
inline constexpr std::size_t kMostText<native::Request> = native::kPiece;
template <>
inline constexpr std::size_t kMostText<native::RequestData> = native::kPiece;
template <>
inline constexpr std::size_t kMostText<native::Refused> = native::kMaxWhy;

template <>
inline constexpr std::size_t kMostText<native::FenceEnter> = kMostGiven;
template <>
inline constexpr std::size_t kMostText<native::FenceOver> = native::kMaxWhy;

template <>
inline constexpr std::size_t kMostText<native::AttributePut> = kMostPmiValue;
template <>
inline constexpr std::size_t kMostText<native::AttributeWanted> = kMostPmiKey;
template <>
inline constexpr std::size_t kMostText<native::Attribute> = kMostPmiValue;

template <>
inline constexpr std::size_t kMostText<native::Offer> = kMostGiven;
template <>
inline constexpr std::size_t kMostText<native::Ask> = kMostKeyBytes;
template <>
inline constexpr std::size_t kMostText<native::Told> = kMostGiven;
template <>
inline constexpr std::size_t kMostText<native::Listen> = kMostKeyBytes;
template <>
inline constexpr std::size_t kMostText<native::Answer> = kMostGiven;
template <>
inline constexpr std::size_t kMostText<native::Asked> = kMostKeyBytes;

template <>
inline constexpr bool kMayBeCut<native::FenceOver> = true;
template <>
inline constexpr bool kMayBeCut<native::Hello> = true;
template <>
inline constexpr bool kMayBeCut<native::Print> = true;
template <>
inline constexpr bool kMayBeCut<native::Abort> = true;
template <>
inline constexpr bool kMayBeCut<native::Handler> = true;
template <>
inline constexpr bool kMayBeCut<native::Refused> = true;

template <>
inline constexpr std::uint64_t kMostElements<native::Lost> = native::kMaxLost;
template <>
inline constexpr std::uint64_t kMostElements<native::Welcome> = native::kMaxLayout;
template <>
inline constexpr std::uint64_t kMostElements<native::FenceEnter> = kMostFenceRanges;

template <>
inline constexpr bool kTwosComplement<native::Abort> = true;
template <>
inline constexpr bool kTwosComplement<native::Finalize> = true;

namespace native {

bool is_sound(const Print& print) {
  return print.stream >= Stream::out;
}
bool is_sound(const PortWanted& wanted) {
  return wanted.kind >= PortKind::tcp;
}
bool is_sound(const Port& port) {
  return port.kind >= PortKind::tcp;
}
bool is_sound(const Handler& handler) {
  return !handler.name.empty() && handler.merge.is_known();
}
bool is_sound(const Reply& reply) {
  return reply.size <= kMaxReply && reply.bytes.size() <= reply.size;
}
bool is_sound(const ReplyData& data) {
  return !data.bytes.empty();
}
namespace {
bool is_local(const Welcome& w) {
  std::uint64_t all = 0;
  bool has_us = false;
  for (const auto& [first, last] : w.local) {
    if (first > last || last >= w.total) return false;
    has_us = has_us || (w.process >= first && w.process <= last && all + (w.process - first) == w.local_rank);
    all += std::uint64_t{last} - first + 1;
  }
  return has_us && all == w.local_size;
}
bool is_of(const std::vector<HostRun>& layout, std::uint64_t processes) {
  std::uint64_t all = 0;
  for (const HostRun& run : layout) {
    if (run.hosts > kMaxProcesses || run.processes > kMaxProcesses || run.first > UINT32_MAX - run.hosts)
      return false;
    all += std::uint64_t{run.hosts} * run.processes;
  }
  return all == processes;
}
}  // namespace

bool is_sound(const Welcome& w) {
  return w.process < w.total && w.total <= kMaxProcesses && w.local_rank < w.local_size &&
         w.local_size <= w.total && w.host < w.hosts && is_local(w) &&
         (w.layout.empty() || is_of(w.layout, w.total));
}
bool is_sound(const Request& request) {
  return request.handler.size() <= kMaxHandler && request.bytes.size() <= request.size;
}
bool is_sound(const FenceEnter& enter) {
  using Gives = FenceEnter::Gives;
  if (enter.gives == Gives::ring) return enter.processes.empty() && enter.given.size() <= kMostRingValue;
  const bool is_group = enter.processes.empty() || wire::is_sound(Fence{0, enter.processes, 1, {}});
  return is_group && (enter.gives == Gives::value || are_pairs(enter.given));
}
bool is_sound(const AttributePut& put) {
  return !put.name.empty() && put.name.size() <= kMostPmiKey;
}
bool is_sound(const AttributeWanted& wanted) {
  return !wanted.name.empty();
}
bool is_sound(const Offer& offer) {
  return !offer.key.empty() && offer.key.size() <= kMostKeyBytes;
}
bool is_sound(const Ask& ask) {
  return !ask.key.empty() && ask.process < kMaxProcesses;
}
bool is_sound(const Listen& listen) {
  return !listen.prefix.empty();
}
bool is_sound(const Answer& answer) {
  return !answer.key.empty() && answer.key.size() <= kMostKeyBytes && answer.process < kMaxProcesses;
}
bool is_sound(const Asked& asked) {
  return !asked.key.empty() && asked.process < kMaxProcesses;
}
bool is_sound(const Finalize& finalize) {
  return finalize.peers <= kMostPeersTold;
}
bool is_sound(const RequestData& data) {
  return !data.bytes.empty();
}

}  // namespace native

CT_MEMBERS(native::Hello, s.version, s.process, s.pid, s.library)
CT_MEMBERS(native::Put, s.tuple)
CT_MEMBERS(native::BarrierEnter, s.epoch)
CT_MEMBERS(native::Print, s.stream, s.text)
CT_MEMBERS(native::Abort, s.code, s.text)
CT_MEMBERS(native::Finalize, s.code, s.peers)
CT_MEMBERS(native::Handler, s.name, s.merge)
CT_MEMBERS(native::Reply, s.token, s.size, s.bytes)
CT_MEMBERS(native::ReplyData, s.bytes)
CT_MEMBERS(native::Kept, s.token)
CT_MEMBERS(native::FenceEnter, s.id, s.gives, s.processes, s.given)
CT_MEMBERS(native::AttributePut, s.name, s.value)
CT_MEMBERS(native::AttributeWanted, s.name, s.waits)
CT_MEMBERS(native::Attribute, s.is_there, s.value)
CT_MEMBERS(native::TopologyWanted, )
CT_MEMBERS(native::Topology, s.is_there)
CT_MEMBERS(native::Offer, s.key, s.value)
CT_MEMBERS(native::Ask, s.id, s.process, s.key)
CT_MEMBERS(native::Told, s.id, s.failure, s.value)
CT_MEMBERS(native::Listen, s.prefix, s.is_on)
CT_MEMBERS(native::Answer, s.process, s.key, s.value)
CT_MEMBERS(native::Asked, s.process, s.key)
CT_MEMBERS(native::PortWanted, s.kind)
CT_MEMBERS(native::Port, s.kind, s.is_there)
CT_MEMBERS(native::Values, s.below)
CT_MEMBERS(native::FenceOver, s.id, s.failure)
CT_MEMBERS(native::RingOver, s.id, s.left, s.right)
CT_MEMBERS(native::Welcome, s.process, s.total, s.local_rank, s.local_size, s.host, s.epoch, s.restarts,
           s.hosts, s.local, s.layout)
CT_MEMBERS(native::Table, )
CT_MEMBERS(native::BarrierRelease, )
CT_MEMBERS(native::Finished, )
CT_MEMBERS(native::Refused, s.why)
CT_MEMBERS(native::Request, s.token, s.handler, s.address, s.port, s.size, s.bytes)
CT_MEMBERS(native::RequestData, s.bytes)
CT_MEMBERS(native::Lost, s.processes)
CT_MEMBERS(native::Renewed, s.epoch, s.blocks)
CT_MEMBERS(native::Missed, s.barriers)

}  // namespace charmtree::wire

namespace charmtree::wire::native {

namespace {

/// The type of the first message of a direction.
template <class Variant>
constexpr std::uint8_t kFirst = std::is_same_v<Variant, FromClient> ? 1 : 65;

template <class Variant>
std::uint8_t type_in_frame(const Variant& message) {
  return static_cast<std::uint8_t>(kFirst<Variant> + message.index());
}

template <class Variant>
std::string frame_of(const Variant& message) {
  FrameWriter out;
  dispatch([&out](const auto& m) { wire::put(out, m); }, message);
  return out.take_frame(type_in_frame(message));
}

/// `More`: what carries the data that `first` has no room for.
template <class More, class First>
std::string frames_of(First& first, std::string_view data) {
  first.size = static_cast<std::uint32_t>(data.size());
  std::string frames;
  for_each_piece(data, kPiece, [&](std::string_view bytes, bool) {
    if (!frames.empty()) {
      frames += to_frame(More{std::string{bytes}});
    } else {
      first.bytes = bytes;
      frames = to_frame(first);
    }
  });
  return frames;
}

template <class Variant, class Any>
Result<Variant> decode(const Frame& frame) {
  auto message =
      decode_alternative<Any, Result<Variant>>(std::size_t{frame.type} - kFirst<Variant>, frame.payload);
  if (message) return std::move(*message);
  return Error{Errc::bad_peer, Phase::run, fmt::format("malformed message of type {}", frame.type)};
}

/// The version that a Hello tells, which has another layout behind it if that is not ours.
std::optional<std::uint32_t> other_version(const Frame& frame) {
  Reader in{frame.payload};
  const std::uint32_t version = in.u32();
  if (frame.type != type_in_frame(FromClient{Hello{}}) || !in.ok() || version == kVersion) return {};
  return version;
}

}  // namespace

std::string to_frame(const FromClient& message) {
  return frame_of(message);
}
std::string to_frame(const FromLauncher& message) {
  return frame_of(message);
}

std::string to_frames(Request request, std::string_view data) {
  return frames_of<RequestData>(request, data);
}
std::string to_frames(Reply reply, std::string_view data) {
  return frames_of<ReplyData>(reply, data);
}

std::string lost_frames(const std::vector<ProcessSet::Range>& processes) {
  std::string frames;
  for (std::size_t at = 0; at < processes.size(); at += kMaxLost) {
    const auto from = processes.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t count = std::min(kMaxLost, processes.size() - at);
    frames += to_frame(Lost{{from, from + static_cast<std::ptrdiff_t>(count)}});
  }
  return frames;
}

Result<FromClient> decode_from_client(const Frame& frame) {
  if (const auto version = other_version(frame)) return FromClient{Hello{*version, 0, 0, {}}};
  return decode<FromClient, AnyFromClient>(frame);
}

Result<FromLauncher> decode_from_launcher(const Frame& frame) {
  return decode<FromLauncher, AnyFromLauncher>(frame);
}

}  // namespace charmtree::wire::native

template struct charmtree::FunctionsOf<charmtree::wire::native::AnyFromClient>;
template struct charmtree::FunctionsOf<charmtree::wire::native::AnyFromLauncher>;
