// SPDX-License-Identifier: Apache-2.0
// What an ssh login by public key has signed (RFC 4252 §7): the one kind of text that the root signs for
// other launchers. Read strictly: whoever asks may be an enemy.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tree/base/result.hpp"

namespace charmtree::wire {

/// The fields that differ. The others are fixed: SSH_MSG_USERAUTH_REQUEST, "ssh-connection", "publickey",
/// TRUE.
struct UserauthRequest {
  std::string session;    // identifier of the ssh session, a hash
  std::string user;       // login name
  std::string algorithm;  // of the signature
  std::string key;        // the public key as a blob
  friend bool operator==(const UserauthRequest&, const UserauthRequest&) = default;
};

/// The hashes of key exchanges: SHA-1 ... SHA-512, in bytes.
inline constexpr std::size_t kLeastSession = 20, kMostSession = 64;
/// More than the largest key needs (RSA with 16384 bits: 2 KiB).
inline constexpr std::size_t kMaxUserauthRequest = 4096;

/// Error (bad_peer) unless `data` is such a request to its last byte, its session is as long as a hash, and
/// its algorithm is one of its key, which is not RSA with SHA-1.
Result<UserauthRequest> parse_userauth_request(std::string_view data);

std::string encode(const UserauthRequest& request);

}  // namespace charmtree::wire
