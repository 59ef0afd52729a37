// SPDX-License-Identifier: Apache-2.0
#include "charmrun/launcher.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "charmrun/machinery.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/io/descriptors.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/link/guardian.hpp"
#include "tree/io/mpiexec/mpiexec_rank.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/mpi_rank.hpp"
#include "tree/node/node.hpp"

namespace charmtree {

namespace {

/// Whoever ends a launcher by a signal gets what the end of its parent gets: its host is cleaned first.
void end_by_signal(io::asio::signal_set& signals, io::Runner& runner, int& ended_by) {
  signals.async_wait([&runner, &ended_by](io::error_code ec, int signal) {
    if (ec) return;
    ended_by = signal;
    runner.dispatch(proto::LinkDown{proto::kParentLink, Error{Errc::killed, Phase::run, "a signal", {}}});
  });
}

/// Where a launcher's link to its parent comes from: called once, before the loop runs, it hands the link to
/// the runner then or later. What it returns lives as long as the loop runs.
using ParentOpener = std::function<std::shared_ptr<void>(io::asio::io_context&, io::Runner&)>;

/// A launcher that is not the root, from here to its end.
int serve_parent(const ParentOpener& open, Duration first_word) {
  int ended_by = 0;
  {
    Machinery around;
    Node node{seed(), first_word, io::most_links()};
    io::asio::signal_set signals{around.io, SIGTERM, SIGINT, SIGHUP};  // outlives what the runner removes
    io::Runner runner{around.io, node, around.transports(), around.watch, nullptr};
    end_by_signal(signals, runner, ended_by);
    const std::shared_ptr<void> opener = open(around.io, runner);
    around.io.run();
  }
  if (ended_by != 0) die_of(ended_by);
  return 0;
}

/// First thing in a launcher. Something: it was this process's part to wait for the launcher's end.
std::optional<int> become_launcher(io::Stdin input) {
  if (const auto status = io::stand_guard(input)) return status;
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  return {};
}

void empty_standard_streams() {
  const io::UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  ::dup2(null.get(), 0);
  ::dup2(null.get(), 1);
}

}  // namespace

int run_launcher() {
  if (const auto status = become_launcher(io::Stdin::link)) return *status;
  // The link keeps the descriptors; nothing can write into it by mistake.
  io::UniqueFd input{::fcntl(0, F_DUPFD_CLOEXEC, 3)}, output{::fcntl(1, F_DUPFD_CLOEXEC, 3)};
  empty_standard_streams();
  return serve_parent(
      [&](io::asio::io_context& io, io::Runner& runner) {
        runner.open_parent(std::make_unique<io::FdLinkHandle>(
            io::FdLink::make(io, std::move(input), std::move(output), {}, 0, nullptr)));
        runner.dispatch(proto::Tick{});  // from here on its parent is waited for
        return nullptr;
      },
      Node::kFirstWord);
}

int run_rank() {
  const auto fail = [](const Error& error) {
    complain({error.code, error.phase, io::own_host_name() + ": " + error.what, error.fix});
    return kLauncherFailed;
  };
  auto ticket = io::read_ticket();
  if (!ticket) return fail(ticket.error());
  wire::RankReport own;
  own.host = io::own_host_name();
  if (const auto rank = proto::mpi_rank(io::own_environment())) {
    own.rank = rank->rank;
    own.size = rank->size;
  } else {
    own.trouble = rank.error().what;
  }
  auto election = io::elect(ticket->secret, ticket->patience);
  if (!election) return fail(election.error());
  // What mpiexec has left open is no business of the programs.
  io::keep_from_programs(STDERR_FILENO + 1);
  if (election->launcher) return io::wait_for_launcher(*election, own), 0;
  if (const auto status = become_launcher(io::Stdin::other)) return *status;
  ::setsid();  // a mpiexec that kills our guardian's group leaves it to us to clean up
  empty_standard_streams();
  std::optional<Error> failure;
  const int status = serve_parent(
      [&](io::asio::io_context& io, io::Runner& runner) {
        io::RankLauncher::Sink sink;
        sink.begun = [&runner](std::unique_ptr<io::Link> link) { runner.open_parent(std::move(link)); };
        sink.failed = [&](const Error& error) {
          failure = error;
          io.stop();
        };
        auto launcher =
            std::make_shared<io::RankLauncher>(io, std::move(*ticket), std::move(*election), std::move(sink));
        launcher->start(own);
        return launcher;
      },
      Node::kUnbounded);  // the root waits for all ranks first, and the kernel notices that it is gone
  return failure ? fail(*failure) : status;
}

}  // namespace charmtree
