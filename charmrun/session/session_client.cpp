// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_client.hpp"

#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "charmrun/cli/user_signals.hpp"
#include "charmrun/control/client.hpp"
#include "charmrun/control/service_link.hpp"
#include "charmrun/plan/job.hpp"
#include "charmrun/session/session_message.hpp"
#include "charmrun/session/session_plan.hpp"
#include "charmrun/view/console.hpp"
#include "tree/job/output_queue.hpp"

namespace charmtree {

namespace {

Error ended() {
  return {Errc::link_lost, Phase::run, "the session has ended", "see what it has said itself"};
}

/// From the connection to its end.
class SessionClient : public io::UserEvents {
public:
  SessionClient(io::asio::io_context& io, const Options& options, Instant started)
      : io_(io), options_(options), started_(started), signals_(io) {}
  SessionClient(const SessionClient&) = delete;
  SessionClient& operator=(const SessionClient&) = delete;
  ~SessionClient() override = default;

  /// Runs the loop until the run is over.
  Result<SessionRunEnd> run(control::Client client) {
    const auto started =
        link_.start(io_, std::move(client),
                    {[this](const session::Message& message) { return receive(message); },
                     [this](const Error& error) { fail(error); }, [this] { fail(ended()); }});
    if (!started) return started.error();
    io_.run();
    if (error_) return *error_;
    return finish();
  }

  void dispatch(proto::Event event) override {
    if (auto* read = get_if<input::InputRead>(&event)) return say(session::Typed{read->bytes, read->end});
    if (auto* shown = get_if<proto::Shown>(&event)) return say(session::Delivered{shown->process});
    if (auto* signal = get_if<proto::UserSignal>(&event))
      say(session::Signalled{static_cast<std::uint8_t>(signal->signal)});
  }
  void check_flow() override {
    if (shown_ > 0 && console_ && console_->backlog() <= io::Runner::kScreenRest)
      say(session::Written{std::exchange(shown_, 0)});
  }

private:
  void say(const session::Message& message) {
    if (auto sent = link_.send(message); !sent) fail(sent.error());
  }
  void fail(const Error& error) {
    error_ = error;
    io_.stop();
  }
  bool receive(const session::Message& message) {
    std::visit([this](const auto& m) { on(m); }, message);
    return !error_ && !over_;
  }

  void on(const session::Tree& tree);
  void on(const control::Line& line) {
    if (console_) console_->say(static_cast<proto::Tone>(line.tone), line.text);
  }
  void on(const control::Printed& printed) {
    if (!console_) return;
    shown_ += proto::output_cost(printed.output);
    console_->perform(proto::Show{printed.output, printed.host, printed.processes, printed.raw});
    check_flow();
  }
  void on(const session::Wanted& wanted) {
    if (console_) console_->perform(input::ReadInput{wanted.bytes});
  }
  void on(const session::Suspended&) {
    if (console_) console_->perform(proto::StopSelf{});
  }
  void on(const session::Over& over) {
    over_ = over;
    io_.stop();
  }
  /// A message that only clients send.
  template <class M>
  void on(const M&) {
    fail(control::not_understood());
  }

  Result<SessionRunEnd> finish();

  io::asio::io_context& io_;
  Options options_;
  Instant started_;
  io::asio::signal_set signals_;
  std::optional<Job> job_;
  std::optional<Console> console_;
  control::ServiceLink<session::Message> link_;
  std::uint64_t shown_ = 0;  // the cost of output that is not yet said to be written
  std::optional<session::Over> over_;
  std::optional<Error> error_;
};

/// Its hosts are the session's; all else is ours.
void SessionClient::on(const session::Tree& tree) {
  if (job_) return;
  options_.hosts.nodegroup = tree.nodegroup;
  options_.hosts.chosen = tree.chosen;
  options_.hosts.excluded = tree.excluded;
  options_.counts.host_limit = tree.host_limit;
  options_.hosts.virtual_hosts = tree.virtual_hosts;
  if (tree.drops) options_.host_failure.policy = wire::OnHostFailure::drop;
  auto job = make_run(options_, tree.nodelist, tree.nodelist_text);
  if (!job) return fail(job.error());
  job_ = std::move(*job);
  job_->plan.shows_output = Console::shows_output(options_);
  console_.emplace(io_, options_, *job_, started_);
  console_->attach(*this, nullptr);
  for (const std::string& remark : job_->remarks) console_->say(proto::Tone::info, remark);
  for (const std::string& note : job_->notes) console_->say(proto::Tone::verbose, note);
  watch_user_signals(signals_, [this](int signal) { dispatch(proto::UserSignal{signal}); });
  say(describe_run(job_->plan));
}

/// From here on signals end us as they would any program that writes what is left.
Result<SessionRunEnd> SessionClient::finish() {
  SessionRunEnd end{{over_->status, over_->signal}};
  if (!console_) return end;
  io::error_code ignored;
  signals_.clear(ignored);
  for (Host& host : job_->plan.hosts) host.first_process = host.processes = 0;
  for (const wire::Share& share : over_->shares) {
    if (share.host >= job_->plan.hosts.size()) continue;
    job_->plan.hosts[share.host].first_process = share.first_process;
    job_->plan.hosts[share.host].processes = share.processes;
  }
  console_->finish(end.result, job_->plan.hosts,
                   over_->signal != 0 ? Console::kLastWords : Console::kNoHurry);
  end.output_failure = console_->output_failure();
  return end;
}

}  // namespace

Result<SessionRunEnd> run_in_session(const Options& options, const std::string& id, Instant started) {
  ::signal(SIGPIPE, SIG_IGN);
  auto client = control::open_service(
      id, session::kSessionService,
      {Errc::refused, Phase::connect, "no session answers under " + id, "charmrun ++list shows them"});
  if (!client) return client.error();
  io::asio::io_context io{1};
  return SessionClient{io, options, started}.run(std::move(*client));
}

}  // namespace charmtree
