// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/view_client.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <sstream>
#include <utility>

#include "charmrun/control/client.hpp"
#include "charmrun/control/service_link.hpp"
#include "charmrun/control/status_text.hpp"
#include "charmrun/control/view_message.hpp"
#include "charmrun/debug/prompt.hpp"
#include "charmrun/view/display_rules.hpp"
#include "charmrun/view/own_line.hpp"
#include "charmrun/view/user_output.hpp"

namespace charmtree::control {

namespace {

/// Bytes that wait to be written here, above which nothing is read from the charmrun of the job.
constexpr std::size_t kMostUnwritten = 1U << 20;

class Viewer {
public:
  Viewer(io::asio::io_context& io, const std::string& processes, const Options& options)
      : io_(io),
        processes_(processes),
        options_(options),
        output_(io, display_rules(options), false, {STDOUT_FILENO, STDERR_FILENO},
                {[this] { listen(); }, [](std::uint32_t) {}, [this] { io_.stop(); },
                 [](const std::string&) {}, [] { return false; }, [this] { io_.stop(); }}) {}

  Result<ViewEnd> run(Client client) {
    const auto started = link_.start(io_, std::move(client),
                                     {[this](ViewMessage& message) { return receive(message); },
                                      [this](const Error& error) { fail(error); },
                                      [this] {
                                        fail({Errc::link_lost, Phase::run, "the charmrun of the job is gone",
                                              "charmrun ++list shows what became of a job of ++keep-alive"});
                                      }});
    if (!started) return started.error();
    const auto work =
        io::asio::make_work_guard(io_);  // while the link is paused, a writer may be all there is
    io_.run();
    link_.close();
    output_.finish({}, UserOutput::kNoHurry);
    output_.drain(UserOutput::kNoHurry);
    if (error_) return *error_;
    return ViewEnd{over_ ? over_->status : 0, output_.failure()};
  }

private:
  void fail(const Error& error) {
    if (!over_) error_ = error;
    io_.stop();
  }
  void listen() { link_.pause_reading(output_.backlog() > kMostUnwritten); }
  bool receive(const ViewMessage& message) {
    std::visit([this](const auto& m) { on(m); }, message);
    listen();
    return !error_ && !over_;
  }

  void on(const ViewJob& job) {
    ViewRequest request;
    if (!processes_.empty()) {
      const auto set = read_processes(processes_, processes_of(job.status));
      if (!set) return fail(set.error());
      request.which = set->ranges();
    }
    if (auto sent = link_.send(request); !sent) return fail(sent.error());
    std::istringstream text{status_text(job.status)};
    for (std::string line; std::getline(text, line);) say(proto::Tone::info, line);
    say(proto::Tone::info, "recent output, then live output; Ctrl-C closes this view, the job keeps running");
  }
  void on(const Line& line) { say(static_cast<proto::Tone>(line.tone), line.text); }
  void on(const Printed& printed) {
    output_.show({printed.output, printed.host, printed.processes, printed.raw});
  }
  void on(const ViewRequest&) { fail(not_understood()); }
  void on(const ViewOver& over) {
    over_ = over;
    say(proto::Tone::info, fmt::format("the job has ended with status {}", over.status));
    io_.stop();
  }

  void say(proto::Tone tone, const std::string& line) {
    if (tone == proto::Tone::verbose && !options_.view.verbose) return;
    if (tone == proto::Tone::info && options_.view.quiet) return;
    output_.say(proto::Stream::err, own_line(tone, line));
  }

  io::asio::io_context& io_;
  const std::string& processes_;
  const Options& options_;
  UserOutput output_;
  ServiceLink<ViewMessage> link_;
  std::optional<ViewOver> over_;
  std::optional<Error> error_;
};

}  // namespace

Result<ViewEnd> run_view(const std::string& job, const std::string& processes, const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  auto client = open_service(job, kViewService);
  if (!client) return client.error();
  io::asio::io_context io;
  return Viewer{io, processes, options}.run(std::move(*client));
}

}  // namespace charmtree::control
