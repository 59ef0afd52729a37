// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_message.hpp"

#include <algorithm>
#include <utility>

#include "charmrun/session/session_members.hpp"

namespace charmtree::session {

bool is_of_root(const Message& message) {
  return message.index() < Message{Run{}}.index();
}

Result<std::string> encode(const Message& message) {
  return encode_framed(message);
}

Result<std::optional<Message>> Decoder::next() {
  if (broken_) return no_message();
  auto message = next_framed<Message>(decoder_);
  if (message && !message->has_value()) return message;
  broken_ = !message || is_of_root(**message) != (to_ == To::client);
  if (broken_) return no_message();
  return message;
}

}  // namespace charmtree::session
