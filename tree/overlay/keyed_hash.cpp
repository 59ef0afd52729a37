// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/keyed_hash.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

namespace charmtree {

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string keyed_hash(std::string_view key, std::string_view text) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  unsigned size = SHA256_DIGEST_LENGTH;
  ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(hash.data()), &size);
  return hash;
}

}  // namespace charmtree
