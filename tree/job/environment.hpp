// SPDX-License-Identifier: Apache-2.0
// The environment of the program, as lists of "NAME=value" in binary form: what is never passed on, what
// stays on its host, and which source wins (login environment < forwarded < ~/.charmrunrc and setup <
// nodelist < ++env < ours).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace charmtree::proto {

using Environment = std::vector<std::string>;

/// Without what a launcher (this one or another) sets for its own processes: stale values would misdirect the
/// program.
Environment without_launcher_variables(const Environment& environment);

/// Only those: what a root has put into its job for every process, and wins over what is found on hosts.
Environment launcher_variables(const Environment& environment);

/// Without what belongs to the host or the login session where it was set (HOME, SSH_*, ...).
Environment forwardable(const Environment& environment);

/// The variables by which the user's libraries get into every program.
inline constexpr std::array<std::string_view, 3> kLoaderNames = {"LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT"};
/// Returns what remains without them, for programs that we start for ourselves (ssh, srun, bash).
Environment without_loader_variables(const Environment& environment);

/// Sets each variable of `later` in `base`, replacing what is there.
void overlay(Environment& base, const Environment& later);

/// What an entry that the user sets must be instead; empty: it is good.
std::string_view why_not_settable(std::string_view entry);

/// The value of `name`; empty if it is not set.
std::string_view value_of(const Environment& environment, std::string_view name);

}  // namespace charmtree::proto
