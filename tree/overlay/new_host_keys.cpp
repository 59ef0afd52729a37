// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/new_host_keys.hpp"

#include <fmt/format.h>

#include "tree/overlay/host_key.hpp"
#include "tree/wire/ssh_blob.hpp"

namespace charmtree::proto {

namespace {

Error refuse_key(std::string what) {
  return {Errc::bad_peer, Phase::host_key, std::move(what)};
}

/// As for a login from here. True: it would be taken.
Result<bool> is_new(const Host& host, const Profile& profile, const HostKey& key) {
  if (key.type.empty() || key.type != wire::key_type(key.blob)) return refuse_key("it is no key");
  if (profile.usual_via() != Via::ssh)
    return refuse_key("such hosts are not logged in to by the built-in ssh");
  if (profile.host_keys != HostKeyPolicy::accept_new)
    return refuse_key("new keys are not to be added (++accept-new-host-keys)");
  const auto verdict = judge_host_key(host, profile, key.blob);
  if (!verdict) return verdict.error();
  return *verdict == HostKeyVerdict::new_key;
}

}  // namespace

Result<bool> NewHostKeys::judge(const Host& host, const Profile& profile, const HostKey& key) {
  const auto taken = taken_.find(host.index);
  // A later login there, to clean up, reports it again.
  if (taken != taken_.end() && taken->second == key) return false;
  const auto verdict = taken == taken_.end() ? is_new(host, profile, key)
                                             : refuse_key("another one has been added in this job already");
  if (!verdict) return refused_.insert(host.index).second ? verdict : Result<bool>{false};
  if (*verdict) taken_.emplace(host.index, key);
  return verdict;
}

void NewHostKeys::on(const wire::NewHostKey& told, const wire::JobSpec& job, const std::vector<Host>& hosts,
                     Actions& out) {
  if (told.host >= hosts.size()) return;
  const Host& host = hosts[told.host];
  const auto is_new = judge(host, job.profiles[host.profile], told.key);
  if (!is_new)
    out.push_back(Say{Tone::info, fmt::format("{}: a host key that was reported for it is not added: {}",
                                              host.name, to_string(is_new.error()))});
  else if (*is_new)
    out.push_back(StoreHostKey{told.host, told.key});
}

}  // namespace charmtree::proto
