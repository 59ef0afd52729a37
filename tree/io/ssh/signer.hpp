// SPDX-License-Identifier: Apache-2.0
// The user's keys with which the root signs logins of other launchers (++forward-agent): those of the ssh
// agent, and ed25519 and RSA key files without a passphrase. What may be signed is decided elsewhere
// (tree/overlay/sign_gate.hpp).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/ssh/ssh_keys.hpp"
#include "tree/io/ssh/ssh_transport.hpp"
#include "tree/wire/host.hpp"

namespace charmtree::io {

class SshAgent;

class Signer {
public:
  /// Questions to the agent at a time: it answers one after the other, and its queue of connections is short.
  static constexpr std::size_t kMostOpen = 16;
  /// For one signature, its wait for its turn included: shorter than a login waits
  /// (LoginLimits::authenticate), so that it is told.
  static constexpr Duration kLimit = 10s;

  Signer(asio::io_context& io, const SshSurroundings& surroundings);

  /// Asks the agent of this profile what it holds. `done` is called once, from the loop or at once.
  void open(const Profile& profile, std::function<void()> done);

  /// The public keys (blobs) for logins by `profile`, in ssh's order. After open() for it.
  std::vector<std::string> keys_for(const Profile& profile);

  /// The bare signature of `data`; empty if the agent refuses, is gone, or takes longer than kLimit. `key` is
  /// one of keys_for(). `done` is called once, from the loop or at once; the signer must live until then, or
  /// the loop must not run any more.
  void sign(const std::string& key, const std::string& data, std::function<void(std::string)> done);

private:
  struct Question {
    std::string key, data;
    Instant by;
    std::function<void(std::string)> done;
  };
  struct Agent {
    std::shared_ptr<SshAgent> agent;
    std::vector<std::string> keys;
  };
  Agent& agent_of(const Profile& profile);
  void ask_next();

  asio::io_context& io_;
  SshSurroundings surroundings_;
  SshKeys keys_;
  std::map<std::string, Agent> agents_;                       // by socket
  std::map<std::string, std::shared_ptr<SshAgent>> holders_;  // by public key
  std::map<std::string, OpenedKey> opened_;                   // the same
  std::deque<Question> waiting_;  // bounded by the gate, which admits a few for each host
  std::size_t open_ = 0;
};

}  // namespace charmtree::io
