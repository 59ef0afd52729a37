// SPDX-License-Identifier: Apache-2.0
// What the user's ssh configuration says about algorithms, and what of that libssh2 has. Which lists there
// are after "+", "-", "^" and wildcards is ssh's business (`ssh -G`).
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tree/wire/host.hpp"

namespace charmtree::io {

/// An option that is a list of algorithms.
struct AlgorithmOption {
  std::string SshAlgorithms::*member;
  const char* name;     // as the manual has it
  const char* keyword;  // as `ssh -G` has it
  const char* former;   // in older versions; may be the same
};

inline constexpr std::array<AlgorithmOption, 5> kAlgorithmOptions = {
    {{&SshAlgorithms::key_exchanges, "KexAlgorithms", "kexalgorithms", "kexalgorithms"},
     {&SshAlgorithms::host_keys, "HostKeyAlgorithms", "hostkeyalgorithms", "hostkeyalgorithms"},
     {&SshAlgorithms::ciphers, "Ciphers", "ciphers", "ciphers"},
     {&SshAlgorithms::macs, "MACs", "macs", "macs"},
     {&SshAlgorithms::user_keys, "PubkeyAcceptedAlgorithms", "pubkeyacceptedalgorithms",
      "pubkeyacceptedkeytypes"}}};

/// What libssh2 can do, as it was built.
class LibraryAlgorithms {
public:
  LibraryAlgorithms();
  bool have(const AlgorithmOption& option, const std::string& name) const;
  /// Those of a list that it has, in the same order. Empty: none.
  std::string of(const AlgorithmOption& option, std::string_view list) const;

private:
  std::set<std::string> key_exchanges_, host_keys_, ciphers_, macs_;
};

}  // namespace charmtree::io
