// SPDX-License-Identifier: Apache-2.0
// By which somebody shows that he has a secret without telling it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace charmtree {

/// HMAC with SHA-256: 32 bytes.
std::string keyed_hash(std::string_view key, std::string_view text);
/// In a time that does not tell where they differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace charmtree
