// SPDX-License-Identifier: Apache-2.0
// A launch, or a whole job, on many hosts, and what befalls them drawn from the seed; what must hold whatever
// happens is checked.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/checks.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/hosts.hpp"
#include "tests/sim/settings.hpp"
#include "tests/sim/simulation.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::sim {

inline const Error kMissingProgram{Errc::no_program, Phase::spawn, "./app: no such file"};

struct Outcome {
  Duration ideal{0};     // of a pool that everybody can take from at no cost
  Duration hosts_up{0};  // the last launcher's hello was received by its parent
  Duration spawned{0};   // the last process was started
  Duration gathered{0};  // the root has every tuple
  Duration wired{0};     // the last process was sent the table
  Duration finished{0};  // the root
  Duration all_gone{0};  // the last launcher
  int status = -1;
  std::uint32_t launchers = 0, failed = 0;  // started; hosts that cannot be
  std::uint64_t events = 0;
  std::uint32_t deepest = 0, widest = 0;
  std::size_t table = 0;    // bytes
  std::size_t stacks = 0;   // bytes of what processes do, the most on a link of the root's ...
  std::size_t groups = 0;   // ... and how many groups it shows of that
  std::uint64_t trace = 0;  // hash of all that happened
  std::vector<std::string> offences;
};

class World final : Simulation {
public:
  World(const Settings& settings, std::uint64_t seed);
  /// Until what Settings::until says.
  Outcome run();

private:
  enum class Act : std::uint8_t { begin, finish, exit, enter, ack, print };
  enum class Fault : std::uint8_t {
    crash,
    cut,
    lost,
    pause,
    interrupt,
    root_crash,
    root_lost,
    kill_process,
    fail_process,
    crash_process,
    asks,
    prompts
  };

  // ---- what there is
  struct Seen {                   // of a launcher
    std::uint32_t in_flight = 0;  // logins
    std::uint32_t widest = 0;
    bool was_told = false;   // anything
    bool said_idle = false;  // and no run has begun since
    bool is_orphan = false;  // cut off, without having been told
    bool was_paused = false;
    std::uint32_t epoch = 0;  // of the table that it had last
  };
  struct Attempt {  // of a login
    Duration after;
    Errc code;
    bool is_pending = false;  // at its sshd
  };
  struct Process : SimProcess {
    enum class State : std::uint8_t { unborn, running, joined, wired, ended, gone } state = State::unborn;
    std::uint32_t printed = 0;  // pieces of output
    struct Shown {
      std::uint32_t root;
      Duration at;
    };
    std::vector<Shown> shown;                  // of these
    std::uint32_t screen = 0, next_on_it = 0;  // of which root the next was shown, and what comes then
    bool is_paused = false, waits_to_print = false;
    // Of a program that restarts its processes.
    std::uint32_t losses = 0;
    std::uint32_t epoch = 0;      // as far as it was told
    std::uint32_t known = 0;      // ... and has taken in
    std::uint32_t entered = 0;    // barriers that it has entered, or missed
    std::uint32_t before = 0;     // those that the process before it had
    std::uint32_t round = 0;      // barriers behind it
    bool owes_crashnode = false;  // a table has come, and not yet who was lost
    bool in_barrier = false, is_cut = false, is_done = false;
    bool is_lost = false;      // the job goes on without it
    bool may_be_lost = false;  // or not, as the root says in the end
    bool is_missed = false;    // a barrier opened without it
    Duration says_at{0};       // acks keep their order
  };

  // ---- time
  bool is_done() const;
  void finish();

  // ---- what the simulation asks and tells
  void login_begins(std::uint32_t login, const proto::Login& action, Duration& now) override;
  LoginEnd login_end(std::uint32_t login) override;
  void login_over(std::uint32_t login) override;
  proto::Prepared prepared(std::uint32_t id, const proto::Prepare& action) override;
  bool has_power(std::uint32_t id) const override;
  std::uint32_t process_count() const override { return static_cast<std::uint32_t>(processes_.size()); }
  SimProcess& process_at(std::uint32_t number) override { return processes_[number]; }
  proto::ClientKind client_kind() const override;
  stacks::Seen does(std::uint32_t process) override;
  std::optional<Error> spawn_error(std::uint32_t id, const proto::Spawn& action) override;
  void hears(std::uint32_t process, const proto::ClientSend& message, Duration now) override;
  void begins(std::uint32_t process, Duration now) override;
  void steps(const Step& what, Duration now) override;
  void is_paused(std::uint32_t process, bool paused, Duration now) override;
  void wrong(std::string what) override { checks_.wrong(std::move(what)); }
  void acts(std::uint32_t id, const proto::Actions& actions) override;
  void performs(std::uint32_t id, const proto::Action& action, Duration now) override;
  bool sends(std::uint32_t wire, bool up, wire::Message& message, Duration& now) override;
  void root_sends(std::uint32_t wire, const wire::Message& message, Duration& now);
  void receives(std::uint32_t id, const wire::Message& message) override;
  void broke_protocol(std::uint32_t wire, bool up) override;
  void launcher_begins(std::uint32_t id, std::uint32_t parent, Duration now) override;
  void launcher_ends(std::uint32_t id, Duration now) override;
  void process_begins(std::uint32_t id, const proto::Spawn& action, Duration now) override;
  void process_ends(std::uint32_t process, Duration now) override;

  void watch(std::uint32_t id, const proto::Say& action, Duration now);
  void watch(std::uint32_t id, const proto::Record& action, Duration now);
  void watch(std::uint32_t id, const proto::Show& action, Duration now);
  void watch(std::uint32_t id, const proto::ReplaceParent& action, Duration now);
  void watch(std::uint32_t id, const proto::Prepare& action, Duration now);
  void watch(std::uint32_t id, const proto::AdoptProcess& action, Duration now);
  void watch(std::uint32_t id, const proto::LookAtClient& action, Duration now);
  void watch(std::uint32_t id, const proto::KeepTree& action, Duration now);
  void watch(std::uint32_t id, const stacks::StacksSeen& action, Duration now);
  void watch(std::uint32_t id, const debug::DebugHeard& action, Duration now);
  void watch(std::uint32_t id, const debug::RunTool& action, Duration now);
  void watch(std::uint32_t id, const debug::ToolHeard& action, Duration now);
  void watch(std::uint32_t id, const proto::ProcessesKnown& action, Duration now);
  void watch(std::uint32_t id, const proto::Finish& action, Duration now);
  template <class A>
  void watch(std::uint32_t, const A&, Duration) {}

  void knocks(std::uint32_t login, Duration now);
  Seen& seen(std::uint32_t id);

  // ---- processes
  void put_step(Duration at, std::uint32_t process, Act act);
  void table_comes(std::uint32_t process, const wire::Blob& table, Duration now);
  void check_table(const wire::Blob& table);
  std::uint16_t port_of(std::uint32_t process, std::uint32_t life = 0) const;

  // ---- output
  void prints(std::uint32_t process, Duration now);
  void shown(std::uint32_t process, std::string_view text, Duration now);
  void check_output();
  std::size_t most_at_the_end();

  // ---- processes that are restarted
  void begin_life(std::uint32_t process, std::uint32_t life);
  void begin_next_life(std::uint32_t process, std::uint32_t life);
  void starts_anew(const proto::Spawn& action);
  void recovering_hears(std::uint32_t process, const proto::ClientSend& message, Duration now);
  void recovering_table(std::uint32_t process, const proto::ClientSend& message, Duration now);
  void hears_of_crash(std::uint32_t process, const proto::ClientSend& message, Duration now);
  void passes_barrier(std::uint32_t process, Duration now);
  void begins_work(std::uint32_t process, Duration now);
  void next_round(std::uint32_t process, Duration now);
  void act(const Step& what, Duration now);
  /// How a process is lost.
  enum class Harm : std::uint8_t { faults, killed, fails, cut };
  void strike_process(Fault kind, Duration now);
  Harm draw_harm(const Process& process, Fault kind);
  bool may_end_recovery(std::uint32_t number);
  void root_recovers(const wire::Recover& message);
  void check_recoveries();

  // ---- processes that are started again by ++on-failure restart
  void starts_again(const proto::Spawn& action);
  void renewed_hears(std::uint32_t process, const proto::ClientSend& message, Duration now);
  void readmitted(std::uint32_t process, const wire::NodeTable& table, Duration now);
  void hears_of_restart(std::uint32_t process, const wire::native::Renewed& message, Duration now);
  void renewed_passes(std::uint32_t process, Duration now);
  void renewed_acts(const Step& what, Duration now);
  void lose_in_place(std::uint32_t id);
  void all_below(std::uint32_t id, std::set<std::uint32_t>& launchers) const;
  /// Those of the job; spares, and hosts that are left out, have none of their own.
  std::uint32_t job_processes() const;
  void root_knows(const std::string& table);
  void root_renews(const wire::Renewed& message);
  void root_releases(const wire::Release& message);
  void check_restarts();

  // ---- jobs that go on without lost processes
  bool is_running() const;
  void lose_process(std::uint32_t process, int status);
  void lose_launcher(std::uint32_t id, bool with_host);
  void mark_lost(std::uint32_t id);
  void settle_losses(const wire::ProcessSet& lost);
  bool is_let_go(std::uint32_t number) const;
  void surviving_hears(std::uint32_t process, const proto::ClientSend& message, Duration now);
  void survivor_passes(std::uint32_t process, Duration now);
  void allow_if_all_lost();
  void check_survivors();

  // ---- MPI programs
  static constexpr std::uint32_t kMpi = 3;  // Settings::kind
  bool enters_fences() const;
  void mpi_begins(std::uint32_t process, Duration now);
  void mpi_enters(std::uint32_t process, Duration now);
  void mpi_hears(std::uint32_t process, std::string_view line, Duration now);
  void leaves_fence(std::uint32_t process, bool is_good, Duration now);

  // ---- native programs that pass values round a ring
  void enters_ring(std::uint32_t process, Duration now);
  /// Null: it has failed.
  void leaves_ring(std::uint32_t process, const wire::native::RingOver* values, Duration now);

  // ---- native programs that ask each other
  void looks_up(std::uint32_t process, Duration now);
  void is_told(std::uint32_t process, const wire::native::Told& told, Duration now);
  void is_asked(std::uint32_t process, const wire::native::Asked& asked, Duration now);
  std::uint32_t asked_by(std::uint32_t process, std::uint32_t round) const {
    return (process * 7 + round * 13 + 1) % job_processes();
  }

  // ---- programs that are started again as a whole
  void begin_run(std::uint32_t run);
  bool has_run() const;
  void retire_idle(std::uint32_t host);

  // ---- roots that take over
  void take_over(Duration now);
  void lose_root(Duration now);
  void root_dies(Duration now);
  void unplug_some();
  void may_be_last(const wire::Message& message, Duration now);
  /// A program that starts its lost processes again itself does that, whatever is said of others.
  bool goes_on() const { return settings_.goes_on != 0 && settings_.restarts == 0; }
  bool nobody_else_is_lost() const;
  bool starts_again() const { return settings_.restarts != 0 || settings_.in_place != 0; }
  bool outlives_losses() const { return goes_on() || settings_.keep_alive > 0; }
  bool passes_barriers() const { return outlives_losses() && whole(settings_.kind) == 1; }

  // ---- faults
  void draw_faults();
  void put_fault(Duration at, Fault kind);
  void opens_prompt(Duration now);
  void runs_tools(Duration now);
  void strike(Fault kind, Duration now);
  void strike_launcher(Fault kind, Duration now);
  std::uint32_t some_launcher();
  std::uint32_t some_process();
  bool is_ending() const;
  bool is_needed(std::uint32_t id) const;
  void struck(bool surely, int status, Duration now);
  void power_off(std::uint32_t id, Duration now);
  void orphan(std::uint32_t id);
  void kill_processes_of(std::uint32_t id);

  bool lies(Sabotage how) const { return settings_.sabotage == static_cast<double>(how); }

  Hosts hosts_;
  Checks checks_;
  std::deque<Seen> seen_;         // by launcher
  std::deque<Attempt> attempts_;  // by login
  std::vector<Process> processes_;
  std::uint32_t reachable_ = 0, living_ = 0;
  std::uint32_t welcomed_ = 0, spawned_ = 0, joined_ = 0, wired_ = 0, gone_ = 0;
  std::uint32_t launchers_alive_ = 0;
  wire::Blob checked_table_;
  std::vector<std::uint32_t> recoveries_;  // who was lost, by epoch - 1
  std::vector<std::uint32_t> entered_;     // processes that entered a barrier, by round
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> fence_ends_;  // well; by run and round
  std::uint32_t phase_ = 1;
  struct Renewal {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> lives;  // processes and which one each now is
    std::uint32_t opened;                                        // barriers, until then
  };
  std::vector<Renewal> renewals_;         // as the root sent them; by epoch - 1
  std::vector<std::uint32_t> opened_in_;  // epochs in which the root opened barriers, by round
  std::vector<std::uint32_t> first_lives_, known_lives_;  // of processes, in the root's table: first and now
  bool lost_at_the_end_ = false;                          // a process was lost while others ended
  std::uint32_t run_ = 0;                                 // of the program, as far as a host has heard
  bool is_root_gone_ = false;                             // for good
  bool is_root_awaited_ = false;                          // another one
  bool is_doomed_ = false;                                // the root, when it next tells all something
  bool lost_at_its_end_ = false;                          // a root, while it ended the job
  static constexpr std::uint32_t kPromptCommand = 2;      // the number of its order
  std::set<std::uint64_t> open_prompts_;                  // whose command has yet to be done
  std::map<std::uint64_t, wire::ProcessSet> told_of_;     // processes of whose tools the end is known
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<wire::ProcessSet::Range>>
      tools_;  // that were started: whose host's, by session and first process
  std::uint64_t last_prompt_ = 0;
  std::map<std::uint32_t, std::uint32_t> known_ids_;  // of processes, the newest told
  std::optional<proto::KeepTree> kept_;
  std::map<std::uint32_t, Duration> roots_lost_;  // when
  bool hosts_lost_ = false;                       // in place
  std::uint32_t released_by_ = UINT32_MAX;        // the root's link that the last Release went to
  static constexpr std::size_t kMostUnwritten = 2U << 20;
  bool is_screen_last_ = false;  // what the root has shows it now, read or not
  bool is_unread_ = false;       // the user does not wait for what is left of it
  std::uint32_t numbered_ = 0;   // processes, of a root that is gone
  static constexpr Duration kNotStruck{-1};
  Duration struck_at_ = kNotStruck;  // the first fault that had to end the job
  Duration last_remains_at_{0};      // of a process that is gone some output was shown
  Outcome outcome_;
};

}  // namespace charmtree::sim
