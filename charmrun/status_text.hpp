// SPDX-License-Identifier: Apache-2.0
// What a running job says of itself, as JSON (docs/STATUS.md), and how ++list and ++status show it to people.
#pragma once

#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/proto/job_status.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree {

/// One object, with a newline. `pid` is the root launcher's, which runs since `elapsed`; `hosts` with the
/// numbers that their processes have now.
std::string status_json(const wire::JobSpec& job, int pid, const std::vector<Host>& hosts,
                        const proto::JobStatus& status, Duration elapsed);

/// What jobs have answered; a line for each below a headline.
std::string list_text(const std::vector<std::string>& answers);

/// All that one has answered.
std::string status_text(const std::string& answer);

/// The one of `answers` that `wanted` names: by its id or the beginning of it, or by its launcher's pid;
/// empty: the only one. Errors: bad_input (none, or several).
Result<std::string> choose_job(const std::vector<std::string>& answers, const std::string& wanted);

}  // namespace charmtree
