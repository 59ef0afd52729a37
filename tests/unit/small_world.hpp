// SPDX-License-Identifier: Apache-2.0
// A small world for the launcher's engine, whose hosts and processes follow a test's script: a root and the
// launchers that it starts, in the simulator's time, links and order (tests/sim/simulation.hpp). Nothing
// costs a launcher time. The same plan and seed give the same run, action by action.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/simulation.hpp"
#include "tree/job/run_plan.hpp"

namespace charmtree::test {

inline constexpr Duration kForever = Duration::max();

/// What one process does, and what happened to it.
struct Actor : sim::SimProcess {
  enum class Kind : std::uint8_t { plain, charm };
  enum class Fate : std::uint8_t { ends, aborts, exits, stays };

  // The script. A plain process writes its chunks and exits after `life`. A Charm++ process connects after
  // `life`, passes its barriers, reads by scanf if it has a format, prints its lines, and then meets its
  // fate: `ending`, `abort`, an exit with `code` or `signal`, or nothing until its connection is closed (then
  // 1, as Charm++).
  Kind kind = Kind::charm;
  Fate fate = Fate::ends;
  Duration life = 20ms;
  bool hidden = false;  // if forked: nobody finds its pid
  std::uint8_t code = 0, signal = 0;
  bool deaf = false;               // takes nothing of its input
  bool outlives_launcher = false;  // a launcher that dies does not take it along
  std::optional<Error> spawn_error;
  std::vector<std::string> chunks;  // plain: written to stdout
  std::uint32_t barriers = 9;
  std::uint32_t lines = 1;
  std::size_t line_size = 0;  // at least; filled with dots
  std::string scan_format;
  int scans = 1;
  int ending = 0;
  bool old = false;                            // of Charm++ 6.8
  bool verbs = false;                          // exchanges queue pairs after its barriers
  proto::Sight sight = proto::Sight::running;  // if it is looked at

  // What happened.
  bool spawned = false;
  std::uint32_t host = 0;      // where it was spawned
  proto::CpuSet pus;           // to which it was bound
  std::string table;           // the entries that it got
  std::uint32_t own = 0;       // its number in there
  std::uint32_t entered = 0;   // barriers
  std::string scanned, input;  // the answer to scanf; stdin
  bool input_ended = false;
  std::string qpdata;
  std::vector<int> signals;            // that it was sent ...
  std::vector<Duration> signal_times;  // ... and when

  // The world's own.
  std::string buffer;
  Duration hears_at{0};
};

struct Plan {
  std::uint32_t hosts = 1;
  std::vector<std::uint32_t> slots;  // processes per host; empty: 1 each
  wire::Shape shape;                 // {0, 0}: late binding
  std::uint32_t batch = 0;
  Duration login_occupancy{0}, login_latency{0};
  bool stamps = true;
  HostKeyPolicy host_keys = HostKeyPolicy::strict;
  bool checkup = false;
  std::uint64_t seed = 1;
  Duration grace = 2s;
  Duration time_limit{0};
  bool int_ends = true;
  std::uint32_t input_process = 0;
  bool input_to_all = false, input_is_typed = false;
  wire::OnHostFailure on_failure = wire::OnHostFailure::abort;
  std::uint32_t spares = 0;  // of the hosts; the last ones
  Duration wait{0};
  wire::Provision provision;
  std::uint64_t spool = 1U << 30;
  CpuUnit bind = CpuUnit::none;
  bool report_bindings = false;
  wire::ForkClients fork_clients = wire::ForkClients::never;
  bool random_layout = false, can_fork = false;  // as in Prepared, of every host
  std::uint64_t login_rate = 0;                  // in millionths of logins per second
  std::string user;                              // login name
  std::vector<std::string> forwarded_keys;       // public keys by which the root signs
  bool watched = false;                          // somebody looks at its progress
  wire::Recovery on_loss = wire::Recovery::none;
  wire::Heartbeat heartbeat;
  wire::SilenceRules silence;
  bool session = false;  // without processes of its own
  Duration keep_alive{0};
  bool starts_together = false;
  bool held = false;  // by a debugger, until user_signal(kContinue)
};

/// One try to log in, and what is to come of it. Default: it succeeds after some time.
struct Try {
  std::uint32_t from, host, number;  // number: of this host's tries anywhere, from 1
  Via via;
  Duration at;
};
struct Outcome {
  std::optional<Error> error;
  Duration after{0};  // 0: some time; kForever: no answer comes
  HostKey key;
  std::string wants_signed;  // the login succeeds if the root signs this
};

/// A message as it was sent. Hosts by index, kRootIndex is the root.
struct Sent {
  std::uint32_t from, to;
  Duration at;
  wire::Message message;
};

/// An act on a launcher that does not live (any more).
struct NobodyThere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class SmallWorld : sim::Simulation {
public:
  explicit SmallWorld(const Plan& plan);

  // ---- to be set before run()
  std::vector<Actor> actors;                                        // by process number
  std::function<Outcome(const Try&)> login;                         // empty: all succeed
  std::function<std::optional<Error>(std::uint32_t host)> prepare;  // empty: all are ready
  std::function<proto::CpuMap(std::uint32_t host)> cpus;            // empty: one PU
  std::function<std::string(const proto::Sign&)> agent;             // the root's; empty: it signs all
  std::function<stacks::Seen(std::uint32_t process)> act;           // empty: all work
  std::string user_input;                                           // stdin of the root, then its end
  std::function<void()> run_over;                                   // of a session; may call next_run()
  Duration reader_stops = kForever, reader_goes_on{0};              // of the root's output
  /// Something from outside, at that time.
  void at(Duration when, std::function<void()> what);

  // ---- things to do from outside
  void kill_launcher(std::uint32_t host);
  /// The launcher hears and does nothing any more, but its link stays.
  void freeze_launcher(std::uint32_t host);
  /// The same, and its host acknowledges and answers nothing.
  void unplug(std::uint32_t host);
  void cut_link(std::uint32_t host);
  /// No link ends, and nothing arrives any more that the root says, or that is said to it.
  void silence_root() { unplug(wire::kRootIndex); }
  /// Another root begins, with what the last one has kept of the tree; that one may live.
  void take_over();
  void kill_process(std::uint32_t process, int signal) { exits(process, 0, signal, now_); }
  /// As ++stack-trees does.
  void ask_stacks() { deliver(root_, stacks::StacksAsked{}); }
  /// As ++gdb does.
  void run_tool_by(std::uint64_t ticket, debug::ToolOrder order) {
    deliver(root_, debug::ToolAsked{ticket, std::move(order)});
  }
  void debug_by(std::uint64_t ticket, debug::DebugOrder order) {
    deliver(root_, debug::DebugAsked{ticket, std::move(order)});
  }
  /// One to go on ends what a StopSelf has begun.
  void user_signal(int signal);
  /// What a StopSelf has begun ends, and the job stays suspended: its root has opened windows (++debug).
  void wake_root() { go_on(root_, now_); }
  /// Of a session: these are the processes of the next run, so many on each host. `actors` keep their places.
  void next_run(const std::vector<std::uint32_t>& processes);
  void end_session(int signal) { deliver(root_, proto::SessionEnds{signal}); }
  /// The launcher of `host` says this to its parent.
  void forge(std::uint32_t host, const wire::Message& message);
  /// Of a Charm++ process that has connected.
  void ping(std::uint32_t process);
  void client_bytes(std::uint32_t host, proto::ClientId client, std::string bytes);

  /// Runs until nothing can happen any more or the time is over. A launcher that asks for ticks without end,
  /// or orders what makes no sense, is a std::logic_error.
  void run(Duration limit = 600s);

  // ---- what happened
  std::optional<proto::Finish> result;  // the root's; the last one's, if there were several
  std::vector<proto::Finish> former;    // what those before it came to
  std::optional<proto::KeepTree> kept;
  std::vector<proto::Finish> runs;  // of a session
  Duration result_at{0}, last_exit_at{0};
  std::string out, err;
  std::vector<proto::Say> said;
  std::vector<Sent> sent;
  std::vector<Try> tries;
  std::vector<wire::Stamps> stamps;
  std::vector<proto::StoreHostKey> keys;
  std::vector<proto::Sign> signs;
  std::vector<proto::Record> failures;  // hosts that were given up
  std::vector<wire::Checkup> checkups;
  std::vector<stacks::StacksSeen> stacks;
  std::vector<debug::DebugHeard> debug;
  std::vector<debug::ToolHeard> tools;
  std::vector<proto::ProcessesKnown> known;
  std::vector<proto::Progress> progress;
  std::size_t stops = 0;                          // of the root
  std::size_t reads = 0;                          // of the user's stdin
  std::uint32_t pauses = 0;                       // of pipes and clients, that were not read
  std::uint32_t looks = 0;                        // at processes that say nothing
  std::uint64_t trace() const { return trace_; }  // hash of all that happened

  bool said_anywhere(std::string_view words, std::optional<proto::Tone> tone = {}) const;
  /// Launchers, processes.
  std::size_t alive() const;
  const std::vector<Host>& hosts() const { return plan_.hosts; }

private:
  static constexpr Duration kActorReaction = 3ms;  // at most

  // ---- what the simulation asks and tells
  void login_begins(std::uint32_t login, const proto::Login& action, Duration& now) override;
  LoginEnd login_end(std::uint32_t login) override;
  proto::Prepared prepared(std::uint32_t id, const proto::Prepare& action) override;
  bool has_power(std::uint32_t id) const override { return !unplugged_.contains(id); }
  std::uint32_t process_count() const override { return static_cast<std::uint32_t>(actors.size()); }
  sim::SimProcess& process_at(std::uint32_t number) override { return actors.at(number); }
  proto::ClientKind client_kind() const override { return proto::ClientKind::charm; }
  std::optional<Error> spawn_error(std::uint32_t id, const proto::Spawn& action) override;
  void begins(std::uint32_t process, Duration now) override;
  void hears(std::uint32_t process, const proto::ClientSend& message, Duration now) override;
  void is_paused(std::uint32_t, bool paused, Duration) override { pauses += paused ? 1 : 0; }
  bool takes_input(const proto::WriteInput& action) override;
  std::string input_left(std::uint32_t process) override { return std::exchange(actors[process].input, {}); }
  bool is_found(const proto::AdoptProcess& action) override { return !actors[action.process].hidden; }
  stacks::Seen does(std::uint32_t process) override {
    return act ? act(process) : sim::Simulation::does(process);
  }
  proto::Sight sight_of(std::uint32_t process) override { return actors[process].sight; }
  input::InputRead user_input_read(const input::ReadInput& action) override;
  Duration screen_stops() const override { return reader_stops; }
  Duration screen_goes_on() const override { return reader_goes_on; }
  std::string signature(const proto::Sign& action) override;
  void wrong(std::string what) override { throw std::logic_error(what); }
  void performs(std::uint32_t id, const proto::Action& action, Duration now) override;
  bool sends(std::uint32_t wire, bool up, wire::Message& message, Duration& now) override;
  void launcher_ends(std::uint32_t, Duration now) override { last_exit_at = now; }
  void process_ends(std::uint32_t, Duration now) override { last_exit_at = now; }

  void watch(std::uint32_t id, const proto::Finish& action);
  void watch(std::uint32_t id, const proto::RunOver& action);
  void watch(std::uint32_t id, const proto::Signed& action);
  void watch(std::uint32_t id, const proto::Signal& action);
  void watch(std::uint32_t id, const proto::StopSelf& action);
  void watch(std::uint32_t, const proto::Record& action);
  void watch(std::uint32_t, const proto::Show& action);
  void watch(std::uint32_t, const proto::LookAtClient&) { ++looks; }
  void watch(std::uint32_t, const proto::Say& action) { said.push_back(action); }
  void watch(std::uint32_t, const proto::StoreHostKey& action) { keys.push_back(action); }
  void watch(std::uint32_t, const proto::Sign& action) { signs.push_back(action); }
  void watch(std::uint32_t, const proto::KeepTree& action) { kept = action; }
  void watch(std::uint32_t, const proto::Examined& action) { checkups.push_back(action.checkup); }
  void watch(std::uint32_t, const proto::ProcessesKnown& action) { known.push_back(action); }
  void watch(std::uint32_t, const stacks::StacksSeen& action) { stacks.push_back(action); }
  void watch(std::uint32_t, const debug::DebugHeard& action) { debug.push_back(action); }
  void watch(std::uint32_t, const debug::ToolHeard& action) { tools.push_back(action); }
  void watch(std::uint32_t, const proto::Progress& action) { progress.push_back(action); }
  template <class A>
  void watch(std::uint32_t, const A&) {}

  void soon(std::function<void()> what) { at(now_ + random_.between(0ms, kActorReaction), std::move(what)); }
  std::uint32_t find(std::uint32_t host) const;
  void deliver(std::uint32_t id, proto::Event event) { take(ToNode{id, std::move(event)}); }

  void connect(Actor& actor);
  void fork(Actor& parent, std::uint32_t children, std::uint32_t first);
  void client_says(Actor& actor, std::string bytes);
  void hears_bytes(Actor& actor, const std::string& bytes);
  void hears_message(Actor& actor, std::string_view type, std::string_view payload);
  void next_step(Actor& actor);
  std::uint32_t number(const Actor& actor) const {
    return static_cast<std::uint32_t>(&actor - actors.data());
  }

  bool random_layout_, can_fork_;
  RootPlan plan_;
  std::vector<Outcome> outcomes_;  // of logins
  std::set<std::uint32_t> unplugged_;
  std::map<std::uint32_t, std::uint32_t> tries_of_;
  std::size_t input_at_ = 0;
};

}  // namespace charmtree::test
