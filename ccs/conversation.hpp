// SPDX-License-Identifier: Apache-2.0
// What one client of the job says until its request is complete: a request, or, where there are keys, the
// exchange by which a stock client becomes a guest, or a request that a guest has signed; or it begins a
// session. Pure.
//
//   request           length(4) PE(4) handler(32) [PEs] data
//   guest's request   80 00 00 LEVEL  guest(4) reply-salt(4) hash(20)  request      the reply: hash(20) reply
//   to become one     80 00 01 LEVEL  salt(4)
//                     answered by     salt(4); then hash(20); answered by hash(20) guest(4) salt(4), the end
//   session           C3 ...          our own extension
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "ccs/guard.hpp"
#include "ccs/session.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree::ccs {

/// A complete request.
struct Asked {
  wire::CcsRequest request;
  wire::CcsSignature signature;
  std::string before_reply;              // stands in front of a stock client's reply
  std::optional<std::uint32_t> id = {};  // in a session: its number
};
/// A request in a session that cannot be right, while others can.
struct Unfit {
  std::uint32_t id;
  std::string why;
};
/// What cannot be right. `prefix`: of the empty reply; nothing: a client whose key is wrong gets none.
struct Wrong {
  std::string why;
  std::optional<std::string> prefix;
};
/// These bytes are for the client; `last`: there is nothing else to say.
struct Reply {
  std::string bytes;
  bool last;
};

class Conversation {
public:
  void append(std::string_view bytes);
  /// What follows from all that the client has said; nothing: it has to say more. In a job with so many PEs;
  /// 0: not known yet, requests wait.
  std::optional<std::variant<Asked, Unfit, Wrong, Reply>> next(Guard& guard, std::uint32_t pes_of_job);
  /// Bytes kept.
  std::size_t buffered() const { return session_ ? session_->buffered() : bytes_.size(); }
  /// There is nothing that has begun and is not complete; a session may also be silent.
  bool is_whole() const;
  /// Of an empty reply to what has been said so far; nothing: none would be understood.
  std::optional<std::string> reply_prefix() const;
  /// Once the client has begun one that is open: it is kept for any number of requests.
  Session* session() { return session_ && session_->is_open() ? &*session_ : nullptr; }

private:
  using Step = std::optional<std::variant<Asked, Unfit, Wrong, Reply>>;
  enum class State : std::uint8_t { beginning, challenged, requesting };

  Step begin(Guard& guard);
  Step next_in_session(Guard& guard, std::uint32_t pes_of_job);
  Step challenge(Guard& guard);
  Step admit(Guard& guard);
  Step recognize(Guard& guard);
  void begin_request(std::size_t from);

  State state_ = State::beginning;
  std::string bytes_;  // not yet understood
  std::optional<Session> session_;
  wire::CcsSignature signature_;
  std::string before_reply_;
  std::uint32_t client_salt_ = 0, own_salt_ = 0;  // of a challenge
};

}  // namespace charmtree::ccs
