// SPDX-License-Identifier: Apache-2.0
// What becomes of each message: one line for each, or its function. A message that nobody handles does not
// compile. From the wrong side none comes: the link's reader refuses it (wire::Greeting).
#include <algorithm>
#include <utility>

#include "charmrun/node/node.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/wire/message_rows.hpp"

namespace charmtree {

using namespace proto;

namespace {

/// A process's launcher acts on it, the others hand it on.
template <class M>
concept ForOneProcess = wire::FromParent<M> && requires(const M& message) {
  message.process;
};

/// Every launcher hands it on, and then acts on it: what a host does takes as long as a message to the next.
template <class M>
concept ForEverybody =
    std::is_same_v<M, wire::Recover> || std::is_same_v<M, wire::Lost> || std::is_same_v<M, wire::Renewed> ||
    std::is_same_v<M, wire::Regroup> || std::is_same_v<M, wire::ForwardSignal>;

bool is_first_word(const wire::Message& message) {
  return std::holds_alternative<wire::Welcome>(message) || std::holds_alternative<wire::Sweep>(message) ||
         std::holds_alternative<wire::Adopt>(message);
}

BarrierKind barrier_of(const wire::Release& message) {
  return static_cast<BarrierKind>(message.kind % kBarrierKinds);
}

}  // namespace

void Node::from_parent(const wire::Message& message) {
  if (!processes_ && !is_first_word(message)) return;
  Upward upward;
  const Overloaded here{
      [&](const wire::Receipt& m) { processes_->printed(m.process, now_, *out_, upward); },
      [&](const wire::ScanReply& m) { processes_->scanned(m.process, m.input, now_, *out_, upward); },
      [&](const wire::CcsForward& m) { processes_->request(m, now_, *out_, upward); },
      [&](const wire::Restart& m) { processes_->restart(m, now_, *out_, upward); },
      [&](const wire::Readmit& m) { processes_->readmit(m, now_, *out_, upward); },
      [&](const wire::Admit& m) { processes_->admit(m.process, now_, *out_, upward); },
      [&](const wire::Recover& m) { processes_->recover(m, now_, *out_, upward); },
      [&](const wire::Lost& m) { processes_->lost(m, now_, *out_, upward); },
      [&](const wire::Renewed& m) { processes_->renewed(m, now_, *out_, upward); },
      [&](const wire::Regroup&) { processes_->regroup(now_, *out_, upward); },
      [&](const wire::ForwardSignal& m) { processes_->signal(m.signal, *out_); },
  };
  const Overloaded act{
      [&]<ForOneProcess M>(const M& m) {
        processes_->contains(m.process) ? here(m) : hand_down(m.process, message);
      },
      [&]<ForEverybody M>(const M& m) {
        hand_down_all(message);
        begin_epoch(message);
        here(m);
      },
      [&](const wire::Welcome& m) { welcome(m); },
      [&](const wire::Sweep& m) { sweep_for(m); },
      [&](const wire::Adopt& m) { relay_for(m); },
      [&](const wire::Assign& m) { assign(m); },
      [&](const wire::TableDown& m) { table(m.table); },
      [&](const wire::Numbers& m) { numbers(m); },
      [&](const wire::Release& m) {
        count_release(message);
        gather_.released(barrier_of(m));
        hand_down_all(message);
        processes_->release(barrier_of(m), now_, *out_, upward);
      },
      [&](const wire::Input& m) { input_.down(m, *this); },
      [&](const wire::RecallInput& m) { input_.down(m, *this); },
      [&](const wire::Resize& m) { input_.down(m, *this); },
      [&](const wire::Suspend& m) { suspend(m.on); },
      [&](const wire::Moved&) {
        hand_down_all(message);
        note_moves(message);
      },
      [&](const wire::Reshape& m) { reshape(m, upward); },
      [&](const wire::CcsSpread& m) { ccs_.down(m, *this); },
      [&](const wire::QueuePairsDown& m) { queue_pairs(m.block); },
      [&](const wire::OutputCredit& m) { output_->down(m, *this); },
      [&](const wire::OutputTaken& m) { output_->down(m, *this); },
      [&](const wire::Resend& m) { resend(m); },
      [&](const wire::SignReply& m) { signing_.down(m, *this); },
      [&](const wire::End& m) { end(m); },
      [&](const wire::Relaunch& m) { relaunch(m.job); },
      [](const wire::Beat&) {},  // any message is a sign of life
      [&](const wire::Punctual& m) { watch_.down(m, *this); },
      [](const wire::Relayed&) {},  // is for the shell
      [](const wire::Claim&) {},    // comes from an adopter: from_adopter()
      []<class M>(const M&) requires(!wire::FromParent<M>){},
  };
  std::visit(act, static_cast<const wire::AnyMessage&>(message));
  tell_up(std::move(upward));
}

/// Only to look for what a lost launcher has left.
void Node::sweep_for(const wire::Sweep& order) {
  if (job_) return;
  sweeper_ = true;
  clean_up({order.id, order.host});
}

/// Only to reach the launcher that waits here to be adopted.
void Node::relay_for(const wire::Adopt& order) {
  if (job_) return;
  sweeper_ = true;
  relay_ = order;
  out_->push_back(Relay{order.host, order.socket});
}

void Node::assign(const wire::Assign& more) {
  const bool known = std::all_of(more.hosts.begin(), more.hosts.end(),
                                 [&](const Host& h) { return h.profile < job_->profiles.size(); });
  if (ending_ == Ending::no && known) launch_->add(more.hosts, more.login_rate, now_, *out_);
}

/// It has been found to speak for its own and not too much (proto::Trust).
void Node::from_child(Child& child, LinkId link, wire::Message message) {
  const Overloaded act{
      [&](wire::Hello& m) {
        child.hello(m.clock, now_);
        watch_.watch(link, *this);
      },
      [&](wire::Facts& m) {
        child.registered += m.registered;
        if (m.epoch == progress_.epoch) child.crash_acks += m.crash_acks;
        child.finished += m.ended + m.exited_ok + static_cast<std::uint32_t>(m.exits.size());
        facts(with_who_started(child, std::move(m)));
      },
      [&](wire::Ask& m) {
        if (ending_ == Ending::no) launch_->ask(link, m, now_, *out_);
      },
      [&](wire::HandBack& m) { hand_back(link, m); },
      [&](wire::SignRequest& m) { signing_.up(m, ending_ != Ending::no, *this); },
      [&](wire::Stamps& m) { stamps(child, m); },
      [&](wire::Checkup& m) { checkup(child, std::move(m)); },
      [&](wire::CcsAnswer& m) { ccs_.up(link, std::move(m), *this); },
      [&](wire::Output&) { output_->up(child, link, std::move(message), *this); },
      [&](wire::ScanUp&) { output_->up(child, link, std::move(message), *this); },
      [&](wire::QueuePairsUp& m) { queue_pairs(m.block); },
      [&](wire::InputTaken& m) { input_.up(link, m, *this); },
      [&](wire::InputReturned& m) {
        if (desk_ && !desk_->can_take_back(m.bytes.size())) return give_up(link, Trust::lie());
        tell_up(std::move(m));
      },
      [&](wire::Done& m) { done(child, link, m); },
      [&](wire::Idle& m) {
        if (!stays_) return;  // it has not heard yet that the job ends
        unconfirmed_.insert(m.unconfirmed.begin(), m.unconfirmed.end());
        unbounded_.insert(m.unbounded.begin(), m.unbounded.end());
        child.idle = true;
        if (over_ == Over::idle) tell_idle();
      },
      [&](wire::Confirmed& m) { confirm(m.hosts); },
      [&](wire::Swept&) {
        child.done();
        out_->push_back(CloseLink{link});
        confirm({child.host.index});
        tell_fenced(child.host.index);
      },
      [&](wire::ForRoot auto& m) { tell_up(std::move(m)); },
      [](wire::BeatUp&) {},  // any message is a sign of life
      [&](wire::WasPunctual& m) { watch_.up(link, m, *this); },
      [](wire::Waiting&) {},  // about_adoption() has taken these
      [](wire::Claimed&) {},
      [](wire::Taken&) {},
      [](wire::FromParent auto&) {},
  };
  std::visit(act, static_cast<wire::AnyMessage&>(message));
}

void Node::done(Child& child, LinkId link, const wire::Done& message) {
  unconfirmed_.insert(message.unconfirmed.begin(), message.unconfirmed.end());
  const bool expected = ending_ != Ending::no;
  child.done();
  // An expected one keeps its link until we end ourselves, and waits for that: taking a session down costs
  // a host more than the last words of all others, which should come first.
  if (expected) return;
  out_->push_back(CloseLink{link});
  tell_loss(child, link, Error{Errc::link_lost, Phase::run, "the launcher there ended early"});
  for (const std::uint32_t host : launch_->subtree().hosts_below(link)) {
    const auto& left = message.unconfirmed;
    if (std::find(left.begin(), left.end(), host) == left.end()) tell_fenced(host);
  }
}

/// Each launcher between the one that failed and the root tries once.
void Node::hand_back(LinkId link, const wire::HandBack& message) {
  wire::Facts news;
  for (const wire::HostFailure& entry : message.hosts) {
    const std::string& name = launch_->find(link)->below.at(entry.host).name;
    out_->push_back(Say{Tone::verbose, name + ": not reachable from its launcher, starting it from here (" +
                                           to_string(entry.error) + ")"});
    const bool is_tried = launch_->take_back(link, entry.host, now_, *out_);
    if (!is_tried && !stays_) news.hosts_failed.push_back(entry);  // in the next run it is
  }
  facts(std::move(news));
}

void Node::checkup(const Child& child, wire::Checkup checkup) {
  checkup.clock = child.in_our_clock(checkup.clock);
  tell_up(std::move(checkup));
}

/// Its own launcher's half is joined with what we saw of its login.
void Node::stamps(const Child& child, wire::Stamps stamps) {
  launch_->subtree().stamped(stamps.host);
  for (Instant& time : stamps.times) {
    time = child.in_our_clock(time);
    // Clocks are joined no better than a message takes, but what has been told has happened.
    if (time != kNever) time = std::min(time, now_);
  }
  if (stamps.host == child.host.index) {
    std::copy_n(child.stamps.times.begin(), wire::Stamps::hello + 1, stamps.times.begin());
    stamps.parent = child.stamps.parent;
    stamps.level = child.stamps.level;
    stamps.attempts = child.stamps.attempts;
  }
  tell_up(stamps);
}

}  // namespace charmtree
