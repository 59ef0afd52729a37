// SPDX-License-Identifier: Apache-2.0
// What a process finds in its environment and its arguments about its place in the job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tree/clients/pmi/pmi_variables.hpp"
#include "tree/job/environment.hpp"
#include "tree/wire/job_spec.hpp"

namespace charmtree::proto {

/// CHARMTREE_PROCESSES and CHARMTREE_LOCAL_PROCESS, and what scripts for that launcher read: rank, size, rank
/// on the host; no variable by which an MPI library would look for a server. `host`: its number.
Environment place_variables(wire::EnvLike like, const ProcessPlace& place, std::uint32_t host);

/// Where the job's files are, and that its libraries are looked for among them first. `folder`: of all of
/// them; `environment`: the process's so far.
Environment staged_variables(const wire::StagedFiles& staged, const std::string& folder,
                             const Environment& environment);

/// An argument of ++expand: `%r` is the process, `%h` its host, `%%` a percent sign; all else stays as it is.
std::string expanded(std::string_view argument, std::uint32_t process, std::string_view host);

}  // namespace charmtree::proto
