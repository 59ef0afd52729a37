// SPDX-License-Identifier: Apache-2.0
// The members of what sessions and viewers are told and say, for those who make bytes of it.
#pragma once

#include "charmrun/session/framed.hpp"
#include "charmrun/session/session_message.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::session {

inline constexpr std::chrono::seconds kLongest{1'000'000'000};

inline bool is_sound(const Said& m) {
  return m.tone <= static_cast<std::uint8_t>(proto::Tone::error);
}
inline bool is_sound(const ToShow& m) {
  return m.output.stream <= static_cast<std::uint8_t>(proto::Stream::terminal);
}
inline bool is_sound(const Over& m) {
  return m.signal <= 64;
}
inline bool is_sound(const Run& m) {
  return m.time_limit >= Duration{0} && m.time_limit <= kLongest;
}

}  // namespace charmtree::session

namespace charmtree::wire {

CT_MEMBERS(session::Tree, s.version, s.nodelist, s.nodelist_text, s.nodegroup, s.host_limit, s.virtual_hosts,
           s.drops, s.chosen, s.excluded)
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
