// SPDX-License-Identifier: Apache-2.0
// One end of a connection that both ends can only hold if they know the same secret: TLS 1.3 with that secret
// as its pre-shared key (and an ephemeral key exchange, so that what was said stays secret when the secret no
// longer is). Each end proves the secret to the other one, and nothing in between can read or change what
// they say. No certificates; bytes in and out, no descriptors.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tree/base/result.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace charmtree::io {

class PskChannel;

/// What the channels of one end have in common; must outlive them.
class PskContext {
public:
  enum class End { client, server };
  PskContext(End end, std::string secret);
  ~PskContext();
  PskContext(const PskContext&) = delete;
  PskContext& operator=(const PskContext&) = delete;

private:
  friend class PskChannel;
  End end_;
  std::string secret_;
  std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)> context_;
};

class PskChannel {
public:
  /// What may come before the other end has proved itself.
  static constexpr std::size_t kMostBefore = 16U << 10;

  /// A client has something to take() at once.
  explicit PskChannel(PskContext& context);
  ~PskChannel();

  /// Takes bytes from the other end and appends what they say to `plain`, which is nothing before it has
  /// proved itself. Error bad_peer, for ever: it does not know the secret, or somebody changed bytes.
  Result<void> receive(std::string_view bytes, std::string& plain);
  /// Says this to the other end, as soon as that has proved itself.
  void send(std::string_view plain);
  /// The bytes that are to go to the other end now.
  std::string take();
  /// The other end has proved itself.
  bool established() const { return established_; }

private:
  Result<void> shake_hands();
  Result<void> read(std::string& plain);

  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
  std::string waiting_;  // to be said
  std::size_t before_ = 0;
  bool established_ = false, broken_ = false;
};

}  // namespace charmtree::io
