// SPDX-License-Identifier: Apache-2.0
// The ssh agent, asked without blocking (libssh2's own agent code blocks: an agent that waits for a
// confirmation would freeze the launcher). Protocol: draft-miller-ssh-agent. One connection for each
// question; answers are bounded.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"

namespace charmtree::io {

inline constexpr std::size_t kMaxAgentAnswer = 256 * 1024;  // as OpenSSH's own limit
inline constexpr std::size_t kMaxAgentKeys = 64;
inline constexpr Duration kAgentListLimit = 3s;  // listing keys needs nobody's confirmation

class SshAgent : public std::enable_shared_from_this<SshAgent> {
public:
  /// `socket_path` is $SSH_AUTH_SOCK; empty: there is no agent.
  SshAgent(asio::io_context& io, std::string socket_path) : io_(io), path_(std::move(socket_path)) {}

  bool exists() const { return !path_.empty(); }

  /// The blobs of the agent's keys; asked once, the answer is kept. An agent that does not answer has no
  /// keys. `done` is called from the loop, or at once if the answer is known.
  void list(std::function<void(const std::vector<std::string>&)> done);

  /// The bare signature of `data`, without the algorithm's name, which is that of the key; empty if the agent
  /// refuses, is gone, or does not answer within `within`. `done` is called once, from the loop.
  void sign(std::string_view blob, std::string_view data, Duration within,
            std::function<void(std::string)> done);

private:
  class Question;
  asio::io_context& io_;
  std::string path_;
  std::optional<std::vector<std::string>> keys_;
  std::vector<std::function<void(const std::vector<std::string>&)>> waiting_;
};

}  // namespace charmtree::io
