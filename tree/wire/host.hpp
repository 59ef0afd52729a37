// SPDX-License-Identifier: Apache-2.0
// Hosts as they travel down the tree: what a launcher must know to start a launcher on another host and what
// that one is to run. What many hosts share (login, keys, paths) is a Profile, sent once per launcher; a Host
// is small.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace charmtree {

/// How a launcher is started on a host.
enum class Via : std::uint8_t {
  local,    // as a child process of the parent launcher
  ssh,      // libssh2, in-process
  command,  // a remote-shell command: `<shell words> [-l login] <host> <remote command>`
};

/// What to do about a host key that known_hosts does not hold (ssh's StrictHostKeyChecking).
enum class HostKeyPolicy : std::uint8_t {
  strict,      // refuse
  accept_new,  // take it and report it to the root, which writes it
  no_check,    // take any, even a changed one (StrictHostKeyChecking no with its own UserKnownHostsFile)
};

/// One host key as known_hosts holds it. `type` is the algorithm ("ssh-ed25519"), `blob` the raw (decoded)
/// key.
struct HostKey {
  std::string type;
  std::string blob;
  friend bool operator==(const HostKey&, const HostKey&) = default;
};

/// What ssh may use there, as ssh's names, comma-separated, best first. Empty: the user does not care.
struct SshAlgorithms {
  std::string key_exchanges, host_keys, ciphers, macs;
  std::string user_keys;  // those with which we may sign
  friend bool operator==(const SshAlgorithms&, const SshAlgorithms&) = default;
};

/// Where the host's name belongs in the words of a remote shell.
inline constexpr std::string_view kHostWord = "%h";

/// What a set of hosts has in common.
struct Profile {
  Via via = Via::ssh;
  std::vector<std::string> shell;  // via command: the command's words, without host and remote command; or
                                   // kHostWord among them
  std::string user;                // login name; empty: the launcher's own
  std::uint16_t port = 22;
  std::vector<std::string> identity_files;  // private keys, '~' and ssh's % tokens already expanded where
                                            // they do not depend on the host; tried in this order
  bool identities_only = false;             // ssh's IdentitiesOnly: no other agent keys
  std::string agent;                        // the socket of the ssh agent; empty: $SSH_AUTH_SOCK; "none"
  SshAlgorithms algorithms;                 // of those, what libssh2 has
  std::vector<std::string> forwarded_keys;  // public keys (blobs) by which the root signs logins for others,
                                            // in the order in which to try them
  HostKeyPolicy host_keys = HostKeyPolicy::strict;
  bool ssh_command_only = false;  // needs what libssh2 lacks (ProxyJump, certificates): use the ssh command
  std::string launcher;           // path of charmrun on these hosts
  bool stages = false;            // hosts without it get it from whoever logs in to them
  std::string program;            // argv[0] to execute there
  std::vector<std::string> further_programs;  // of a job that runs several
  std::string directory;                      // working directory there
  std::string setup;                          // shell command run before the program; empty: none
  std::vector<std::string> environment;  // "NAME=value", of the nodelist and ++env: wins over all but ours
  std::vector<std::string> extra_arguments;  // appended to the program's arguments (nodelist `nice`)

  /// How launchers are started there unless a login showed that it cannot be done so.
  Via usual_via() const { return via == Via::ssh && ssh_command_only ? Via::command : via; }

  friend bool operator==(const Profile&, const Profile&) = default;
};

/// One entry of the job's host list. `index` is its position there and names its launcher for the whole job.
struct Host {
  std::uint32_t index = 0;
  std::string name;     // as the user wrote it: what messages show
  std::string address;  // what to connect to (ssh's HostName); empty: name
  std::uint32_t profile = 0;
  std::uint32_t machine = 0;  // hosts with the same number are names of one machine; 0: no other host is
  std::uint32_t first_process = 0;  // its processes are first_process ... first_process + processes - 1
  std::uint32_t processes = 0;
  std::vector<HostKey> known_keys;  // what known_hosts holds for it, read by the root
  bool known_key_revoked = false;

  const std::string& target() const { return address.empty() ? name : address; }
  friend bool operator==(const Host&, const Host&) = default;
};

/// Gives each host's processes their numbers: first processes rise over all hosts, those without any
/// included. How many processes there are.
std::uint32_t number_processes(std::vector<Host>& hosts);

/// On which of these the process is; null: on none.
const Host* host_of(const std::vector<Host>& hosts, std::uint32_t process);

}  // namespace charmtree
