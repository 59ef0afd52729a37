// SPDX-License-Identifier: Apache-2.0
#include "tree/io/digest.hpp"

#include <openssl/evp.h>
#include <openssl/sha.h>

namespace charmtree::io {

Digest::Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  begin();
}

void Digest::begin() {
  EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
}

void Digest::add(std::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Digest::end() {
  std::string sum(SHA256_DIGEST_LENGTH, '\0');
  EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(sum.data()), nullptr);
  begin();
  return sum;
}

}  // namespace charmtree::io
