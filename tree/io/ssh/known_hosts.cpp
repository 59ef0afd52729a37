// SPDX-License-Identifier: Apache-2.0
// SHA-1 is used through OpenSSL's old interface on purpose: only it lets an HMAC start from a saved state,
// which makes a look-up among many hashed names four times faster. It protects nothing here but the names'
// privacy on disk (the format is ssh's).
#define OPENSSL_SUPPRESS_DEPRECATED

#include "tree/io/ssh/known_hosts.hpp"

#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tree/io/ssh/ssh_wire.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kSaltBytes = SHA_DIGEST_LENGTH;

using State = std::array<std::uint32_t, 5>;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// The state of SHA-1 after one block of `salt` padded with zeros, each byte changed by `pad` (RFC 2104).
State after_key(std::string_view salt, unsigned char pad) {
  std::array<unsigned char, SHA_CBLOCK> block{};
  std::copy(salt.begin(), salt.end(), block.begin());
  for (unsigned char& byte : block) byte ^= pad;
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, block.data(), block.size());
  return {context.h0, context.h1, context.h2, context.h3, context.h4};
}

std::array<std::uint8_t, 20> finish(const State& state, const void* bytes, std::size_t size) {
  SHA_CTX context{};
  context.h0 = state[0];
  context.h1 = state[1];
  context.h2 = state[2];
  context.h3 = state[3];
  context.h4 = state[4];
  context.Nl = SHA_CBLOCK * 8;
  SHA1_Update(&context, bytes, size);
  std::array<std::uint8_t, 20> digest{};
  SHA1_Final(digest.data(), &context);
  return digest;
}

std::array<std::uint8_t, 20> hmac(const State& inner, const State& outer, std::string_view name) {
  const auto digest = finish(inner, name.data(), name.size());
  return finish(outer, digest.data(), digest.size());
}

/// The next word of `line`, which loses it and the blanks around it.
std::string_view take_word(std::string_view& line) {
  static constexpr std::string_view kBlanks = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

/// Wildcards: * any text, ? any one byte.
bool matches_pattern(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool matches_pattern_list(std::string_view name, std::string_view patterns) {
  bool taken = false;
  while (!patterns.empty()) {
    std::string_view pattern = patterns.substr(0, patterns.find(','));
    patterns.remove_prefix(std::min(pattern.size() + 1, patterns.size()));
    const bool negated = !pattern.empty() && pattern[0] == '!';
    if (negated) pattern.remove_prefix(1);
    if (pattern.empty() || !matches_pattern(name, pattern)) continue;
    if (negated) return false;
    taken = true;
  }
  return taken;
}

std::string known_hosts_name(std::string_view host, std::uint16_t port) {
  const std::string name = lower(host);
  return port == 22 ? name : fmt::format("[{}]:{}", name, port);
}

void KnownHosts::add_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  if (const auto text = read_file(path, kMaxKnownHostsBytes)) add_text(*text);
}

void KnownHosts::add_text(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!add_line(line)) ++skipped_lines_;
  }
}

bool KnownHosts::add_line(std::string_view line) {
  if (line.size() > kMaxKnownHostsLine) return false;
  Entry entry;
  std::string_view names = take_word(line);
  if (names.empty() || names[0] == '#') return true;
  if (names[0] == '@') {
    if (names == kRevokedMark) {
      entry.mark = Mark::revoked;
    } else if (names == "@cert-authority") {
      entry.mark = Mark::certificate_authority;
    } else {
      return false;
    }
    names = take_word(line);
  }
  const std::string_view type = take_word(line);
  auto blob = decode_base64(take_word(line));
  if (!blob || key_type(*blob) != type) return false;
  entry.key.type = type;
  entry.key.blob = std::move(*blob);
  const auto index = static_cast<std::uint32_t>(entries_.size());
  if (!(names[0] == '|' ? add_hashed(names, index) : add_names(names, index))) return false;
  entries_.push_back(std::move(entry));
  return true;
}

bool KnownHosts::add_hashed(std::string_view names, std::uint32_t entry) {
  static constexpr std::string_view kMagic = "|1|";
  if (!names.starts_with(kMagic)) return false;
  names.remove_prefix(kMagic.size());
  const std::size_t bar = names.find('|');
  if (bar == std::string_view::npos) return false;
  const auto salt = decode_base64(names.substr(0, bar));
  const auto digest = decode_base64(names.substr(bar + 1));
  if (!salt || salt->size() != kSaltBytes || !digest || digest->size() != SHA_DIGEST_LENGTH) return false;
  Hashed hashed;
  hashed.inner = after_key(*salt, 0x36);
  hashed.outer = after_key(*salt, 0x5C);
  std::memcpy(hashed.digest.data(), digest->data(), digest->size());
  hashed.entry = entry;
  hashed_.push_back(hashed);
  return true;
}

bool KnownHosts::add_names(std::string_view names, std::uint32_t entry) {
  std::string list = lower(names);
  if (list.find_first_of("*?!") != std::string::npos) {
    patterns_.emplace_back(std::move(list), entry);
    return true;
  }
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (!name.empty()) plain_[std::string(name)].push_back(entry);
  }
  return true;
}

KnownKeys KnownHosts::lookup(std::string_view given) const {
  const std::string name = lower(given);
  std::vector<std::uint32_t> found;
  if (const auto plain = plain_.find(name); plain != plain_.end()) found = plain->second;
  for (const auto& [pattern, entry] : patterns_) {
    if (matches_pattern_list(name, pattern)) found.push_back(entry);
  }
  for (const Hashed& hashed : hashed_) {
    if (hmac(hashed.inner, hashed.outer, name) == hashed.digest) found.push_back(hashed.entry);
  }
  std::sort(found.begin(), found.end());
  KnownKeys known;
  for (const std::uint32_t index : found) {
    const Entry& entry = entries_[index];
    if (entry.mark == Mark::certificate_authority) {
      known.certificate_authority = true;
      continue;
    }
    HostKey key = entry.key;
    if (entry.mark == Mark::revoked) {
      key.type = kRevokedMark;
      known.revoked = true;
    }
    if (std::find(known.keys.begin(), known.keys.end(), key) != known.keys.end()) continue;
    if (known.keys.size() < kMaxKeysPerHost) {
      known.keys.push_back(std::move(key));
    } else {
      known.too_many = true;
    }
  }
  return known;
}

KnownKeys KnownHosts::lookup_host(std::string_view host, std::uint16_t port, std::string_view alias) const {
  if (!alias.empty()) return lookup(alias);
  KnownKeys known = lookup(known_hosts_name(host, port));
  if (port == 22) return known;
  const bool any = std::any_of(known.keys.begin(), known.keys.end(),
                               [](const HostKey& key) { return key.type[0] != '@'; });
  KnownKeys plain = lookup(host);
  known.too_many |= plain.too_many;
  known.certificate_authority |= plain.certificate_authority;
  for (HostKey& key : plain.keys) {
    const bool revoked = key.type == kRevokedMark;
    if (!revoked && any) continue;
    if (!revoked) key.type = kOtherPortMark;
    known.revoked |= revoked;
    known.keys.push_back(std::move(key));
  }
  return known;
}

Result<std::string> known_hosts_field(std::string_view given, NameStyle style) {
  const std::string name = lower(given);
  if (style == NameStyle::plain) return name;
  std::string salt(kSaltBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(salt.data()), static_cast<int>(salt.size())) != 1) {
    return Error(Errc::internal, Phase::host_key, "no random numbers");
  }
  const auto digest = hmac(after_key(salt, 0x36), after_key(salt, 0x5C), name);
  return fmt::format("|1|{}|{}", encode_base64(salt),
                     encode_base64({reinterpret_cast<const char*>(digest.data()), digest.size()}));
}

}  // namespace charmtree::io
