// SPDX-License-Identifier: Apache-2.0
// SHA-256 of what comes in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace charmtree::io {

class Digest {
public:
  Digest();
  void add(std::string_view bytes);
  /// Of all that was added, 32 bytes; it begins anew then.
  std::string end();

private:
  void begin();

  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace charmtree::io
