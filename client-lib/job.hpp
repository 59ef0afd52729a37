// SPDX-License-Identifier: Apache-2.0
// One process's membership in a job: what was said, what was heard, and in which order things may be done.
// Functions return CT_OK (or the number asked for) or a negative CT_E... value; charmtree.h documents them
// for users.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/barriers.hpp"
#include "client-lib/channel.hpp"
#include "client-lib/charmtree.h"
#include "client-lib/exchange.hpp"
#include "client-lib/losses.hpp"
#include "client-lib/mapping.hpp"
#include "client-lib/ports.hpp"
#include "client-lib/requests.hpp"
#include "client-lib/restarts.hpp"
#include "client-lib/table.hpp"
#include "client-lib/topology.hpp"
#include "tree/base/one_of.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::client {

class Job {
public:
  /// A job of one, without a launcher.
  Job();

  /// Becomes `process` of the launcher that listens at `socket`.
  int join(const std::string& socket, std::uint32_t process);

  /// True in a child of the process that made this object.
  bool is_foreign() const;
  /// Every later call returns `error`.
  void fail(int error) { broken_ = error; }
  void set_timeout(int milliseconds) { timeout_ms_ = milliseconds; }
  const wire::native::Welcome& self() const { return self_; }
  /// To the launcher; null: this is a job of one.
  const Channel* channel() const { return alone_ ? nullptr : &channel_; }
  std::uint32_t epoch() const { return table_ ? table_->epoch() : self_.epoch; }

  int port(wire::PortKind kind, std::uint16_t& number);
  int topology(std::string_view& xml);
  int put(std::string_view tuple);
  int table();
  int lookup(std::uint32_t rank, ct_peer& peer);
  /// lookup() need not wait.
  bool has_table() const { return table_ || newer_; }
  int barrier();
  std::uint32_t barriers() const { return barriers_.opened(); }
  void on_loss(LossHandler handler) { losses_.set_handler(std::move(handler)); }
  void on_restart(RestartHandler handler) { restarts_.set_handler(std::move(handler)); }
  int alive(std::uint32_t rank) const {
    return rank >= self_.total ? static_cast<int>(CT_EINVAL) : !losses_.contains(rank);
  }
  int handle(std::string_view name, wire::CcsMerge merge, Requests::Handler handler);
  int serve(ct_job* handle);
  int reply(std::uint32_t token, std::string_view data);
  int print(wire::native::Stream stream, std::string_view text);
  int abort(int status, std::string_view text);
  /// `peers`: so many others it has used.
  int finalize(int status, std::uint32_t peers);

  // For what is built on it.
  Exchange& exchange() { return exchange_; }
  int timeout_ms() const { return timeout_ms_; }
  enum class Says : std::uint8_t { anything, answers };
  /// Returns CT_OK if this process may still say that. While it finalizes it may answer others, no more.
  int usable(Says what = Says::anything) const;
  /// A handler of losses, restarts or asks is running.
  bool telling() const { return losses_.telling() || restarts_.telling() || exchange_.listeners().telling(); }
  int ensure_registered(const Deadline& deadline);
  int send(const wire::native::FromClient& message, const Deadline& deadline) {
    return send_frames(wire::native::to_frame(message), deadline);
  }
  /// Says what has an answer, and waits for that, however long it takes: not for who has handlers of losses
  /// or restarts.
  int ask(const wire::native::FromClient& message, wire::native::Attribute& answer);
  /// Takes note of everything that has come already.
  int hear_all();
  /// Hears and tells until the condition holds.
  int wait_until(const std::function<bool()>& condition, const Deadline& deadline);

private:
  int join_once(const std::string& socket, const wire::native::Hello& hello, const Deadline& deadline);
  int put(std::string_view tuple, const Deadline& deadline);
  int send_frames(std::string frames, const Deadline& deadline);
  int hear_one(const Deadline& deadline);
  void handle_one(ct_job* handle);
  int tell_news(const Deadline& deadline);

  /// The end may come at any time, the others are out of turn.
  template <OneOf<std::variant<wire::native::Welcome, wire::native::Refused, wire::native::Finished>> M>
  int on(const M&) {
    return std::is_same_v<M, wire::native::Finished> ? CT_EENDED : CT_EPROTO;
  }
  int on(const wire::native::Table& table);
  int on(wire::native::Renewed& renewed);
  template <OneOf<std::variant<wire::native::Values, wire::native::FenceOver>> M>
  int on(const M& message);
  /// What one part alone has to understand.
  using ForOnePart =
      std::variant<wire::native::BarrierRelease, wire::native::Missed, wire::native::Request,
                   wire::native::RequestData, wire::native::Lost, wire::native::RingOver, wire::native::Told,
                   wire::native::Attribute, wire::native::Port, wire::native::Topology, wire::native::Asked>;
  template <OneOf<ForOnePart> M>
  int on(M& message);

  Channel channel_;
  pid_t pid_;
  Mapping of_parent_;
  int timeout_ms_ = CT_FOREVER;
  bool alone_ = true;
  int broken_ = CT_OK;  // a final error
  bool registered_ = false;
  bool finalizing_ = false;
  bool aborted_ = false;
  bool serving_ = false;                                     // a handler runs
  std::optional<wire::native::Attribute>* asked_ = nullptr;  // where the answer is awaited
  Barriers barriers_;
  wire::native::Welcome self_;
  Exchange exchange_;
  Ports ports_;
  Topology topology_;
  Requests requests_;
  Losses losses_;
  Restarts restarts_;
  std::optional<Table> table_;  // in use
  std::optional<Table> newer_;  // heard of, to be taken into use by table()
};

}  // namespace charmtree::client
