// SPDX-License-Identifier: Apache-2.0
// The check that libssh2 leaves to its user: is the key that a server shows the one that we know? It judges
// the keys of our own logins, and those that other launchers say they have taken. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tree/base/result.hpp"
#include "tree/wire/host.hpp"

namespace charmtree::proto {

/// HostKey::type is normally the algorithm. Two marks stand in its place for keys that known_hosts holds for
/// a host in a special way; the algorithm is then in the blob:
inline constexpr std::string_view kRevokedMark = "@revoked";  // refuse this key, whatever else is known
inline constexpr std::string_view kOtherPortMark =
    "@other-port";  // known for the name without its port: takes the key if it
                    // matches, but another key of that type is no change

enum class HostKeyVerdict : std::uint8_t {
  known,      // known_hosts holds it
  new_key,    // unknown, and accept_new: to be reported to the root
  unchecked,  // no_check took it
};

/// Judges `blob`, the key that the server showed. Errors: host_key_unknown, host_key_changed (also for a
/// revoked key), and no_usable_key if all that is known is of a kind that libssh2 cannot ask for, so that
/// only the ssh command can check it.
Result<HostKeyVerdict> judge_host_key(const Host& host, const Profile& profile, const std::string& blob);

/// The host-key algorithms to offer, best first, comma-separated: what is known for the host comes first,
/// since a server with several keys shows the first one that we offer, and an unknown one would look like a
/// change. `allowed` is such a list, too: there are no others, and their order counts; empty: all that can be
/// asked for.
std::string host_key_order(const Host& host, const std::string& allowed = {});

/// True if we judge host keys of that algorithm. Whether libssh2 can ask for it depends on its version.
bool host_key_usable(std::string_view algorithm);

}  // namespace charmtree::proto
