// SPDX-License-Identifier: Apache-2.0
// One ssh login as one coroutine: resolve, connect, handshake, host key, authenticate, open a channel, exec.
// Each step has its own deadline. The coroutine alone calls into the session; deadlines and cancel() only
// wake it up.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/link/link.hpp"
#include "tree/io/resolver.hpp"
#include "tree/io/ssh/ssh_session.hpp"

namespace charmtree::io {

class SshAgent;
class SshKeys;
struct KeyToTry;

class SshLogin : public std::enable_shared_from_this<SshLogin> {
public:
  struct Order {
    Host host;
    Profile profile;  // with a user
    std::string command;
    LoginLimits limits;
    std::function<void(std::string data)> sign;  // by profile.forwarded_keys; null: they are not tried
  };

  /// `resolver` must live until the login has ended or was cancelled.
  SshLogin(asio::io_context& io, Resolver& resolver, std::shared_ptr<SshKeys> keys,
           std::shared_ptr<SshAgent> agent, Order order, std::function<void(LoginResult)> done);

  void start();

  /// The answer to order.sign; empty: refused.
  void give_signature(std::string bytes);

  /// `done` is not called any more. The session is released by the loop.
  void cancel();

private:
  using Step = asio::awaitable<Result<void>>;
  struct Signature;

  Step run();
  asio::awaitable<Result<Addresses>> resolve();
  Step connect(Addresses addresses);
  asio::awaitable<error_code> connect_to(asio::ip::tcp::endpoint endpoint);
  Step handshake();
  Result<void> check_host_key();
  Step authenticate();
  asio::awaitable<std::vector<std::string>> agent_keys();
  asio::awaitable<int> try_file(std::shared_ptr<KeyToTry> key);
  asio::awaitable<int> try_signing(std::shared_ptr<KeyToTry> key);
  asio::awaitable<void> sign(std::shared_ptr<Signature> signature);
  Step execute();
  asio::awaitable<void> sleep();
  asio::awaitable<void> wait_for_socket();
  template <class Call>
  asio::awaitable<int> until_done(Call call);

  void begin(Phase phase, Duration limit);
  bool expired() const;
  bool stopped() const { return cancelled_ || expired(); }
  Error timed_out() const;
  Error lost() const;
  Error handshake_failed(int code);
  Error refused(std::size_t tried, std::string_view methods);
  void end(Result<void> result);

  asio::io_context& io_;
  Resolver* resolver_;
  std::shared_ptr<SshKeys> keys_;
  std::shared_ptr<SshAgent> agent_;
  Order order_;
  std::function<void(LoginResult)> done_;
  LoginResult result_;
  std::unique_ptr<SshSession> session_;
  asio::steady_timer
      signal_;  // what the coroutine sleeps on: it is due at the deadline and cancelled to wake the sleeper
  Phase phase_ = Phase::resolve;
  Duration limit_{};
  Instant deadline_ = kNever;
  Resolver::RequestId request_ = 0;
  std::function<void(std::string)> signature_came_;
  bool unsigned_ = false;  // a key was taken, but nobody signed with it
  bool cancelled_ = false;
};

}  // namespace charmtree::io
