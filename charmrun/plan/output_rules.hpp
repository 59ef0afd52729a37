// SPDX-License-Identifier: Apache-2.0
// What launchers are told about output, by the options and by who reads it.
#pragma once

#include "charmrun/cli/options.hpp"
#include "tree/wire/job_spec.hpp"

namespace charmtree {

/// Looks whether stdout and stderr are terminals. `mpi`: what the job's program uses.
wire::OutputRules output_rules(const Options& options, wire::Mpi mpi);
/// What somebody wants to know of the job, beyond its output.
wire::ReportRules report_rules(const Options& options);

}  // namespace charmtree
