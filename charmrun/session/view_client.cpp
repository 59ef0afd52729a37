// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/view_client.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "charmrun/debug/prompt.hpp"
#include "charmrun/session/door.hpp"
#include "charmrun/session/status_text.hpp"
#include "charmrun/session/view_message.hpp"
#include "charmrun/view/display_rules.hpp"
#include "charmrun/view/own_line.hpp"
#include "charmrun/view/user_output.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree {

namespace {

/// So much waits to be written here; then the job's charmrun is not listened to for a while.
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

  Result<ViewEnd> run(io::UniqueFd connection) {
    link_ = link_over(io_, std::move(connection));
    if (!link_) return Error{Errc::internal, Phase::run, "out of file descriptors", "raise ulimit -n"};
    link_->start({[this](std::string_view bytes) { hear(bytes); },
                  [this](const io::LinkEnd&) {
                    fail({Errc::link_lost, Phase::run, "the charmrun of the job is gone",
                          "charmrun ++list shows what became of a job of ++keep-alive"});
                  },
                  {}});
    const auto work =
        io::asio::make_work_guard(io_);  // while the link is paused, a writer may be all there is
    io_.run();
    link_->close(Duration{0});
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
  void listen() { link_->pause_reading(output_.backlog() > kMostUnwritten); }
  void hear(std::string_view bytes) {
    decoder_.append(bytes);
    while (!error_ && !over_) {
      const auto message = next_view(decoder_);
      if (!message) return fail(message.error());
      if (!message->has_value()) break;
      std::visit([this](const auto& m) { on(m); }, **message);
    }
    listen();
  }

  void on(const Viewed& viewed) {
    if (viewed.greeting != wire::make_greeting()) return fail(other_version());
    ViewWanted wanted;
    if (!processes_.empty()) {
      const auto set = read_processes(processes_, processes_of(viewed.status));
      if (!set) return fail(set.error());
      wanted.which = set->ranges();
    }
    if (auto frame = encode_view(wanted)) link_->send(std::move(*frame));
    std::istringstream text{status_text(viewed.status)};
    for (std::string line; std::getline(text, line);) say(proto::Tone::info, line);
    say(proto::Tone::info, "the last of its output, and all that comes; Ctrl-C leaves, and the job goes on");
  }
  void on(const session::Said& told) { say(static_cast<proto::Tone>(told.tone), told.line); }
  void on(const session::ToShow& shown) {
    output_.show({shown.output, shown.host, shown.processes, shown.raw});
  }
  void on(const ViewWanted&) { fail(other_version()); }
  void on(const session::Over& over) {
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
  std::shared_ptr<io::FdLink> link_;
  wire::FrameDecoder decoder_{wire::kMaxLinkFrame};
  std::optional<session::Over> over_;
  std::optional<Error> error_;
};

}  // namespace

Result<ViewEnd> run_view(const std::string& job, const std::string& processes, const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  auto connection = enter_door(kViewDoor, job);
  if (!connection) return connection.error();
  io::asio::io_context io;
  return Viewer{io, processes, options}.run(std::move(*connection));
}

}  // namespace charmtree
