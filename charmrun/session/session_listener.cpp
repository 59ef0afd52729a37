// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_listener.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "charmrun/session/door.hpp"
#include "charmrun/session/session_plan.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/base/one_of.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/io/clock.hpp"
#include "tree/job/output_queue.hpp"
#include "tree/node/node.hpp"

namespace charmtree {

namespace {

constexpr std::array kSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                 SIGUSR2, SIGPIPE, SIGTSTP, SIGCONT};
constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
constexpr int kSignalled = 128;

bool is_one_of(std::span<const int> signals, int signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

}  // namespace

SessionListener::SessionListener(io::asio::io_context& io, const Options& options, const Job& job,
                                 Console& console)
    : io_(io),
      options_(options),
      job_(job),
      console_(console),
      listener_(io, [this](int fd, io::Listener::Peer) { admit(fd); }) {}

SessionListener::~SessionListener() {
  for (auto& [number, visitor] : visitors_) visitor.link->close(Duration{0});
}

Result<void> SessionListener::open() {
  return open_door(listener_, kSessionDoor, job_.plan.job.id);
}

void SessionListener::admit(int fd) {
  auto link = let_in(io_, io::UniqueFd{fd});
  std::erase_if(leaving_, [](const auto& each) { return each->backlog() == 0; });
  if (!link || visitors_.size() + leaving_.size() >= kMostVisitors) return;
  const Number number = ++last_;
  Visitor& visitor = visitors_[number];
  visitor.link = std::move(link);
  visitor.patience = std::make_unique<io::asio::steady_timer>(io_);
  visitor.patience->expires_after(kPatience);
  visitor.patience->async_wait([this, number](io::error_code ec) {
    if (!ec) gone(number);
  });
  visitor.link->start({[this, number](std::string_view bytes) { hear(number, bytes); },
                       [this, number](const io::LinkEnd&) { gone(number); },
                       {}});
  send(number, session::Tree{CHARMTREE_VERSION, job_.nodelist, job_.nodelist_text, options_.hosts.nodegroup,
                             options_.counts.host_limit, options_.hosts.virtual_hosts,
                             job_.plan.job.launch.on_host_failure == wire::OnHostFailure::drop,
                             options_.hosts.chosen, options_.hosts.excluded});
}

void SessionListener::send(Number number, const session::Message& message) {
  const auto visitor = visitors_.find(number);
  auto frame = session::encode(message);
  if (visitor != visitors_.end() && frame) visitor->second.link->send(std::move(*frame));
}

/// What it says may be the end of it, and of its place here.
void SessionListener::hear(Number number, std::string_view bytes) {
  visitors_.at(number).decoder.append(bytes);
  for (auto visitor = visitors_.find(number); visitor != visitors_.end(); visitor = visitors_.find(number)) {
    const auto message = visitor->second.decoder.next();
    if (message && !message->has_value()) return;
    if (message && std::visit([&](const auto& m) { return about(number, m); }, **message)) continue;
    console_.say(proto::Tone::verbose, "who speaks no language of ours on the session's socket is let go");
    return gone(number);
  }
}

/// The end of the connection is the end of the run.
void SessionListener::gone(Number number) {
  const auto visitor = visitors_.find(number);
  if (visitor == visitors_.end()) return;
  visitor->second.link->close(Duration{0});
  visitors_.erase(visitor);
  std::erase(line_, number);
  if (current_ != number) return;
  current_.reset();
  unwritten_ = 0;
  if (std::exchange(reading_, false)) runner_->dispatch(proto::InputRead{{}, true});
  runner_->dispatch(proto::UserSignal{SIGCONT});  // nobody else could let a suspended run go on
  runner_->dispatch(proto::UserSignal{SIGHUP});
  runner_->check_flow();
}

/// Its last word.
void SessionListener::dismiss(Number number, const session::Over& over) {
  send(number, over);
  const auto visitor = visitors_.find(number);
  visitor->second.link->close(kLinger);
  leaving_.push_back(std::move(visitor->second.link));
  visitors_.erase(visitor);
  std::erase(line_, number);
}

bool SessionListener::about(Number number, const session::Run& run) {
  Visitor& visitor = visitors_.at(number);
  if (visitor.plan) return false;
  visitor.patience.reset();
  auto plan = plan_run(job_.plan, run);
  if (plan) {
    visitor.plan = std::make_shared<const proto::RunPlan>(std::move(*plan));
    wait_in_line(number);
    return true;
  }
  const Error& error = plan.error();
  send(number, session::Said{static_cast<std::uint8_t>(proto::Tone::error),
                             error.fix.empty() ? error.what : error.what + "; " + error.fix});
  dismiss(number, {kLauncherFailed, 0, {}});
  return true;
}

void SessionListener::wait_in_line(Number number) {
  line_.push_back(number);
  if (running_) {
    const std::size_t before = line_.size();
    send(number, session::Said{static_cast<std::uint8_t>(proto::Tone::info),
                               fmt::format("waiting for {} before it in the session",
                                           before == 1 ? "the run" : fmt::format("{} runs", before))});
  }
  next();
}

void SessionListener::next() {
  if (!ready_ || line_.empty()) return;
  ready_ = false;
  current_ = line_.front();
  line_.pop_front();
  running_ = visitors_.at(*current_).plan;
  unwritten_ = 0;
  ++runs_;
  runner_->dispatch(proto::NextRun{running_});
}

bool SessionListener::about(Number, const session::EndSession&) {
  asked_to_end_ = true;
  runner_->dispatch(proto::SessionEnds{SIGTERM});
  return true;
}

/// Who waits in line has nothing yet to which it could be sent on.
bool SessionListener::about(Number number, const session::Signalled& signalled) {
  if (!is_one_of(kSignals, signalled.signal)) return false;
  if (current_ == number) {
    runner_->dispatch(proto::UserSignal{signalled.signal});
  } else if (signalled.signal == SIGTSTP) {
    send(number, session::Suspended{});
  } else if (is_one_of(kEnding, signalled.signal)) {
    dismiss(number, {static_cast<std::uint8_t>(kSignalled + signalled.signal), signalled.signal, {}});
  }
  return true;
}

bool SessionListener::about(Number number, const session::Typed& typed) {
  if (current_ != number || !std::exchange(reading_, false)) return false;
  runner_->dispatch(proto::InputRead{typed.bytes, typed.end});
  return true;
}

bool SessionListener::about(Number number, const session::Written& written) {
  if (current_ != number || written.cost > unwritten_) return false;
  unwritten_ -= written.cost;
  runner_->check_flow();
  return true;
}

bool SessionListener::about(Number number, const session::Delivered& receipt) {
  if (current_ != number) return false;
  runner_->dispatch(proto::Shown{receipt.process});
  return true;
}

namespace {

/// The actions that concern the session as a whole, not the client of a run.
using OfSession = std::variant<proto::Sign, proto::StoreHostKey, proto::Record, proto::FenceOver,
                               proto::AllInitialised, proto::Examined, proto::Progress, proto::ProcessesKnown,
                               debug::DebugHeard, debug::ToolHeard, proto::ReleaseKeys, proto::KeepTree>;

}  // namespace

void SessionListener::perform(io::UserAction action) {
  const Overloaded act{
      [this](proto::Show& a) { show(std::move(a)); },
      [this](proto::Say& a) { say(a.tone, a.text); },
      [this](stacks::StacksSeen& a) {
        console_.show_stacks(a, [this](const std::string& line) { say(proto::Tone::info, line); });
      },
      [this](proto::ReadInput& a) { read_input(a); },
      [this](proto::StopSelf&) { stop_self(); },
      [this](proto::ReadHosts&) { refuse_hosts(); },
      [this](proto::RunOver& a) { run_over(a.result); },
      [this]<OneOf<OfSession> A>(A& a) { console_.perform(std::move(a)); },
  };
  dispatch(act, action);
}

void SessionListener::show(proto::Show action) {
  if (!current_) return;
  unwritten_ += proto::output_cost(action.output);
  if (console_.hearers().output) console_.hearers().output(action);
  send(*current_,
       session::ToShow{std::move(action.output), std::move(action.host), action.processes, action.raw});
}

/// What is said of a run whose user has gone is for nobody, nor what was asked for.
void SessionListener::say(proto::Tone tone, const std::string& line) {
  if (current_ && console_.hearers().line) console_.hearers().line(tone, line);
  if (current_) return send(*current_, session::Said{static_cast<std::uint8_t>(tone), line});
  console_.say(running_ || asked_to_end_ ? proto::Tone::verbose : tone, line);
}

void SessionListener::read_input(const proto::ReadInput& action) {
  if (!current_) return runner_->dispatch(proto::InputRead{{}, true});
  reading_ = true;
  send(*current_, session::Wanted{action.bytes});
}

void SessionListener::stop_self() {
  if (current_)
    send(*current_, session::Suspended{});
  else
    runner_->dispatch(proto::UserSignal{SIGCONT});
}

void SessionListener::refuse_hosts() {
  proto::HostsRead answer;
  answer.error =
      Error{Errc::bad_input, Phase::options, "a session keeps its hosts", "start the program by itself"};
  runner_->dispatch(std::move(answer));
}

std::vector<wire::Share> SessionListener::shares() const {
  std::vector<wire::Share> shares;
  for (const Host& host : node_->hosts()) {
    if (host.processes > 0) shares.push_back({host.index, host.first_process, host.processes});
  }
  return shares;
}

/// False: nobody is there to be told.
bool SessionListener::end_current(const proto::Finish& result) {
  if (!current_) return false;
  dismiss(*current_,
          {static_cast<std::uint8_t>(result.status), static_cast<std::uint8_t>(result.signal), shares()});
  current_.reset();
  return true;
}

void SessionListener::run_over(const proto::Finish& result) {
  if (!end_current(result) && !running_) {
    console_.say(proto::Tone::info,
                 fmt::format("the session is ready: charmrun ++in {} [options] program", job_.plan.job.id));
    if (const auto ready = std::exchange(when_ready_, nullptr)) ready();
  }
  running_.reset();
  reading_ = false;
  unwritten_ = 0;
  ready_ = true;
  next();
}

void SessionListener::finish(const proto::Finish& result) {
  listener_.close();
  end_current(result);
  const Instant end = io::now() + kLastWords;
  io_.restart();
  const auto unread = [this] {
    return std::any_of(leaving_.begin(), leaving_.end(),
                       [](const auto& link) { return link->backlog() > 0; });
  };
  while (unread() && io::now() < end) io_.run_one_for(end - io::now());
}

SessionStatus SessionListener::status() const {
  return {running_ == nullptr && ready_, runs_, static_cast<std::uint32_t>(line_.size())};
}

}  // namespace charmtree
