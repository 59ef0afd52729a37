// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_message.hpp"

#include <algorithm>
#include <utility>

#include "tree/wire/message_members.hpp"

namespace charmtree::session {

namespace {

constexpr std::chrono::seconds kLongest{1'000'000'000};

Error bad_peer() {
  return {Errc::bad_peer, Phase::run, "what came over the session's socket is no message", {}};
}

}  // namespace

bool is_sound(const Said& m) {
  return m.tone <= static_cast<std::uint8_t>(proto::Tone::error);
}
bool is_sound(const ToShow& m) {
  return m.output.stream <= static_cast<std::uint8_t>(proto::Stream::terminal);
}
bool is_sound(const Over& m) {
  return m.signal <= 64;
}
bool is_sound(const Run& m) {
  return m.time_limit >= Duration{0} && m.time_limit <= kLongest;
}

}  // namespace charmtree::session

namespace charmtree::wire {

CT_MEMBERS(session::Tree, s.version, s.nodelist, s.nodelist_text, s.nodegroup, s.host_limit, s.virtual_hosts,
           s.drops)
CT_MEMBERS(session::Said, s.tone, s.line)
CT_MEMBERS(session::ToShow, s.output, s.host, s.processes, s.raw)
CT_MEMBERS(session::Wanted, s.bytes)
CT_MEMBERS(session::Suspended, )
CT_MEMBERS(session::Over, s.status, s.signal, s.shares)
CT_MEMBERS(session::RunHost, s.name, s.profile, s.processes)
CT_MEMBERS(session::Run, s.job, s.hosts, s.time_limit, s.int_ends, s.ends_on_bad_exit, s.shows_output)
CT_MEMBERS(session::EndSession, )
CT_MEMBERS(session::Signalled, s.signal)
CT_MEMBERS(session::Typed, s.bytes, s.end)
CT_MEMBERS(session::Written, s.cost)
CT_MEMBERS(session::Delivered, s.process)

}  // namespace charmtree::wire

namespace charmtree::session {

bool is_of_root(const Message& message) {
  return message.index() < Message{Run{}}.index();
}

Result<std::string> encode(const Message& message) {
  wire::FrameWriter out;
  std::visit([&](const auto& m) { wire::put(out, m); }, message);
  if (out.payload_size() > wire::kMaxLinkFrame)
    return Error{Errc::bad_input, Phase::options, "the description of the run is too large", {}};
  return out.take_frame(static_cast<std::uint8_t>(message.index()));
}

Result<Message> decode(const wire::Frame& frame) {
  auto message = wire::decode_alternative<Message>(frame.type, frame.payload);
  if (!message) return bad_peer();
  return std::move(*message);
}

Result<std::optional<Message>> Decoder::next() {
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
