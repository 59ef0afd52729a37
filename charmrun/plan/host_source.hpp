// SPDX-License-Identifier: Apache-2.0
// Where the list of a job's hosts is: the file that the user names, else the allocation in which we run, else
// a file in one of the usual places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "charmrun/hosts/nodelist.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/host.hpp"

namespace charmtree {

struct HostSource {
  std::string name, text;  // the file, for messages, and what is in it; both empty: this machine alone
  Command shell;           // by what launchers are started there, unless the user says it; empty: ssh
  /// Stdin has no second time, and to run a manager's commands would hold up a running job.
  bool is_read_once = false;
  std::vector<std::string> remarks;  // one line each, shown unless ++quiet
};

/// Reads it. ++host may name hosts without any list. Errors are bad_input: what cannot be read, and
/// find_allocation's.
Result<HostSource> find_hosts(const Options& options);

/// Of the allocation in which we run, and a line about it; 0, and no line: there is none, or the user has
/// said how many processes there are to be, and the starter can be told. Errors are find_allocation's.
Result<std::uint32_t> allocated_slots(const Options& options, const ConnectingStarter& starter,
                                      std::vector<std::string>& remarks);

/// Error bad_input: the host is started by a command that has no place for what the list says of its login.
Result<void> check_shell(const Profile& profile, const HostOptions& said, const std::string& host);

}  // namespace charmtree
