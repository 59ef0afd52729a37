// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a launcher wants signed. What is admitted is a login by public key to the last byte,
// under the host's name and by its key.
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/script.hpp"
#include "tree/overlay/sign_gate.hpp"
#include "tree/wire/ssh_blob.hpp"
#include "tree/wire/userauth.hpp"

namespace {

using namespace charmtree;

using charmtree::fuzz::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto parsed = wire::parse_userauth_request(bytes);
  wire::JobSpec job;
  job.profiles.resize(1);
  job.profiles[0].user = "joe";
  if (parsed) job.profiles[0].forwarded_keys = {parsed->key};
  proto::SignGate gate{job, 1};
  const auto key = gate.admit(Host{}, bytes, false);
  require(key.ok() == (parsed.ok() && parsed->user == "joe"));
  require(!gate.admit(Host{}, bytes, false).ok());
  if (!parsed) return 0;
  require(wire::encode(*parsed) == bytes && size <= wire::kMaxUserauthRequest);
  require(wire::key_type(parsed->key) == parsed->algorithm);
  return 0;
}
