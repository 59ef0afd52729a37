// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_message.hpp"

#include "charmrun/control/framing.hpp"
#include "charmrun/control/shown_members.hpp"

namespace charmtree::session {

namespace {

constexpr std::chrono::seconds kLongest{1'000'000'000};

}  // namespace

inline bool is_sound(const Over& over) {
  return over.signal <= 64;
}
inline bool is_sound(const Run& run) {
  return run.time_limit >= Duration{0} && run.time_limit <= kLongest;
}

}  // namespace charmtree::session

namespace charmtree::wire {

CT_MEMBERS(session::Tree, s.nodelist, s.nodelist_text, s.nodegroup, s.host_limit, s.virtual_hosts, s.drops,
           s.chosen, s.excluded)
CT_MEMBERS(session::Wanted, s.bytes)
CT_MEMBERS(session::Suspended, )
CT_MEMBERS(session::Over, s.status, s.signal, s.shares)
CT_MEMBERS(session::RunHost, s.name, s.profile, s.processes)
CT_MEMBERS(session::Run, s.job, s.hosts, s.time_limit, s.int_ends, s.ends_on_bad_exit, s.shows_output)
CT_MEMBERS(session::Signalled, s.signal)
CT_MEMBERS(session::Typed, s.bytes, s.end)
CT_MEMBERS(session::Written, s.cost)
CT_MEMBERS(session::Delivered, s.process)

}  // namespace charmtree::wire

namespace charmtree::session {

Result<std::string> encode(const Message& message) {
  auto frame = control::encode_message(message);
  if (!frame) return bad_input("the description of the run is too large");
  return frame;
}

bool decode(const wire::Frame& frame, Message& message) {
  return control::decode_message(frame, message);
}

}  // namespace charmtree::session
