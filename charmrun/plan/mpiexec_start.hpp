// SPDX-License-Identifier: Apache-2.0
// ++mpiexec, ++transport flux and pbsdsh: how a job gets its hosts when only such a command can start
// anything on them, and it carries no bytes both ways. It is run once, with a script that makes each of its
// processes a candidate for its host's launcher (tree/io/mpiexec/mpiexec_rank); when all have come and the
// launchers are connected, the hosts are known and the job is as any other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "charmrun/cli/options.hpp"
#include "charmrun/plan/job.hpp"
#include "tree/io/mpiexec/mpiexec_command.hpp"
#include "tree/io/mpiexec/rendezvous_listener.hpp"
#include "tree/overlay/rendezvous.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

class MpiexecStart {
public:
  /// `say` shows a line of ours; it may be changed by say_by(). All but `say` must outlive the object.
  using Say = std::function<void(proto::Tone, const std::string&)>;
  MpiexecStart(io::asio::io_context& io, io::ChildWatch& watch, const Options& options, Say say);

  void say_by(Say say) { say_ = std::move(say); }

  /// Runs the event loop until all of the job's processes have come, and gives the job its hosts. Something
  /// else: how it has ended instead; then nothing of it is left, and the user has been told.
  std::optional<proto::Finish> rendezvous(Job& job, Instant started);
  /// What the job's hosts are reached by.
  io::Transport& transport() { return *listener_; }
  /// After the job, when its links are closed: waits for the end of mpiexec, which must not outlive us.
  void finish();

private:
  Result<void> begin(const Job& job);
  void wait(Instant limit);
  std::optional<proto::Finish> give_up(int status, int signal);
  Result<void> seat(Job& job);

  io::asio::io_context& io_;
  const Options& options_;
  std::string starter_;  // as people call it
  Say say_;
  io::PrivateScript script_;
  io::MpiexecCommand command_;
  std::optional<proto::Rendezvous> rendezvous_;
  std::optional<io::RendezvousListener> listener_;
  int signal_ = 0;
  bool ending_ = false;
};

}  // namespace charmtree
