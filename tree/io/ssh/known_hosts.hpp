// SPDX-License-Identifier: Apache-2.0
// known_hosts files, read as ssh reads them (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"): plain names, comma
// lists, wildcards and negation, [host]:port, hashed names, @revoked and @cert-authority lines. Files are
// parsed once; a look-up among thousands of plain names is one hash, a hashed name costs one HMAC (0.2 us)
// per hashed line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/overlay/host_key.hpp"
#include "tree/wire/host.hpp"

namespace charmtree::io {

using proto::kOtherPortMark;
using proto::kRevokedMark;

inline constexpr std::size_t kMaxKnownHostsBytes = 256U << 20;
inline constexpr std::size_t kMaxKnownHostsLine = 64U << 10;
inline constexpr std::size_t kMaxKeysPerHost = 256;

/// What known_hosts holds for one name.
struct KnownKeys {
  std::vector<HostKey> keys;  // in the order of the files, no duplicates, at most kMaxKeysPerHost; with marks
  bool revoked = false;       // `keys` holds a revoked one, or would if it were not too_many
  bool too_many = false;      // more than kMaxKeysPerHost: only the ssh command can check them all
  bool certificate_authority =
      false;  // a @cert-authority line is for this name: only the ssh command can check that
};

/// The name under which ssh looks a host up: "name", or "[name]:port" if port is not 22; in lower case.
std::string known_hosts_name(std::string_view host, std::uint16_t port);

/// True if ssh's comma-separated pattern list (* ? !) takes `name`. Both in lower case.
bool matches_pattern_list(std::string_view name, std::string_view patterns);

class KnownHosts {
public:
  /// Reads a file behind those read before. A missing or unreadable file holds nothing, a malformed line is
  /// skipped.
  void add_file(const std::string& path);
  void add_text(std::string_view text);

  /// What is known for exactly this name (see known_hosts_name).
  KnownKeys lookup(std::string_view name) const;

  /// As ssh does for a host and a port: an alias or the name with the port; if that is unknown and port is
  /// not 22, what is known for the name alone, marked kOtherPortMark.
  KnownKeys lookup_host(std::string_view host, std::uint16_t port, std::string_view alias) const;

  std::size_t skipped_lines() const { return skipped_lines_; }

private:
  enum class Mark : std::uint8_t { none, revoked, certificate_authority };
  struct Entry {
    Mark mark = Mark::none;
    HostKey key;
  };
  // The two SHA-1 states after the padded key of an HMAC, so that a name costs two more blocks only.
  struct Hashed {
    std::array<std::uint32_t, 5> inner{}, outer{};
    std::array<std::uint8_t, 20> digest{};
    std::uint32_t entry = 0;
  };
  bool add_line(std::string_view line);
  bool add_hashed(std::string_view names, std::uint32_t entry);
  bool add_names(std::string_view names, std::uint32_t entry);

  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> plain_;
  std::vector<std::pair<std::string, std::uint32_t>> patterns_;
  std::vector<Hashed> hashed_;
  std::size_t skipped_lines_ = 0;
};

/// How a name is written into known_hosts.
enum class NameStyle : std::uint8_t { plain, hashed };

/// The first field of a line for `name`: in lower case, or hashed with a salt of its own. Error: no random
/// numbers.
Result<std::string> known_hosts_field(std::string_view name, NameStyle style);

}  // namespace charmtree::io
