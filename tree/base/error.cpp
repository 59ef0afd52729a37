// SPDX-License-Identifier: Apache-2.0
#include "tree/base/error.hpp"

#include <array>

namespace charmtree {

std::string_view name(Phase phase) {
  static constexpr std::array<std::string_view, kPhaseCount> kNames = {
      "options",        "nodelist", "resolve", "connect", "handshake", "host key", "authenticate",
      "start launcher", "hello",    "spawn",   "start",   "table",     "run"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::string_view name(Errc code) {
  static constexpr std::array<std::string_view, kErrcCount> kNames = {
      "bad_input",        "no_such_host",   "timed_out",      "refused",      "unreachable",
      "dropped",          "busy",           "penalised",      "handshake",    "host_key_unknown",
      "host_key_changed", "no_usable_key",  "not_authorised", "no_launcher",  "cannot_execute",
      "library_missing",  "wrong_version",  "remote_shell",   "link_lost",    "bad_peer",
      "no_program",       "not_executable", "no_directory",   "spawn_failed", "killed",
      "internal"};
  return kNames[static_cast<std::size_t>(code)];
}

bool is_transient(Errc code) {
  switch (code) {
    case Errc::timed_out:
    case Errc::refused:
    case Errc::unreachable:
    case Errc::dropped:
    case Errc::busy:
    case Errc::penalised:
      return true;
    default:
      return false;
  }
}

std::string to_string(const Error& error) {
  std::string text{name(error.phase)};
  text += ": ";
  text += error.what;
  if (!error.fix.empty()) {
    text += "; ";
    text += error.fix;
  }
  return text;
}

}  // namespace charmtree
