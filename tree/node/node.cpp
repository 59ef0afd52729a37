// SPDX-License-Identifier: Apache-2.0
// One turn: the event goes to those parts that it is for (node_messages.cpp); then each part does what is
// due, in one order. Every handler may therefore just record, and leave the consequences to the turn's end.
#include "tree/node/node.hpp"

#include <algorithm>
#include <utility>

#include "tree/base/handle.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/base/signals.hpp"

namespace charmtree {

using namespace proto;

namespace {
/// Between SIGTSTP and SIGSTOP.
constexpr Duration kStopAfter = 100ms;

/// How long a launcher whose parent is gone waits to be adopted.
constexpr Duration kHoldOn = health::Repairs::kLongestReach;

/// Only the root shows text. Elsewhere a Say becomes a Note to the parent; who has none drops it.
void words_become_notes(std::uint32_t host, bool has_parent, Actions& out) {
  const Overloaded is_word{[](const Say&) { return true; }, [](const auto&) { return false; }};
  if (!has_parent) std::erase_if(out, [&](const Action& each) { return dispatch(is_word, each); });
  for (Action& action : out) {
    dispatch(Overloaded{[&](const Say& say) {
                          wire::Note note{host, say.text, say.tone != Tone::verbose};
                          action = Send{kParentLink, std::move(note)};
                        },
                        [](const auto&) {}},
             std::as_const(action));
  }
}

/// Who reads the times of lines compares them with clocks on the wall; `behind`: how far the job's is.
void show_real_times(Duration behind, Actions& out) {
  const Overloaded shift{[&](Show& show) {
                           if (show.output.read != kNever) show.output.read += behind;
                         },
                         [](const auto&) {}};
  for (Action& action : out) dispatch(shift, action);
}

/// Of the root's job, or of a session's run; what is to be said about its end is said.
Finish result_of(const RootController& controller, const wire::JobSpec& job,
                 const std::set<std::uint32_t>& unconfirmed, Actions& out) {
  const auto& verdict = controller.judge().verdict();
  if (std::string line = controller.judge().failures(); !line.empty()) out.push_back(Say{Tone::info, line});
  if (std::string line = controller.judge().decision().aftermath(); !line.empty())
    out.push_back(Say{Tone::info, line});
  if (std::string line = controller.judge().launch().left_out(); !line.empty() && job.processes > 0)
    out.push_back(Say{Tone::info, line});
  if (!unconfirmed.empty() && !job.checkup)  // which leaves nothing behind
    out.push_back(Say{Tone::error, names_of({unconfirmed.begin(), unconfirmed.end()}, controller.hosts()) +
                                       ": did not confirm that the job has ended there"});
  Finish end = verdict ? Finish{verdict->status, verdict->signal, verdict->why} : Finish{0, 0};
  end.why.restarts = job.loss.restarts;
  end.why.silent = controller.silent_at_end();
  end.why.ends = controller.judge().ends();
  return end;
}
}  // namespace

Node::~Node() = default;

Node::Node(RootPlan plan, std::uint64_t seed)
    : random_(seed),
      root_(std::make_unique<RootController>(plan)),
      signing_(*root_->job(), std::move(plan.key_names)) {
  if (plan.takes_over) takeover_.emplace(std::move(*plan.takes_over));
  place_.job = root_->job();
  place_.self.index = wire::kRootIndex;
  output_.emplace(OutputPart::Place::root, *place_.job);
  launch_.begin(*place_.job, root_->coded_job(), {.is_root = true, .most_links = plan.most_links}, random_);
  if (takeover_) signing_.take_over(root_->hosts());
  run_.emplace(place_, times_);
}

Node::Node(std::uint64_t seed, Duration first_word, std::size_t most_links)
    : random_(seed),
      most_links_(most_links),
      parent_(first_word == kUnbounded ? std::nullopt : std::optional{first_word}) {
  run_.emplace(place_, times_);
}

void Node::on(Event event, Instant now, Actions& out) {
  if (run_->shutdown.is_finished()) return;
  real_now_ = now;
  now_ = clock_.at(now);
  out_ = &out;
  const bool is_tick = holds_alternative<Tick>(event);
  hear(std::move(event));
  if (parent_.is_silent(real_now_)) {
    parent_.give_up();
    finish();
  }
  if (launch_.has_begun()) {
    if (is_tick) launch_.tick(*this);
    run_->host.tick(*this);
    watch_.turn(*this);
    if (parent_.is_late(real_now_)) end({wire::EndMode::kill, 9});
    repairs_.turn(*this);
    // Whoever has not been found yet when the job is to end is told so when it is.
    if (takeover_ && root_->has_begun() && (!repairs_.seeks_all() || root_->judge().verdict()))
      end_takeover();
    run_->host.spawn(*this);
    run_->gather.turn(*this);
    run_->services.turn(*this);
    root_turn();
    output_->turn(*this);
    trust_.tell_left_out(launch_.launch(), *this);
    advance_end();
    if (real_now_ >= stop_at_) {
      stop_at_ = kNever;
      run_->host.signal(signals::kStop, *this);
    }
    watch_.note_what_is_sent(*this);
  }
  root_ ? show_real_times(real_now_ - now_, out) : words_become_notes(host(), !parent_.is_gone(), out);
  out_ = nullptr;
}

Instant Node::next_deadline() const {
  Instant deadline = earlier(run_->shutdown.next_deadline(), run_->host.next_deadline());
  if (launch_.has_begun()) deadline = earlier(deadline, launch_.launch().next_deadline());
  if (!root_ && !parent_.is_gone()) deadline = earlier(deadline, run_->gather.next_deadline());
  deadline = earlier(deadline, earlier(trust_.next_deadline(), run_->services.next_deadline()));
  if (output_) deadline = earlier(deadline, output_->next_deadline());
  if (root_ && !takeover_) deadline = earlier(deadline, root_->next_deadline());
  deadline = earlier(clock_.real(deadline), earlier(stop_at_, run_->services.next_real_deadline()));
  deadline = earlier(deadline, earlier(parent_.next_deadline(), repairs_.next_deadline()));
  return clock_.stands() ? deadline : earlier(deadline, watch_.next_deadline());
}

wire::Remit Node::remit(LinkId link) const {
  if (!launch_.has_begun() || link == kParentLink || link == kAdopterLink) return {};
  return Trust::remit(launch_.launch(), *place_.job, link, repairs_.is_claimed(link));
}

// ---- the root

/// What the controller wants others to hear; some of it concerns this launcher, too.
void Node::pass_on(const RootOrders& orders) {
  for (const wire::Message& message : orders.everyone) {
    handle(
        message,  //
        [&](const wire::TableDown& m) { run_->gather.down(m); },
        [&](const wire::Release& m) { run_->gather.down(m); },
        [&](const wire::Moved& m) { run_->host.down(m, *this); },
        [&](const wire::WorldBegun& m) { run_->host.down(m, *this); },
        [&](const wire::Recover& m) { run_->gather.down(m, *this); },
        [&](const wire::Lost& m) { run_->gather.down(m, *this); },
        [&](const wire::Renewed& m) { run_->gather.down(m, *this); });
    run_->services.down(message, *this);
    hand_down_all(message);
  }
  for (const auto& [process, message] : orders.process) {
    if (!handle(message, [&](const wire::CcsSpread& m) { run_->ccs.down(m, *this); }))
      hand_down(process, message);
  }
  // Behind messages for single processes: what is spread also reaches those that are started again now.
  for (const wire::Message& message : orders.spread) run_->services.down(message, *this);
  for (const auto& [process, why] : orders.given_up) {
    if (const auto link = way_to(process)) give_up(*link, why);
  }
}

void Node::root_turn() {
  if (!root_ || takeover_) return;  // who takes over decides nothing before it has heard everybody
  if (root_->judge().launch().all_up()) times_.record_logins(*this);
  RootOrders orders;
  root_->turn(now_, *out_, orders);
  const auto numbers = [&] {
    return wire::Numbers{wire::encode(orders.numbers), place_.job->pes_per_process};
  };
  if (orders.reshape) {
    HostPart::reshape(*orders.reshape, orders.numbers, *this);
    launch_.launch().add_late(std::move(orders.new_hosts), root_->coded_job(), now_, *out_);
  } else if (orders.start) {
    HostPart::begin_start(*this);
    hand_down_all(numbers());
  } else if (!orders.numbers.empty()) {
    HostPart::number(orders.numbers, *this);
    hand_down_all(numbers());
  }
  pass_on(orders);
  if (!root_->judge().verdict() && root_->judge().launch().all_up()) kept_tree_.keep(*this);
  if (orders.end) end(*orders.end);
  if (orders.relaunch) {
    root_ = root_->next_run(now_);
    begin_run(root_->coded_job());
    return root_turn();  // nobody may be left of whom anything would be heard
  }
  if (!orders.suspend) return;
  suspend(*orders.suspend);
  if (*orders.suspend) out_->push_back(StopSelf{});
}

/// Those who could not be asked are left alone: their user may come from where they can be reached.
void Node::end_takeover() {
  const health::Takeover search = *std::exchange(takeover_, std::nullopt);
  repairs_.end_takeover();
  if (!search.has_found_any()) {
    leaves_job_ = !search.unreached().empty();
    if (!leaves_job_)
      return root_->refuse({Errc::link_lost, Phase::run, "no launcher of the job waits for another root",
                            "it has ended, or waited for longer than its ++keep-alive"});
    launch_.launch().abandon(*out_);
    run_->shutdown.forget_unconfirmed();
    return root_->refuse({Errc::link_lost, Phase::run,
                          "no launcher of the job was reached: " + search.unreached(),
                          "it may still wait: put that right and attach again"});
  }
  const InheritedState inherited = search.inherited();
  run_->gather.take_over(inherited, *this);
  search.even_out(inherited, *this);
  RootOrders orders;
  root_->resume(inherited, now_, *out_, orders);
  pass_on(orders);
  for (wire::LinkLost& lost : search.untold(inherited)) tell_up(std::move(lost));
}

// ---- launchers above and below

void Node::give_up(LinkId link, const Error& error) {
  out_->push_back(CloseLink{link});
  lose(link, error);
}

void Node::lose(LinkId link, const Error& error) {
  if (!launch_.has_begun()) return;
  Launch& launch = launch_.launch();
  Shutdown& shutdown = run_->shutdown;
  Child* child = launch.find_up(link);
  if (child == nullptr) return;
  child->lost();
  if (child->sweeps()) {
    shutdown.leave_unconfirmed(child->host.index);
    child->error = error;
    return;
  }
  if (child->adopts() || repairs_.lost(link)) {
    const Host host = child->host;
    repairs_.not_there(host.index, to_string(error), *this);
    return launch.sweep_instead(host, now_, *out_);
  }
  if (health::Repairs::can_repair(*child, link, error, seat())) {
    out_->push_back(Say{Tone::verbose,
                        child->host.name + ": cut off, looking for its launcher (" + to_string(error) + ")"});
    forget(*child, link);
    return repairs_.begin(*child, error, *this);
  }
  if (!shutdown.is_idle()) {
    tell_loss(*child, link, error);
  } else {  // no process is lost with it
    forget(*child, link);
    if (place_.job->session)
      out_->push_back(Say{Tone::info, child->host.name + ": " + to_string(error) +
                                          "; the next run starts a launcher there again"});
  }
  if (!place_.job->checkup) launch.sweep(link, shutdown.unconfirmed(), now_, *out_);
  if (shutdown.is_idle()) hand_up(shutdown.idle());
}

/// Its processes, and now those of all launchers below it, are lost with it.
void Node::tell_loss(const Child& child, LinkId link, const Error& error) {
  const Subtree& subtree = launch_.launch().subtree();
  wire::LinkLost lost{child.host.index, error, subtree.processes_below(link)};
  const bool are_signed = std::any_of(place_.job->profiles.begin(), place_.job->profiles.end(),
                                      [](const Profile& each) { return !each.forwarded_keys.empty(); });
  if (place_.job->loss.recovery == wire::Recovery::in_place || are_signed)
    lost.hosts = subtree.hosts_below(link);
  lost.unbounded = run_->shutdown.unbounded().contains(child.host.index);
  tell_up(std::move(lost));
  forget(child, link);
}

/// Nothing is awaited from it any more.
void Node::forget(const Child& child, LinkId link) {
  output_->lost(link);
  run_->ccs.lost(child, link, *this);
  run_->services.child_lost(child, link, *this);
}

/// `visibly`: how; null: we have heard nothing for too long, and whoever was to come has had that time, if it
/// is not another root. Who ends us by a signal does not want us to wait.
void Node::lose_parent(const Error* visibly) {
  watch_.forget(kParentLink);
  const bool is_welcomed = launch_.has_begun();
  if (is_welcomed) {
    run_->services.parent_lost(*this);
  }
  const bool may_be_adopted = is_welcomed && health::Adoption::is_possible(seat());
  const bool awaits_root = is_welcomed && health::Adoption::awaits_root(seat());
  const bool is_killed = visibly != nullptr && visibly->code == Errc::killed;
  if (may_be_adopted && (visibly != nullptr ? !is_killed : awaits_root))
    return parent_.lost(real_now_ + (awaits_root ? place_.job->loss.keep_alive : kHoldOn));
  parent_.give_up();
  if (is_killed && may_be_adopted) {
    for (const auto& [link, child] : launch_.launch().children()) {  // not their end: they are adopted
      if (!child.serves()) continue;
      launch_.launch().find(link)->lost();
      out_->push_back(CloseLink{link});
    }
  }
  end({wire::EndMode::kill, 9});
}

/// Another parent has told what may have been lost with the link of the last one, and hears the same from us.
/// What a barrier that has opened needs from us was told before that: it has opened once at most. A root that
/// takes over knows less than we do; what we know it has just been told.
void Node::follow(const wire::Claim& claim) {
  parent_.arrived();
  place_.level = claim.level + 1;
  watch_.forget(kParentLink);
  watch_.watch(kParentLink, *this);
  suspend(claim.suspended);
  RunProgress& progress = run_->gather.progress();
  for (std::size_t kind = 0; kind < claim.releases.size(); ++kind) {
    if (claim.releases[kind] > progress.releases[kind])
      from_parent(wire::Release{static_cast<std::uint8_t>(kind)});
    progress.releases[kind] = std::max(progress.releases[kind], claim.releases[kind]);
  }
  if (claim.epoch > progress.epoch) from_parent(wire::Lost{claim.epoch, run_->gather.fresh(claim.lost)});
  run_->gather.adopted(*this);
  output_->adopted();
  from_parent(wire::Resend{claim.by_new_root});
}

// ---- the job stops, goes on, ends, begins again

/// A program may do something of its own when it is told to stop, and has kStopAfter for that. Nobody may
/// refuse, as all would who are in a session of their own: the kernel ignores SIGTSTP there. A suspended
/// launcher keeps its link and hears everything, but its time stands still (JobClock).
void Node::suspend(bool on) {
  if (on == clock_.stands() || (on && run_->shutdown.kills())) return;
  hand_down_all(wire::Suspend{on});
  if (on)
    clock_.stop(real_now_);
  else
    clock_.go_on(real_now_);
  if (!on) watch_.resume(real_now_);
  now_ = clock_.at(real_now_);
  stop_at_ = on && run_->host.processes() != nullptr ? real_now_ + kStopAfter : kNever;
  run_->host.signal(on ? signals::kTerminalStop : signals::kContinue, *this);
}

/// Whoever is to end must be able to, but does nothing more before it hears of it: those who are suspended
/// are told to end, and then go on.
void Node::end(const wire::End& order) {
  if (!launch_.has_begun()) return finish();
  const bool was_suspended = clock_.stands();
  if (was_suspended) {
    clock_.go_on(real_now_);
    watch_.resume(real_now_);
    now_ = clock_.at(real_now_);
    stop_at_ = kNever;
  }
  const Shutdown::Order taken = run_->shutdown.order(order, *this);
  if (taken != Shutdown::Order::ignored && parent_.way_up() == WayUp::awaited) parent_.give_up();
  if (taken == Shutdown::Order::first && run_->host.processes() != nullptr) {
    times_.tell(*this);
    run_->host.finish(order, *this);
  }
  if (!was_suspended) return;
  hand_down_all(wire::Suspend{false});
  run_->host.signal(signals::kContinue, *this);
}

void Node::advance_end() {
  Shutdown& shutdown = run_->shutdown;
  if (shutdown.advance(*this)) run_->clean_up.order({place_.job->id, host()}, *this);
  if (!shutdown.is_under_way()) return;
  const bool output = shutdown.waits_for_output(output_->take_moved(), output_->empty(), *this);
  if (!shutdown.is_due(output, *this)) return;
  shutdown.stays() ? rest() : finish();
}

/// What is left of a run's output at the root goes to the screen: that is waited for elsewhere.
void Node::rest() {
  Shutdown& shutdown = run_->shutdown;
  output_->end_run(shutdown.wants_output(), *this);
  shutdown.give_up_busy(*this);
  run_->gather.rest(*this);
  shutdown.rest();
  if (!root_) return hand_up(shutdown.idle());
  root_->idle(shutdown.unconfirmed(), shutdown.unbounded(), now_, *out_);
  if (!root_->awaits_run()) return;
  output_->show_rest(*this);
  out_->push_back(RunOver{result_of(*root_, *place_.job, shutdown.unconfirmed(), *out_)});
}

void Node::finish() {
  Shutdown& shutdown = run_->shutdown;
  if (!launch_.has_begun()) {  // it has no job that could end
    shutdown.quit();
    return out_->push_back(Finish{0, 0});
  }
  output_->end_run(shutdown.wants_output(), *this);
  if (root_) output_->show_rest(*this);
  trust_.tell_left_out(launch_.launch(), *this, true);
  run_->gather.hurry(*this);
  shutdown.finish(*this);
  if (root_)
    out_->push_back(result_of(*root_, *place_.job, shutdown.unconfirmed(), *out_));
  else
    out_->push_back(Finish{0, 0});
}

/// A program is started again over the tree that there is. When everybody has said Idle, links carry nothing
/// of the last run any more, so that the next one needs no numbers of runs in messages. Whoever started a
/// launcher that was lost meanwhile logs in to its host once more, and to those below it.
void Node::begin_run(const wire::Blob& job) {
  const std::set<std::uint32_t> unconfirmed = run_->shutdown.unconfirmed();
  run_.emplace(place_, times_);
  if (output_)
    output_->begin_run(*place_.job);
  else
    output_.emplace(root_ ? OutputPart::Place::root : OutputPart::Place::below, *place_.job);
  hand_down_all(wire::Relaunch{job});
  if (place_.job->is_numbered_late()) place_.self.first_process = place_.self.processes = 0;
  if (root_) signing_.begin_run();
  Upward news;
  launch_.launch().begin_run(job, unconfirmed, now_, *out_, news.facts.hosts_failed);
  tell_up(std::move(news));
  if (!root_) run_->host.begin(!unconfirmed.contains(host()), *this);
  run_->services.begin(*this);
}

// ---- as parts see it

Seat Node::seat() {
  return {*place_.job,
          place_.self,
          launch_.launch(),
          run_->host.processes(),
          run_->gather.progress(),
          place_.level,
          run_->shutdown.has_begun(),
          root_ ? &root_->hosts() : nullptr};
}

void Node::tell_up(wire::Message message) {
  const bool is_taken = handle(
      message, each_of(OutputMessages{}, [&](auto& m) { output_->add(std::move(m), *this); }),
      [&](wire::QueuePairsUp& m) { run_->host.route(m.block, *this); },
      [&](wire::CcsAnswer& m) { return run_->ccs.merges(m, *this); },
      [&](wire::Facts& m) { run_->gather.add(std::move(m), *this); },
      [&](wire::LinkLost& m) { return run_->gather.add(m, *this), false; });
  if (is_taken) return;
  if (!root_) run_->gather.remember(message, *this);
  if (!parent_.is_gone()) hand_up(std::move(message));
}

void Node::hand_up(wire::Message message) {
  if (!root_) return out_->push_back(Send{kParentLink, std::move(message)});
  const auto ask_root = [&] {
    RootOrders orders;
    root_->message(message, now_, *out_, orders);
    pass_on(orders);
  };
  const bool is_taken = handle(
      message,  //
      [&](wire::Output& m) { root_->output(std::move(m), *out_); },
      [&](wire::Facts& m) {
        if (!m.started_by.empty()) kept_tree_.changed();
        signing_.heard(m);
        root_->facts(std::move(m), now_);
      },
      [&](wire::LinkLost& m) {
        kept_tree_.changed();
        signing_.heard(m);
        ask_root();
      },
      [&](wire::Confirmed& m) { root_->confirmed(m.hosts); }, [&](wire::Idle&) { root_->lost_idle(); });
  if (!is_taken) ask_root();
}

void Node::hand_down_all(const wire::Message& message) {
  if (!launch_.has_begun()) return;
  for (const auto& [link, child] : launch_.launch().children()) {
    if (child.serves()) out_->push_back(Send{link, message});
  }
}

void Node::hand_down(std::uint32_t process, const wire::Message& message) {
  const auto link = way_to(process);
  Child* child = link ? launch_.launch().find_up(*link) : nullptr;
  if (child == nullptr) return;
  // A process that was reported to be gone is going to be there again.
  if (message.is<wire::Restart>() && child->finished > 0) --child->finished;
  out_->push_back(Send{*link, message});
}

void Node::hand_down_by(LinkId child, wire::Message message) {
  if (launch_.launch().find_up(child) != nullptr) out_->push_back(Send{child, std::move(message)});
}

std::optional<LinkId> Node::way_to(std::uint32_t process) const {
  return launch_.launch().subtree().route(process);
}

}  // namespace charmtree
