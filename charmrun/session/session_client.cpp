// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_client.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "charmrun/cli/user_signals.hpp"
#include "charmrun/plan/job.hpp"
#include "charmrun/session/door.hpp"
#include "charmrun/session/session_message.hpp"
#include "charmrun/session/session_plan.hpp"
#include "charmrun/view/console.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/listener.hpp"
#include "tree/job/output_queue.hpp"

namespace charmtree {

namespace {

Error ended() {
  return {Errc::link_lost, Phase::run, "the session has ended", "see what it has said itself"};
}

Result<io::UniqueFd> connect_to_session(const std::string& id) {
  if (auto fd = enter_door(kSessionDoor, id)) return fd;
  return Error{Errc::refused, Phase::connect, "no session answers under " + id, "charmrun ++list shows them"};
}

/// From the connection to its end.
class SessionClient : public io::UserEvents {
public:
  SessionClient(io::asio::io_context& io, const Options& options, Instant started)
      : io_(io), options_(options), started_(started), signals_(io) {}
  SessionClient(const SessionClient&) = delete;
  SessionClient& operator=(const SessionClient&) = delete;
  ~SessionClient() override {
    if (link_) link_->close(Duration{0});
  }

  /// Runs the loop until the run is over.
  Result<SessionRunEnd> run(io::UniqueFd connection) {
    link_ = link_over(io_, std::move(connection));
    if (!link_) return Error{Errc::internal, Phase::run, "out of file descriptors", "raise ulimit -n"};
    link_->start(
        {[this](std::string_view bytes) { hear(bytes); }, [this](const io::LinkEnd&) { fail(ended()); }, {}});
    io_.run();
    if (error_) return *error_;
    return finish();
  }

  void dispatch(proto::Event event) override {
    if (auto* read = get_if<proto::InputRead>(&event)) return say(session::Typed{read->bytes, read->end});
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
    auto frame = session::encode(message);
    if (!frame) return fail(frame.error());
    link_->send(std::move(*frame));
  }
  void fail(const Error& error) {
    error_ = error;
    io_.stop();
  }
  void hear(std::string_view bytes) {
    decoder_.append(bytes);
    while (!error_ && !over_) {
      const auto message = decoder_.next();
      if (!message) return fail(message.error());
      if (!message->has_value()) return;
      std::visit([this](const auto& m) { on(m); }, **message);
    }
  }

  void on(const session::Tree& tree);
  void on(const session::Said& said) {
    if (console_) console_->say(static_cast<proto::Tone>(said.tone), said.line);
  }
  void on(const session::ToShow& shown) {
    if (!console_) return;
    shown_ += proto::output_cost(shown.output);
    console_->perform(proto::Show{shown.output, shown.host, shown.processes, shown.raw});
    check_flow();
  }
  void on(const session::Wanted& wanted) {
    if (console_) console_->perform(proto::ReadInput{wanted.bytes});
  }
  void on(const session::Suspended&) {
    if (console_) console_->perform(proto::StopSelf{});
  }
  void on(const session::Over& over) {
    over_ = over;
    io_.stop();
  }
  template <class M>
  void on(const M&) {}

  Result<SessionRunEnd> finish();

  io::asio::io_context& io_;
  Options options_;
  Instant started_;
  io::asio::signal_set signals_;
  std::optional<Job> job_;
  std::optional<Console> console_;
  std::shared_ptr<io::FdLink> link_;
  session::Decoder decoder_{session::Decoder::To::client};
  std::uint64_t shown_ = 0;  // the cost of output that is not yet said to be written
  std::optional<session::Over> over_;
  std::optional<Error> error_;
};

/// Its hosts are the session's; all else is ours.
void SessionClient::on(const session::Tree& tree) {
  if (job_) return;
  if (tree.version != CHARMTREE_VERSION)
    return fail({Errc::bad_input, Phase::options,
                 "the session was started by charmrun " + tree.version + ", this is " CHARMTREE_VERSION,
                 "use the same for both"});
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
  auto connection = connect_to_session(id);
  if (!connection) return connection.error();
  io::asio::io_context io{1};
  SessionClient client{io, options, started};
  return client.run(std::move(*connection));
}

/// What the session says first is for those who run something.
Result<void> end_session(const std::string& id) {
  ::signal(SIGPIPE, SIG_IGN);
  auto connection = connect_to_session(id);
  if (!connection) return connection.error();
  const auto frame = session::encode(session::EndSession{});
  if (::send(connection->get(), frame->data(), frame->size(), MSG_NOSIGNAL) < 0) return ended();
  std::array<char, 4096> rest;
  ssize_t got = 0;
  do {
    got = ::recv(connection->get(), rest.data(), rest.size(), 0);
  } while (got > 0 || (got < 0 && errno == EINTR));
  return {};
}

}  // namespace charmtree
