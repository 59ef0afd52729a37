// SPDX-License-Identifier: Apache-2.0
// What the page of ++dashboard is told: the tree of hosts, what became of them and of the processes, and the
// tail of the output. Every part remembers at which version of the whole it last changed, so that whoever
// knows one version is told what is newer, and nothing is kept for those who look. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "charmrun/report/json_parts.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree {

class Dashboard {
public:
  /// Hosts have a row each, or, if they are more, so many neighbours share one.
  static constexpr std::size_t kMaxRows = 1024;
  /// A job of more processes has only those listed that did not end well, the first so many of them.
  static constexpr std::size_t kMaxListed = 4096;
  /// Bytes of output that are kept of one process (of charmrun itself), and of all; each piece counts some
  /// more.
  static constexpr std::size_t kMaxTail = 16U << 10, kMaxOutput = 4U << 20, kPieceCost = 64;
  /// Bytes of output in one answer to who has been told something before.
  static constexpr std::size_t kMaxNews = 256U << 10;
  /// Names of late hosts that are told; bytes of a reason; bytes of the command.
  static constexpr std::size_t kMaxLate = 50, kMaxReason = 2000, kMaxCommand = 4000;

  using Version = std::uint64_t;

  /// `pid` is the root launcher's, which runs since `started` on `root`.
  Dashboard(const wire::JobSpec& job, const std::vector<Host>& hosts, int pid, std::string root,
            Instant started);

  /// What is to be seen now. Rises with every change, from 1.
  Version version() const { return version_; }

  /// `hosts` with the processes that they have now.
  void progress(const proto::Progress& progress, const std::vector<Host>& hosts);
  void host_failed(std::uint32_t host, const Error& error);
  void output(const proto::Show& show);
  void say(proto::Tone tone, std::string_view line);
  /// `host`: the name of the one of Ending::host, if there is any.
  void end(const proto::Finish& finish, const std::string& host, Instant now);

  /// All that is newer than `since` (0: all), as one object of JSON for the page; `status` is now's, with
  /// its late hosts.
  std::string changes(Version since, const proto::JobStatus& status, Instant now) const;

private:
  enum class State : std::uint8_t { waiting, running, ended, failed, stopped };  // stopped: by charmrun
  struct Row {
    std::string name;
    std::uint32_t first_host = 0, hosts = 0;
    std::uint32_t up = 0, failed = 0;
    std::uint32_t first_process = 0, processes = 0, ended = 0, bad = 0;  // bad: failed
    std::uint32_t stopped = 0;
    std::optional<std::uint32_t> by = {};  // the row whose launcher started it; nothing: the root
    std::string why = {};                  // the first of its hosts failed
    Version changed = 1;
  };
  struct Listed {
    std::string how = {};
    Version changed = 1;
  };
  /// Of output, or a line of ours (process kOurs).
  struct Piece {
    std::uint32_t process;
    std::string_view stream;
    std::string text;
    Version added;
  };
  enum class HostState : std::uint8_t { waiting, up, failed };

  void make_rows(const std::vector<Host>& hosts);
  void place(const std::vector<Host>& hosts);
  Row* row_of_host(std::uint32_t host);
  Row* row_of_process(std::uint32_t process);
  void touch(Row& row) { row.changed = version_; }
  void set_host(std::uint32_t host, HostState state, const std::string& why = {});
  void set_process(std::uint32_t process, State state, std::string how = {});
  bool lists_all() const { return processes_.size() <= kMaxListed; }
  void start_processes(std::uint32_t host);
  void count(Row& row, State state, std::uint32_t by) const;
  void keep(Piece piece);
  void drop(std::map<Version, Piece>::iterator piece);
  Json job_part() const;
  Json rows_part(Version since) const;
  Json processes_part(Version since) const;
  void add_output(Version since, Json& json) const;

  struct Tail {
    std::deque<Version> pieces;
    std::size_t bytes = 0;
  };

  Instant started_;
  std::shared_ptr<const Json> job_;
  Version version_ = 1;
  std::size_t hosts_per_row_ = 1;
  std::vector<Row> rows_;
  std::vector<HostState> host_states_;
  std::vector<std::uint32_t> first_processes_, counts_;  // of the hosts
  std::vector<State> processes_;
  std::map<std::uint32_t, Listed> listed_;
  std::map<std::uint32_t, std::uint32_t> moved_;  // processes that are on other hosts than at first
  std::optional<std::uint32_t> first_failed_;     // process
  Version placed_ = 1;                            // processes have got their numbers
  std::map<Version, Piece> pieces_;
  std::map<std::uint32_t, Tail> tails_;
  std::size_t output_bytes_ = 0;
  Version dropped_ = 0;              // the newest piece that is not kept any more
  std::shared_ptr<const Json> end_;  // null: it is not over
};

}  // namespace charmtree
