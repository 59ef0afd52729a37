// SPDX-License-Identifier: Apache-2.0
#include "ccs/conversation.hpp"

#include <fmt/format.h>

#include "tree/wire/big_endian.hpp"

namespace charmtree::ccs {

namespace {

constexpr unsigned char kFirstOfNoLength = 0x20, kSigned = 0x80;
constexpr std::size_t kKind = 4, kChallenge = 8;  // bytes of what a client says first
constexpr std::size_t kGuestAt = 4, kReplySaltAt = 8, kHashAt = 12, kRequestAt = kHashAt + kHash;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

Wrong no_entry(std::string why) {
  return {std::move(why), {}};
}

}  // namespace

void Conversation::append(std::string_view bytes) {
  if (session_)
    session_->append(bytes);
  else
    bytes_.append(bytes);
}

bool Conversation::is_whole() const {
  if (session_) return session_->is_open() && (session_->buffered() == 0 || session_->has_whole_message());
  return state_ == State::requesting && wire::is_whole_ccs_request(bytes_);
}

std::optional<std::string> Conversation::reply_prefix() const {
  const bool unsigned_yet = state_ == State::beginning && !bytes_.starts_with(static_cast<char>(kSigned));
  if (session_ || (state_ != State::requesting && !unsigned_yet)) return {};
  return before_reply_;
}

Conversation::Step Conversation::next(Guard& guard, std::uint32_t pes_of_job) {
  // Later bytes, as the hash of a key, may begin with any byte.
  if (!session_ && state_ == State::beginning && bytes_.starts_with(kSessionMagic.front())) {
    session_.emplace();
    session_->append(std::exchange(bytes_, {}));
  }
  if (session_) return next_in_session(guard, pes_of_job);
  if (state_ == State::challenged) return admit(guard);
  if (state_ == State::beginning) {
    if (Step step = begin(guard)) return step;
  }
  if (state_ != State::requesting || pes_of_job == 0) return {};
  auto request = wire::parse_ccs_request(bytes_, pes_of_job);
  if (!request) return Wrong{request.error().what, before_reply_};
  if (!*request) return {};
  return Asked{std::move(**request), signature_, before_reply_};
}

Conversation::Step Conversation::next_in_session(Guard& guard, std::uint32_t pes_of_job) {
  auto step = session_->next(guard, pes_of_job);
  if (!step) return no_entry(step.error().what);
  if (!*step) return {};
  if (auto* request = std::get_if<Session::Request>(&**step))
    return Asked{std::move(request->request), session_->signature(), {}, request->id};
  if (auto* refused = std::get_if<Session::Refused>(&**step))
    return Unfit{refused->id, std::move(refused->why)};
  return Reply{std::move(std::get<Session::Reply>(**step).bytes), false};
}

Conversation::Step Conversation::begin(Guard& guard) {
  if (bytes_.empty()) return {};
  if (byte_at(bytes_, 0) < kFirstOfNoLength) {
    if (!guard.keys().optional()) return no_entry("has no key");
    begin_request(0);
    return {};
  }
  if (byte_at(bytes_, 0) != kSigned) return Wrong{"sent no request", std::string{}};
  if (bytes_.size() < kKind) return {};
  signature_.level = byte_at(bytes_, 3);
  if (byte_at(bytes_, 1) != 0 || byte_at(bytes_, 2) > 1) return no_entry("shows its key in an unknown way");
  if (guard.keys().of(signature_.level).empty())
    return no_entry(fmt::format("asked for level {}, which has no key", signature_.level));
  return byte_at(bytes_, 2) == 1 ? challenge(guard) : recognize(guard);
}

Conversation::Step Conversation::challenge(Guard& guard) {
  if (bytes_.size() < kChallenge) return {};
  client_salt_ = wire::read_u32(bytes_, kKind);
  bytes_.erase(0, kChallenge);
  state_ = State::challenged;
  own_salt_ = guard.draw();
  Reply salt{{}, false};
  wire::write_u32(salt.bytes, own_salt_);
  return salt;
}

Conversation::Step Conversation::admit(Guard& guard) {
  if (bytes_.size() < kHash) return {};
  const auto key = guard.key_of(signature_.level, own_salt_, bytes_.substr(0, kHash));
  if (!key) return no_entry(fmt::format("does not have the key of level {}", signature_.level));
  const auto [number, guest] = guard.admit(signature_.level, *key);
  Reply welcome{stock_hash(*key, client_salt_), true};
  wire::write_u32(welcome.bytes, number);
  wire::write_u32(welcome.bytes, guest.salt);
  return welcome;
}

Conversation::Step Conversation::recognize(Guard& guard) {
  if (bytes_.size() < kRequestAt + wire::kCcsRequestHeader) return {};
  signature_.is_signed = true;
  signature_.reply_salt = wire::read_u32(bytes_, kReplySaltAt);
  const std::string_view head{bytes_};
  const auto key = guard.recognize(wire::read_u32(bytes_, kGuestAt), signature_.level,
                                   head.substr(kRequestAt), head.substr(kHashAt, kHash));
  if (!key) return no_entry("signed a request wrongly, or again");
  before_reply_ = stock_hash(*key, signature_.reply_salt);
  begin_request(kRequestAt);
  return {};
}

void Conversation::begin_request(std::size_t from) {
  bytes_.erase(0, from);
  state_ = State::requesting;
}

}  // namespace charmtree::ccs
