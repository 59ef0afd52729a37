// SPDX-License-Identifier: Apache-2.0
// The root's user: the program's output, our own lines, stdin, and what is written down (host keys, start-up
// times).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "charmrun/debug/mpir.hpp"
#include "charmrun/debug/mpir_daemons.hpp"
#include "charmrun/plan/job.hpp"
#include "charmrun/plan/login_log.hpp"
#include "charmrun/plan/tree_file.hpp"
#include "charmrun/report/stack_tree.hpp"
#include "charmrun/report/startup_record.hpp"
#include "charmrun/view/event_writer.hpp"
#include "charmrun/view/job_news.hpp"
#include "charmrun/view/user_output.hpp"
#include "debug/events.hpp"
#include "stacks/events.hpp"
#include "tree/io/host/runner.hpp"
#include "tree/io/ssh/known_hosts_writer.hpp"
#include "tree/io/ssh/signer.hpp"
#include "tree/io/user/user_streams.hpp"
#include "tree/io/user/user_terminal.hpp"

namespace charmtree {

class Console : public io::UserSide {
public:
  /// `job` must outlive the console; `started` is when main began.
  Console(io::asio::io_context& io, const Options& options, const Job& job, Instant started);

  /// Where events of the user go: input::InputRead, and UserSignal when nobody reads stdout any more (SIGHUP
  /// if it was a terminal, else SIGPIPE); `node` is asked how far the job is, where that is shown. Set once,
  /// before the loop runs.
  void attach(io::UserEvents& runner, const Node* node) {
    runner_ = &runner;
    node_ = node;
  }
  /// ++json: what happens is written there as well.
  void write_events(EventWriter events);
  /// ++dashboard: what happens is shown there as well. Its address, or why there is none.
  Result<std::string> open_dashboard();
  /// Somebody looks at Progress actions.
  static bool shows_progress(const Options& options);
  /// Somebody sees what Show actions bring.
  static bool shows_output(const Options& options) {
    return options.output.file.empty() && options.view.json != "-";
  }
  /// ++keep-alive: by which another root may take over. Must outlive the console.
  void set_tree_file(TreeFile& file) { tree_file_ = &file; }
  /// Who signs for other launchers; without one nobody does. Must outlive the console.
  void set_signer(io::Signer& signer) { signer_ = &signer; }

  /// ++debug, ++in-xterm: called once instead of stopping, when all processes are held; who is at the windows
  /// then lets the job go on. Before the loop runs.
  void when_held(std::function<void()> open) { open_windows_ = std::move(open); }
  /// Who gets what those have asked for who look into the job, by their tickets. Must outlive the console.
  struct Hearers {
    std::function<void(std::uint64_t ticket, const StackReport& report)> stacks;
    std::function<void(const debug::DebugHeard& heard)> debug;
    std::function<void(const debug::ToolHeard& heard)> tools;
    std::function<void(const proto::Show& action)> output;  // of what runs
    std::function<void(proto::Tone tone, const std::string& line)> line;
  };
  void set_hearers(Hearers hearers) { hearers_ = std::move(hearers); }
  const Hearers& hearers() const { return hearers_; }

  void perform(io::UserAction action) override;
  void say(proto::Tone tone, const std::string& line);
  /// Of what runs: see Mpir::places_of.
  std::vector<ProcessPlace> places_of(std::span<const wire::ProcessSet::Range> which) const {
    return mpir_.places_of(which);
  }
  /// To who has asked; else line by line.
  void show_stacks(const stacks::StacksSeen& seen,
                   const std::function<void(const std::string&)>& say_line) const;
  /// Lines of ours that tools look for, at once.
  void announce(const std::string& lines);
  std::size_t backlog() const override { return output_.backlog() + news_.backlog(); }

  /// How long the reader of our output may take at the end: after Ctrl-C, and else (any signal ends us then).
  static constexpr Duration kLastWords = 2s, kNoHurry = UserOutput::kNoHurry;
  /// The end: everything shown has been written, or nobody reads it any more. Host keys too, as far as they
  /// can. `hosts`: those of the job, for the files of processes that said nothing. A file of theirs that
  /// could not be written makes an otherwise good `result` a failure. False: that takes longer than `limit`.
  bool finish(proto::Finish& result, std::span<const Host> hosts, Duration limit);
  /// What has been said so far is written; false: not within `limit`.
  bool drain(Duration limit) { return output_.drain(limit); }
  /// Why stdout could not be written, an errno; 0 if it could.
  int output_failure() const { return output_.failure(); }
  /// The start-up record so far.
  const StartupRecord& startup() const { return startup_.record(); }
  /// The root's logins; none until every host is up.
  const LoginLog& logins() const { return logins_; }

protected:
  /// On a terminal, unless ++quiet.
  void progress_line(std::string_view line);

private:
  void show(proto::Show action);
  void sign(const proto::Sign& action);
  void store_host_key(const proto::StoreHostKey& action);
  void record(const proto::Record& record);
  void progress(const proto::Progress& progress);
  void processes_known(const proto::ProcessesKnown& known);
  void read_input(const input::ReadInput& action);
  void stop_self();
  void keep_tree(const proto::KeepTree& action);
  void read_hosts(std::uint32_t pes);
  static bool shows_progress_line(const Options& options);
  UserOutput::Hooks output_hooks();
  JobNews::Hooks news_hooks();
  /// To the job, as far as there is one.
  void tell(proto::Event event);
  void there_is_room();
  void nobody_reads(int signal);
  void await_progress(Duration pause);

  const Options& options_;
  const Job& job_;
  io::UserEvents* runner_ = nullptr;
  const Node* node_ = nullptr;
  Instant started_;
  io::Signer* signer_ = nullptr;
  TreeFile* tree_file_ = nullptr;
  Hearers hearers_;
  std::function<void()> open_windows_;
  Mpir mpir_;
  MpirDaemons daemons_;
  StartupRecorder startup_;
  LoginLog logins_;
  Duration cpu_at_start_;
  UserOutput output_;
  JobNews news_;
  io::asio::steady_timer progress_timer_;
  bool progressing_ = false;  // hosts or processes have yet to start
  io::InputReader input_;
  std::optional<io::UserTerminal> terminal_;  // if the job's input process has one
  io::KnownHostsWriter known_hosts_;
};

}  // namespace charmtree
