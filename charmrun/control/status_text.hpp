// SPDX-License-Identifier: Apache-2.0
// The status of a running job as JSON (docs/manual/status.md), and the text of ++list and ++status.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/turn/job_status.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::control {

/// The members of the status that sessions alone have.
struct SessionStatus {
  bool idle = true;           // waits for a run
  std::uint32_t runs = 0;     // number of those that have begun
  std::uint32_t waiting = 0;  // in line
};

/// Returns the status as one object, with a newline. `pid` is that of charmrun, which has run for `elapsed`;
/// `hosts` have the present numbers of their processes.
std::string status_json(const wire::JobSpec& job, int pid, const std::vector<Host>& hosts,
                        const proto::JobStatus& status, Duration elapsed,
                        const std::optional<SessionStatus>& session = {});

/// A job whose charmrun does not answer here: a job of ++keep-alive, or one whose charmrun is suspended.
struct RootlessJob {
  std::string id, machine;   // where its charmrun ran
  Duration keep_alive{0};    // time for which it waits for another one
  std::int64_t seen_ms = 0;  // when its charmrun was there for certain, in ms since 1970
  bool held = false;         // its charmrun is on this machine, and does not answer
  enum class State : std::uint8_t {
    silent,     // its charmrun is here, and suspended perhaps
    elsewhere,  // its charmrun ran on another machine a moment ago
    waits,      // it may wait for a charmrun
    over,       // no charmrun has taken it over in time
  };
  State state(std::int64_t now_ms, const std::string& own_machine) const;
  /// Returns the end of its wait for a charmrun, in ms since 1970.
  std::int64_t waits_until() const;
  /// Returns true if it has been over for kRemembered.
  bool is_forgotten(std::int64_t now_ms) const;
};
/// kSeenEvery: a charmrun touches the file of its job so often. kLossKnown: the time until its loss is known.
inline constexpr Duration kSeenEvery = 5s, kLossKnown = 10s;
/// Time for which ++list shows a job that is over: its user may look for it, and clocks may differ.
inline constexpr Duration kRemembered = 24h;

/// Returns a line for each job; `now_ms` since 1970.
std::string rootless_text(const std::vector<RootlessJob>& jobs, std::int64_t now_ms,
                          const std::string& own_machine);
/// Returns the reason why the job cannot be asked on this machine; nothing if its charmrun is here, and
/// silent.
std::optional<Error> rootless_error(const RootlessJob& job, std::int64_t now_ms,
                                    const std::string& own_machine);

/// Returns the list of jobs: a headline, and a line for each answer.
std::string list_text(const std::vector<std::string>& answers);

/// Returns the answers, and an object for each job that cannot answer; a line for each.
std::string list_json(const std::vector<std::string>& answers, const std::vector<RootlessJob>& rootless,
                      std::int64_t now_ms, const std::string& own_machine);

/// Returns the text of ++status for an answer.
std::string status_text(const std::string& answer);

/// Returns the id of the session among `answers` that `wanted` names, see choose_job. Error bad_input, with
/// all sessions that there are.
Result<std::string> choose_session(const std::vector<std::string>& answers, const std::string& wanted);

/// Returns the member `job` of an answer.
std::string id_of(const std::string& answer);
/// Returns its number of processes.
std::uint32_t processes_of(const std::string& answer);
/// Returns true for a session.
bool is_session(const std::string& answer);
/// Returns true for a session in which no program runs.
bool is_idle(const std::string& answer);

/// Counts the sessions among `answers` that `wanted` names.
std::size_t count_sessions(const std::vector<std::string>& answers, const std::string& wanted);
/// Returns the pids of the charmruns that have answered.
std::set<std::uint64_t> pids_of(const std::vector<std::string>& answers);

/// Returns the one of `answers` that `wanted` names: by its id or the beginning of it, or by the pid of its
/// charmrun; empty: the only one. Error bad_input: none, or several; `silent` jobs may be meant.
Result<std::string> choose_job(const std::vector<std::string>& answers, const std::string& wanted,
                               const std::vector<std::string>& silent = {});

}  // namespace charmtree::control
