// SPDX-License-Identifier: Apache-2.0
// Logins by libssh2 inside this process, about 2 ms of CPU each, any number at a time on one loop. What it
// cannot do (jump hosts, certificates, security keys, RSA keys on today's servers) ends as no_usable_key, so
// that the caller uses the ssh command.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tree/io/asio.hpp"
#include "tree/io/link/link.hpp"
#include "tree/io/resolver.hpp"

namespace charmtree::io {

class SshAgent;
class SshKeys;
class SshLogin;

/// The user's surroundings that matter to a login.
struct SshSurroundings {
  std::string home;          // where ~/.ssh is
  std::string user;          // the login name when a profile has none
  std::string agent_socket;  // empty: no agent

  /// Of this process, as ssh sees them: home and name from the password database, $SSH_AUTH_SOCK.
  static SshSurroundings mine();
  /// Of the agent that a profile means; empty: none.
  std::string agent_of(const Profile& profile) const;
};

class SshTransport final : public SigningTransport {
public:
  /// The io_context and the resolver must outlive the object. No surroundings: this process's own, which are
  /// looked up by the first login (most launchers never make one, and a password database may be far away).
  SshTransport(asio::io_context& io, Resolver& resolver, std::optional<SshSurroundings> surroundings = {});
  /// Gives up all logins under way; finished links are not touched.
  ~SshTransport() override;

  LoginId login(const Host& host, const Profile& profile, const std::string& command,
                const LoginLimits& limits, std::function<void(LoginResult)> done) override;
  void cancel(LoginId id) override;
  void set_signer(std::function<void(LoginId id, std::string data)> signer) override {
    signer_ = std::move(signer);
  }
  void give_signature(LoginId id, std::string signature) override;

private:
  void prepare();
  std::shared_ptr<SshAgent> agent_of(const Profile& profile);

  asio::io_context& io_;
  Resolver& resolver_;
  std::optional<SshSurroundings> surroundings_;
  std::shared_ptr<SshKeys> keys_;                            // null before the first login
  std::map<std::string, std::shared_ptr<SshAgent>> agents_;  // by socket
  std::function<void(LoginId, std::string)> signer_;
  LoginId last_id_ = 0;
  std::map<LoginId, std::shared_ptr<SshLogin>> logins_;
};

}  // namespace charmtree::io
