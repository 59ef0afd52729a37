// SPDX-License-Identifier: Apache-2.0
// The libraries that make sessions, which differ between builds in what keys and ciphers they have.
#pragma once

#include <string>

namespace charmtree::io {

/// Whether libssh2 is 1.11 or newer: it has AES-GCM, and RSA with SHA-2, without which no server of today
/// takes an RSA key. 1.10 must not be asked for what it lacks: it passes over that by a copy onto itself.
bool libssh2_has_sha2_and_gcm();

/// "libssh2 1.10.0, OpenSSL 3.0.17 1 Jul 2025"
std::string ssh_libraries();

}  // namespace charmtree::io
