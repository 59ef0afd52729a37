// SPDX-License-Identifier: Apache-2.0
#include "ccs/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/big_endian.hpp"

namespace charmtree::ccs {

namespace {

constexpr std::size_t kSize = 4, kId = 4;

Error over(std::string why) {
  return {Errc::bad_peer, Phase::run, std::move(why), {}};
}

}  // namespace

std::string Sealer::code(std::string_view message) {
  if (key_.empty()) return {};
  std::string place;
  wire::write_u64(place, messages_++);
  return keyed_hash(key_, place.append(message)).substr(0, kCode);
}

bool Sealer::opens(std::string_view message, std::string_view code) {
  return same_secret(this->code(message), code);
}

SessionSecrets::SessionSecrets(const Key& key, std::string_view hellos) {
  const std::string text{key.begin(), key.end()};
  const auto secret = [&](std::string_view what) {
    return keyed_hash(text, fmt::format("charmtree CCS session: {}", what).append(hellos));
  };
  server_proof = secret("the server has the key");
  client_proof = secret("the client has the key");
  to_server = secret("to the server");
  to_client = secret("to the client");
}

std::string session_hello(std::uint8_t level, std::string_view nonce) {
  std::string hello{kSessionMagic};
  hello.push_back(static_cast<char>(level));
  return hello.append(2, '\0').append(nonce);
}

std::string session_message(Sealer& sealer, std::uint32_t id, std::string_view head, std::string_view rest) {
  const std::size_t size = kId + head.size() + rest.size();
  std::string message;
  message.reserve(kSize + size + sealer.size());
  wire::write_u32(message, static_cast<std::uint32_t>(size));
  wire::write_u32(message, id);
  message.append(head).append(rest);
  return message.append(sealer.code(message));
}

Result<Session::Step> Session::next(Guard& guard, std::uint32_t pes_of_job) {
  switch (state_) {
    case State::hello:
      return greet(guard);
    case State::proof:
      return check_proof();
    case State::open:
      break;
  }
  return request(pes_of_job);
}

Result<Session::Step> Session::greet(Guard& guard) {
  if (unread().size() < kSessionHello) return Step{};
  if (!unread().starts_with(kSessionMagic)) return over("wants a session of another version");
  level_ = static_cast<std::uint8_t>(unread()[kSessionMagic.size()]);
  const auto& keys = guard.keys().of(level_);
  if (keys.empty() && (level_ != 0 || !guard.keys().optional()))
    return over(fmt::format("asked for level {}, which has no key", level_));
  std::string nonce;
  while (nonce.size() < kSessionNonce) wire::write_u32(nonce, guard.draw());
  const std::string hello = session_hello(keys.empty() ? 0 : 1, nonce);
  const std::string hellos = std::string{unread().substr(0, kSessionHello)} + hello;
  take(kSessionHello);
  state_ = State::open;
  if (keys.empty()) return Step{Reply{hello}};
  state_ = State::proof;
  secrets_.emplace(keys.front(), hellos);
  to_server_ = Sealer{secrets_->to_server};
  to_client_ = Sealer{secrets_->to_client};
  return Step{Reply{hello}};
}

/// The client's comes first: ours would let a stranger try keys at home.
Result<Session::Step> Session::check_proof() {
  if (unread().size() < SessionSecrets::kProof) return Step{};
  if (!same_secret(unread().substr(0, SessionSecrets::kProof), secrets_->client_proof))
    return over(fmt::format("does not have the key of level {}", level_));
  take(SessionSecrets::kProof);
  state_ = State::open;
  return Step{Reply{secrets_->server_proof}};
}

bool Session::has_whole_message() const {
  return state_ == State::open && unread().size() >= kSize &&
         unread().size() >= kSize + wire::read_u32(unread(), 0) + to_server_.size();
}

Result<Session::Step> Session::request(std::uint32_t pes_of_job) {
  if (pes_of_job == 0 || unread().size() < kSize) return Step{};
  const std::uint32_t size = wire::read_u32(unread(), 0);
  if (size > kMaxMessage || size < kId)
    return over(fmt::format("sent a message of {} bytes; the limit is {}", size, kMaxMessage));
  const std::size_t whole = kSize + std::size_t{size} + to_server_.size();
  if (unread().size() < whole) return Step{};
  const std::string_view message = unread().substr(0, kSize + size);
  if (!to_server_.opens(message, unread().substr(message.size(), to_server_.size())))
    return over("sent a message with a wrong code");
  const std::uint32_t id = wire::read_u32(message, kSize);
  const std::string_view bytes = message.substr(kSize + kId);
  auto request = wire::parse_ccs_request(bytes, pes_of_job);
  take(whole);
  if (!request) return Step{Refused{id, request.error().what}};
  if (!*request) return Step{Refused{id, "sent a request that does not fill its message"}};
  return Step{Request{id, std::move(**request)}};
}

std::string Session::message(std::uint32_t id, Status status, std::string_view bytes) {
  std::string head;
  wire::write_u32(head, static_cast<std::uint32_t>(status));
  return session_message(to_client_, id, head, bytes);
}

/// What has been read is dropped when it is more than what has not: each byte is moved but once or twice. A
/// large message leaves no room behind that nobody counts.
void Session::take(std::size_t size) {
  constexpr std::size_t kRoom = 256U << 10;
  read_ += size;
  if (read_ < bytes_.size() && read_ <= bytes_.size() / 2) return;
  bytes_.erase(0, read_);
  read_ = 0;
  if (bytes_.capacity() > std::max(kRoom, 4 * bytes_.size())) bytes_.shrink_to_fit();
}

}  // namespace charmtree::ccs
