// SPDX-License-Identifier: Apache-2.0
// Which hosts of a list a job may use: ++host chooses some, with what the list says of them, and may name
// others; ++exclude leaves some out. Pure.
#pragma once

#include <string>
#include <string_view>

#include "charmrun/hosts/nodelist.hpp"

namespace charmtree {

/// The text of a list of hosts. Nothing in it: there is none.
struct HostText {
  std::string_view text, file;  // the file for messages only
  std::string_view group = kDefaultNodegroup;
};

/// ++host and ++exclude, as host_set.hpp reads them; empty: not given.
struct HostChoice {
  std::string hosts, excluded;

  bool is_any() const { return hosts.empty() && excluded.empty(); }
};

/// The hosts of the list that are chosen; a host that ++exclude names and that is not there does not matter.
/// Errors as parse_nodelist, with ++host or ++exclude as the file, if no host is left, and if the name of
/// one is a number.
Result<Nodelist> choose_hosts(const HostText& list, const HostChoice& choice);

}  // namespace charmtree
