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
  if (state_ == State::requesting)
    request_.append(bytes);
  else
    head_.append(bytes);
}

Conversation::Step Conversation::next(Guard& guard, std::uint32_t pes_of_job) {
  if (state_ == State::challenged) return admit(guard);
  if (state_ == State::beginning) {
    if (Step step = begin(guard)) return step;
  }
  if (state_ != State::requesting || pes_of_job == 0) return {};
  auto request = request_.next(pes_of_job);
  if (!request) return Wrong{request.error().what, before_reply_};
  if (!*request) return {};
  return Asked{std::move(**request), signature_, before_reply_};
}

Conversation::Step Conversation::begin(Guard& guard) {
  if (head_.empty()) return {};
  if (byte_at(head_, 0) < kFirstOfNoLength) {
    if (!guard.keys().optional()) return no_entry("has no key");
    begin_request(0);
    return {};
  }
  if (byte_at(head_, 0) != kSigned) return Wrong{"sent no request", std::string{}};
  if (head_.size() < kKind) return {};
  signature_.level = byte_at(head_, 3);
  if (byte_at(head_, 1) != 0 || byte_at(head_, 2) > 1) return no_entry("shows its key in an unknown way");
  if (guard.keys().of(signature_.level).empty())
    return no_entry(fmt::format("asked for level {}, which has no key", signature_.level));
  return byte_at(head_, 2) == 1 ? challenge(guard) : recognize(guard);
}

Conversation::Step Conversation::challenge(Guard& guard) {
  if (head_.size() < kChallenge) return {};
  client_salt_ = wire::read_u32(head_, kKind);
  head_.erase(0, kChallenge);
  state_ = State::challenged;
  own_salt_ = guard.draw();
  Reply salt{{}, false};
  wire::write_u32(salt.bytes, own_salt_);
  return salt;
}

Conversation::Step Conversation::admit(Guard& guard) {
  if (head_.size() < kHash) return {};
  const auto key = guard.key_of(signature_.level, own_salt_, head_.substr(0, kHash));
  if (!key) return no_entry(fmt::format("does not have the key of level {}", signature_.level));
  const auto [number, guest] = guard.admit(signature_.level, *key);
  Reply welcome{stock_hash(*key, client_salt_), true};
  wire::write_u32(welcome.bytes, number);
  wire::write_u32(welcome.bytes, guest.salt);
  return welcome;
}

Conversation::Step Conversation::recognize(Guard& guard) {
  if (head_.size() < kRequestAt + wire::kCcsRequestHeader) return {};
  signature_.is_signed = true;
  signature_.reply_salt = wire::read_u32(head_, kReplySaltAt);
  const std::string_view head{head_};
  const auto key = guard.recognize(wire::read_u32(head_, kGuestAt), signature_.level, head.substr(kRequestAt),
                                   head.substr(kHashAt, kHash));
  if (!key) return no_entry("signed a request wrongly, or again");
  before_reply_ = stock_hash(*key, signature_.reply_salt);
  begin_request(kRequestAt);
  return {};
}

void Conversation::begin_request(std::size_t from) {
  request_.append(std::string_view{head_}.substr(from));
  head_.clear();
  head_.shrink_to_fit();
  state_ = State::requesting;
}

}  // namespace charmtree::ccs
