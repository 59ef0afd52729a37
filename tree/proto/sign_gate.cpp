// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/sign_gate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/userauth.hpp"

namespace charmtree::proto {

namespace {
Error refuse(std::string what) {
  return {Errc::bad_peer, Phase::authenticate, std::move(what)};
}
}  // namespace

Result<std::string> SignGate::admit(const Host& host, std::string_view data) {
  const auto request = wire::parse_userauth_request(data);
  if (!request) return request.error();
  const Profile& profile = job_.profiles[host.profile];
  if (profile.user.empty() || request->user != profile.user)
    return refuse("it is for another login name than that of the nodelist");
  if (std::find(profile.forwarded_keys.begin(), profile.forwarded_keys.end(), request->key) ==
      profile.forwarded_keys.end())
    return refuse("it is for a key that was not offered");
  std::uint32_t& count = signed_[host.index];
  if (count >= tries_) return refuse(fmt::format("{} logins to this host have been signed already", tries_));
  ++count;
  return request->key;
}

}  // namespace charmtree::proto
