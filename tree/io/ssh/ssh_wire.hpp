// SPDX-License-Identifier: Apache-2.0
// The few data formats of ssh that we read ourselves: blobs (tree/wire/ssh_blob.hpp), base64 and
// fingerprints. Used for key files, known_hosts and the agent's protocol. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tree/wire/ssh_blob.hpp"

namespace charmtree::io {

using wire::append_string;
using wire::append_u32;
using wire::BlobReader;
using wire::key_type;

/// nullopt unless `text` is well-formed base64 without white space.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

/// "SHA256:..." as ssh shows it.
std::string fingerprint(std::string_view blob);

}  // namespace charmtree::io
