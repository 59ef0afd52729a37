// SPDX-License-Identifier: Apache-2.0
// A private sshd on 127.0.0.1 with its own keys and configuration, for the tests of the ssh transport. Works
// as root and as an ordinary user (then one can log in as oneself only). Everything lies in a temporary
// directory and ends with the object.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tree/io/asio.hpp"
#include "tree/io/link/link.hpp"
#include "tree/io/resolver.hpp"
#include "tree/io/ssh/ssh_transport.hpp"

namespace charmtree::io::test {

class TempDir {
public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file (0600) and gives its path.
  std::string write(const std::string& name, const std::string& text) const;

private:
  std::string path_;
};

/// A child process, killed and reaped with the object.
class Process {
public:
  explicit Process(const std::vector<std::string>& argv, const std::string& log = "/dev/null");
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  pid_t pid() const { return pid_; }

private:
  pid_t pid_;
};

std::string read_text(const std::string& path);

/// Runs a command to its end; its exit status.
int run(const std::vector<std::string>& argv);

/// A key pair made once per test program and name: "ed25519", "ecdsa", "rsa", with "host_" in front for an
/// sshd's own, with a "-2" behind for another one of that type, "-passphrase" for a protected one.
std::string key_path(const std::string& which);
HostKey public_key(const std::string& which);
std::string public_line(const std::string& which);  // "ssh-ed25519 AAAA..."

struct SshdSetup {
  std::vector<std::string> host_keys = {"ed25519"};
  std::vector<std::string> authorized = {"ed25519"};
  std::string extra;  // further lines of sshd_config
};

class Sshd {
public:
  explicit Sshd(const SshdSetup& setup = {});
  std::uint16_t port() const { return port_; }
  std::string log() const { return read_text(directory_.path("log")); }
  pid_t pid() const { return process_->pid(); }

  /// A host and a profile that log in there with the key "ed25519" and know all of its host keys.
  Host host() const;
  Profile profile() const;

private:
  TempDir directory_;
  SshdSetup setup_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Process> process_;
};

/// A real ssh-agent that holds these keys.
class Agent {
public:
  explicit Agent(const std::vector<std::string>& keys);
  std::string socket() const { return directory_.path("agent"); }

private:
  TempDir directory_;
  Process process_;
};

/// A loop, a resolver and a transport whose home is empty and that has no agent.
struct Bench {
  explicit Bench(SshSurroundings surroundings = nobody());
  static SshSurroundings nobody();

  /// Logs in and waits for the outcome.
  LoginResult login(const Host& host, const Profile& profile, const std::string& command = "true",
                    LoginLimits limits = {});
  /// Runs the loop until `done` says so, 30 s at most; false: it did not.
  bool run_until(const std::function<bool()>& done);

  asio::io_context io;
  Resolver resolver{io};
  SshTransport transport;
};

/// An empty home with this agent.
SshSurroundings with_agent(const std::string& socket);

/// What a link gave until its end.
struct Collected {
  std::string bytes;
  std::optional<LinkEnd> end;
};
/// Starts the link and collects; the result is filled while the loop runs.
std::shared_ptr<Collected> collect(Link& link);

/// A port on 127.0.0.1 on which nobody listens.
std::uint16_t free_port();

/// A server that accepts connections and says `text`; then it closes or keeps silent.
class FakeServer {
public:
  enum class Then { close, silence };
  FakeServer(asio::io_context& io, std::string text, Then then);
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

private:
  void accept();
  asio::ip::tcp::acceptor acceptor_;
  std::string text_;
  Then then_;
  std::vector<std::shared_ptr<asio::ip::tcp::socket>> kept_;
};

}  // namespace charmtree::io::test
