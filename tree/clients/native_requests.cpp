// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/native_requests.hpp"

#include <fmt/format.h>

#include <utility>

#include "tree/wire/words.hpp"

namespace charmtree::proto {

namespace native = wire::native;

bool NativeRequests::add(const native::Handler& handler) {
  if (handlers_.size() >= native::kMaxHandlers && !handlers_.contains(handler.name)) return false;
  handlers_[handler.name] = handler.merge;
  return true;
}

std::string NativeRequests::ask(const wire::CcsDelivery& request) {
  const auto handler = handlers_.find(request.handler);
  if (handler == handlers_.end()) return fmt::format("has no handler '{}'", quotable(request.handler));
  const std::size_t bytes = request.data.size();
  const bool room = unread_ < kMaxUnread && unread_bytes_ + bytes <= kMaxUnreadBytes;
  if (unread_ > 0 && !room) return "has too many requests waiting";
  ++unread_;
  unread_bytes_ += bytes;
  unanswered_[request.token] = {handler->second, bytes};
  return {};
}

void NativeRequests::mark_read(Asked& asked) {
  if (std::exchange(asked.read, true)) return;
  --unread_;
  unread_bytes_ -= asked.bytes;
}

std::string NativeRequests::reply(native::Reply& reply) {
  if (reply_) return "replied out of turn";
  reply_ = {reply.size, reply.bytes.size(), {}};
  if (const auto asked = unanswered_.find(reply.token); asked != unanswered_.end()) {
    mark_read(asked->second);
    reply_->answer = {reply.token, std::move(reply.bytes), asked->second.merge};
    unanswered_.erase(asked);
  }
  return {};
}

std::string NativeRequests::reply(const native::ReplyData& data) {
  if (!reply_ || reply_->got + data.bytes.size() > reply_->size) return "replied out of turn";
  reply_->got += data.bytes.size();
  if (reply_->answer) reply_->answer->bytes += data.bytes;
  return {};
}

std::optional<std::uint32_t> NativeRequests::keep(const native::Kept& kept) {
  const auto asked = unanswered_.find(kept.token);
  if (asked == unanswered_.end() || asked->second.read) return {};
  mark_read(asked->second);
  kept_.push_back(kept.token);
  if (kept_.size() <= kMaxKept) return {};
  const std::uint32_t oldest = kept_.front();
  kept_.pop_front();
  return unanswered_.erase(oldest) > 0 ? std::optional{oldest} : std::nullopt;
}

std::optional<NativeRequests::Answer> NativeRequests::take_answer() {
  if (!reply_ || reply_->got < reply_->size) return {};
  return std::exchange(reply_, std::nullopt)->answer;
}

std::vector<std::uint32_t> NativeRequests::take_unanswered() {
  std::vector<std::uint32_t> tokens;
  if (reply_ && reply_->answer) tokens.push_back(reply_->answer->token);
  reply_.reset();
  for (const auto& [token, asked] : std::exchange(unanswered_, {})) tokens.push_back(token);
  kept_.clear();
  unread_ = unread_bytes_ = 0;
  return tokens;
}

}  // namespace charmtree::proto
