// SPDX-License-Identifier: Apache-2.0
// A tree of launchers in simulated time. It runs the very Node that a real launcher runs and carries out each
// of its actions: logins, links, processes, disks and the user's screen are simulated. A launcher does one
// thing after the other: each event and each action costs it time (Settings), and what comes while it is busy
// waits. One seed, one run, event by event.
// What the hosts are like, what the processes do and what goes wrong, a derived class says: World draws it
// from the seed and checks what comes of it; test::SmallWorld has it from a unit test.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "input/events.hpp"
#include "stacks/stack_frames.hpp"
#include "staging/events.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/settings.hpp"
#include "tree/node/node.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree::sim {

/// What a launcher's system knows of a process.
struct SimProcess {
  std::uint32_t launcher = kNobody;
  std::uint32_t lives_before = 0;  // so many processes had its number before it
  bool alive = false;
  bool connected = false;  // as a client, whose name is made of its number and lives_before
  bool stubborn = false;   // only SIGKILL ends it
  bool held = false;       // it has yet to begin
  bool crashed = false;    // and has left a core file

  /// What its kernel calls that of this number; nobody else is called so.
  std::uint32_t id(std::uint32_t number) const { return (number + 1) * kLives + lives_before % kLives; }
  static constexpr std::uint32_t kLives = 256;
};

class Simulation {
public:
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

protected:
  Simulation(const Settings& settings, std::uint64_t seed);
  virtual ~Simulation();

  static constexpr Duration kReaction = 1ms;  // of a process, at most

  // ---- what can happen
  struct ToNode {
    std::uint32_t to;
    proto::Event event;
  };
  struct Arrival {
    std::uint32_t wire;
    bool up;
    wire::Message message;  // unless it is coded
    std::string coded;
    std::size_t bytes;
  };
  /// One end learns that the other is gone.
  struct HangUp {
    std::uint32_t wire;
    bool up;
    std::string why;
  };
  /// A login has ended.
  struct Answer {
    std::uint32_t login;
  };
  /// A process does something.
  struct Step {
    std::uint32_t process;
    std::uint8_t act;        // the derived class knows which
    std::uint32_t life = 0;  // only in that one
  };
  struct Dies {
    std::uint32_t process;
    int code, signal;
    std::uint32_t life = 0;
  };
  /// So much output has been written.
  struct Written {
    std::uint32_t root;
    std::size_t cost;
  };
  /// A launcher is free and takes the first thing that waits for it.
  struct Wake {
    std::uint32_t to;
  };
  /// Anything else, which waits for no launcher.
  using Call = std::function<void(Duration now)>;
  using Happening = std::variant<ToNode, Arrival, HangUp, Answer, Step, Dies, Written, Wake, Call>;

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
    bool is_stopped = false;                          // it is never free
    std::vector<std::unique_ptr<Happening>> waiting;  // till then, from `next` on
    std::size_t next = 0;
    Instant armed = kNever;
    Duration ticked_at{-1};
    std::uint32_t ticks = 0;  // at that time
    bool is_welcomed = false;
    std::string adoption_socket;  // empty: it has none
    std::map<proto::LinkId, Slot> children;
    std::set<std::uint32_t> started;  // processes; others may have started them since
    wire::Blob table;                 // that they share
    std::string spool;                // its file
    std::vector<std::string> staged;  // the job's files, as far as they are there
    std::shared_ptr<const wire::StagedFiles> files;
    std::optional<proto::Prepare> waits_for_files;
    Duration disk_free_at{0};
  };
  struct Login {
    std::uint32_t launcher, host;
    proto::LinkId link;
    bool is_over = false;
    enum class Signature : std::uint8_t { none, wanted, refused, given } signature = Signature::none;
  };
  struct LoginEnd {
    std::optional<Error> error = {};
    HostKey key = {};
    std::string to_sign = {};  // it succeeds if the root signs this; empty: without
  };

  // ---- what the derived class says of the world; `now` is moved on by what it costs the launcher
  /// It puts an Answer to the time at which the login ends, if ever it does.
  virtual void login_begins(std::uint32_t login, const proto::Login& action, Duration& now) = 0;
  virtual LoginEnd login_end(std::uint32_t login) = 0;
  virtual proto::Prepared prepared(std::uint32_t id, const proto::Prepare& action) = 0;
  /// The host of the launcher acknowledges what arrives, whatever the launcher does.
  virtual bool has_power(std::uint32_t id) const = 0;
  virtual std::uint32_t process_count() const = 0;
  virtual SimProcess& process_at(std::uint32_t number) = 0;
  virtual proto::ClientKind client_kind() const = 0;
  virtual std::optional<Error> spawn_error(std::uint32_t id, const proto::Spawn& action) = 0;
  /// The process lives and is connected.
  virtual void hears(std::uint32_t process, const proto::ClientSend& message, Duration now) = 0;
  /// The process has been started.
  virtual void begins(std::uint32_t process, Duration now) = 0;
  virtual void steps(const Step&, Duration) {}
  /// Nobody reads what it prints, or somebody does again.
  virtual void is_paused(std::uint32_t, bool /*paused*/, Duration) {}
  /// False: it does not read what is written to it.
  virtual bool takes_input(const proto::WriteInput&) { return true; }
  virtual std::string input_left(std::uint32_t) { return {}; }
  virtual bool is_found(const proto::AdoptProcess&) { return true; }
  /// What a process of a host does.
  virtual stacks::Seen does(std::uint32_t /*process*/) { return {{"main", "work"}}; }
  virtual proto::Sight sight_of(std::uint32_t) { return proto::Sight::running; }
  /// The user's stdin, screen and keys.
  virtual input::InputRead user_input_read(const input::ReadInput&) { return {{}, true}; }
  virtual Duration screen_stops() const { return ms(settings_.stop); }
  virtual Duration screen_goes_on() const { return ms(settings_.stop + settings_.stop_for); }
  virtual std::string signature(const proto::Sign&) { return {}; }

  // ---- what the derived class is told
  /// A launcher has done what makes no sense.
  virtual void wrong(std::string what) = 0;
  /// A launcher's turn has given these actions.
  virtual void acts(std::uint32_t, const proto::Actions&) {}
  /// One of them is carried out next.
  virtual void performs(std::uint32_t, const proto::Action&, Duration) {}
  /// False: nothing is sent. The message may be changed.
  virtual bool sends(std::uint32_t /*wire*/, bool /*up*/, wire::Message&, Duration& /*now*/) { return true; }
  virtual void receives(std::uint32_t, const wire::Message&) {}
  /// The other end of the wire has sent what is no message that it may send.
  virtual void broke_protocol(std::uint32_t /*wire*/, bool /*up*/) {}
  virtual void login_over(std::uint32_t) {}
  virtual void launcher_begins(std::uint32_t /*id*/, std::uint32_t /*parent*/, Duration) {}
  virtual void launcher_ends(std::uint32_t, Duration) {}
  virtual void process_begins(std::uint32_t, const proto::Spawn&, Duration) {}
  virtual void process_ends(std::uint32_t, Duration) {}

  // ---- time
  void put(Duration at, Happening happening);
  /// Takes what happens next. False: nothing does before that time is over.
  bool step(Duration limit);
  bool is_anything_left() const { return !queue_.empty(); }
  /// At once, or when the launcher that it concerns is free.
  void take(std::unique_ptr<Happening> what, Duration now);
  void take(Happening what) { take(std::make_unique<Happening>(std::move(what)), now_); }
  /// Returns when the launcher is free again.
  Duration turn(std::uint32_t id, const proto::Event& event, Duration now);
  void cost(std::uint32_t id, Duration& now, Duration what) const;
  /// It does nothing from now on; what comes waits.
  void stop(std::uint32_t id);
  void go_on(std::uint32_t id, Duration now);

  // ---- launchers and links
  /// So many bytes it takes on the wire, about.
  std::size_t estimate(const wire::Message& message) const;
  void begin_root(RootPlan plan, Duration now);
  /// A launcher's process ends, however; its links break off behind what it has said.
  void leave(std::uint32_t id, Duration now);
  /// The end on this side of the link closes; the other learns it behind whatever is under way.
  void hang_up(std::uint32_t wire, bool up, Duration now, std::string why);
  void happen(HangUp& what, Duration now);
  void send(std::uint32_t wire, bool up, wire::Message message, Duration& now);
  /// The launchers at the ends of a wire, as what goes up or down sees them.
  std::uint32_t receiver(std::uint32_t wire, bool up) const;
  std::uint32_t sender(std::uint32_t wire, bool up) const { return receiver(wire, !up); }

  // ---- processes
  void says(std::uint32_t process, std::string bytes, Duration& now);
  void exits(std::uint32_t process, int code, int signal, Duration now);
  proto::ClientId client_of(std::uint32_t process);
  /// Nobody, if it can be none of ours.
  std::uint32_t process_of(proto::ClientId client) const;
  std::uint32_t life_of(proto::ClientId client) const;

  void note(std::uint64_t value) { trace_ = hash_of(value, trace_); }
  template <class What>
  void log(Duration now, std::uint32_t id, const What& what) const;

  Settings settings_;
  Random random_;
  Network network_;
  Duration now_{0};
  std::deque<Launcher> launchers_;
  std::uint32_t root_ = 0;                                // of these
  std::vector<std::vector<std::uint32_t>> launchers_on_;  // by host
  std::deque<Wire> wires_;
  std::deque<Login> logins_;
  Duration screen_free_at_{0};
  std::size_t unwritten_ = 0;  // of output, at the screen
  std::uint64_t events_ = 0;
  std::uint64_t trace_ = 0;  // hash of all that happened

private:
  struct Entry {
    Duration at;
    std::uint64_t sequence;
    std::unique_ptr<Happening> what;
    friend bool operator<(const Entry& a, const Entry& b) {  // std::push_heap: the largest on top
      return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }
  };
  struct Readers {
    wire::LinkReader up{wire::LinkReader::From::child, node::kMessageTypes},
        down{wire::LinkReader::From::parent, node::kMessageTypes};
  };

  std::uint32_t waits_for(const Happening& happening);
  void happen(ToNode& what, Duration now);
  void happen(Arrival& what, Duration now);
  void happen(const Answer& what, Duration now);
  void happen(const Step& what, Duration now);
  void happen(const Dies& what, Duration now);
  void happen(const Written& what, Duration now);
  void happen(const Wake& what, Duration now);
  void happen(const Call& what, Duration now) { what(now); }
  void arm(std::uint32_t id, Duration now);
  void count_tick(Launcher& launcher, Duration now);

  // ---- actions; `now` is moved on by what they cost
  void perform(std::uint32_t id, const proto::Login& action, Duration& now);
  void perform(std::uint32_t id, const proto::CancelLogin& action, Duration& now);
  void perform(std::uint32_t id, const proto::Signed& action, Duration& now);
  void perform(std::uint32_t id, const proto::Send& action, Duration& now);
  void perform(std::uint32_t id, const proto::CloseLink& action, Duration& now);
  void perform(std::uint32_t id, const proto::Relay& action, Duration& now);
  void perform(std::uint32_t id, const proto::ReplaceParent& action, Duration& now);
  void perform(std::uint32_t id, const proto::Probe& action, Duration& now);
  void perform(std::uint32_t id, const proto::Prepare& action, Duration& now);
  void perform(std::uint32_t id, const proto::Spawn& action, Duration& now);
  void perform(std::uint32_t id, const proto::AdoptProcess& action, Duration& now);
  void perform(std::uint32_t id, const proto::Signal& action, Duration& now);
  void perform(std::uint32_t id, const proto::KillLeftovers& action, Duration& now);
  void perform(std::uint32_t id, const proto::ClientSend& action, Duration& now);
  void perform(std::uint32_t id, const proto::ClientClose& action, Duration& now);
  void perform(std::uint32_t id, const proto::DrainOutput& action, Duration& now);
  void perform(std::uint32_t id, const proto::PauseOutput& action, Duration& now);
  void perform(std::uint32_t id, const proto::PauseClient& action, Duration& now);
  void perform(std::uint32_t id, const proto::LookAtClient& action, Duration& now);
  void perform(std::uint32_t id, const proto::LookForMpi& action, Duration& now);
  void perform(std::uint32_t id, const stacks::ReadStacks& action, Duration& now);
  void perform(std::uint32_t id, const debug::Debug& action, Duration& now);
  void perform(std::uint32_t id, const debug::RunTool& action, Duration& now);
  void perform(std::uint32_t id, const proto::SpoolWrite& action, Duration& now);
  void perform(std::uint32_t id, const proto::SpoolRead& action, Duration& now);
  void perform(std::uint32_t id, const staging::FindFiles& action, Duration& now);
  void perform(std::uint32_t id, const staging::WritePiece& action, Duration& now);
  void perform(std::uint32_t id, const staging::ReadPiece& action, Duration& now);
  void perform(std::uint32_t id, const staging::FilesStaged& action, Duration& now);
  void perform(std::uint32_t id, const proto::WriteInput& action, Duration& now);
  void perform(std::uint32_t id, const input::RecallPipe& action, Duration& now);
  void perform(std::uint32_t id, const input::ReadInput& action, Duration& now);
  void perform(std::uint32_t id, const proto::Sign& action, Duration& now);
  void perform(std::uint32_t id, const proto::StopSelf& action, Duration& now);
  void perform(std::uint32_t id, const proto::Show& action, Duration& now);
  void perform(std::uint32_t id, const proto::Finish& action, Duration& now);
  // Nothing is done for these; the derived class is told of them.
  void perform(std::uint32_t, const proto::StartPmix&, Duration&) {}
  void perform(std::uint32_t, const proto::DescribeTopology&, Duration&) {}
  void perform(std::uint32_t, const input::ResizeTerminal&, Duration&) {}
  void perform(std::uint32_t, const input::ReleaseKeys&, Duration&) {}
  void perform(std::uint32_t, const proto::ReadHosts&, Duration&) {}
  void perform(std::uint32_t, const proto::Say&, Duration&) {}
  void perform(std::uint32_t, const proto::StoreHostKey&, Duration&) {}
  void perform(std::uint32_t, const proto::Record&, Duration&) {}
  void perform(std::uint32_t, const proto::FenceOver&, Duration&) {}
  void perform(std::uint32_t, const proto::AllInitialised&, Duration&) {}
  void perform(std::uint32_t, const proto::Examined&, Duration&) {}
  void perform(std::uint32_t, const proto::Progress&, Duration&) {}
  void perform(std::uint32_t, const proto::ProcessesKnown&, Duration&) {}
  void perform(std::uint32_t, const stacks::StacksSeen&, Duration&) {}
  void perform(std::uint32_t, const debug::DebugHeard&, Duration&) {}
  void perform(std::uint32_t, const debug::ToolHeard&, Duration&) {}
  void perform(std::uint32_t, const proto::RunOver&, Duration&) {}
  void perform(std::uint32_t, const proto::KeepTree&, Duration&) {}

  // ---- the job's files
  void make_ready(std::uint32_t id, const proto::Prepare& action, Duration& now);

  // ---- launchers and links
  std::uint32_t start_launcher(const Login& login, Duration now);
  void end_login(std::uint32_t number);
  /// What the end that hears calls it.
  proto::LinkId link_of(std::uint32_t wire, bool up) const;
  void receive(Arrival& what, Duration& now);
  void read(Arrival& what, Duration now);
  bool is_coded(std::uint32_t wire, const wire::Message& message) const;
  std::size_t tuples_in(const wire::Message& message) const;

  std::vector<Entry> queue_;
  std::uint64_t sequence_ = 0;
  std::map<std::uint32_t, Readers> readers_;  // by wire
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>
      tool_beside_;  // process, by launcher and session
};

}  // namespace charmtree::sim
