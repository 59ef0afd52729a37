// SPDX-License-Identifier: Apache-2.0
// A connection that is kept for any number of requests, which need not wait for each other's replies: our
// extension of CCS, which stock clients never see (docs/manual/ccs.md has the bytes). Where the level has a
// key, both ends show that they have it, and every message has a code of all its bytes, its direction and its
// place: nothing can be changed, left out, repeated or sent back. This is the server's end. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "ccs/guard.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree::ccs {

/// What became of a request.
enum class Status : std::uint32_t {
  answered,  // the bytes are the reply, or its last piece
  more,      // the bytes are a piece of the reply
  no_reply,  // the handler wants none to be sent
  failed,    // the bytes say why
};

/// Codes of the messages in one direction; without a key there are none.
class Sealer {
public:
  static constexpr std::size_t kCode = 16;
  Sealer() = default;
  explicit Sealer(std::string key) : key_(std::move(key)) {}
  std::size_t size() const { return key_.empty() ? 0 : kCode; }
  /// Of the next message: size() bytes.
  std::string code(std::string_view message);
  bool opens(std::string_view message, std::string_view code);

private:
  std::string key_;
  std::uint64_t messages_ = 0;
};

/// What both ends of a session with a key compute from it and from what they have said.
struct SessionSecrets {
  static constexpr std::size_t kProof = 32;
  SessionSecrets(const Key& key, std::string_view hellos);
  std::string server_proof, client_proof, to_server, to_client;
};

inline constexpr std::string_view kSessionMagic{
    "\xC3"
    "CCS\1",
    5};  // with its version
inline constexpr std::size_t kSessionNonce = 16;
inline constexpr std::size_t kSessionHello = 24;  // magic, level, 2 bytes, nonce
/// `level`: the client's; of the server: whether that level has a key.
std::string session_hello(std::uint8_t level, std::string_view nonce);
/// The next message in the sealer's direction: a request behind its number, or a status and the bytes of a
/// reply.
std::string session_message(Sealer& sealer, std::uint32_t id, std::string_view head,
                            std::string_view rest = {});

class Session {
public:
  /// Of one message: a request with its number.
  static constexpr std::size_t kMaxMessage = wire::kMaxCcsRequest + (8U << 20);

  void append(std::string_view bytes) { bytes_.append(bytes); }
  struct Request {
    std::uint32_t id;
    wire::CcsRequest request;
  };
  struct Refused {
    std::uint32_t id;
    std::string why;
  };
  struct Reply {
    std::string bytes;
  };
  using Step = std::optional<std::variant<Request, Refused, Reply>>;
  /// What follows from what the client has said; nothing: it has to say more. To be called until then. In a
  /// job with so many PEs; 0: not known yet, requests wait. Error bad_peer: the session is over.
  Result<Step> next(Guard& guard, std::uint32_t pes_of_job);
  /// A message to the client.
  std::string message(std::uint32_t id, Status status, std::string_view bytes);
  bool is_open() const { return state_ == State::open; }
  wire::CcsSignature signature() const { return {to_server_.size() > 0, level_, 0}; }
  bool has_whole_message() const;
  std::size_t buffered() const { return bytes_.size() - read_; }

private:
  enum class State : std::uint8_t { hello, proof, open };

  Result<Step> greet(Guard& guard);
  Result<Step> check_proof();
  Result<Step> request(std::uint32_t pes_of_job);
  std::string_view unread() const { return std::string_view{bytes_}.substr(read_); }
  void take(std::size_t size);

  State state_ = State::hello;
  std::uint8_t level_ = 0;
  std::string bytes_;
  std::size_t read_ = 0;                   // of them
  std::optional<SessionSecrets> secrets_;  // with a key
  Sealer to_server_, to_client_;
};

}  // namespace charmtree::ccs
