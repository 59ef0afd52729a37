// SPDX-License-Identifier: Apache-2.0
// Which names of a nodelist are one machine, and which are this one, as far as that can be seen without
// asking a name server: equal numeric addresses, and names that a hosts file gives one address.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tree/wire/address.hpp"
#include "tree/wire/host.hpp"

namespace charmtree {

/// Sets `machine` of the hosts that share theirs. `hosts_file` is the text of /etc/hosts.
void number_machines(std::vector<Host>& hosts, std::string_view hosts_file);

/// The names and addresses of this machine. Equal first labels are no evidence: `vm.b.example` is not `vm`.
class ThisMachine {
public:
  /// `own_name`: as gethostname gives it; `addresses`: those of its interfaces. `hosts_file` is the text of
  /// /etc/hosts.
  ThisMachine(std::string_view own_name, std::string_view hosts_file, std::vector<wire::Address> addresses);

  /// True for localhost, our own name as a whole, what the hosts file gives an address of ours or of our
  /// name, an address of ours, and, if our own name has a domain, the first label of that name alone, unless
  /// the hosts file knows it otherwise: that is what the resolver completes by our domain.
  bool has_name(std::string_view name) const;

private:
  bool has_address(std::string_view text) const;

  std::vector<wire::Address> addresses_;
  std::unordered_set<std::string> names_;  // in lower case
};

}  // namespace charmtree
