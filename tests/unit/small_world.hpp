// SPDX-License-Identifier: Apache-2.0
// A small deterministic world for the launcher's engine: a root and the launchers that it starts, joined by
// links with a random but seeded latency, on hosts and with processes that follow a script. It runs the very
// Node that a real launcher runs and feeds every message through the wire format. No sockets, no wall clock;
// the same plan and seed give the same run, action by action. Every launcher's clock is off by its own skew.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tree/job/run_plan.hpp"
#include "tree/node/node.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree::test {

inline constexpr Duration kForever = Duration::max();

/// What one process does, and what happened to it.
struct Actor {
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
  bool stubborn = false;           // only SIGKILL ends it
  bool deaf = false;               // takes nothing of its input
  bool outlives_launcher = false;  // a launcher that dies does not take it along
  std::optional<Error> spawn_error;
  std::vector<std::string> chunks;  // plain: written to stdout
  std::uint32_t barriers = 9;
  std::uint32_t lines = 1;
  std::string scan_format;
  int scans = 1;
  int ending = 0;
  bool old = false;                            // of Charm++ 6.8
  bool verbs = false;                          // exchanges queue pairs after its barriers
  proto::Sight sight = proto::Sight::running;  // if it is looked at

  // What happened.
  bool spawned = false, alive = false;
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
  std::size_t launcher = 0;
  proto::ClientId client = 0;  // 0: not connected
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

class SmallWorld {
public:
  explicit SmallWorld(const Plan& plan);

  // ---- to be set before run()
  std::vector<Actor> actors;                                        // by process number
  std::function<Outcome(const Try&)> login;                         // empty: all succeed
  std::function<std::optional<Error>(std::uint32_t host)> prepare;  // empty: all are ready
  std::function<proto::CpuMap(std::uint32_t host)> cpus;            // empty: one PU
  std::function<std::string(const proto::Sign&)> agent;             // the root's; empty: it signs all
  std::string user_input;                                           // stdin of the root, then its end
  std::function<void()> run_over;                                   // of a session; may call next_run()
  Duration reader_stops = kForever, reader_goes_on{0};              // of the root's output
  /// Something from outside, at that time.
  void at(Duration when, std::function<void()> what) { schedule(when, std::move(what)); }

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
  void kill_process(std::uint32_t process, int signal) { dies(actors[process], 0, signal); }
  /// One to go on ends what a StopSelf has begun.
  void user_signal(int signal);
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
  std::vector<proto::Progress> progress;
  std::size_t stops = 0;     // of the root
  std::size_t reads = 0;     // of the user's stdin
  std::uint32_t pauses = 0;  // of pipes and clients, that were not read
  std::uint32_t looks = 0;   // at processes that say nothing
  std::uint64_t trace = 0;   // hash of all actions of all launchers, in order

  bool said_anywhere(std::string_view words, std::optional<proto::Tone> tone = {}) const;
  /// Launchers, processes.
  std::size_t alive() const;
  const std::vector<Host>& hosts() const { return plan_.hosts; }

private:
  struct Wire {
    std::size_t parent, child;
    proto::LinkId link;
    bool parent_open = true, child_open = true;
    Duration last_up{0}, last_down{0};  // arrivals keep their order
    wire::LinkReader up{wire::LinkReader::From::child}, down{wire::LinkReader::From::parent};
  };
  using WireRef = std::shared_ptr<Wire>;
  struct Launcher {
    std::uint32_t host = wire::kRootIndex;
    std::unique_ptr<Node> node;
    Duration skew{0};
    bool alive = true, frozen = false, unplugged = false;
    Instant armed = kNever;
    WireRef to_parent, to_adopter;
    std::string adoption_socket = {};
    std::map<proto::LinkId, WireRef> children;  // null: logging in
    std::map<std::uint64_t, std::string> spool;
  };
  enum class Direction : bool { up, down };
  static constexpr Duration kReaction = 3ms;  // of a process or a shell, at most

  void schedule(Duration when, std::function<void()> what);
  void soon(Duration most, std::function<void()> what) {
    schedule(now_ + random_.between(0ms, most), std::move(what));
  }
  Instant local(const Launcher& launcher) const { return Instant{now_ + launcher.skew}; }
  std::size_t find(std::uint32_t host) const;
  void start_root(const RootPlan& plan);
  void deliver(std::size_t id, const proto::Event& event);
  void arm(std::size_t id);
  void leave(std::size_t id);
  void send(const WireRef& wire, Direction direction, const wire::Message& message);
  void arrive(const WireRef& wire, Direction direction, const std::string& bytes);
  proto::LinkId link_of(const WireRef& wire, Direction direction) const;
  void close(const WireRef& wire, Direction direction);
  void hang_up(const WireRef& wire, Direction direction, const char* why);

  void perform(std::size_t id, const proto::Login& action);
  void perform(std::size_t id, const proto::CancelLogin& action);
  void perform(std::size_t id, const proto::Signed& action);
  void perform(std::size_t id, const proto::Sign& action);
  void perform(std::size_t id, const proto::Send& action);
  void perform(std::size_t id, const proto::CloseLink& action);
  void perform(std::size_t id, const proto::Relay& action);
  void perform(std::size_t id, const proto::ReplaceParent&);
  void perform(std::size_t id, const proto::Probe& action);
  void perform(std::size_t id, const proto::Prepare& action);
  void perform(std::size_t id, const proto::Spawn& action);
  void perform(std::size_t id, const proto::Adopt& action);
  void perform(std::size_t id, const proto::Signal& action);
  void perform(std::size_t id, const proto::KillLeftovers& action);
  void perform(std::size_t id, const proto::ClientSend& action);
  void perform(std::size_t id, const proto::ClientClose& action);
  void perform(std::size_t id, const proto::DrainOutput& action);
  void perform(std::size_t id, const proto::WriteInput& action);
  void perform(std::size_t id, const proto::RecallPipe& action);
  void perform(std::size_t id, const proto::ReadInput& action);
  void perform(std::size_t id, const proto::Finish& action);
  void perform(std::size_t id, const proto::Show& action);
  void perform(std::size_t, const proto::ResizeTerminal&) {}
  void perform(std::size_t id, const proto::PauseOutput& action);
  void perform(std::size_t id, const proto::PauseClient& action);
  void perform(std::size_t id, const proto::LookAtClient& action);
  void perform(std::size_t id, const proto::SpoolWrite& action);
  void perform(std::size_t id, const proto::SpoolRead& action);
  void perform(std::size_t, const proto::ReleaseKeys&) {}
  void perform(std::size_t id, const proto::StopSelf&);
  void perform(std::size_t, const proto::ReadHosts&) {}
  void perform(std::size_t, const proto::Say& a) { said.push_back(a); }
  void perform(std::size_t, const proto::StoreHostKey& a) { keys.push_back(a); }
  void perform(std::size_t, const proto::Record& a) {
    if (a.error) failures.push_back(a);
    stamps.push_back(a.stamps);
  }
  void perform(std::size_t, const proto::KeepTree& a) { kept = a; }
  void perform(std::size_t, const proto::Examined& a) { checkups.push_back(a.checkup); }
  void perform(std::size_t, const proto::Progress& a) { progress.push_back(a); }
  void perform(std::size_t id, const proto::RunOver& action);
  void start(std::size_t id, const proto::Login& action, const Outcome& outcome);
  void record(std::size_t id, const proto::Action& action);

  void play(Actor& actor);
  void connect(Actor& actor);
  void fork(Actor& parent, std::uint32_t children, std::uint32_t first);
  void says(Actor& actor, std::string bytes);
  void hears(Actor& actor, const std::string& bytes);
  void hears(Actor& actor, std::string_view type, std::string_view payload);
  void next_step(Actor& actor);
  void dies(Actor& actor, int code, int signal);
  std::uint32_t number(const Actor& actor) const {
    return static_cast<std::uint32_t>(&actor - actors.data());
  }

  bool random_layout_, can_fork_;
  RootPlan plan_;
  Random random_;
  Duration now_{0};
  std::map<std::pair<Duration, std::uint64_t>, std::function<void()>> queue_;
  std::uint64_t sequence_ = 0;
  proto::ClientId next_client_ = 1;
  std::vector<std::unique_ptr<Launcher>> launchers_;
  std::size_t root_ = 0;  // of these
  std::map<std::uint32_t, std::uint32_t> tries_of_;
  std::map<std::pair<std::size_t, proto::LinkId>, std::pair<proto::Login, Outcome>> unsigned_;
  std::size_t input_at_ = 0;
  bool stopped_ = false;            // the root, by itself
  std::vector<proto::Event> held_;  // for it
};

}  // namespace charmtree::test
