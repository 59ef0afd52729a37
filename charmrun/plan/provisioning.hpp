// SPDX-License-Identifier: Apache-2.0
// What the options ask of the hosts' processors: Charm++'s ++processPer*, ++oneWthPer* and ++auto-provision,
// with the checks that it leaves out. Pure.
#pragma once

#include <functional>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/cpus.hpp"

namespace charmtree {

/// Errors are Errc::bad_input, Phase::options and name the options that do not go together: one unit at most
/// for processes and one for worker threads; a unit for processes excludes +p and ++n, one for threads +p and
/// ++ppn, ++auto-provision all of them; the unit of threads is the processes' or a finer
/// one. `is_smp` says whether the program is an SMP build; it is asked only if that matters.
Result<wire::Provision> wanted_provision(const Options& options, const std::function<bool()>& is_smp);

/// What launchers bind processes to.
CpuUnit bound_to(BindUnit binding);

}  // namespace charmtree
