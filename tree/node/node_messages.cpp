// SPDX-License-Identifier: Apache-2.0
// What becomes of each event, each message and each piece of news: one line for each, by the part that it is
// for. One that nobody handles does not compile. From the wrong side no message comes: the link's reader
// refuses it (wire::Greeting).
#include <algorithm>
#include <utility>

#include "tree/base/overloaded.hpp"
#include "tree/node/node.hpp"
#include "tree/wire/handle.hpp"

namespace charmtree {

using namespace proto;

namespace {

// Every launcher passes these on, and then acts on them: what a host does takes as long as a message to the
// next.
using ForAllHosts =
    wire::MessageList<wire::Numbers, wire::Moved, wire::WorldBegun, wire::Regroup, wire::ForwardSignal>;
using BeginsEpoch = wire::MessageList<wire::Recover, wire::Lost, wire::Renewed>;
/// No component sees these on their way.
using ForRootAlone =
    wire::MessageList<wire::AbortUp, wire::Bindings, wire::Fenced, wire::Inquiry, wire::InquiryReply,
                      wire::Left, wire::LinkLost, wire::NameInquiry, wire::NewHostKey, wire::Note,
                      wire::PesWanted, wire::Reached, wire::Rejoined, wire::Silence, wire::WorldWanted>;

bool is_first_word(const wire::Message& message) {
  return message.is<wire::Welcome>() || message.is<wire::Sweep>() || message.is<wire::Adopt>();
}

/// The program is to run again: the job takes its new description, if it is one of the same job.
bool describes_next_run(const wire::Blob& blob, wire::JobSpec& job) {
  auto next = wire::decode_job(*blob);
  if (!next || next->profiles.size() != job.profiles.size() || next->id != job.id) return false;
  job = std::move(*next);
  return true;
}

/// The part has a place for it.
template <class E, class Part>
concept HeardBy = requires(Part& part, E&& event, Turn& turn) {
  part.on(std::forward<E>(event), turn);
};
template <class N>
concept HandledByServices = node::LauncherComponents<node::Services>::kHandles<N>;
template <class E>
concept OfClient = requires(const E& event) {
  event.client;
};

template <OfClient E>
void hear_client(E event, HostPart& host, std::optional<OutputPart>& output, Turn& turn) {
  const ClientId client = event.client;
  const std::uint64_t printed = output ? output->added() : 0;
  host.on(std::move(event), turn);
  if (std::is_same_v<E, ClientBytes> && output && output->added() > printed)
    output->hold_if_full(client, turn);
}

}  // namespace

void Node::hear(Event event) {
  const auto ask_root = [&](auto&& ask) {
    if (!root_) return;
    RootOrders orders;
    ask(orders);
    pass_on(orders);
  };
  if (run_->services.on(event, *this)) return;
  if (node::RootComponents<node::Services>::handles(event))
    return ask_root([&](RootOrders& o) { root_->on(event, output_->stalls(), now_, *out_, o); });
  const Overloaded act{
      [](Tick&) {},
      [&](Begin&) {
        root_->begin(now_);
        run_->services.begin(*this);
        if (root_->judge().verdict()) return takeover_.reset();
        if (!takeover_) return launch_.launch().add(root_->hosts(), 0, now_, *out_);
        times_.take_over();
        run_->gather.progress().has_numbers = true;
        repairs_.take_over(takeover_->shape(), *this);
      },
      [&](LinkUp& e) {
        if (e.link != kAdopterLink) return launch_.has_begun() ? launch_.on(e, *this) : void();
        launch_.has_begun() ? adoption_.offer(*this) : out_->push_back(CloseLink{e.link});
      },
      [&](LoginFailed& e) {
        if (launch_.has_begun()) launch_.on(e, *this);
      },
      [&](LinkMessage& e) { hear_link(std::move(e)); },
      [&](LinkDown& e) {
        if (e.link == kParentLink) return lose_parent(&e.error);
        if (e.link != kAdopterLink) lose(e.link, e.error);
      },
      [&](SendRefused& e) {  // upwards, the root hears why instead
        if (e.link != kParentLink) return give_up(e.link, e.error);
        if (launch_.has_begun()) tell_up(wire::LinkLost{host(), e.error, {}, true});
      },
      [&](UserSignal& e) { ask_root([&](RootOrders& o) { root_->signal(e.signal, now_, *out_, o); }); },
      [&](HostsRead& e) { ask_root([&](RootOrders&) { root_->hosts_read(e, now_); }); },
      [&](NextRun& e) {  // of a session whose run is over
        if (!root_ || !idle() || !root_->awaits_run()) return;
        root_ = root_->next_run(*e.plan, now_);
        output_.reset();  // nothing is on this run's screen
        begin_run(root_->coded_job());
      },
      [&](SessionEnds& e) {
        if (root_ && place_.job->session) root_->end_session(e.signal);
      },
      [&]<HeardBy<CleanUp> E>(E& e) { run_->clean_up.on(e, *this); },
      [&]<HeardBy<health::Watch> E>(E& e) { watch_.on(e, *this); },
      [&]<HeardBy<OutputPart> E>(E& e) {
        if (output_) output_->on(std::move(e), *this);
      },
      [&]<HeardBy<SigningPart> E>(E& e) {
        if (place_.job) signing_.on(e, *this);
      },
      [&]<OfClient E>(E& e) {  // at the root, who connects is a client of the running job
        if (root_) return ask_root([&](RootOrders& orders) { root_->on(e, now_, *out_, orders); });
        hear_client(std::move(e), run_->host, output_, *this);
      },
      [&](auto& e) { run_->host.on(std::move(e), *this); },
  };
  dispatch(act, event);
}

void Node::hear_link(LinkMessage event) {
  if (event.link == kParentLink) {
    watch_.heard(event.link, *this);
    return from_parent(event.message);
  }
  if (event.link == kAdopterLink)
    return launch_.has_begun() ? adoption_.up(event.message, *this) : out_->push_back(CloseLink{event.link});
  Child* child = launch_.has_begun() ? launch_.launch().find_up(event.link) : nullptr;
  if (child == nullptr || repairs_.up(*child, event.link, event.message, *this)) return;
  watch_.heard(event.link, *this);
  if (const auto why = trust_.refusal(event.link, event.message, run_->gather.progress().epoch, *this))
    return give_up(event.link, *why);
  if (!trust_.has_room(event.link, event.message, now_)) return;
  const std::size_t before = out_->size();
  const bool is_limited = event.message.is<wire::Note>();  // by the line
  trust_.shorten_texts(event.link, event.message, now_);
  from_child(*child, event.link, std::move(event.message));
  if (!is_limited) trust_.leave_out_lines(event.link, before, *this);
}

void Node::from_parent(const wire::Message& message) {
  HostPart& host_part = run_->host;
  GatherPart& gather = run_->gather;
  if (host_part.processes() == nullptr && !is_first_word(message)) return;
  if (run_->services.down(message, *this)) return;
  const auto begin_errand = [&](const auto& order) {
    if (place_.job) return;
    parent_.arrived();
    run_->clean_up.down(order, *this);
  };
  wire::handle_each<wire::CoreMessages, wire::Route::down>(
      message,  //
      [&](const wire::Welcome& m) { welcome(m); }, [&](const wire::Sweep& m) { begin_errand(m); },
      [&](const wire::Adopt& m) { begin_errand(m); }, [&](const wire::Assign& m) { launch_.down(m, *this); },
      [&](const wire::Suspend& m) { suspend(m.on); },
      [&](const wire::Reshape& m) { host_part.down(m, *this); },
      [&](const wire::CcsSpread& m) { run_->ccs.down(m, *this); },
      [&](const wire::QueuePairsDown& m) { host_part.route(m.block, *this); },
      [&](const wire::OutputCredit& m) { output_->down(m, *this); },
      [&](const wire::OutputTaken& m) { output_->down(m, *this); },
      [&](const wire::SignReply& m) { signing_.down(m, *this); }, [&](const wire::End& m) { end(m); },
      [&](const wire::Relaunch& m) {
        if (!idle()) return;
        describes_next_run(m.job, *place_.job) ? begin_run(m.job) : lose_parent(nullptr);
      },
      [](const wire::Beat&) {},  // any message is a sign of life
      [&](const wire::Punctual& m) { watch_.down(m, *this); },
      each_of(ForOneProcess{}, [&](const auto& m) { host_part.down(m, *this); }),
      each_of(ForAllHosts{},
              [&](const auto& m) {
                hand_down_all(message);
                host_part.down(m, *this);
              }),
      each_of(BeginsEpoch{},
              [&](const auto& m) {
                hand_down_all(message);
                gather.down(m, *this);
                host_part.down(m, *this);
              }),
      each_of<wire::TableDown, wire::Release>([&](const auto& m) {
        gather.down(m);
        hand_down_all(message);
        host_part.down(m, *this);
      }),
      [&](const wire::Resend& m) {
        hand_down_all(message);
        output_->down(m, *this);
        host_part.down(m, *this);
      },
      [](const wire::Relayed&) {},  // is for the shell
      [](const wire::Claim&) {});   // comes from an adopter
}

void Node::welcome(const wire::Welcome& message) {
  if (place_.job || run_->clean_up.is_errand()) return;
  auto job = wire::decode_job(*message.job);
  if (!job || message.self.profile >= job->profiles.size()) {
    parent_.give_up();
    return finish();
  }
  parent_.arrived();
  place_ = {std::make_shared<wire::JobSpec>(std::move(*job)), message.self, message.level};
  output_.emplace(OutputPart::Place::below, *place_.job);
  out_->push_back(Send{kParentLink, wire::Hello{now_, 0}});
  launch_.begin(*place_.job, message.job, {.level = place_.level, .self = host(), .most_links = most_links_},
                random_);
  watch_.watch(kParentLink, *this);
  run_->host.begin(true, *this);
  run_->services.begin(*this);
}

/// It has been found to speak for its own and not too much (proto::Trust).
void Node::from_child(Child& child, LinkId link, wire::Message message) {
  if (run_->services.up(link, message, *this)) return;
  Shutdown& shutdown = run_->shutdown;
  wire::handle_each<wire::CoreMessages, wire::Route::up, wire::Route::to_root>(
      message,  //
      [&](wire::Hello& m) {
        child.hello(m.clock, now_);
        watch_.watch(link, *this);
      },
      [&](wire::Facts& m) { run_->gather.up(child, std::move(m), *this); },
      [&](wire::Ask& m) { launch_.up(link, m, *this); },
      [&](wire::HandBack& m) { launch_.up(link, m, shutdown.stays(), *this); },
      [&](wire::SignRequest& m) { signing_.up(m, *this); },
      [&](wire::Stamps& m) { StartupTimes::up(child, m, *this); },
      [&](wire::Checkup& m) {
        m.clock = child.in_our_clock(m.clock);
        tell_up(std::move(m));
      },
      [&](wire::CcsAnswer& m) { run_->ccs.up(link, std::move(m), *this); },
      each_of(OutputMessages{}, [&](auto& m) { output_->up(child, link, std::move(m), *this); }),
      [&](wire::QueuePairsUp& m) { run_->host.route(m.block, *this); },
      [&](wire::Done& m) { done(child, link, m); },
      [&](wire::Idle& m) {
        if (shutdown.up(child, m) && shutdown.is_idle()) hand_up(shutdown.idle());
      },
      [&](wire::Confirmed& m) { shutdown.confirm(std::move(m.hosts), *this); },
      [&](wire::Swept&) {
        child.done();
        out_->push_back(CloseLink{link});
        shutdown.confirm({child.host.index}, *this);
        shutdown.tell_fenced(child.host.index, *this);
      },
      each_of(ForRootAlone{}, [&](auto& m) { tell_up(std::move(m)); }),
      [](wire::BeatUp&) {},  // any message is a sign of life
      [&](wire::WasPunctual& m) { watch_.up(link, m, *this); },
      [](wire::Waiting&) {},  // Repairs::up has taken these
      [](wire::Claimed&) {}, [](wire::Taken&) {});
}

void Node::done(Child& child, LinkId link, const wire::Done& message) {
  Shutdown& shutdown = run_->shutdown;
  shutdown.leave_unconfirmed(message.unconfirmed);
  child.done();
  // An expected one keeps its link until we end ourselves, and waits for that: taking a session down costs
  // a host more than the last words of all others, which should come first.
  if (shutdown.has_begun()) return;
  out_->push_back(CloseLink{link});
  tell_loss(child, link, Error{Errc::link_lost, Phase::run, "the launcher there ended early"});
  const auto& left = message.unconfirmed;
  for (const std::uint32_t host : launch_.launch().subtree().hosts_below(link)) {
    if (std::find(left.begin(), left.end(), host) == left.end()) shutdown.tell_fenced(host, *this);
  }
}

/// What one part must tell others.
void Node::tell(const News& news) {
  const Overloaded hear{
      [&](PipesRest pipes) { run_->host.hold_output(pipes.yes, *this); },
      [&](OutputStalls output) { root_->stalled(output.yes, now_); },
      [&]<HandledByServices N>(const N& notice) { run_->services.notify(notice, *this); },
      [&](const RingDone& ring) { run_->host.ringed(ring, *this); },
      [&](const FenceDone& fence) { run_->host.fenced(fence, *this); },
      [&](HostIsClean) { run_->shutdown.cleaned(*this); },
      [&](ErrandDone) { finish(); },
      [&](FilesOnTheirWay files) { root_->files_move(files.percent, now_); },
      [&](const LinkSilent& silent) { lose_silent(silent); },
      [&](const VisitFailed& visit) {
        run_->shutdown.leave_unconfirmed(visit.host.index);
        if (visit.to_adopt) repairs_.not_reached(visit.host, visit.error, *this);
      },
      [&](const AdopterUp& adopter) { health::Repairs::arrived(adopter.host, adopter.link, *this); },
      [&](const ParentReplaced& parent) { follow(parent.claim); },
      [&](const LauncherLost& launcher) {  // a root that takes over says it when it has heard everybody
        takeover_ ? takeover_->lost(launcher.lost) : tell_up(launcher.lost);
      },
      [&](const LauncherUnreached& launcher) {
        if (takeover_) takeover_->unreached(launcher.what);
      },
      [&](const LauncherClaimed& launcher) {
        if (const auto& order = run_->shutdown.last_order()) out_->push_back(Send{launcher.link, *order});
      },
      [&](const LauncherFound& launcher) {
        watch_.watch(launcher.link, *this);
        run_->gather.add({.started_by = {{launcher.host, host()}}}, *this);
        run_->gather.hurry(*this);
        if (takeover_) return takeover_->found(launcher.link, launcher.heir);
        tell_up(wire::Reached{launcher.host, launch_.launch().subtree().processes_below(launcher.link)});
      },
      [&](GivenUp) {
        parent_.give_up();
        if (root_)
          root_->refuse({Errc::link_lost, Phase::run, "another root has taken over the job (++attach)", {}});
        watch_.forget(kParentLink);
        launch_.launch().abandon(*out_);
        repairs_.stop();
        end({wire::EndMode::kill, 9});
      },
  };
  dispatch(hear, news);
}

void Node::lose_silent(const LinkSilent& silent) {
  if (silent.link == kParentLink) {
    out_->push_back(CloseLink{kParentLink});
    return lose_parent(nullptr);
  }
  const Child& child = launch_.launch().children().at(silent.link);
  const std::uint32_t host = child.host.index;
  if (!silent.is_cut_off) run_->shutdown.may_outlive_us(child);
  give_up(silent.link, silent.why);
  if (!silent.answers) repairs_.presume_gone(host, *this);
}

/// With us our processes are taken for dead. Whoever else is left below may be adopted, too.
}  // namespace charmtree
