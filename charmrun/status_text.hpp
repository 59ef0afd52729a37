// SPDX-License-Identifier: Apache-2.0
// What a running job says of itself, as JSON (docs/STATUS.md), and how ++list and ++status show it to people.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/proto/job_status.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree {

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

/// What jobs have answered; a line for each below a headline.
std::string list_text(const std::vector<std::string>& answers);

/// All that one has answered.
std::string status_text(const std::string& answer);

/// The id of the session among `answers` that `wanted` names, as choose_job. Errors: bad_input, with all
/// sessions that there are.
Result<std::string> choose_session(const std::vector<std::string>& answers, const std::string& wanted);

/// It is a session.
bool is_session(const std::string& answer);

/// So many sessions are among `answers` that `wanted` names.
std::size_t count_sessions(const std::vector<std::string>& answers, const std::string& wanted);
/// The launchers that have answered.
std::set<std::uint64_t> pids_of(const std::vector<std::string>& answers);

/// The one of `answers` that `wanted` names: by its id or the beginning of it, or by its launcher's pid;
/// empty: the only one. Errors: bad_input (none, or several).
Result<std::string> choose_job(const std::vector<std::string>& answers, const std::string& wanted);

}  // namespace charmtree
