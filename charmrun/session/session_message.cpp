// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_message.hpp"

#include <algorithm>
#include <utility>

#include "charmrun/session/framed.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::session {

namespace {

constexpr std::chrono::seconds kLongest{1'000'000'000};

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
  return encode_framed(message);
}

Result<std::optional<Message>> Decoder::next() {
  if (broken_) return no_message();
  auto message = next_framed<Message>(decoder_);
  if (message && !message->has_value()) return message;
  broken_ = !message || is_of_root(**message) != (to_ == To::client);
  if (broken_) return no_message();
  return message;
}

}  // namespace charmtree::session
