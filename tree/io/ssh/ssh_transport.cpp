// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh/ssh_transport.hpp"

#include <libssh2.h>
#include <openssl/crypto.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "tree/io/ssh/ssh_agent.hpp"
#include "tree/io/ssh/ssh_keys.hpp"
#include "tree/io/ssh/ssh_login.hpp"

namespace charmtree::io {

SshSurroundings SshSurroundings::mine() {
  SshSurroundings mine;
  std::array<char, 16 * 1024> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    mine.home = found->pw_dir;
    mine.user = found->pw_name;
  } else if (const char* home = std::getenv("HOME")) {
    mine.home = home;
  }
  if (const char* socket = std::getenv("SSH_AUTH_SOCK")) mine.agent_socket = socket;
  return mine;
}

std::string SshSurroundings::agent_of(const Profile& profile) const {
  if (profile.agent.empty()) return agent_socket;
  return profile.agent == "none" ? std::string() : profile.agent;
}

SshTransport::SshTransport(asio::io_context& io, Resolver& resolver,
                           std::optional<SshSurroundings> surroundings)
    : io_(io), resolver_(resolver), surroundings_(std::move(surroundings)) {}

void SshTransport::prepare() {
  if (keys_) return;
  // The memory of both libraries goes with the process, and nobody uses the engines that libssh2 would load.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  libssh2_init(LIBSSH2_INIT_NO_CRYPTO);
  if (!surroundings_) surroundings_ = SshSurroundings::mine();
  keys_ = std::make_shared<SshKeys>(surroundings_->home);
}

std::shared_ptr<SshAgent> SshTransport::agent_of(const Profile& profile) {
  const std::string socket = surroundings_->agent_of(profile);
  auto& agent = agents_[socket];
  if (!agent) agent = std::make_shared<SshAgent>(io_, socket);
  return agent;
}

SshTransport::~SshTransport() {
  for (const auto& [id, login] : logins_) login->cancel();
}

Transport::LoginId SshTransport::login(const Host& host, const Profile& profile, const std::string& command,
                                       const LoginLimits& limits, std::function<void(LoginResult)> done) {
  prepare();
  const LoginId id = ++last_id_;
  SshLogin::Order order;
  order.host = host;
  order.profile = profile;
  if (order.profile.user.empty()) order.profile.user = surroundings_->user;
  order.command = command;
  order.limits = limits;
  if (signer_) order.sign = [this, id](std::string data) { signer_(id, std::move(data)); };
  // A login that was given up calls nobody, so `this` is alive whenever this is called.
  auto finished = [this, id, done = std::move(done)](LoginResult result) {
    logins_.erase(id);
    done(std::move(result));
  };
  const auto login = std::make_shared<SshLogin>(io_, resolver_, keys_, agent_of(profile), std::move(order),
                                                std::move(finished));
  logins_.emplace(id, login);
  login->start();
  return id;
}

void SshTransport::give_signature(LoginId id, std::string signature) {
  const auto login = logins_.find(id);
  if (login != logins_.end()) login->second->give_signature(std::move(signature));
}

void SshTransport::cancel(LoginId id) {
  const auto node = logins_.extract(id);
  if (!node.empty()) node.mapped()->cancel();
}

}  // namespace charmtree::io
