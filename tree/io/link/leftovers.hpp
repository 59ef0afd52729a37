// SPDX-License-Identifier: Apache-2.0
// Finding and killing what a job's processes left behind on this host (DESIGN D9). Two ways to know it is
// ours: it descends from this launcher, which as a subreaper inherits every orphan; or it carries the job's
// mark, CHARMTREE_JOB=<job>:<host>, in its environment, or is in the session of such a one, and has our uid
// (for the host of a launcher that was itself killed). The environment of a program that its user may execute
// but not read (mode 0711) is closed to that user: where it is alone in its session, or has begun one, only
// the job's cgroup and the first way find it. Signals go through pidfds after a second look, so a reused pid
// is never hit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"

namespace charmtree::io {

/// The mark's value for a host of a job.
std::string job_mark(const std::string& job, std::uint32_t host);

/// True if this process has no child, adopted ones included: then it has no descendants. False also if the
/// kernel cannot tell (before 4.7).
bool childless();

/// Kills the process that listens on this unix socket, if it is one of ours: a launcher that hangs. Its
/// guardian then cleans up.
void kill_listener(const std::string& socket_path);

/// What becomes of launchers of other hosts (++local) that are among the leftovers.
enum class Launchers : std::uint8_t {
  end,   // as the rest, after a while in which they may do so by themselves
  live,  // as those on real hosts do: somebody may adopt them
};

class Leftovers {
public:
  explicit Leftovers(asio::io_context& io) : timer_(io) {}

  /// `all` false: some live on, after so many looks.
  using Done = std::function<void(std::uint32_t killed, bool all)>;
  /// Kills all descendants of this process but those that are, or descend from, `spared`. Repeats until a
  /// look finds nobody (at most kRounds looks), then calls `done` from the event loop. Launchers among them,
  /// of virtual hosts, have lost their parent and first get kRoundsForLaunchers looks to clean up by
  /// themselves.
  void kill_descendants(std::vector<pid_t> spared, Launchers launchers, Done done);
  /// Kills all processes with the mark, and their descendants.
  void kill_marked(std::string mark, Done done);
  /// Whatever is under way ends here, and its `done` is not called.
  void cancel();

private:
  static constexpr int kRounds = 300, kRoundsForLaunchers = 200;
  static constexpr auto kPause = std::chrono::milliseconds{10};
  using Finder = std::function<std::vector<pid_t>()>;
  void round(Finder find, int left, std::uint32_t killed, Done done);

  asio::steady_timer timer_;
  std::uint64_t order_ = 0;  // the number of the one under way
};

}  // namespace charmtree::io
