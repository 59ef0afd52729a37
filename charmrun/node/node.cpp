// SPDX-License-Identifier: Apache-2.0
// One turn: the event goes to its handler; then what has been gathered is sent on if it is due, the desk
// (root) looks at what has changed, and the ending is moved on. Every handler may therefore just record and
// leave the consequences to the turn's end.
#include "charmrun/node/node.hpp"

#include <algorithm>
#include <utility>

#include "tree/base/overloaded.hpp"

namespace charmtree {

using namespace proto;

namespace {
LaunchConfig launch_config(const wire::JobSpec& job, const LaunchConfig& place) {
  LaunchConfig config = place;
  config.postal = believable(job.launch.login_occupancy, job.launch.login_latency);
  return config;
}
}  // namespace

Node::Node(RootPlan plan, std::uint64_t seed)
    : random_(seed),
      takeover_(plan.takes_over ? std::optional{Takeover{*plan.takes_over, {}, {}, {}}} : std::nullopt),
      desk_(std::make_unique<RootDesk>(plan)),
      job_(desk_->job()),
      signing_(*job_, std::move(plan.key_names)) {
  self_.index = wire::kRootIndex;
  begin_output();
  launch_.emplace(*job_, desk_->coded_job(), launch_config(*job_, {.is_root = true}), random_);
  if (takeover_) signing_.take_over(desk_->hosts());
}

void Node::on(Event event, Instant now, Actions& out) {
  if (over_ == Over::finished) return;
  real_now_ = now;
  now_ = clock_.at(now);
  out_ = &out;
  std::visit([this](auto& e) { handle(std::move(e)); }, event);
  await_first_word();
  if (launch_ && std::holds_alternative<Tick>(event)) {
    wire::Facts news;
    launch_->tick(now_, out, news.hosts_failed);
    facts(std::move(news));
  }
  if (processes_ && processes_->next_deadline() <= now_) {
    Upward upward;
    processes_->tick(now_, out, upward);
    tell_up(std::move(upward));
  }
  watch_.turn(*this);
  if (real_now_ >= hold_until_) end({wire::EndMode::kill, 9});
  repairs_.turn(*this);
  takeover_turn();
  spawn_processes();
  flush_gather();
  desk_turn();
  if (output_) output_->turn(*this);
  if (launch_) trust_.tell_left_out(*launch_, *this);
  advance_ending();
  advance_suspension();
  watch_.note_what_is_sent(*this);
  if (desk_)
    show_real_times();
  else
    words_become_notes();
  out_ = nullptr;
}

/// Logins come first: other hosts wait for them, while processes can be started as well while logins are on
/// their way.
void Node::spawn_processes() {
  if (!processes_ || !processes_->waits_to_spawn()) {
    spawn_at_ = kNever;
    return;
  }
  const Instant login_at = launch_->next_deadline();
  const bool login_is_due = login_at <= now_ + kLoginsFirst;
  if (!login_is_due) processes_->spawn(*out_);
  spawn_at_ = login_is_due ? login_at : now_ + kSpawnPause;
}

/// Only the root has a user to speak to, and who has lost his way to it nobody.
void Node::words_become_notes() {
  if (parent_gone_)
    std::erase_if(*out_, [](const Action& action) { return std::holds_alternative<Say>(action); });
  for (Action& action : *out_) {
    if (const auto* say = std::get_if<Say>(&action))
      action = Send{kParentLink, wire::Note{self_.index, say->text, say->tone != Tone::verbose}};
  }
}

Instant Node::next_deadline() const {
  Instant deadline = earlier(earlier(kill_at_, give_up_at_), spawn_at_);
  if (launch_) deadline = earlier(deadline, launch_->next_deadline());
  if (processes_) deadline = earlier(deadline, processes_->next_deadline());
  if (!desk_ && !parent_gone_) deadline = earlier(deadline, gather_.next_deadline());
  deadline = earlier(deadline, trust_.next_deadline());
  if (output_) deadline = earlier(deadline, output_->next_deadline());
  if (desk_ && !takeover_) deadline = earlier(deadline, desk_->next_deadline());
  deadline =
      earlier(earlier(clock_.real(deadline), stop_at_), earlier(hold_until_, repairs_.next_deadline()));
  deadline = earlier(deadline, first_word_by_);
  return clock_.stands() ? deadline : earlier(deadline, watch_.next_deadline());
}

void Node::handle(const Begin&) {
  desk_->begin(now_);
  if (desk_->judge().verdict()) return takeover_.reset();
  if (takeover_) return take_over();
  launch_->add(desk_->hosts(), 0, now_, *out_);
}

void Node::handle(const LinkUp& event) {
  if (event.link == kAdopterLink) return offer();
  if (!launch_) return;
  const Child* child = launch_->find(event.link);
  if (child == nullptr) return;
  if (!event.note.empty()) tell_up(wire::Note{child->host.index, event.note});
  if (!event.key.type.empty()) tell_up(wire::NewHostKey{child->host.index, event.key});
  launch_->on(event, now_, *out_);
  child = launch_->find_up(event.link);
  if (child != nullptr && child->adopts()) health::Repairs::arrived(child->host.index, event.link, *this);
}

void Node::handle(const LoginFailed& event) {
  if (!launch_) return;
  const Child* child = launch_->find(event.link);
  if (child == nullptr || child->state() != Child::State::logging_in) return;
  if (!event.note.empty()) tell_up(wire::Note{child->host.index, event.note});
  wire::Facts news;
  launch_->on(event, now_, *out_, news.hosts_failed);
  child = launch_->find(event.link);
  if (child != nullptr && child->visits() && child->state() == Child::State::lost) {
    unconfirmed_.insert(child->host.index);
    if (child->adopts()) repairs_.not_reached(child->host, event.error, *this);
  }
  facts(std::move(news));
}

void Node::handle(const LinkDown& event) {
  if (event.link == kAdopterLink) return;
  if (event.link == kParentLink) return lose_parent(&event.error);
  lose(event.link, event.error);
}

void Node::handle(LinkMessage&& event) {
  if (event.link == kParentLink) {
    watch_.heard(event.link, *this);
    return from_parent(event.message);
  }
  if (event.link == kAdopterLink) return from_adopter(event.message);
  Child* child = launch_ ? launch_->find_up(event.link) : nullptr;
  if (child == nullptr || repairs_.up(*child, event.link, event.message, *this)) return;
  watch_.heard(event.link, *this);
  if (const auto why = trust_.refusal(event.link, event.message, progress_.epoch, *this))
    return give_up(event.link, *why);
  if (!trust_.has_room(event.link, event.message, now_)) return;
  const std::size_t before = out_->size();
  const bool is_note = std::holds_alternative<wire::Note>(event.message);
  trust_.shorten_texts(event.link, event.message, now_);
  from_child(*child, event.link, std::move(event.message));
  if (!is_note) trust_.leave_out_lines(event.link, before, *this);
}

/// Upwards, the root hears why instead.
void Node::handle(const SendRefused& event) {
  if (event.link == kParentLink)
    tell_up(wire::LinkLost{self_.index, event.error, {}, true});
  else
    give_up(event.link, event.error);
}

/// Then the launcher that is sought is gone, but not all of what it had started may be.
void Node::handle(const NobodyWaits&) {
  if (relay_) clean_up({relay_->id, relay_->host});
}

void Node::handle(const LeftoversKilled& event) {
  if (!event.all) {  // once more, until nobody waits for it any longer
    if (clean_up_) out_->push_back(*clean_up_);
  } else if (sweeper_) {
    out_->push_back(Send{kParentLink, wire::Swept{event.killed}});
    finish();
  } else if (ending_ == Ending::sweeping) {
    ending_ = Ending::clean;
    confirm({self_.index});
  }
}

template <class E>
void Node::handle(const E& named) {
  if constexpr (requires { named.client; }) {
    if (desk_) return client_of_job(named);
  }
  if (!processes_) return;
  E renamed;
  const E* event = &named;
  if constexpr (requires { named.process; }) {
    std::uint32_t process = named.process;
    if (!processes_->translate(process)) return;
    if (process != named.process) {
      renamed = named;
      renamed.process = process;
      event = &renamed;
    }
  }
  const bool was_spawned = processes_->spawned_at() != kNever;
  [[maybe_unused]] const std::uint64_t printed = output_->added();
  Upward upward;
  processes_->on(*event, now_, *out_, upward);
  using S = wire::Stamps;
  if constexpr (std::is_same_v<E, Prepared>) stamps_.times[S::prepared] = now_;
  const bool waits = job_->starts_together && !progress_.has_numbers;  // for the word to start them
  if (!was_spawned && !waits) stamps_.times[S::spawned] = processes_->spawned_at();
  stamps_.times[S::registered] = processes_->registered_at();
  tell_up(std::move(upward));
  if constexpr (std::is_same_v<E, ProcessExited>) {
    input_.gone(event->process, *this);
  } else if constexpr (std::is_same_v<E, ClientBytes>) {
    if (output_->added() > printed) output_->hold_if_full(event->client, *this);
  }
}

/// At the root, who connects is a client of the running job.
template <class E>
void Node::client_of_job(const E& event) {
  DeskOrders orders;
  desk_->on(event, now_, *out_, orders);
  pass_on(orders);
}

// ---- links and the table

void Node::welcome(const wire::Welcome& message) {
  if (job_ || sweeper_) return;
  auto job = wire::decode_job(*message.job);
  if (!job || message.self.profile >= job->profiles.size()) {
    parent_gone_ = true;
    end({wire::EndMode::kill, 9});
    return;
  }
  job_ = std::make_shared<wire::JobSpec>(std::move(*job));
  self_ = message.self;
  begin_output();
  level_ = message.level;
  stamps_.host = self_.index;
  out_->push_back(Send{kParentLink, wire::Hello{now_, 0}});
  launch_.emplace(*job_, message.job, launch_config(*job_, {.level = level_, .self = self_.index}), random_);
  watch_.watch(kParentLink, *this);
  make_processes();
  processes_->prepare(*out_);
}

void Node::table(const wire::Blob& blob) {
  hand_down_all(wire::TableDown{blob});
  Upward upward;
  processes_->table(blob, now_, *out_, upward);
  tell_up(std::move(upward));
  stamps_.times[wire::Stamps::table] = now_;
  own_stamps();
}

/// Once, with the table or, for programs that never need one, at the end.
void Node::own_stamps() {
  if (!job_->stamps || stamped_) return;
  stamped_ = true;
  tell_up(stamps_);
}

void Node::give_up(LinkId link, const Error& error) {
  out_->push_back(CloseLink{link});
  lose(link, error);
}

void Node::lose(LinkId link, const Error& error) {
  Child* child = launch_ ? launch_->find_up(link) : nullptr;
  if (child == nullptr) return;
  child->lost();
  if (child->sweeps()) {
    unconfirmed_.insert(child->host.index);
    child->error = error;
    return;
  }
  if (child->adopts() || repairs_.lost(link)) {
    const Host host = child->host;
    repairs_.not_there(host.index, to_string(error), *this);
    return launch_->sweep_instead(host, now_, *out_);
  }
  if (health::Repairs::can_repair(*child, link, error, ending_ != Ending::no, seat())) {
    out_->push_back(Say{Tone::verbose,
                        child->host.name + ": cut off, looking for its launcher (" + to_string(error) + ")"});
    leave(*child, link);
    return repairs_.begin(*child, error, *this);
  }
  over_ == Over::idle ? lose_idle(*child, link, error) : tell_loss(*child, link, error);
  if (!job_->checkup) launch_->sweep(link, unconfirmed_, now_, *out_);
  if (over_ == Over::idle) tell_idle();
}

// ---- sending

void Node::hand_down_all(const wire::Message& message) {
  progress_.has_table = progress_.has_table || std::holds_alternative<wire::TableDown>(message);
  for (const auto& [link, child] : launch_->children()) {
    if (child.serves()) out_->push_back(Send{link, message});
  }
}

void Node::hand_down(std::uint32_t process, const wire::Message& message) {
  const auto link = launch_->subtree().route(process);
  Child* child = link ? launch_->find_up(*link) : nullptr;
  if (child == nullptr) return;
  // The process that was told to be gone is going to be there again.
  if (std::holds_alternative<wire::Restart>(message) && child->finished > 0) --child->finished;
  out_->push_back(Send{*link, message});
}

/// What the desk wants others to hear.
void Node::pass_on(const DeskOrders& orders) {
  for (const wire::Message& message : orders.everyone) {
    note_moves(message);
    begin_epoch(message);
    count_release(message);
    hand_down_all(message);
  }
  for (const auto& [process, message] : orders.process) {
    if (const auto* piece = std::get_if<wire::CcsSpread>(&message))
      ccs_.down(*piece, *this);
    else
      hand_down(process, message);
  }
  const Overloaded give_input{
      [&](const auto& m) requires(requires { input_.down(m, *this); }){input_.down(m, *this);
}
, [](const auto&) {}
};                                                 // namespace charmtree
for (const wire::Message& message : orders.input)  // also to who is started again now
  std::visit(give_input, static_cast<const wire::AnyMessage&>(message));
if (const auto link = orders.liar ? launch_->subtree().route(*orders.liar) : std::nullopt)
  give_up(*link,
          Error{Errc::bad_peer, Phase::run, "its launcher answered CCS requests that it was not asked"});
}

void Node::tell_up(wire::Message message) {
  if (const auto* pairs = std::get_if<wire::QueuePairsUp>(&message)) return queue_pairs(pairs->block);
  if (output_cost(message) > 0) return output_->add(std::move(message), *this);
  if (const auto* answer = std::get_if<wire::CcsAnswer>(&message); answer && ccs_.merges(*answer, *this))
    return;
  if (const auto* lost = std::get_if<wire::LinkLost>(&message)) {
    hurry_facts();
    for (const wire::ProcessSet::Range& range : lost->processes) progress_.below_lost_launchers.add(range);
    tree_changed_ = true;
    if (desk_) signing_.heard(*lost);
  }
  if (!desk_ && job_->repairs()) testimony_.note(message);
  if (desk_) {
    DeskOrders orders;
    desk_->message(message, now_, *out_, orders);
    pass_on(orders);
  } else if (!parent_gone_) {
    out_->push_back(Send{kParentLink, std::move(message)});
  }
}

void Node::tell_up(Upward upward) {
  for (wire::Message& message : upward.messages) tell_up(std::move(message));
  facts(std::move(upward.facts));
}

void Node::facts(wire::Facts facts) {
  if (facts.empty()) return;
  Subtree& subtree = launch_->subtree();
  for (const std::uint32_t host : facts.hosts_up) subtree.answered(host);
  for (const wire::HostFailure& failure : facts.hosts_failed) subtree.failed(failure.host);
  for (const wire::TupleBlock& block : facts.blocks) subtree.registered(block.host);
  for (const wire::StartedBy& told : facts.started_by) subtree.started(told);
  tree_changed_ = tree_changed_ || !facts.started_by.empty();
  progress_.any_registered = progress_.any_registered || facts.registered > 0;
  if (job_->repairs()) testimony_.sift(facts);
  if (desk_) signing_.heard(facts);
  if (desk_)
    desk_->facts(std::move(facts), now_);
  else if (!parent_gone_ || hold_until_ != kNever)
    gather_.add(std::move(facts), now_);
}

void Node::flush_gather() {
  if (desk_ || !processes_ || parent_gone_) return;
  const Subtree& subtree = launch_->subtree();
  const bool answered =
      (processes_->spawned_at() != kNever || processes_->failed()) && subtree.all_answered();
  const Gather::Progress progress{processes_->local().size() + subtree.processes() - progress_.gone,
                                  processes_->all_registered() && subtree.all_registered(),
                                  answered && job_->restarts == 0,  // a second time it goes with the tuples
                                  progress_.survivors, ending_ != Ending::no};
  auto facts = gather_.due(progress, now_);
  if (!facts) return;
  if (!facts->blocks.empty()) stamps_.times[wire::Stamps::gathered] = now_;
  out_->push_back(Send{kParentLink, std::move(*facts)});
}

/// The root's own logins, when every host is up: those of others come only as stamps, if these are wanted.
void Node::record_logins() {
  if (logins_recorded_ || !desk_->judge().all_up()) return;
  logins_recorded_ = true;
  for (const auto& [link, child] : launch_->children()) {
    if (!child.visits() && child.welcomed != kNever) out_->push_back(Record{child.stamps});
  }
}

void Node::desk_turn() {
  if (!desk_ || takeover_) return;  // who takes over decides nothing before it has heard everybody
  record_logins();
  DeskOrders orders;
  desk_->turn(now_, *out_, orders);
  if (orders.reshape) {
    reshape(*orders.reshape, orders.numbers);
    launch_->add_late(std::move(orders.new_hosts), desk_->coded_job(), now_, *out_);
  } else if (orders.start) {
    begin_start();
    hand_down_all(wire::Numbers{wire::encode(orders.numbers), job_->pes_per_process});
  } else if (!orders.numbers.empty()) {
    number_subtree(orders.numbers);
    hand_down_all(wire::Numbers{wire::encode(orders.numbers), job_->pes_per_process});
  }
  pass_on(orders);
  keep_tree();
  if (orders.end) end(*orders.end);
  if (orders.relaunch) {
    desk_ = desk_->next_run(now_);
    begin_run(desk_->coded_job());
    return desk_turn();  // nobody may be left of whom anything would be heard
  }
  if (!orders.suspend) return;
  suspend(*orders.suspend);
  if (*orders.suspend) out_->push_back(StopSelf{});
}

}  // namespace charmtree
