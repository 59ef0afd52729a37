// SPDX-License-Identifier: Apache-2.0
// `charmrun ++plan`: how a job would start, as text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "charmrun/cli/options.hpp"
#include "charmrun/plan/history.hpp"
#include "charmrun/plan/placement.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/cpus.hpp"

namespace charmtree {

/// Hosts, how many processes of how many PEs they get, what their logins cost, the shape of the tree, the
/// window, when each phase is over, and what the paper's equations say; at most 100 columns. `slots` are
/// those of the hosts that there are and `logins` their costs; with ++numHosts there may be any number of
/// hosts more like them. `here` is what this machine has; it is assumed of all hosts, where `wish` counts by
/// it. Errors as place and proto::provision.
Result<std::string> plan_text(const Options& options, const LoginCosts& logins, const HostSlots& slots,
                              const wire::Provision& wish = {}, const std::optional<Topology>& here = {});

}  // namespace charmtree
