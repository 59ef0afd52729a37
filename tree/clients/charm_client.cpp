// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/charm_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/clients/ccs_answer.hpp"
#include "tree/wire/ccs_message.hpp"
#include "tree/wire/scan.hpp"

namespace charmtree::proto {

using wire::CharmType;

namespace {

/// Texts end with exactly one NUL that is not part of them; NULs inside are.
std::string_view text_of(std::string_view payload) {
  if (!payload.empty() && payload.back() == '\0') payload.remove_suffix(1);
  return payload;
}

std::size_t index(BarrierKind kind) {
  return static_cast<std::size_t>(kind);
}
std::string_view release_type(BarrierKind kind) {
  return kind == BarrierKind::all ? "barrier" : "barrier0";
}

/// Replies to the client end with one NUL.
constexpr std::string_view kNul{"\0", 1};

}  // namespace

void CharmClient::heard(Instant now, ClientOutputs& out) {
  if (const auto lasted = silence_.heard(now))
    out.push_back(wire::Silence{process_, wire::Silence::State::over, *lasted});
}

void CharmClient::seen(Sight sight, Instant now, ClientOutputs& out) {
  if (const auto state = silence_.seen(sight, now))
    out.push_back(wire::Silence{process_, *state, silence_.lasted(now)});
}

bool CharmClient::owes_pings() const {
  const bool in_barrier = barriers_[index(BarrierKind::all)].entered ||
                          (process_ == 0 && barriers_[index(BarrierKind::root)].entered);
  return table_sent_ && waiting_ == Waiting::nothing && !in_barrier && endings_ == 0 && !aborted_;
}

/// Its pings come the more seldom, the more processes there are: they are to tell it whether we live.
Duration CharmClient::patience() const {
  const Duration ping = 1s + 250ms * (table_ ? table_->processes : 0);
  return std::max(limits_->silence, limits_->pings * ping);
}

Instant CharmClient::deadline() const {
  const Instant deadline = earlier(end_by_, reply_ ? reply_->due() : kNever);
  return limits_->silence > Duration{0} ? earlier(deadline, silence_.due(patience())) : deadline;
}

std::string CharmClient::on(const wire::CharmMessage& message, Instant now, ClientOutputs& out) {
  switch (message.type) {
    case CharmType::print:
    case CharmType::printerr:
    case CharmType::printsyn:
    case CharmType::printerrsyn:
      return print(message, now, out);
    case CharmType::scanf:
      return scan(message.payload, now, out);
    case CharmType::barrier:
      return enter(BarrierKind::all, out);
    case CharmType::barrier0:
      return enter(BarrierKind::root, out);
    case CharmType::ending:
      ending(message.payload, now, out);
      break;
    case CharmType::abort:
      abort(message.payload, out);
      break;
    case CharmType::crash_ack:
      return ack(out);
    case CharmType::realloc:
      if (!limits_->resizes) return "sent `realloc`, though it is no build that can shrink and expand";
      out.push_back(ResizeAsked{process_, wire::parse_charm_realloc(message.payload)});
      break;
    case CharmType::qplist:
      return give_queue_pairs(message.payload, out);
    case CharmType::reply_fw:
      return answer(message.payload, out);
    case CharmType::ping:
    case CharmType::initnode:
    case CharmType::old_initnode:
      break;
  }
  return {};
}

std::string CharmClient::print(const wire::CharmMessage& message, Instant now, ClientOutputs& out) {
  const bool waits = message.type == CharmType::printsyn || message.type == CharmType::printerrsyn;
  const bool err = message.type == CharmType::printerr || message.type == CharmType::printerrsyn;
  if (waits) {
    if (waiting_ != Waiting::nothing) return "sent `printsyn` while it waited for another reply";
    waiting_ = Waiting::printed;
    reply_.emplace("printdone", SlowReply::Blanks::skipped, now);  // it looks at none of it
  }
  out.push_back(
      Printed{process_, err ? Stream::err : Stream::out, std::string{text_of(message.payload)}, waits});
  return {};
}

std::string CharmClient::scan(std::string_view payload, Instant now, ClientOutputs& out) {
  if (waiting_ != Waiting::nothing) return "sent `scanf` while it waited for another reply";
  waiting_ = Waiting::scanned;
  std::string format{payload.substr(0, payload.find('\0'))};
  const bool skipped = wire::skips_leading_blanks(format);
  reply_.emplace("scanf-data", skipped ? SlowReply::Blanks::skipped : SlowReply::Blanks::read, now);
  out.push_back(ScanRequested{process_, std::move(format)});
  return {};
}

// Who sends `qplist` is a verbs client; until then it is like any other.
std::string CharmClient::give_queue_pairs(std::string_view list, ClientOutputs& out) {
  if (!table_sent_ || gave_queue_pairs_ || waiting_ != Waiting::nothing) return "sent `qplist` out of turn";
  if (list.size() != std::size_t{table_->processes - 1} * wire::kCharmQueuePair) {
    return fmt::format("sent a `qplist` of {} bytes in a job of {} processes", list.size(),
                       table_->processes);
  }
  gave_queue_pairs_ = true;
  waiting_ = Waiting::queue_pairs;
  out.push_back(QueuePairsGiven{process_, wire::strip_charm_qplist(list)});
  return {};
}

void CharmClient::queue_pairs(std::string_view pairs, ClientOutputs& out) {
  if (waiting_ != Waiting::queue_pairs) return;
  waiting_ = Waiting::nothing;
  silence_.answered();
  out.push_back(ToClient{client_, wire::charm_qpdata(pairs)});
  send_held(out);
}

std::string CharmClient::enter(BarrierKind kind, ClientOutputs& out) {
  Barrier& barrier = barriers_[index(kind)];
  if (!barrier.entered) {
    barrier.entered = true;
    out.push_back(BarrierEntered{process_, kind});
  } else if (++barrier.ahead > limits_->barriers_ahead) {
    return fmt::format("entered {} barriers without waiting for their release", limits_->barriers_ahead + 1);
  }
  return {};
}

void CharmClient::release(BarrierKind kind, ClientOutputs& out) {
  Barrier& barrier = barriers_[index(kind)];
  if (!barrier.entered) return;  // a release that nobody waits for would break the next barrier
  barrier.entered = false;
  barrier.release_held = kind == BarrierKind::all || process_ == 0;
  send_held(out);
  if (barrier.ahead == 0) return;
  --barrier.ahead;
  barrier.entered = true;
  out.push_back(BarrierEntered{process_, kind});
}

// An SMP process sends one `ending` for each PE, all at once. It is done after the last of them: the engine
// may close the connection then, and must not do so under the process's hands. One without a code comes from
// a build that sends a single one.
void CharmClient::ending(std::string_view payload, Instant now, ClientOutputs& out) {
  if (ended_) return;
  const int code = wire::parse_charm_ending(payload);
  if (code_ == 0) code_ = code;
  ++endings_;
  if (endings_ == 1) end_by_ = now + limits_->further_endings;
  if (limits_->resizes || payload.empty() || endings_ >= (table_ ? table_->pes_per_process : 1)) end(out);
}

void CharmClient::end(ClientOutputs& out) {
  ended_ = true;
  end_by_ = kNever;
  if (std::exchange(acks_due_, 0) > 0) out.push_back(CrashAcked{process_});
  refuse_requests(out);
  out.push_back(Ended{process_, code_});
}

void CharmClient::tick(Instant now, ClientOutputs& out) {
  if (now >= end_by_) end(out);
  if (reply_ && now >= reply_->due()) out.push_back(ToClient{client_, reply_->next(now)});
  const bool is_watched = limits_->silence > Duration{0} && now >= silence_.due(patience());
  if (is_watched && silence_.look(now, owes_pings())) out.push_back(Unheard{process_, client_});
}

// Clients that have ended send a spurious abort when their connection is closed.
void CharmClient::abort(std::string_view payload, ClientOutputs& out) {
  if (endings_ > 0 || aborted_) return;
  aborted_ = true;
  out.push_back(Aborted{process_, 1, std::string{text_of(payload)}});
}

void CharmClient::fork(std::uint32_t children, ClientOutputs& out) {
  out.push_back(ToClient{client_, wire::charm_nodefork(children, process_ + 1)});
}

void CharmClient::table(std::shared_ptr<const CharmTable> table, ClientOutputs& out) {
  if (table_) return;
  table_ = std::move(table);
  send_held(out);
}

void CharmClient::recover(std::shared_ptr<const CharmTable> table, std::uint32_t crashed,
                          ClientOutputs& out) {
  if (!table_ || ended_) return;
  table_ = std::move(table);
  crashes_.push_back(crashed);
  ++acks_due_;
  if (listening()) send_table(out);
}

void CharmClient::announce(ClientOutputs& out) {
  if (!listening()) return;
  for (const std::uint32_t crashed : std::exchange(crashes_, {}))
    out.push_back(ToClient{client_, wire::make_charm_crashnode(crashed)});
}

/// Acks come in the order of what they answer: with the last one that is due, it knows of the last crash.
std::string CharmClient::ack(ClientOutputs& out) {
  if (acks_due_ == 0) return ended_ ? "" : "sent `crash_ack` without a crash";
  if (--acks_due_ == 0) out.push_back(CrashAcked{process_});
  return {};
}

void CharmClient::tell_barriers(ClientOutputs& out) const {
  for (const BarrierKind kind : {BarrierKind::all, BarrierKind::root}) {
    if (barriers_[index(kind)].entered) out.push_back(BarrierEntered{process_, kind});
  }
}

void CharmClient::printed(ClientOutputs& out) {
  if (waiting_ != Waiting::printed) return;
  reply({}, out);  // there is always room for no text
}

std::string CharmClient::scanned(std::string_view input, ClientOutputs& out) {
  if (waiting_ != Waiting::scanned) return {};
  // The client scans the reply with the same format, of which it has turned the newlines into blanks.
  std::string text{input};
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\0'; }, ' ');
  return reply(text, out);
}

std::string CharmClient::reply(std::string_view text, ClientOutputs& out) {
  waiting_ = Waiting::nothing;
  silence_.answered();
  Result<std::string> bytes = std::exchange(reply_, std::nullopt)->finish(text);
  if (!bytes) return bytes.error().what;
  out.push_back(ToClient{client_, std::move(*bytes)});
  send_held(out);
  return {};
}

void CharmClient::request(std::string payload, ClientOutputs& out) {
  if (endings_ > 0) return fail(payload, "has ended", out);
  if (!requests_.hold(payload)) return fail(payload, "has too many requests waiting", out);
  send_held(out);
}

std::string CharmClient::answer(std::string_view payload, ClientOutputs& out) {
  if (payload.size() < wire::kCcsForwardedHeader)
    return fmt::format("sent a `reply_fw` of {} bytes", payload.size());
  const wire::CcsForwarded head = wire::parse_ccs_forwarded(payload);
  if (!requests_.answered(head.token)) {
    out.push_back(RequestAnswered{process_, head.token, head.length > 0,
                                  std::string{payload.substr(wire::kCcsForwardedHeader)}});
  }
  send_held(out);
  return {};
}

void CharmClient::fail(std::string_view request, std::string_view why, ClientOutputs& out) const {
  out.push_back(failed_request(process_, request, why));
}

void CharmClient::refuse_requests(ClientOutputs& out) {
  for (const std::string& payload : requests_.take_held()) fail(payload, "is gone", out);
}

void CharmClient::lost(std::string why, ClientOutputs& out) {
  refuse_requests(out);
  if (ended_) return;
  if (endings_ > 0) {
    end(out);
  } else {
    out.push_back(ClientLost{process_, std::move(why)});
  }
}

void CharmClient::finish(ClientOutputs& out) {
  if (listening() && endings_ == 0) send("die", std::string_view{"The job is over.\0", 17}, out);
  if (limits_->resizes) return regroup(out);
  out.push_back(CloseClient{client_});
}

void CharmClient::regroup(ClientOutputs& out) {
  send("realloc_ack", {}, out);
  out.push_back(CloseClient{client_});
}

void CharmClient::send(std::string_view type, std::string_view payload, ClientOutputs& out) {
  out.push_back(ToClient{client_, wire::make_charm_message(type, payload)});
}

void CharmClient::send_table(ClientOutputs& out) {
  out.push_back(ToClient{client_, wire::charm_table_head(table_->processes, process_), table_->entries});
}

void CharmClient::send_held(ClientOutputs& out) {
  if (!listening() || !table_) return;
  if (!table_sent_) {
    table_sent_ = true;
    silence_.answered();
    out.push_back(TableDelivered{process_, client_});
    send_table(out);
  }
  for (const std::uint32_t crashed : std::exchange(crashes_, {})) {
    send_table(out);
    out.push_back(ToClient{client_, wire::make_charm_crashnode(crashed)});
  }
  for (BarrierKind kind : {BarrierKind::all, BarrierKind::root}) {
    if (!std::exchange(barriers_[index(kind)].release_held, false)) continue;
    silence_.answered();
    send(release_type(kind), kNul, out);
  }
  for (const std::string& payload : requests_.due(process_ * table_->pes_per_process))
    send("req_fw", payload, out);
}

}  // namespace charmtree::proto
