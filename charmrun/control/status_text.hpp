// SPDX-License-Identifier: Apache-2.0
// What a running job says of itself, as JSON (docs/manual/status.md), and how ++list and ++status show it to
// people.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/turn/job_status.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::control {

/// Of a job that is a session.
struct SessionStatus {
  bool idle = true;           // it waits for a run
  std::uint32_t runs = 0;     // that have begun
  std::uint32_t waiting = 0;  // in line
};

/// One object, with a newline. `pid` is the root launcher's, which runs since `elapsed`; `hosts` with the
/// numbers that their processes have now.
std::string status_json(const wire::JobSpec& job, int pid, const std::vector<Host>& hosts,
                        const proto::JobStatus& status, Duration elapsed,
                        const std::optional<SessionStatus>& session = {});

/// A job whose charmrun does not answer here: it is of ++keep-alive, or held.
struct RootlessJob {
  std::string id, machine;   // where its charmrun ran
  Duration keep_alive{0};    // so long it waits for another one
  std::int64_t seen_ms = 0;  // when its charmrun was there for certain, in ms since 1970
  bool held = false;         // a charmrun of it is on this machine, and does not answer
  enum class State : std::uint8_t {
    silent,     // its charmrun is here, and suspended perhaps
    elsewhere,  // its charmrun ran on another machine a moment ago
    waits,      // it may wait for a charmrun
    over,       // nobody has come in time
  };
  State state(std::int64_t now_ms, const std::string& own_machine) const;
  /// At the latest, in ms since 1970.
  std::int64_t waits_until() const;
  /// It has been over for kRemembered.
  bool is_forgotten(std::int64_t now_ms) const;
};
/// A charmrun says so often that it is there; so much longer it may take until its loss is known.
inline constexpr Duration kSeenEvery = 5s, kLossKnown = 10s;
/// Its user may want to know what became of a job; and clocks may have been wrong.
inline constexpr Duration kRemembered = 24h;

/// A line for each; `now_ms` since 1970.
std::string rootless_text(const std::vector<RootlessJob>& jobs, std::int64_t now_ms,
                          const std::string& own_machine);
/// Returns why nothing can be asked of the job on this machine. Nothing: its charmrun is here, and silent.
std::optional<Error> rootless_error(const RootlessJob& job, std::int64_t now_ms,
                                    const std::string& own_machine);

/// What jobs have answered; a line for each below a headline.
std::string list_text(const std::vector<std::string>& answers);

/// The answers, and an object for each of those that cannot answer; a line for each.
std::string list_json(const std::vector<std::string>& answers, const std::vector<RootlessJob>& rootless,
                      std::int64_t now_ms, const std::string& own_machine);

/// All that one has answered.
std::string status_text(const std::string& answer);

/// The id of the session among `answers` that `wanted` names, as choose_job. Errors: bad_input, with all
/// sessions that there are.
Result<std::string> choose_session(const std::vector<std::string>& answers, const std::string& wanted);

/// The member `job` of an answer.
std::string id_of(const std::string& answer);
/// How many processes it has.
std::uint32_t processes_of(const std::string& answer);
/// It is a session.
bool is_session(const std::string& answer);
/// Returns true for a session in which no program runs.
bool is_idle(const std::string& answer);

/// So many sessions are among `answers` that `wanted` names.
std::size_t count_sessions(const std::vector<std::string>& answers, const std::string& wanted);
/// The launchers that have answered.
std::set<std::uint64_t> pids_of(const std::vector<std::string>& answers);

/// The one of `answers` that `wanted` names: by its id or the beginning of it, or by its launcher's pid;
/// empty: the only one. Errors: bad_input (none, or several). Those that are `silent` may be meant.
Result<std::string> choose_job(const std::vector<std::string>& answers, const std::string& wanted,
                               const std::vector<std::string>& silent = {});

}  // namespace charmtree::control
