// SPDX-License-Identifier: Apache-2.0
// What ssh itself would do for each host of a nodelist, asked from ssh (`ssh -G`), so that no ssh_config
// option has to be understood twice. ssh is asked once for each set of names that the same Host lines match.
// Blocks, bounded in time: for the root, before the launch. Without an ssh program, and where its files hold
// nothing that matters here, the answers are ssh's defaults.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/io/ssh/known_hosts.hpp"
#include "tree/io/ssh/ssh_algorithms.hpp"
#include "tree/io/ssh/ssh_config_groups.hpp"
#include "tree/wire/host.hpp"

namespace charmtree::io {

/// A host as the nodelist has it. Empty login and port 0: not given there, ssh decides.
struct SshQuery {
  std::string name;
  std::string login;
  std::uint16_t port = 0;
};

/// What many hosts have in common.
struct SshSettings {
  std::string user;  // never empty: an inner launcher may run under another name
  std::uint16_t port = 22;
  std::vector<std::string> identity_files;  // empty: ssh's default ones
  bool identities_only = false;
  std::string agent;         // as Profile has it
  SshAlgorithms algorithms;  // the same
  HostKeyPolicy host_keys = HostKeyPolicy::strict;
  bool ssh_command_only = false;
  std::string why_command;       // the option that libssh2 cannot follow, e.g. "ProxyJump"
  std::string known_hosts_file;  // where a key accepted on first use belongs; empty: nowhere
  NameStyle name_style = NameStyle::plain;

  /// Fills what a Profile has of this; the rest of it stays as it is.
  void apply(Profile& profile) const;
  friend bool operator==(const SshSettings&, const SshSettings&) = default;
};

struct SshHost {
  std::uint32_t settings = 0;  // index into SshAnswers::settings
  std::string address;         // ssh's HostName; empty: the name itself
  std::string known_name;      // under which known_hosts holds it, for KnownHostsWriter
  std::vector<HostKey> known_keys;
  bool known_key_revoked = false;
};

struct SshAnswers {
  std::vector<SshSettings> settings;
  std::vector<SshHost> hosts;  // one for each query, in their order
  std::size_t asked = 0;       // how often ssh was run
  std::string note;            // for ++verbose, e.g. that there is no ssh program
};

struct SshConfigOptions {
  std::string ssh = "ssh";  // the program, looked up in PATH unless it has a slash
  std::string config_file;  // ssh's -F; empty: the user's and the system's
  std::string home;         // of the user, as the password database has it
  std::string user;
  Duration limit = 20s;  // for all questions together (`Match exec` can take any time)
};

class SshConfig {
public:
  explicit SshConfig(SshConfigOptions options);

  /// Errors (phase options): ssh refuses its configuration, or takes longer than the limit.
  Result<SshAnswers> ask(const std::vector<SshQuery>& queries);

private:
  using Answer = std::map<std::string,
                          std::vector<std::string>>;  // keyword in lower case: the rest of each of its lines
  struct Group {
    std::vector<std::size_t> members;  // indices of queries
    std::size_t speaker = 0;           // the one of them that ssh is asked about
  };
  SshConfigGroups read_files() const;
  void set_algorithms(const Answer& answer, SshSettings& settings) const;
  static std::vector<Group> group(const SshConfigGroups& files, const std::vector<SshQuery>& queries);
  std::vector<std::string> command(const SshQuery& query) const;
  Result<std::vector<Answer>> run(const std::vector<SshQuery>& queries,
                                  const std::vector<Group>& groups) const;
  void add(const SshQuery& query, const SshQuery& speaker, const Answer& answer, std::size_t index,
           SshAnswers& out);
  Answer defaults() const;
  SshSettings settings_of(const Answer& answer, const SshQuery& query, const std::string& address) const;
  const KnownHosts& known_hosts(const std::string& files);

  SshConfigOptions options_;
  LibraryAlgorithms library_;
  SshConfigGroups files_;
  bool knows_files_ = true;                        // those are all that ssh reads
  std::map<std::string, KnownHosts> known_hosts_;  // by list of files
};

}  // namespace charmtree::io
