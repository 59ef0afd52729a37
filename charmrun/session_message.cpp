// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session_message.hpp"

#include <algorithm>
#include <utility>

#include "tree/wire/codec.hpp"

namespace charmtree::session {

using wire::Reader;
using wire::Writer;

namespace {

constexpr std::uint64_t kMostSeconds = 1'000'000'000;

Error bad_peer() {
  return {Errc::bad_peer, Phase::run, "what came over the session's socket is no message", {}};
}

void put(Writer& out, const Tree& m) {
  out.string(m.version);
  out.string(m.nodelist);
  out.string(m.nodelist_text);
  out.string(m.nodegroup);
  out.varint(m.host_limit);
  out.varint(m.virtual_hosts);
  out.u8(m.drops ? 1 : 0);
}
void get(Reader& in, Tree& m) {
  m.version = in.string();
  m.nodelist = in.string();
  m.nodelist_text = in.string(wire::kMaxLinkFrame);
  m.nodegroup = in.string();
  m.host_limit = in.u32();
  m.virtual_hosts = in.u32();
  m.drops = in.boolean();
}

void put(Writer& out, const Said& m) {
  out.u8(m.tone);
  out.string(m.line);
}
void get(Reader& in, Said& m) {
  m.tone = static_cast<std::uint8_t>(in.bounded(static_cast<std::uint64_t>(proto::Tone::error)));
  m.line = in.string();
}

/// `number` is between launchers alone. The clock is the same at both ends.
void put(Writer& out, const Shown& m) {
  out.varint(m.output.process);
  out.u8(m.output.stream);
  out.u8(m.output.wants_receipt ? 1 : 0);
  out.u8(static_cast<std::uint8_t>(m.output.tail));
  out.svarint(m.output.read.time_since_epoch().count());
  out.string(m.output.text);
  out.string(m.host);
  out.varint(m.processes);
  out.u8(m.raw ? 1 : 0);
}
void get(Reader& in, Shown& m) {
  m.output.process = in.u32();
  m.output.stream =
      static_cast<std::uint8_t>(in.bounded(static_cast<std::uint64_t>(proto::Stream::terminal)));
  m.output.wants_receipt = in.boolean();
  m.output.tail = static_cast<wire::Tail>(in.bounded(static_cast<std::uint64_t>(wire::Tail::ended)));
  m.output.read = Instant{Duration{in.svarint()}};
  m.output.text = in.string(wire::kMaxLinkFrame);
  m.host = in.string();
  m.processes = in.u32();
  m.raw = in.boolean();
}

void put(Writer& out, const Wanted& m) {
  out.varint(m.bytes);
}
void get(Reader& in, Wanted& m) {
  m.bytes = in.u32();
}

void put(Writer&, const Suspended&) {}
void get(Reader&, Suspended&) {}

void put(Writer& out, const Over& m) {
  out.u8(m.status);
  out.u8(m.signal);
  out.varint(m.shares.size());
  for (const wire::Share& share : m.shares) {
    out.varint(share.host);
    out.varint(share.first_process);
    out.varint(share.processes);
  }
}
void get(Reader& in, Over& m) {
  m.status = in.u8();
  m.signal = static_cast<std::uint8_t>(in.bounded(64));
  m.shares.resize(in.count());
  for (wire::Share& share : m.shares) share = {in.u32(), in.u32(), in.u32()};
}

void put(Writer& out, const Run& m) {
  out.string(*m.job);
  out.varint(m.hosts.size());
  for (const RunHost& host : m.hosts) {
    out.string(host.name);
    out.varint(host.profile);
    out.varint(host.processes);
  }
  out.varint(static_cast<std::uint64_t>(m.time_limit.count()));
  out.u8(m.int_ends ? 1 : 0);
  out.u8(m.ends_on_bad_exit ? 1 : 0);
  out.u8(m.shows_output ? 1 : 0);
}
void get(Reader& in, Run& m) {
  m.job = std::make_shared<const std::string>(in.string(wire::kMaxLinkFrame));
  m.hosts.resize(in.count());
  for (RunHost& host : m.hosts) {
    host.name = in.string();
    host.profile = in.u32();
    host.processes = in.u32();
  }
  const Duration longest = std::chrono::seconds{kMostSeconds};
  m.time_limit =
      Duration{static_cast<Duration::rep>(in.bounded(static_cast<std::uint64_t>(longest.count())))};
  m.int_ends = in.boolean();
  m.ends_on_bad_exit = in.boolean();
  m.shows_output = in.boolean();
}

void put(Writer&, const EndSession&) {}
void get(Reader&, EndSession&) {}

void put(Writer& out, const Signalled& m) {
  out.u8(m.signal);
}
void get(Reader& in, Signalled& m) {
  m.signal = in.u8();
}

void put(Writer& out, const Typed& m) {
  out.string(m.bytes);
  out.u8(m.end ? 1 : 0);
}
void get(Reader& in, Typed& m) {
  m.bytes = in.string();
  m.end = in.boolean();
}

void put(Writer& out, const Written& m) {
  out.varint(m.cost);
}
void get(Reader& in, Written& m) {
  m.cost = in.varint();
}

void put(Writer& out, const Receipt& m) {
  out.varint(m.process);
}
void get(Reader& in, Receipt& m) {
  m.process = in.u32();
}

template <std::size_t I = 0>
Result<Message> decode_as(const wire::Frame& frame) {
  if constexpr (I == std::variant_size_v<Message>) {
    return bad_peer();
  } else {
    if (frame.type != I) return decode_as<I + 1>(frame);
    std::variant_alternative_t<I, Message> message;
    Reader in{frame.payload};
    get(in, message);
    if (!in.finished()) return bad_peer();
    return Message{std::move(message)};
  }
}

}  // namespace

bool is_of_root(const Message& message) {
  return message.index() < Message{Run{}}.index();
}

Result<std::string> encode(const Message& message) {
  wire::FrameWriter out;
  std::visit([&](const auto& m) { put(out, m); }, message);
  if (out.payload_size() > wire::kMaxLinkFrame)
    return Error{Errc::bad_input, Phase::options, "the description of the run is too large", {}};
  return out.take_frame(static_cast<std::uint8_t>(message.index()));
}

Result<Message> decode(const wire::Frame& frame) {
  return decode_as(frame);
}

Result<std::optional<Message>> Listener::next() {
  if (broken_) return bad_peer();
  const auto frame = decoder_.next();
  if (!frame) return frame.error();
  if (!frame->has_value()) return std::optional<Message>{};
  auto message = decode(**frame);
  broken_ = !message || is_of_root(*message) != (to_ == To::client);
  if (broken_) return bad_peer();
  return std::optional<Message>{std::move(*message)};
}

}  // namespace charmtree::session
