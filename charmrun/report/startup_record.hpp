// SPDX-License-Identifier: Apache-2.0
// What is known about one start-up when it is over: for every launcher, when it reached each step, and the
// totals of the job. Plain data, filled in by StartupRecorder from what the launchers stamped (DESIGN D12)
// and turned into text by report and timeline. All times are durations since the root launcher's start of
// main, already mapped to the root's clock; no wall clocks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/turn/ending.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree {

/// The moments of one launcher's start, in order. Which of them exist depends on the transport (a local
/// launcher never connects) and on the program (a plain one never registers).
enum class Mark : std::uint8_t {
  begun,          // its parent began the login
  resolved,       // the host's name is known
  connected,      // TCP connection made
  handshaken,     // keys exchanged, host key checked
  authenticated,  // logged in
  executed,       // the remote command was accepted
  hello,          // the launcher answered
  spawned,        // all its own processes were started
  registered,     // all its own processes had registered
  gathered,       // its whole subtree had registered
  table,          // its own processes had been handed the node table
  failed,         // it was given up (see LauncherRecord::error)
};
inline constexpr std::size_t kMarkCount = 12;
std::string_view name(Mark mark);

/// "This launcher never got there."
inline constexpr Duration kNotReached = Duration::min();

/// The root launcher's number in LauncherRecord::host and ::parent. It need not be a host of the list.
inline constexpr std::int32_t kRootLauncher = -1;

struct LauncherRecord {
  std::int32_t host = kRootLauncher;    // position in the job's host list
  std::int32_t parent = kRootLauncher;  // the launcher that started it; ignored for the root
  std::uint32_t level = 0;              // 0: the root
  std::string name;                     // the host, as the user wrote it
  std::uint32_t processes = 0;          // for this launcher itself to start
  std::uint32_t attempts = 1;           // logins tried; 0: none (the root), or not known
  std::string error;                    // why it failed; empty: it did not
  std::array<Duration, kMarkCount> marks;

  LauncherRecord() { marks.fill(kNotReached); }

  Duration at(Mark mark) const { return marks[static_cast<std::size_t>(mark)]; }
  bool reached(Mark mark) const { return at(mark) != kNotReached; }
  void set(Mark mark, Duration since_start) { marks[static_cast<std::size_t>(mark)] = since_start; }
};

/// A fence of the program's processes, by which those of an MPI program find each other.
struct FenceRecord {
  std::string_view service;     // "pmi", "pmix"
  std::uint32_t number = 0;     // of the fences of its group
  std::uint32_t processes = 0;  // in it
  std::uint64_t requests = 0;   // that these made since their last fence; 0: not counted
  std::uint64_t bytes = 0;      // given by all; each host gets them
  Duration begun{0}, over{0};   // at the root
};

/// How the job ended.
struct EndRecord {
  int status = 0;  // of charmrun itself
  int signal = 0;  // of which charmrun dies; 0: none
  proto::Ending why;
  std::string host;  // the name of why.host
};

struct StartupRecord {
  std::string version;                    // of charmrun
  std::string program;                    // as the user wrote it
  std::uint32_t hosts = 0;                // in the list, whether they started or not
  std::uint32_t processes = 0;            // of the job
  std::uint32_t branching = 0;            // k of the tree; 0: no fixed tree
  Duration wall{0};                       // start of main until the end of the job; 0: not yet over
  std::optional<EndRecord> end;           // nothing: it was not over
  std::vector<LauncherRecord> launchers;  // in any order, the root among them or not
  std::optional<std::pair<Duration, Duration>> init;  // when the first, and all processes were in MPI_Init
  std::vector<FenceRecord> fences;                    // the first kMostFences of all runs of the program
};
inline constexpr std::size_t kMostFences = 1000;

/// Puts a record together from news of the launchers, whatever their order: a launcher that failed may have
/// stamped its times before or after.
class StartupRecorder {
public:
  /// `job` is the record so far; `hosts`, the job's list, must outlive the recorder. Instants are the root's,
  /// `started` is when main began.
  StartupRecorder(StartupRecord job, const std::vector<Host>& hosts, Instant started)
      : record_(std::move(job)), hosts_(hosts), started_(started) {}

  void stamped(const wire::Stamps& stamps);
  /// The launcher for `host` was given up at `at`. The first failure counts.
  void failed(std::uint32_t host, const Error& error, Instant at);
  void fence_over(const proto::FenceOver& fence);
  /// Of the first run of the program.
  void initialised(const proto::AllInitialised& times);
  const StartupRecord& record() const { return record_; }

private:
  LauncherRecord& launcher(std::uint32_t host);

  StartupRecord record_;
  const std::vector<Host>& hosts_;
  Instant started_;
  std::map<std::uint32_t, std::size_t> places_;  // in record_.launchers, by host
};

/// As many processes as the hosts have got, of a job that is numbered late; nothing changes if none has any.
void set_processes(StartupRecord& record, const std::vector<Host>& hosts);

/// The parts that a launcher's start is cut into for people; each ends at one mark.
enum class Part : std::uint8_t {
  connect,    // begun to connected: name resolution and TCP
  login,      // to authenticated: key exchange and authentication
  launcher,   // to hello: remote shell and start of the launcher
  processes,  // to registered: start of its own processes (for plain programs: to spawned)
  subtree,    // to gathered: waiting for the hosts below it
  table,      // to table: waiting for the other subtrees, and for the table
};
inline constexpr std::size_t kPartCount = 6;
/// A short word for tables and reports ("connect").
std::string_view name(Part part);
/// A few words for a legend ("waiting for its hosts").
std::string_view description(Part part);

/// [begin, end) of one part. Parts of a launcher are adjacent and in order.
struct Segment {
  Part part;
  Duration begin;
  Duration end;
};

/// Cuts a launcher's start at the marks it reached. A mark that lies before an earlier one (the mapping of
/// clocks is only as good as a round trip) counts as that earlier one. A part whose end was not reached is
/// absent, its time falls to the next one.
std::vector<Segment> segments(const LauncherRecord& launcher);

/// The latest mark that was reached, `failed` included; 0 if none was.
Duration last_mark(const LauncherRecord& launcher);

/// What the launcher itself took, from begun until its own processes were started and registered: what waits
/// for others is not counted.
Duration own_time(const LauncherRecord& launcher);

/// Levels of launchers below the root.
std::uint32_t levels(const StartupRecord& record);

/// When the last launcher was done or given up: the length of the start-up.
Duration startup_time(const StartupRecord& record);

/// How long the launchers spent in one part, ascending. Whom the part does not concern does not count: the
/// root, whoever failed, and in `subtree` whoever has no hosts below.
struct PartTimes {
  std::vector<Duration> sorted;
  Duration longest{-1};
  const LauncherRecord* slowest = nullptr;  // into the record

  Duration median() const { return sorted.empty() ? Duration{0} : sorted[(sorted.size() - 1) / 2]; }
};
std::array<PartTimes, kPartCount> part_times(const StartupRecord& record);

/// Launchers in tree order: each one followed by its subtree, siblings by host number. A launcher whose
/// parent is not in the record comes where the root's children do. Pointers into `record`.
std::vector<const LauncherRecord*> in_tree_order(const StartupRecord& record);

}  // namespace charmtree
