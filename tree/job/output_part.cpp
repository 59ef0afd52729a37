// SPDX-License-Identifier: Apache-2.0
#include "tree/job/output_part.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace charmtree::proto {

namespace {

OutputQueue::Keeps keeps_in(const wire::JobSpec& job) {
  return job.repairs() ? OutputQueue::Keeps::until_taken : OutputQueue::Keeps::nothing;
}

OutputQueue queue_of(OutputPart::Place place, const wire::JobSpec& job) {
  if (place == OutputPart::Place::root) return OutputQueue{OutputPart::kScreen, 0};
  return OutputQueue{OutputGrants::kFirst, job.output.spool, keeps_in(job)};
}

}  // namespace

OutputPart::OutputPart(Place place, const wire::JobSpec& job)
    : place_(place), spool_(job.output.spool), queue_(queue_of(place, job)) {
  if (is_root() && job.repairs()) ledger_.emplace();
}

/// A resting launcher sends nothing: its parent may be about to begin another run, and would take it for that
/// one's.
void OutputPart::end_run(bool wanted, Turn& turn) {
  if (is_root() || std::exchange(rests_, true)) return;
  if (wanted && !queue_.empty())
    turn.act(Say{Tone::info, "the rest of its output was not read in time, and is lost"});
  queue_.reset(0, spool_, OutputQueue::Keeps::nothing);
  held_clients_.clear();
}

void OutputPart::begin_run(const wire::JobSpec& job) {
  grants_ = OutputGrants{};
  moved_ = stalls_ = rests_ = told_spool_full_ = false;
  added_ = 0;
  if (is_root()) {
    queue_.disown();
    ledger_ = job.repairs() ? std::optional{OutputLedger{}} : std::nullopt;
  } else {
    spool_ = job.output.spool;
    queue_.reset(OutputGrants::kFirst, spool_, keeps_in(job));
  }
}

void OutputPart::add(OutputItem output, Turn& turn) {
  if (rests_ || turn.way_up() == WayUp::gone) return;
  ++added_;
  queue_.add(std::move(output), turn.out());
  pump(turn);
}

void OutputPart::up(const Child& child, LinkId link, OutputItem output, Turn& turn) {
  if (!grants_.received(link, output_cost(output)))
    return turn.give_up(link, Error{Errc::bad_peer, Phase::run, "its launcher sent more output than it may"});
  if (rests_) return;
  if (wire::Output* lines = lines_of(output)) lines->read = child.in_our_clock(lines->read);
  queue_.add(link, std::move(output));
  moved_ = true;
  pump(turn);
}

void OutputPart::down(const wire::OutputCredit& credit, Turn& turn) {
  queue_.credit(credit.bytes);
  pump(turn);
}

void OutputPart::down(const wire::OutputTaken& taken, Turn& turn) {
  for (const auto& [link, cost] : queue_.drop_taken(taken.processes)) has_passed(link, cost, turn);
  std::map<LinkId, wire::OutputTaken> below;
  for (const wire::OutputTaken::Taken& each : taken.processes) {
    if (turn.is_here(each.process))
      queue_.taken(each);
    else if (const auto link = turn.way_to(each.process))
      below[*link].processes.push_back(each);
  }
  for (auto& [link, part] : below) turn.hand_down_by(link, std::move(part));
  if (!is_root()) pump(turn);
}

void OutputPart::down(const wire::Resend&, Turn& turn) {
  queue_.resend();
  pump(turn);
}

void OutputPart::on(const Shown& event, Turn& turn) {
  turn.hand_down(event.process, wire::Receipt{event.process});
}

void OutputPart::on(const OutputWritten& event, Turn& turn) {
  queue_.credit(event.cost);
  pump(turn);
}

void OutputPart::on(const Spooled& event, Turn&) {
  queue_.on(event);
}

void OutputPart::on(Unspooled&& event, Turn& turn) {
  if (const auto kept = queue_.on(std::move(event)); !kept)
    turn.act(Say{Tone::error, "output is lost: " + kept.error().what});
  pump(turn);
}

void OutputPart::pump(Turn& turn) {
  if (turn.way_up() != WayUp::open) return;
  while (auto next = queue_.next(turn.out())) {
    moved_ = true;
    // Of what is shown the credit comes back when it has been written.
    const wire::Output* lines = lines_of(next->message);
    const bool again = ledger_ && lines != nullptr && !ledger_->enter(*lines, turn.now());
    if (is_root() && (again || lines == nullptr)) queue_.credit(next->cost);
    if (!again) turn.hand_up(as_message(std::move(next->message)));
    if (next->from) has_passed(*next->from, next->cost, turn);
  }
}

/// Who sent it may send more.
void OutputPart::has_passed(LinkId from, std::size_t cost, Turn& turn) {
  const std::uint64_t grant = grants_.passed(from, cost);
  if (grant > 0) turn.hand_down_by(from, wire::OutputCredit{grant});
}

void OutputPart::hold_if_full(ClientId client, Turn& turn) {
  if (!queue_.clients_rest()) return;
  held_clients_.push_back(client);
  turn.act(PauseClient{client, true});
  if (queue_.spool().is_full()) say_spool_is_full(turn);
}

void OutputPart::say_spool_is_full(Turn& turn) {
  if (std::exchange(told_spool_full_, true)) return;
  const std::string& failure = queue_.spool().failure();
  const std::string why = failure.empty() ? fmt::format("its spool is full ({} MiB, ++spool)", spool_ >> 20)
                                          : fmt::format("its spool cannot be written ({})", failure);
  turn.act(Say{Tone::info, why + ": processes that print wait there until their output is read"});
}

void OutputPart::show_rest(Turn& turn) {
  queue_.credit(UINT32_MAX);
  pump(turn);
}

/// Who waits for what.
void OutputPart::turn(Turn& turn) {
  if (ledger_ && turn.now() >= ledger_->next_deadline()) down({ledger_->take(turn.now())}, turn);
  if (is_root() && queue_.blocked() != stalls_) {
    stalls_ = !stalls_;
    turn.tell(OutputStalls{stalls_});
  }
  turn.tell(PipesRest{queue_.pipes_rest()});
  if (held_clients_.empty() || queue_.clients_rest()) return;
  for (const ClientId client : std::exchange(held_clients_, {})) turn.act(PauseClient{client, false});
}

}  // namespace charmtree::proto
