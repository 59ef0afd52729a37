// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/host_key.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tree/wire/ssh_blob.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::proto {

using wire::key_type;

namespace {

// In the order of cost. libssh2 1.10 has of RSA only ssh-rsa, which is SHA-1: only old servers still offer
// it.
constexpr std::array<std::string_view, 7> kOffered = {"ssh-ed25519",
                                                      "ecdsa-sha2-nistp256",
                                                      "ecdsa-sha2-nistp384",
                                                      "ecdsa-sha2-nistp521",
                                                      "rsa-sha2-512",
                                                      "rsa-sha2-256",
                                                      "ssh-rsa"};

bool libssh2_may_not_get(std::string_view type) {
  return type == "ssh-rsa" || !host_key_usable(type);
}

std::string remove_command(const Profile& profile) {
  return profile.port == 22 ? "ssh-keygen -R HOST" : fmt::format("ssh-keygen -R '[HOST]:{}'", profile.port);
}

}  // namespace

bool host_key_usable(std::string_view algorithm) {
  return std::find(kOffered.begin(), kOffered.end(), algorithm) != kOffered.end();
}

std::string host_key_order(const Host& host, const std::string& allowed) {
  std::vector<std::string> types = split_list(allowed);
  if (types.empty()) types.assign(kOffered.begin(), kOffered.end());
  std::string order;
  const auto append = [&](bool known) {
    for (const std::string& type : types) {
      const bool is_known =
          std::any_of(host.known_keys.begin(), host.known_keys.end(), [&](const HostKey& key) {
            return key.type != kRevokedMark && key_type(key.blob) == wire::key_type_of_algorithm(type);
          });
      if (is_known != known) continue;
      if (!order.empty()) order += ',';
      order += type;
    }
  };
  append(true);
  append(false);
  return order;
}

Result<HostKeyVerdict> judge_host_key(const Host& host, const Profile& profile, const std::string& blob) {
  const std::string type = key_type(blob);
  if (type.empty()) return Error(Errc::handshake, Phase::host_key, "the server showed no valid host key");
  bool known = false, revoked = false, named_revoked = false, other_key = false, out_of_reach = false;
  for (const HostKey& key : host.known_keys) {
    const bool mark = key.type == kRevokedMark;
    const bool same = key.blob == blob;
    named_revoked |= mark;
    revoked |= mark && same;
    if (mark) continue;
    known |= same;
    other_key |= !same && key.type == type;
    out_of_reach |= libssh2_may_not_get(key_type(key.blob)) && key_type(key.blob) != type;
  }
  // Whoever sets the flag without the keys means: one of its keys is revoked, trust only what is known to be
  // good.
  revoked |= host.known_key_revoked && !named_revoked && !known;
  if (profile.host_keys == HostKeyPolicy::no_check)
    return known ? HostKeyVerdict::known : HostKeyVerdict::unchecked;
  if (revoked) {
    return Error(Errc::host_key_changed, Phase::host_key,
                 fmt::format("the {} host key is revoked in known_hosts", type), "give the host a new key");
  }
  if (known) return HostKeyVerdict::known;
  if (other_key) {
    return Error(Errc::host_key_changed, Phase::host_key,
                 fmt::format("the {} host key has changed (or someone is in between)", type),
                 fmt::format("if the host was set up anew: {}", remove_command(profile)));
  }
  if (out_of_reach) {
    return Error(Errc::no_usable_key, Phase::host_key,
                 "known_hosts holds only keys that libssh2 cannot ask for");
  }
  if (profile.host_keys == HostKeyPolicy::accept_new) return HostKeyVerdict::new_key;
  return Error(Errc::host_key_unknown, Phase::host_key, fmt::format("the {} host key is unknown", type),
               "log in once with ssh, or use ++accept-new-host-keys");
}

}  // namespace charmtree::proto
