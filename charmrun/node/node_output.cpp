// SPDX-License-Identifier: Apache-2.0
// Output on its way through a launcher: from its own processes and its children into one queue, and from
// there to the parent, or the user's screen, as far as there is credit. Where too much waits, pipes are left
// alone and clients that print are not read; all else that is said goes past the queue.
#include <fmt/format.h>

#include <utility>

#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

void Node::handle(const Shown& event) {
  down_to(event.process, wire::Receipt{event.process});
}

void Node::handle(const OutputWritten& event) {
  output_->credit(event.cost);
  pump_output();
}

void Node::handle(const Spooled& event) {
  if (output_) output_->on(event);
}

void Node::handle(const Unspooled& event) {
  if (!output_) return;
  if (const auto kept = output_->on(event); !kept)
    out_->push_back(Say{Tone::error, "output is lost: " + kept.error().what});
  pump_output();
}

void Node::own_output(wire::Message output) {
  if (parent_gone_ && hold_until_ == kNever) return;
  ++printed_;
  output_->add(std::move(output), *out_);
  pump_output();
}

void Node::output_from(Child& child, LinkId link, wire::Message output) {
  if (!grants_.received(link, output_cost(output))) {
    give_up(link, Error{Errc::bad_peer, Phase::run, "its launcher sent more output than it may"});
    return;
  }
  if (auto* lines = std::get_if<wire::Output>(&output)) lines->read = mapped(child, lines->read);
  output_->add(link, std::move(output));
  output_moved_ = true;
  pump_output();
}

/// To the parent, or to the desk.
void Node::pass_output(wire::Message output) {
  if (!desk_) return out_->push_back(Send{kParentLink, std::move(output)});
  if (auto* lines = std::get_if<wire::Output>(&output)) return desk_->output(std::move(*lines), *out_);
  DeskOrders orders;
  desk_->message(output, now_, *out_, orders);
  pass_on(orders);
}

void Node::pump_output() {
  if (parent_gone_) return;
  while (auto next = output_->next(*out_)) {
    output_moved_ = true;
    // Of what is shown the credit comes back when it has been written.
    const auto* lines = std::get_if<wire::Output>(&next->message);
    const bool again = desk_ && job_->repairs() && lines != nullptr && !ledger_.enter(*lines, now_);
    if (desk_ && (again || lines == nullptr)) output_->credit(next->cost);
    if (!again) pass_output(std::move(next->message));
    if (next->from) has_passed(*next->from, next->cost);
  }
}

/// Who sent it may send more.
void Node::has_passed(LinkId from, std::size_t cost) {
  const std::uint64_t grant = grants_.passed(from, cost);
  if (grant > 0 && launch_->find_up(from) != nullptr) out_->push_back(Send{from, wire::OutputCredit{grant}});
}

/// The client has printed: it is stopped, not those that only keep the program going.
void Node::hold_printer(ClientId client) {
  if (!output_->clients_rest()) return;
  held_clients_.push_back(client);
  out_->push_back(PauseClient{client, true});
  if (output_->spool().is_full()) say_spool_is_full();
}

void Node::say_spool_is_full() {
  if (std::exchange(told_spool_full_, true)) return;
  const std::string& failure = output_->spool().failure();
  const std::string why = failure.empty()
                              ? fmt::format("its spool is full ({} MiB, ++spool)", job_->spool >> 20)
                              : fmt::format("its spool cannot be written ({})", failure);
  out_->push_back(Say{Tone::info, why + ": processes that print wait there until their output is read"});
}

/// Who waits for what.
void Node::output_turn() {
  if (desk_ && now_ >= ledger_.next_deadline()) output_taken({ledger_.take(now_)});
  if (desk_ && output_->blocked() != output_blocked_) {
    output_blocked_ = !output_blocked_;
    desk_->stalled(output_blocked_, now_);
  }
  if (!processes_) return;
  processes_->hold_output(output_->pipes_rest(), *out_);
  if (held_clients_.empty() || output_->clients_rest()) return;
  for (const ClientId client : std::exchange(held_clients_, {})) out_->push_back(PauseClient{client, false});
}

/// The end of a job waits for output: as long as it moves, and if the job is done, for whoever reads it, too.
bool Node::output_is_waited_for() {
  const bool moved = std::exchange(output_moved_, false);
  if (killing_ || parent_gone_ || nobody_reads_ || !output_) return false;
  const bool held = patient_ && !output_->empty();
  if (moved || held) give_up_at_ = std::max(give_up_at_, now_ + child_slack());
  return !output_->empty();
}

}  // namespace charmtree
