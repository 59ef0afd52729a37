// SPDX-License-Identifier: Apache-2.0
// ssh's own data format (RFC 4251 §5): big-endian numbers and strings with their length in front. Key files,
// the agent's protocol and what a login signs are made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace charmtree::wire {

/// Reads a buffer from its beginning; every read fails for good once one went past the end. Views point into
/// the buffer.
class BlobReader {
public:
  explicit BlobReader(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::uint8_t> byte();
  std::optional<std::uint32_t> u32();
  std::optional<std::string_view> string();
  std::string_view rest() const { return rest_; }

private:
  std::string_view rest_;
};

void append_u32(std::string& out, std::uint32_t value);
void append_string(std::string& out, std::string_view bytes);

/// The algorithm that a public key blob names ("ssh-ed25519"); empty if it is malformed or the name is not a
/// plain word.
std::string key_type(std::string_view blob);

/// What keys are by which this algorithm signs: "ssh-rsa" of "rsa-sha2-256" (RFC 8332), of others the same
/// word.
std::string_view key_type_of_algorithm(std::string_view algorithm);

}  // namespace charmtree::wire
