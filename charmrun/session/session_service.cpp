// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "charmrun/session/session_plan.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/base/one_of.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/job/output_queue.hpp"
#include "tree/node/node.hpp"

namespace charmtree {

namespace {

constexpr std::array kSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                 SIGUSR2, SIGPIPE, SIGTSTP, SIGCONT};
constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
constexpr int kSignalled = 128;
/// More than the flow control of output leaves unread.
constexpr std::size_t kMaxUnread = 64U << 20;

bool is_one_of(std::span<const int> signals, int signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

}  // namespace

SessionService::SessionService(control::Listener& listener, const Options& options, const Job& job,
                               Console& console)
    : listener_(listener), options_(options), job_(job), console_(console) {
  control::Service service;
  service.name = session::kSessionService;
  service.max_clients = kMaxClients;
  service.max_unread = kMaxUnread;
  service.max_frame = wire::kMaxLinkFrame;
  service.patience = kPatience;
  service.opened = [this](ClientId client) { admit(client); };
  service.received = [this](ClientId client, const wire::Frame& frame) { return receive(client, frame); };
  service.closed = [this](ClientId client) { lose(client); };
  listener_.add(std::move(service));
}

void SessionService::admit(ClientId client) {
  if (is_over_)
    return listener_.refuse(
        client, {Errc::refused, Phase::run, "the session has ended", "see what it has said itself"});
  clients_[client] = nullptr;
  send(client, session::Tree{job_.nodelist, job_.nodelist_text, options_.hosts.nodegroup,
                             options_.counts.host_limit, options_.hosts.virtual_hosts,
                             job_.plan.job.launch.on_host_failure == wire::OnHostFailure::drop,
                             options_.hosts.chosen, options_.hosts.excluded});
}

void SessionService::send(ClientId client, const session::Message& message) {
  if (auto frame = session::encode(message)) listener_.send(client, std::move(*frame));
}

/// Handling a message may dismiss the client.
bool SessionService::receive(ClientId client, const wire::Frame& frame) {
  session::Message message;
  if (!session::decode(frame, message)) return false;
  return std::visit([&](const auto& each) { return about(client, each); }, message);
}

/// The end of the connection is the end of the run.
void SessionService::lose(ClientId client) {
  if (clients_.erase(client) == 0) return;
  std::erase(line_, client);
  if (current_ != client) return;
  current_.reset();
  unwritten_ = 0;
  if (std::exchange(reading_, false)) runner_->dispatch(input::InputRead{{}, true});
  runner_->dispatch(proto::UserSignal{SIGCONT});  // nothing else could let a suspended run go on
  runner_->dispatch(proto::UserSignal{SIGHUP});
  runner_->check_flow();
}

/// Sends the client its last message.
void SessionService::dismiss(ClientId client, const session::Over& over) {
  send(client, over);
  listener_.close(client, kLinger);
  clients_.erase(client);
  std::erase(line_, client);
}

bool SessionService::about(ClientId client, const session::Run& run) {
  if (clients_.at(client)) return false;
  auto plan = plan_run(job_.plan, run);
  if (plan) {
    clients_[client] = std::make_shared<const proto::RunPlan>(std::move(*plan));
    wait_in_line(client);
    return true;
  }
  const Error& error = plan.error();
  send(client, control::Line{static_cast<std::uint8_t>(proto::Tone::error),
                             error.fix.empty() ? error.what : error.what + "; " + error.fix});
  dismiss(client, {kLauncherFailed, 0, {}});
  return true;
}

void SessionService::wait_in_line(ClientId client) {
  line_.push_back(client);
  if (running_) {
    const std::size_t before = line_.size();
    send(client, control::Line{static_cast<std::uint8_t>(proto::Tone::info),
                               fmt::format("waiting for {} before it in the session",
                                           before == 1 ? "the run" : fmt::format("{} runs", before))});
  }
  next();
}

void SessionService::next() {
  if (!ready_ || line_.empty()) return;
  ready_ = false;
  current_ = line_.front();
  line_.pop_front();
  running_ = clients_.at(*current_);
  unwritten_ = 0;
  ++runs_;
  runner_->dispatch(proto::NextRun{running_});
}

void SessionService::end() {
  asked_to_end_ = true;
  runner_->dispatch(proto::SessionEnds{SIGTERM});
}

/// A client that waits in line has no run yet to which a signal could go.
bool SessionService::about(ClientId client, const session::Signalled& signalled) {
  if (!clients_.at(client) || !is_one_of(kSignals, signalled.signal)) return false;
  if (current_ == client) {
    runner_->dispatch(proto::UserSignal{signalled.signal});
  } else if (signalled.signal == SIGTSTP) {
    send(client, session::Suspended{});
  } else if (is_one_of(kEnding, signalled.signal)) {
    dismiss(client, {static_cast<std::uint8_t>(kSignalled + signalled.signal), signalled.signal, {}});
  }
  return true;
}

bool SessionService::about(ClientId client, const session::Typed& typed) {
  if (current_ != client || !std::exchange(reading_, false)) return false;
  runner_->dispatch(input::InputRead{typed.bytes, typed.end});
  return true;
}

bool SessionService::about(ClientId client, const session::Written& written) {
  if (current_ != client || written.cost > unwritten_) return false;
  unwritten_ -= written.cost;
  runner_->check_flow();
  return true;
}

bool SessionService::about(ClientId client, const session::Delivered& receipt) {
  if (current_ != client) return false;
  runner_->dispatch(proto::Shown{receipt.process});
  return true;
}

namespace {

/// The actions that concern the session as a whole, not the client of a run.
using OfSession = std::variant<proto::Sign, proto::StoreHostKey, proto::Record, proto::FenceOver,
                               proto::AllInitialised, proto::Examined, proto::Progress, proto::ProcessesKnown,
                               debug::DebugHeard, debug::ToolHeard, input::ReleaseKeys, proto::KeepTree>;

}  // namespace

void SessionService::perform(io::UserAction action) {
  const Overloaded act{
      [this](proto::Show& a) { show(std::move(a)); },
      [this](proto::Say& a) { say(a.tone, a.text); },
      [this](stacks::StacksSeen& a) {
        console_.show_stacks(a, [this](const std::string& line) { say(proto::Tone::info, line); });
      },
      [this](input::ReadInput& a) { read_input(a); },
      [this](proto::StopSelf&) { stop_self(); },
      [this](proto::ReadHosts&) { refuse_hosts(); },
      [this](proto::RunOver& a) { run_over(a.result); },
      [this]<OneOf<OfSession> A>(A& a) { console_.perform(std::move(a)); },
  };
  dispatch(act, action);
}

void SessionService::show(proto::Show action) {
  if (!current_) return;
  unwritten_ += proto::output_cost(action.output);
  if (console_.hearers().output) console_.hearers().output(action);
  send(*current_,
       control::Printed{std::move(action.output), std::move(action.host), action.processes, action.raw});
}

/// Lines about a run whose client has gone, or that were asked for, are for ++verbose.
void SessionService::say(proto::Tone tone, const std::string& line) {
  if (current_ && console_.hearers().line) console_.hearers().line(tone, line);
  if (current_) return send(*current_, control::Line{static_cast<std::uint8_t>(tone), line});
  console_.say(running_ || asked_to_end_ ? proto::Tone::verbose : tone, line);
}

void SessionService::read_input(const input::ReadInput& action) {
  if (!current_) return runner_->dispatch(input::InputRead{{}, true});
  reading_ = true;
  send(*current_, session::Wanted{action.bytes});
}

void SessionService::stop_self() {
  if (current_)
    send(*current_, session::Suspended{});
  else
    runner_->dispatch(proto::UserSignal{SIGCONT});
}

void SessionService::refuse_hosts() {
  proto::HostsRead answer;
  answer.error =
      Error{Errc::bad_input, Phase::options, "a session keeps its hosts", "start the program by itself"};
  runner_->dispatch(std::move(answer));
}

std::vector<wire::Share> SessionService::shares() const {
  std::vector<wire::Share> shares;
  for (const Host& host : node_->hosts()) {
    if (host.processes > 0) shares.push_back({host.index, host.first_process, host.processes});
  }
  return shares;
}

/// Returns false if no client is there.
bool SessionService::end_current(const proto::Finish& result) {
  if (!current_) return false;
  dismiss(*current_,
          {static_cast<std::uint8_t>(result.status), static_cast<std::uint8_t>(result.signal), shares()});
  current_.reset();
  return true;
}

void SessionService::run_over(const proto::Finish& result) {
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

void SessionService::finish(const proto::Finish& result) {
  is_over_ = true;
  end_current(result);
  listener_.drain(session::kSessionService, kLastWords);
}

control::SessionStatus SessionService::status() const {
  return {running_ == nullptr && ready_, runs_, static_cast<std::uint32_t>(line_.size())};
}

}  // namespace charmtree
