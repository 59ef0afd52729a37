// SPDX-License-Identifier: Apache-2.0
// A launch, or a whole job, on many hosts in simulated time. It runs the very Node that a real launcher runs;
// hosts, links and processes are simulated, and what befalls them is drawn from the seed. A launcher does one
// thing after the other: each event and each action costs it time (Settings), and what comes while it is busy
// waits. One seed, one run, event by event.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/sim/checks.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/hosts.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/settings.hpp"
#include "tree/node/node.hpp"
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
  std::uint64_t trace = 0;  // hash of all that happened
  std::vector<std::string> offences;
};

class World {
public:
  World(const Settings& settings, std::uint64_t seed);
  /// Until what Settings::until says.
  Outcome run();

private:
  // ---- what can happen
  struct ToNode {
    std::uint32_t to;
    proto::Event event;
  };
  struct Arrival {
    std::uint32_t wire;
    bool up;
    wire::Message message;
    std::size_t bytes;
  };
  /// One end learns that the other is gone.
  struct HangUp {
    std::uint32_t wire;
    bool up;
    std::string why;
  };
  /// A login reaches the sshd; has authenticated; has ended.
  struct Knock {
    std::uint32_t login;
  };
  struct Admitted {
    std::uint32_t login;
  };
  struct Answer {
    std::uint32_t login;
  };
  enum class Act : std::uint8_t { begin, finish, exit, enter, ack, print };
  struct Step {
    std::uint32_t process;
    Act act;
    std::uint32_t life = 0;  // only in that one
  };
  struct Dies {
    std::uint32_t process;
    int code, signal;
    std::uint32_t life = 0;
  };
  struct Fault {
    enum class Kind : std::uint8_t {
      crash,
      cut,
      lost,
      pause,
      interrupt,
      root_crash,
      root_lost,
      kill_process,
      fail_process,
      crash_process
    } kind;
  };
  /// So much output has been written.
  struct Written {
    std::uint32_t root;
    std::size_t cost;
  };
  struct RootDies {};
  /// Another root begins.
  struct TakeOver {};
  /// A launcher is free and takes the first thing that waits for it.
  struct Wake {
    std::uint32_t to;
  };
  using Happening = std::variant<ToNode, Arrival, HangUp, Knock, Admitted, Answer, Step, Dies, Fault, Written,
                                 RootDies, TakeOver, Wake>;
  struct Entry {
    Duration at;
    std::uint64_t sequence;
    std::unique_ptr<Happening> what;
    friend bool operator<(const Entry& a, const Entry& b) {  // std::push_heap: the largest on top
      return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }
  };

  // ---- what there is
  struct Slot {  // of a child
    std::uint32_t login;
    std::uint32_t wire = kNobody;
  };
  struct Launcher {
    std::unique_ptr<Node> node;  // null: it is gone
    std::uint32_t host, level;
    std::uint32_t wire = kNobody;     // to its parent
    std::uint32_t adopter = kNobody;  // to who may become that
    Duration skew{0};                 // of its clock
    double slowness = 1;
    Duration free_at{0};
    std::vector<std::unique_ptr<Happening>> waiting;  // till then, from `next` on
    std::size_t next = 0;
    Instant armed = kNever;
    Duration ticked_at{-1};
    std::uint32_t ticks = 0;      // at that time
    std::uint32_t in_flight = 0;  // logins
    std::uint32_t widest = 0;
    bool is_welcomed = false;
    std::string adoption_socket;  // empty: it has none
    bool was_told = false;        // anything
    bool said_idle = false;       // and no run has begun since
    bool is_orphan = false;       // cut off, without having been told
    bool was_paused = false;
    std::uint32_t epoch = 0;  // of the table that it had last
    std::map<proto::LinkId, Slot> children;
    std::set<std::uint32_t> started;  // processes; others may have started them since
    std::string spool;                // its file
    Duration disk_free_at{0};
  };
  struct Login {
    std::uint32_t launcher, host;
    proto::LinkId link;
    Duration after;
    Errc code;
    bool is_pending = false;  // at its sshd
    bool is_over = false;
  };
  struct Process {
    enum class State : std::uint8_t { unborn, running, joined, wired, ended, gone } state = State::unborn;
    bool is_stubborn = false;
    std::uint32_t printed = 0;  // pieces of output
    struct Shown {
      std::uint32_t root;
      Duration at;
    };
    std::vector<Shown> shown;                  // of these
    std::uint32_t screen = 0, next_on_it = 0;  // of which root the next was shown, and what comes then
    bool is_paused = false, waits_to_print = false;
    std::uint32_t launcher = kNobody;
    // Of a program that restarts its processes.
    std::uint32_t life = 0;  // 0: the first process of its number
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
  void put(Duration at, Happening happening);
  void take(std::unique_ptr<Happening> what, Duration now);
  std::uint32_t waits_for(const Happening& happening) const;
  void happen(ToNode& what, Duration now);
  void happen(Arrival& what, Duration now);
  void happen(HangUp& what, Duration now);
  void happen(const Knock& what, Duration now);
  void happen(const Admitted& what, Duration now);
  void happen(const Answer& what, Duration now);
  void happen(const Step& what, Duration now);
  void happen(const Dies& what, Duration now);
  void happen(const Fault& what, Duration now);
  void happen(const Written& what, Duration now);
  void happen(const RootDies& what, Duration now);
  void happen(const TakeOver& what, Duration now);
  void happen(const Wake& what, Duration now);
  /// Returns when the launcher is free again.
  Duration turn(std::uint32_t id, const proto::Event& event, Duration now);
  void arm(std::uint32_t id, Duration now);
  void count_tick(Launcher& launcher, Duration now);
  bool is_done() const;
  void finish();

  // ---- actions; `now` is moved on by what they cost
  void perform(std::uint32_t id, const proto::Login& action, Duration& now);
  void perform(std::uint32_t id, const proto::CancelLogin& action, Duration& now);
  void perform(std::uint32_t id, const proto::Send& action, Duration& now);
  void perform(std::uint32_t id, const proto::CloseLink& action, Duration& now);
  void perform(std::uint32_t id, const proto::Relay& action, Duration& now);
  void perform(std::uint32_t id, const proto::ReplaceParent& action, Duration& now);
  void perform(std::uint32_t id, const proto::Probe& action, Duration& now);
  void perform(std::uint32_t id, const proto::Prepare& action, Duration& now);
  void perform(std::uint32_t id, const proto::Spawn& action, Duration& now);
  void perform(std::uint32_t id, const proto::Signal& action, Duration& now);
  void perform(std::uint32_t id, const proto::KillLeftovers& action, Duration& now);
  void perform(std::uint32_t id, const proto::ClientSend& action, Duration& now);
  void perform(std::uint32_t id, const proto::ClientClose& action, Duration& now);
  void perform(std::uint32_t id, const proto::DrainOutput& action, Duration& now);
  void perform(std::uint32_t id, const proto::PauseOutput& action, Duration& now);
  void perform(std::uint32_t id, const proto::PauseClient& action, Duration& now);
  void perform(std::uint32_t id, const proto::LookAtClient& action, Duration& now);
  void perform(std::uint32_t id, const proto::SpoolWrite& action, Duration& now);
  void perform(std::uint32_t id, const proto::SpoolRead& action, Duration& now);
  void perform(std::uint32_t id, const proto::WriteInput& action, Duration& now);
  void perform(std::uint32_t id, const proto::RecallPipe& action, Duration& now);
  void perform(std::uint32_t id, const proto::Adopt& action, Duration& now);
  void perform(std::uint32_t id, const proto::ReadInput& action, Duration& now);
  void perform(std::uint32_t id, const proto::ResizeTerminal& action, Duration& now);
  void perform(std::uint32_t id, const proto::ReleaseKeys& action, Duration& now);
  void perform(std::uint32_t id, const proto::StopSelf& action, Duration& now);
  void perform(std::uint32_t id, const proto::ReadHosts& action, Duration& now);
  void perform(std::uint32_t id, const proto::Show& action, Duration& now);
  void perform(std::uint32_t id, const proto::Say& action, Duration& now);
  void perform(std::uint32_t id, const proto::StoreHostKey& action, Duration& now);
  void perform(std::uint32_t id, const proto::Sign& action, Duration& now);
  void perform(std::uint32_t id, const proto::Signed& action, Duration& now);
  void perform(std::uint32_t id, const proto::Record& action, Duration& now);
  void perform(std::uint32_t id, const proto::Examined& action, Duration& now);
  void perform(std::uint32_t id, const proto::Progress& action, Duration& now);
  void perform(std::uint32_t id, const proto::RunOver& action, Duration& now);
  void perform(std::uint32_t id, const proto::KeepTree& action, Duration& now);
  void perform(std::uint32_t id, const proto::Finish& action, Duration& now);
  void cost(std::uint32_t id, Duration& now, Duration what) const;

  // ---- launchers and links
  std::uint32_t start_launcher(const Login& login, std::uint32_t level);
  void leave(std::uint32_t id, Duration now);
  void hang_up(std::uint32_t wire, bool up, Duration now, std::string why);
  void end_login(Login& login);
  std::size_t size_of(std::uint32_t wire, wire::Message& message);
  std::size_t estimate(const wire::Message& message) const;
  std::size_t tuples_in(const wire::Message& message) const;

  // ---- processes
  void says(std::uint32_t process, std::string bytes, Duration& now);
  void hears(std::uint32_t process, const proto::ClientSend& message, Duration now);
  void table_comes(std::uint32_t process, const wire::Blob& table, Duration now);
  void check_table(const wire::Blob& table);
  void exits(std::uint32_t process, int code, int signal, Duration now);
  std::uint16_t port_of(std::uint32_t process, std::uint32_t life = 0) const;
  proto::ClientId client_of(std::uint32_t process) const;
  std::uint32_t process_of(proto::ClientId client) const;
  std::uint32_t life_of(proto::ClientId client) const;

  // ---- output
  void prints(std::uint32_t process, Duration now);
  void pause_process(std::uint32_t process, bool paused, Duration now);
  void shown(std::uint32_t process, std::string_view text, Duration now);
  void check_output();
  std::size_t most_at_the_end() const;

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
  void strike_process(Fault::Kind kind, Duration now);
  Harm draw_harm(const Process& process, Fault::Kind kind);
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

  // ---- programs that are started again as a whole
  void begin_run(std::uint32_t run);
  bool has_run() const;
  void retire_idle(std::uint32_t host);

  // ---- roots that take over
  void begin_root(RootPlan plan, Duration now);
  void lose_root(Duration now);
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
  std::uint32_t some_launcher();
  std::uint32_t some_process();
  bool is_ending() const;
  bool is_needed(std::uint32_t id) const;
  void struck(bool surely, int status, Duration now);
  void power_off(std::uint32_t id, Duration now);
  void orphan(std::uint32_t id);
  void kill_processes_of(std::uint32_t id);

  void note(std::uint64_t value) { outcome_.trace = hash_of(value, outcome_.trace); }
  bool lies(Sabotage how) const { return settings_.sabotage == static_cast<double>(how); }
  template <class What>
  void log(Duration now, std::uint32_t id, const What& what) const;

  Settings settings_;
  Random random_;
  Hosts hosts_;
  Network network_;
  Checks checks_;
  std::vector<Entry> queue_;
  std::uint64_t sequence_ = 0;
  std::deque<Launcher> launchers_;
  std::uint32_t root_ = 0;                                // of these
  std::vector<std::vector<std::uint32_t>> launchers_on_;  // by host
  std::deque<Wire> wires_;
  std::deque<Login> logins_;
  std::vector<Process> processes_;
  std::uint32_t reachable_ = 0, living_ = 0;
  std::uint32_t welcomed_ = 0, spawned_ = 0, joined_ = 0, wired_ = 0, gone_ = 0;
  std::uint32_t launchers_alive_ = 0;
  wire::Blob checked_table_;
  std::vector<std::uint32_t> recoveries_;  // who was lost, by epoch - 1
  std::vector<std::uint32_t> entered_;     // processes that entered a barrier, by round
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
  std::optional<proto::KeepTree> kept_;
  std::map<std::uint32_t, Duration> roots_lost_;  // when
  bool hosts_lost_ = false;                       // in place
  std::uint32_t released_by_ = UINT32_MAX;        // the root's link that the last Release went to
  static constexpr std::size_t kMostUnwritten = 2U << 20;
  std::size_t unwritten_ = 0;    // of output, at the screen
  bool is_screen_last_ = false;  // what the root has shows it now, read or not
  bool is_unread_ = false;       // the user does not wait for what is left of it
  std::uint32_t numbered_ = 0;   // processes, of a root that is gone
  Duration screen_free_at_{0};
  static constexpr Duration kNotStruck{-1};
  Duration struck_at_ = kNotStruck;  // the first fault that had to end the job
  Duration last_remains_at_{0};      // of a process that is gone some output was shown
  Outcome outcome_;
};

}  // namespace charmtree::sim
