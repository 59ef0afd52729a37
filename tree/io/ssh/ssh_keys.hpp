// SPDX-License-Identifier: Apache-2.0
// The user's private key files, each read and judged once. A key that libssh2 cannot use in an event loop is
// set aside here: with a passphrase (libssh2 would run bcrypt on every login), on a security key, or open to
// others (ssh refuses that, too).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tree/wire/host.hpp"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace charmtree::io {

inline constexpr std::size_t kMaxKeyFileBytes = 64 * 1024;
inline constexpr std::size_t kMaxKeysTried = 20;

/// An OpenSSL key that frees itself.
using OpenedKey = std::shared_ptr<evp_pkey_st>;

struct KeyFile {
  enum class State : std::uint8_t { usable, missing, passphrase, unsupported, open_to_others };
  State state = State::missing;
  std::string path;
  std::string text;  // of the file; only if usable
  std::string type;  // "ssh-ed25519"; empty: unknown
  std::string blob;  // the public key; empty: unknown
  OpenedKey opened;  // to sign with; only RSA, and ed25519 in OpenSSH's format (others: null, libssh2 parses
                     // the text on each login)
};

/// One key to try, from a file or (file null) from the agent or, forwarded, from the root's agent.
struct KeyToTry {
  std::shared_ptr<const KeyFile> file;
  std::string blob;  // of a key without a file
  bool forwarded = false;

  const std::string& public_blob() const { return file ? file->blob : blob; }
};

class SshKeys {
public:
  /// `home` is where the default keys are (home + "/.ssh/id_ed25519", ...).
  explicit SshKeys(std::string home) : home_(std::move(home)) {}

  std::shared_ptr<const KeyFile> load(const std::string& path);

  /// The files that a profile means: its own, or the default ones.
  std::vector<std::string> files(const Profile& profile) const;

  /// In ssh's order: named keys that the agent holds too, other keys of the agent (unless identities_only),
  /// the remaining files; RSA last: libssh2 1.10 signs with SHA-1, which today's servers refuse, and 1.11,
  /// where the server takes no RSA, fails all keys that follow. None that the profile's algorithms leave out.
  /// At most kMaxKeysTried.
  std::vector<KeyToTry> to_try(const Profile& profile, const std::vector<std::string>& agent_blobs);

  /// Whether the agent could add anything: not if only named keys may be used and all of them are usable
  /// files.
  bool wants_agent(const Profile& profile);

  /// Why the files of this profile that exist cannot be used, for the error message; empty: nothing to say.
  std::string complaint(const Profile& profile);

private:
  std::string home_;
  std::map<std::string, std::shared_ptr<const KeyFile>> loaded_;
};

/// The keys of this host and the root's, which are the user's choice and come first: those that this host
/// has, too, are used here, the others are signed with by the root.
std::vector<KeyToTry> with_forwarded(std::vector<KeyToTry> keys, const std::vector<std::string>& forwarded);

/// The bare signature of `data`, a login's request, by the algorithm that it names; empty on failure.
std::string sign(const OpenedKey& key, std::string_view data);

/// True if libssh2 takes signatures that others have made with a key of that type: an agent, or OpenSSL with
/// KeyFile::opened.
bool agent_type_usable(std::string_view type);

/// True if a login can be signed by that algorithm at all.
bool user_key_usable(std::string_view algorithm);

}  // namespace charmtree::io
