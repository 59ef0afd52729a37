// SPDX-License-Identifier: Apache-2.0
// Host keys that launchers say they have taken on first use, as the root judges them before it writes any
// down: what is in known_hosts counts for all later logins of the user, so that a launcher that lies must not
// be able to add to what is known of a host. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/host.hpp"

namespace charmtree::proto {

class NewHostKeys {
public:
  /// True: the key is to be written down. That is so once for a host, and only if a login from here would
  /// take the key and report it. False: nothing is to be done, since it is known, or its refusal has been
  /// told. Error: it is refused, and why; once for each host.
  Result<bool> judge(const Host& host, const Profile& profile, const HostKey& key);
  /// The same of a key of one of the job's hosts, with what follows from it.
  void on(const wire::NewHostKey& told, const wire::JobSpec& job, const std::vector<Host>& hosts,
          Actions& out);

private:
  std::map<std::uint32_t, HostKey> taken_;  // by host
  std::set<std::uint32_t> refused_;         // hosts
};

}  // namespace charmtree::proto
