// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh/ssh_algorithms.hpp"

#include <fmt/format.h>
#include <libssh2.h>

#include <algorithm>

#include "tree/base/join.hpp"
#include "tree/io/ssh/ssh_keys.hpp"
#include "tree/overlay/host_key.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::io {

namespace {

std::set<std::string> methods(LIBSSH2_SESSION* session, int kind) {
  std::set<std::string> names;
  const char** found = nullptr;
  const int count = libssh2_session_supported_algs(session, kind, &found);
  for (int i = 0; i < count; ++i) names.emplace(found[i]);
  if (count > 0) libssh2_free(session, static_cast<void*>(found));
  return names;
}

}  // namespace

LibraryAlgorithms::LibraryAlgorithms() {
  libssh2_init(LIBSSH2_INIT_NO_CRYPTO);
  LIBSSH2_SESSION* session = libssh2_session_init_ex(nullptr, nullptr, nullptr, nullptr);
  if (session == nullptr) return;
  key_exchanges_ = methods(session, LIBSSH2_METHOD_KEX);
  host_keys_ = methods(session, LIBSSH2_METHOD_HOSTKEY);
  ciphers_ = methods(session, LIBSSH2_METHOD_CRYPT_CS);
  macs_ = methods(session, LIBSSH2_METHOD_MAC_CS);
  libssh2_session_free(session);
}

bool LibraryAlgorithms::have(const AlgorithmOption& option, const std::string& name) const {
  if (option.member == &SshAlgorithms::host_keys)
    return proto::host_key_usable(name) && host_keys_.contains(name);
  if (option.member == &SshAlgorithms::user_keys) return user_key_usable(name);
  const auto& all = option.member == &SshAlgorithms::ciphers ? ciphers_
                    : option.member == &SshAlgorithms::macs  ? macs_
                                                             : key_exchanges_;
  return all.contains(name);
}

std::string LibraryAlgorithms::of(const AlgorithmOption& option, std::string_view list) const {
  std::vector<std::string> names = split_list(list);
  std::erase_if(names, [&](const std::string& name) { return !have(option, name); });
  return join(names, ",");
}

}  // namespace charmtree::io
