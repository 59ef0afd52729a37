// SPDX-License-Identifier: Apache-2.0
// The libraries that make sessions, which differ between builds in what keys and ciphers they have.
#pragma once

#include <string>

namespace charmtree::io {

/// "libssh2 1.10.0, OpenSSL 3.0.17 1 Jul 2025"
std::string ssh_libraries();

}  // namespace charmtree::io
