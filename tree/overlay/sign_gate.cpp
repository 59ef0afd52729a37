// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/sign_gate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/userauth.hpp"

namespace charmtree::proto {

namespace {
Error refuse_to_sign(std::string what) {
  return {Errc::bad_peer, Phase::authenticate, std::move(what)};
}
}  // namespace

Result<std::string> SignGate::admit(const Host& host, std::string_view data, bool is_ending) {
  Entry& entry = hosts_[host.index];
  if (entry.state == State::up) return refuse_to_sign("its launcher is up");
  if (entry.state == State::failed) return refuse_to_sign("it has been given up");
  if (is_ending && entry.state != State::lost) return refuse_to_sign("the end has begun");
  const auto request = wire::parse_userauth_request(data);
  if (!request) return request.error();
  const Profile& profile = job_.profiles[host.profile];
  if (profile.user.empty() || request->user != profile.user)
    return refuse_to_sign("it is for another login name than that of the nodelist");
  if (std::find(profile.forwarded_keys.begin(), profile.forwarded_keys.end(), request->key) ==
      profile.forwarded_keys.end())
    return refuse_to_sign("it is for a key that was not offered");
  if (entry.signatures >= tries_)
    return refuse_to_sign(fmt::format("{} logins to this host have been signed already", tries_));
  ++entry.signatures;
  return request->key;
}

/// What fails behind the launcher's answer has a launcher.
void SignGate::failed(const wire::HostFailure& failure) {
  hosts_[failure.host].state = failure.error.phase > Phase::hello ? State::up : State::failed;
}

void SignGate::begin_run() {
  for (auto& [host, entry] : hosts_) {
    if (entry.state != State::up) entry.state = State::awaited;
  }
}

void SignGate::take_over(const std::vector<Host>& hosts) {
  for (const Host& host : hosts) hosts_[host.index] = {State::up, tries_ - 1};
}

}  // namespace charmtree::proto
