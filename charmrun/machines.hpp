// SPDX-License-Identifier: Apache-2.0
// Which names of a nodelist are one machine, as far as that can be seen without asking a name server: equal
// numeric addresses, and names that a hosts file gives one address.
#pragma once

#include <string_view>
#include <vector>

#include "tree/wire/host.hpp"

namespace charmtree {

/// Sets `machine` of the hosts that share theirs. `hosts_file` is the text of /etc/hosts.
void number_machines(std::vector<Host>& hosts, std::string_view hosts_file);

}  // namespace charmtree
