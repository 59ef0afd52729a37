// SPDX-License-Identifier: Apache-2.0
// What the root does beyond being a launcher: it shows output, serves input and scanf, passes judgement, and
// keeps the job's list of hosts. Pure: it answers with actions and with messages for the tree; the Node sends
// them.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ccs/router.hpp"
#include "charmrun/node/shown_lately.hpp"
#include "tree/proto/crash_sequence.hpp"
#include "tree/proto/events.hpp"
#include "tree/proto/judge.hpp"
#include "tree/proto/new_host_keys.hpp"
#include "tree/proto/process_restarts.hpp"
#include "tree/proto/relocation.hpp"
#include "tree/proto/resizing.hpp"
#include "tree/proto/restart_budget.hpp"
#include "tree/proto/run_plan.hpp"
#include "tree/proto/silences.hpp"
#include "tree/proto/user_input.hpp"

namespace charmtree {

/// ++on-failure restart: the program as a whole is started again.
struct RestartRules {
  std::uint32_t most = 10;             // times
  std::vector<std::string> arguments;  // behind the program's own then
  bool may_narrow = false;             // with fewer hosts and processes, if there are too few
  bool fast_failover = false;          // even if the lost ones may still run
};

/// Everything that a root needs to know before it begins.
struct RootPlan {
  wire::JobSpec job;
  std::vector<Host> hosts;                       // spares, at the end, without processes
  Duration time_limit{0};                        // 0: none
  bool int_ends = true;                          // SIGINT ends the job, else it is the program's
  std::map<std::string, std::string> key_names;  // forwarded keys (blobs) -> what to call them
  std::optional<ccs::Plan> ccs = {};             // its clients are served
  proto::BadExit bad_exit = proto::BadExit::waits;
  bool tells_progress = false;  // by Progress actions
  bool shows_output = true;     // Show actions are for the user's eyes, not for files or tools
  std::optional<RestartRules> restart = {};
  std::optional<proto::TreeShape> takes_over = {};  // instead of starting one
  bool could_drop = true;                           // ++on-host-failure drop would be possible
};

/// What the desk wants the Node to do.
struct DeskOrders {
  std::vector<wire::Share> numbers;                              // the hosts' processes, to be told first
  bool start = false;                                            // or: every host starts those that it has
  std::vector<wire::Message> everyone;                           // to all children
  std::vector<std::pair<std::uint32_t, wire::Message>> process;  // to the launcher of that process
  std::vector<wire::Message> input;  // Input and RecallInput, to whom the input goes
  std::optional<wire::End> end;
  bool relaunch = false;                 // RootDesk::next_run is due
  std::optional<bool> suspend;           // or go on; after all else
  std::optional<wire::Reshape> reshape;  // the hosts that there are get other processes ...
  std::vector<Host> new_hosts;           // ... and these join
  std::optional<std::uint32_t> liar;     // whoever speaks for this process is not to be heard any more

  proto::UserInput::Orders of_input() { return {input, process}; }
};

class RootDesk {
public:
  /// Where Ctrl-C is the program's: twice within this time ends the job at once.
  static constexpr Duration kMoment = 1s;
  /// Before the program as a whole is started for the second time in a row; doubles with each.
  static constexpr Duration kFirstPause = 1s;
  /// A status shows so many rows of hosts at most.
  static constexpr std::size_t kMostRows = 8;
  /// Hosts that have not answered by then are named, so many at most.
  static constexpr Duration kLateAfter = 10s;
  static constexpr std::size_t kMostLate = 32;

  explicit RootDesk(RootPlan plan);
  /// The desk of the next run of the program. This one is of no use any more; job() stays the same object,
  /// with other contents. Precondition: DeskOrders::relaunch.
  std::unique_ptr<RootDesk> next_run(Instant now);
  /// That of the next run of a session, which this one awaits. The same holds.
  std::unique_ptr<RootDesk> next_run(const proto::RunPlan& run, Instant now);
  /// The run of a session is over, and nothing of it is left but what is not confirmed.
  bool awaits_run() const { return awaits_run_; }
  /// The session ends by this signal, with its run if there is one.
  void end_session(int signal);

  /// A job that no launcher could be told about is over at once.
  void begin(Instant now);
  bool has_begun() const { return begun_at_ != kNever; }
  /// As Judge. What was on its way to the root that was lost, input among it, does not come any more.
  void resume(const proto::Heritage& heritage, proto::Actions& out, DeskOrders& orders);
  /// The job is over.
  void refuse(const Error& error) { judge_.refuse(error); }
  void facts(wire::Facts facts, Instant now);
  /// What a process has printed, in its turn.
  void output(wire::Output output, proto::Actions& out);
  /// Any other message from below that is for the root alone.
  void message(const wire::Message& message, Instant now, proto::Actions& out, DeskOrders& orders);
  void input(const proto::InputRead& event, DeskOrders& orders) {
    input_.on(event, has_reader(), orders.of_input());
  }
  /// So many bytes of the input may come back.
  bool can_take_back(std::size_t bytes) const { return input_.can_take_back(bytes); }
  // CCS
  void on(const proto::ClientOpened& event, Instant now, proto::Actions& out, DeskOrders& orders);
  void on(const proto::ClientBytes& event, Instant now, proto::Actions& out, DeskOrders& orders);
  void on(const proto::ClientClosed& event, Instant now, proto::Actions& out, DeskOrders& orders);
  void hosts_read(const proto::HostsRead& event, Instant now);
  /// Those of tree/base/signals.hpp that a user sends.
  void signal(int signal, Instant now, proto::Actions& out, DeskOrders& orders);
  void stalled(bool stalled, Instant now);
  /// All launchers stay for the next run, but for those that were lost. `unconfirmed`: hosts on which
  /// something of this one may be left; `unbounded`: those of them where it may stay for ever.
  void idle(const std::set<std::uint32_t>& unconfirmed, const std::set<std::uint32_t>& unbounded, Instant now,
            proto::Actions& out);
  /// Since then a launcher was lost, and nothing else.
  void lost_idle() { lost_launchers_ = true; }
  /// Since then nothing is left on these either.
  void confirmed(const std::vector<std::uint32_t>& hosts);
  /// Looks at what has changed: table, barriers, input, verdict. Called after every event.
  void turn(Instant now, proto::Actions& out, DeskOrders& orders);
  Instant next_deadline() const;

  const std::shared_ptr<wire::JobSpec>& job() const { return job_; }
  const wire::Blob& coded_job() const { return coded_job_; }
  const std::vector<Host>& hosts() const { return hosts_; }
  const proto::Judge& judge() const { return judge_; }
  proto::JobStatus status() const;
  /// Processes that were silent when the job's end was decided.
  const wire::ProcessSet& silent_at_end() const { return silent_at_end_; }
  /// What to call a key that is forwarded.
  const std::string& key_name(const std::string& key) const { return key_names_.at(key); }
  /// The names of these hosts, folded.
  std::string names(const std::vector<std::uint32_t>& hosts) const;

private:
  RootDesk(RootPlan plan, std::shared_ptr<wire::JobSpec> job);
  bool starting() const;
  bool stays() const;
  void take_stock(Instant now, proto::Actions& out);
  bool may_restart() const;
  void consider_restart(Instant now, proto::Actions& out);
  bool cancel_restart();
  Duration orphan_bound() const;
  bool is_bounded(std::uint32_t host) const;
  void relaunch(proto::Actions& out, DeskOrders& orders);
  void interrupt(Instant now, proto::Actions& out, DeskOrders& orders);
  static void forward(int signal, DeskOrders& orders);
  void say_status(proto::Actions& out) const;
  void suspend(DeskOrders& orders);
  void tell_verdict(Instant now, proto::Actions& out, DeskOrders& orders);
  void ask_for_hosts(proto::Actions& out);
  void resize(Instant now, proto::Actions& out, DeskOrders& orders);
  void reshape(Instant now, DeskOrders& orders);
  void forget_unused_hosts(std::size_t first, std::vector<wire::Share>& shares);
  void link_lost(const wire::LinkLost& lost, Instant now, proto::Actions& out, DeskOrders& orders);
  void new_host_key(const wire::NewHostKey& message, proto::Actions& out);
  void number(Instant now, proto::Actions& out, DeskOrders& orders);
  std::vector<Host*> take_places();
  void say_numbers(Instant now, std::size_t hosts, std::uint32_t before, proto::Actions& out);
  void show_bindings(proto::Actions& out);
  void note_progress(const wire::Facts& facts);
  void note_progress(const wire::Message& message);
  void tell_progress(proto::Actions& out);
  void tell_late(Instant now, proto::Actions& out);
  void announce(Instant now, proto::Actions& out);
  void silence(const wire::Silence& told, Instant now);
  void tell_silences(Instant now, proto::Actions& out);
  void end_ccs(const proto::Ending& why, proto::Actions& out);
  void lose_output(const wire::LinkLost& lost, proto::Actions& out);
  void say_last_words(const proto::Ending& why, proto::Actions& out) const;
  void deliver_table(Instant now, proto::Actions& out, DeskOrders& orders);
  void crashed(const wire::ProcessExit& exit, Instant now, proto::Actions& out, DeskOrders& orders);
  void go_on(Instant now, proto::Actions& out, DeskOrders& orders);
  void repaired(const wire::Reached& reached, Instant now, proto::Actions& out, DeskOrders& orders);
  void restart_processes(Instant now, proto::Actions& out, DeskOrders& orders);
  void restart_in_place(Instant now, proto::Actions& out, DeskOrders& orders);
  void restart(const wire::ProcessExit& exit, Instant now, proto::Actions& out, DeskOrders& orders);
  bool has_reader() const;
  void rejoined(const wire::Rejoined& message, Instant now);
  bool relocate(const wire::LinkLost& lost, Instant now, proto::Actions& out, DeskOrders& orders);
  void lose_hosts(const wire::LinkLost& lost, const std::vector<std::uint32_t>& hosts, Instant now,
                  proto::Actions& out, DeskOrders& orders);
  bool lose_with_host(std::uint32_t process, const wire::LinkLost& lost, bool is_first, Instant now);
  std::vector<proto::Shelter> shelters() const;
  void move_processes(Instant now, proto::Actions& out, DeskOrders& orders);
  void check_input();

  std::shared_ptr<wire::JobSpec> job_;
  wire::Blob coded_job_;
  std::vector<Host> hosts_;
  std::vector<std::uint32_t> wanted_;     // processes of the hosts, if these are numbered late
  std::vector<Topology> topologies_;      // of the hosts, if these count
  std::vector<wire::Bindings> bindings_;  // not yet shown
  proto::Judge judge_;
  Duration time_limit_;
  bool int_ends_;
  Instant interrupted_at_ = kNever;
  bool wants_suspension_ = false, suspended_ = false;
  std::optional<proto::CrashSequence> crash_sequence_;      // from the first table on, if the program has any
  std::optional<proto::ProcessRestarts> process_restarts_;  // if single processes are started again
  std::optional<proto::Relocation> relocation_;             // then, too
  std::set<std::uint32_t> lost_hosts_;                      // whose launchers were lost
  std::map<std::uint32_t, std::string> lost_by_;            // processes that are to be moved, and how
  bool has_charm_table_ = false;
  std::uint32_t tables_ = 0;                 // made
  std::optional<std::uint32_t> wanted_pes_;  // the program has asked, and is to be served
  bool reading_hosts_ = false;
  bool regroup_due_ = false;
  std::optional<proto::Resizing> resizing_;
  std::vector<std::uint32_t> left_;                        // processes, not yet looked at
  std::vector<wire::Rejoined> rejoined_;                   // not yet looked at
  std::optional<wire::ProcessExit> last_crash_;            // while a process is not back
  std::map<std::uint32_t, wire::ProcessExit> last_exits_;  // of processes that were started again
  std::map<std::string, std::string> key_names_;
  Instant begun_at_ = kNever;
  Instant limit_at_ = kNever;
  Instant late_at_ = kNever;
  proto::NewHostKeys new_host_keys_;
  bool registering_ = false;  // some process has registered: there will be a table
  bool announced_ = false;
  std::vector<wire::HostFailure> failures_;  // not yet recorded
  std::set<std::uint32_t> lost_at_start_;    // hosts, of which that is recorded
  std::set<std::uint32_t> random_layout_;    // hosts of Facts::random_layout
  bool tells_progress_, shows_output_, could_drop_;
  ShownLately shown_lately_;
  proto::Progress progress_;  // as it was told, and what has not been yet
  proto::Silences silences_;
  wire::ProcessSet silent_at_end_;
  bool told_verdict_ = false;
  bool told_kill_ = false;

  proto::UserInput input_;
  std::optional<ccs::Router> ccs_;

  // Runs of the program.
  std::shared_ptr<const RootPlan> first_plan_;          // if there may be more
  std::optional<proto::RestartBudget> restart_budget_;  // then, too
  std::set<std::uint32_t> absent_;                      // hosts that cannot be started
  bool lost_launchers_ = false;
  std::set<std::uint32_t> blind_;                    // hosts of Facts::blind
  std::set<std::uint32_t> unconfirmed_, unbounded_;  // as idle() and confirmed() say
  bool was_suspended_ = false;
  bool awaits_run_ = false, session_ends_ = false;
  bool restarting_ = false;        // this run has failed, and another follows
  Instant restart_at_ = kNever;    // not before; kNever: launchers are not idle yet
  Instant restart_from_ = kNever;  // ... nor then, if all is confirmed
  Duration restart_pause_{0};
};

}  // namespace charmtree
