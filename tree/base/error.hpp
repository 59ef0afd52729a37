// SPDX-License-Identifier: Apache-2.0
// The one error type. An error is a value: which step failed (phase), what kind of failure it is (code: only
// kinds that some caller acts on), what happened in words, and what the user can do. The host is added by
// whoever knows it, so that equal errors of many hosts fold into one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace charmtree {

/// The steps of a job, in the order in which they happen to a host. Names are shown to people and kept in
/// reports.
enum class Phase : std::uint8_t {
  options,
  nodelist,
  resolve,
  connect,
  handshake,
  host_key,
  authenticate,
  exec,
  hello,
  spawn,
  start,  // from exec of the program to its registration
  table,
  run,
};
inline constexpr std::uint8_t kPhaseCount = 13;
std::string_view name(Phase phase);

/// What kind of failure. A value exists only if some code decides by it.
enum class Errc : std::uint8_t {
  bad_input,         // options, nodelist: nothing was started
  no_such_host,      // the name does not exist: permanent
  timed_out,         // a deadline passed in this phase: transient
  refused,           // connection refused: transient
  unreachable,       // no route, network down: transient
  dropped,           // closed or reset before authentication: transient
  busy,              // the same before sshd's banner (MaxStartups): transient, and no fault of ours
  penalised,         // sshd lets this address wait (PerSourcePenalties): transient
  handshake,         // no common algorithms, not an ssh server: permanent
  host_key_unknown,  // permanent
  host_key_changed,  // permanent
  no_usable_key,     // libssh2 had no key that the server takes: the ssh command may still succeed
  not_authorised,    // every way to authenticate was refused: permanent for this launcher
  no_launcher,       // charmrun not found on the host
  cannot_execute,    // charmrun there is for another architecture or not executable
  library_missing,   // a shared library is missing
  wrong_version,     // charmrun there speaks another version
  remote_shell,      // the remote shell failed otherwise
  link_lost,         // an established link ended
  bad_peer,          // a peer broke the protocol
  no_program,        // program not found on the host
  not_executable,    // program found, but cannot be executed
  no_directory,      // working directory missing
  spawn_failed,      // any other failure to start a process
  killed,            // a process died of a signal
  internal,          // a bug of ours
};
inline constexpr std::uint8_t kErrcCount = 26;
std::string_view name(Errc code);

/// True if trying the same login again may help (see DESIGN D6: never retry a permanent error).
bool is_transient(Errc code);

/// `what` says what happened, in one line without host and phase; `fix` says what to try (may be empty).
struct Error {
  Errc code = Errc::internal;
  Phase phase = Phase::run;
  std::string what;
  std::string fix;

  Error() = default;
  Error(Errc code_, Phase phase_, std::string what_, std::string fix_ = {})
      : code(code_), phase(phase_), what(std::move(what_)), fix(std::move(fix_)) {}

  friend bool operator==(const Error&, const Error&) = default;
};

/// What the user asks for cannot be done.
inline Error bad_input(std::string what, std::string fix = {}) {
  return {Errc::bad_input, Phase::options, std::move(what), std::move(fix)};
}

/// "connect: timed out after 10 s; is the host up?" (no host).
std::string to_string(const Error& error);

}  // namespace charmtree
