// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh/ssh_libraries.hpp"

#include <fmt/format.h>
#include <libssh2.h>
#include <openssl/crypto.h>

namespace charmtree::io {

bool libssh2_has_sha2_and_gcm() {
  static constexpr int kSince = 0x010b00;
  return libssh2_version(kSince) != nullptr;
}

std::string ssh_libraries() {
  return fmt::format("libssh2 {}, {}", libssh2_version(0), OpenSSL_version(OPENSSL_VERSION));
}

}  // namespace charmtree::io
