// SPDX-License-Identifier: Apache-2.0
// What a launcher is: one pure object with one `on(event, now, out)` and one `next_deadline()`, composed of
// the units of tree/proto. Root, inner and leaf are the same class; a root has a RootDesk (judgement, output,
// input) instead of a parent. The launcher on a real host and the simulator run this very object.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "charmrun/node/root_desk.hpp"
#include "charmrun/node/run_state.hpp"
#include "health/detector.hpp"
#include "tree/base/random.hpp"
#include "tree/proto/allowances.hpp"
#include "tree/proto/events.hpp"
#include "tree/proto/job_clock.hpp"
#include "tree/proto/launch.hpp"
#include "tree/proto/output_part.hpp"
#include "tree/proto/sign_gate.hpp"
#include "tree/proto/turn.hpp"

namespace charmtree {

/// An event that is for the part that carries output.
template <class E>
concept OfOutput = requires(proto::OutputPart& part, E&& event, proto::Turn& turn) {
  part.on(std::forward<E>(event), turn);
};

class Node : private RunState, private proto::Turn {
public:
  /// A root; it starts with Begin. RootPlan::takes_over: of a tree that there is.
  Node(RootPlan plan, std::uint64_t seed);
  /// Any other launcher; it starts with its parent's Welcome (or Sweep). If none has come within `first_word`
  /// of the first event, it ends: of a host that has lost its power, sshd does not notice that for hours.
  explicit Node(std::uint64_t seed, Duration first_word = kFirstWord)
      : random_(seed), first_word_(first_word) {}

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Handles one event and appends what the shell must do, in order. Never blocks or throws; `now` must not
  /// go back. After a Finish action every event is ignored.
  void on(proto::Event event, Instant now, proto::Actions& out);
  /// When a Tick is wanted at the latest.
  Instant next_deadline() const;
  /// The host of a launcher that has been welcomed.
  std::uint32_t host() const { return self_.index; }
  /// Root: the job's hosts, with the processes that they have got.
  const std::vector<Host>& hosts() const { return desk_->hosts(); }
  /// Of the root.
  proto::JobStatus status() const { return desk_->status(); }
  /// The job's end has begun.
  bool ending() const { return ending_ != Ending::no; }
  /// Nobody of the tree that was to be taken over could be asked: it may wait for another root still.
  bool leaves_job() const { return leaves_job_; }
  /// It stays for the next run of the program.
  bool idle() const { return over_ == Over::idle; }
  bool suspended() const { return clock_.stands(); }
  /// What the sender at the other end of this link may speak for, at present.
  wire::Remit remit(proto::LinkId link) const;

  /// A parent speaks at once when a login has succeeded, unless its host is very busy.
  static constexpr Duration kFirstWord = 2min, kUnbounded = Duration::max();

private:
  /// Slack that a launcher gives its children beyond its own SIGKILL before it reports them as unconfirmed:
  /// the root's, how much less it is at each level below, and the least.
  static constexpr Duration kChildSlack = 3s, kSlackPerLevel = 400ms, kLeastSlack = 1s;

  /// A launcher that comes so much later than it wanted has not run.
  static constexpr Duration kLate = 500ms;

  /// A login that is due so soon goes before starting processes; between two turns that start some, others
  /// have one.
  static constexpr Duration kLoginsFirst = 1ms, kSpawnPause = 20us;

  /// Between SIGTSTP and SIGSTOP.
  static constexpr Duration kStopAfter = 100ms;

  /// How long a launcher whose parent is gone waits to be adopted; how long one that has lost a child tries
  /// at least to reach that one again before it turns to those below, and how long it seeks these.
  static constexpr Duration kHoldOn = 3s, kReach = 1500ms, kSeek = 2500ms;

  /// How long a root that takes over seeks those that have lost theirs, and tries to reach each of them: the
  /// way there may be open again only now, and after that there is time for those below.
  static constexpr Duration kTakeOver = 15s, kInsist = kTakeOver - kSeek;

  void handle(const proto::Begin& event);
  void handle(const proto::LinkUp& event);
  void handle(const proto::LoginFailed& event);
  void handle(proto::LinkMessage&& event);
  void handle(const proto::LinkDown& event);
  void handle(const proto::SendRefused& event);
  void handle(const proto::InputRead& event);
  void handle(const proto::InputWritten& event);
  void handle(const proto::InputRecalled& event);
  void handle(const proto::WindowResized& event);
  void handle(const proto::HostsRead& event);
  void handle(const proto::UserSignal& event);
  void handle(const proto::LeftoversKilled& event);
  void handle(const proto::SignatureWanted& event);
  void handle(const proto::SignatureMade& event);
  void handle(const proto::NobodyWaits& event);
  void handle(const proto::Probed& event);
  void handle(const proto::NextRun& event);
  void handle(const proto::SessionEnds& event);
  void handle(const proto::Tick&) {}
  template <OfOutput E>
  void handle(E&& event) {
    if (output_) output_->on(std::forward<E>(event), *this);
  }
  // Prepared, Spawned, Adopted, SpawnFailed, ProcessOutput, ProcessExited, Client*: this host's processes.
  template <class E>
  void handle(const E& event);
  template <class E>
  void client_of_job(const E& event);

  void from_parent(const wire::Message& message);
  void from_child(proto::Child& child, proto::LinkId link, wire::Message message);
  bool allowed(proto::LinkId link, const wire::Message& message) const;
  bool allowed(proto::LinkId link, const wire::Facts& facts) const;
  bool watching_allowed(proto::LinkId link, const wire::Facts& facts) const;
  wire::Facts with_who_started(const proto::Child& child, wire::Facts facts) const;
  bool allowed(proto::LinkId link, const wire::HandBack& message) const;
  bool allowed(proto::LinkId link, const wire::QueuePairs& block) const;
  // How much a child may say.
  std::optional<Error> refusal(proto::LinkId link, const wire::Message& message);
  void note_told(proto::LinkId link, const wire::Message& message);
  void shorten_texts(proto::LinkId link, wire::Message& message);
  bool has_room(proto::LinkId link, const wire::Message& message);
  void leave_out_lines(proto::LinkId link, std::size_t from);
  void tell_left_out(bool all = false);
  void lose(proto::LinkId link, const Error& error);

  // Messages with work behind them.
  void welcome(const wire::Welcome& message);
  void sweep_for(const wire::Sweep& order);
  void relay_for(const wire::Adopt& order);
  void assign(const wire::Assign& more);
  void done(proto::Child& child, proto::LinkId link, const wire::Done& message);
  void hand_back(proto::LinkId link, const wire::HandBack& message);
  void sign_request(const wire::SignRequest& request);
  void sign_reply(const wire::SignReply& reply);
  void tell_gate(const wire::Facts& facts);
  void tell_gate(const wire::LinkLost& lost);
  void stamps(const proto::Child& child, wire::Stamps stamps);
  void checkup(const proto::Child& child, wire::Checkup checkup);
  void queue_pairs(const wire::QueuePairs& block);
  void spread(const wire::CcsSpread& piece);
  void request_own(const std::vector<std::uint32_t>& processes, const std::string& payload);
  void merge(proto::CcsFanout::Source source, const wire::CcsAnswer& piece);
  void pass_on(proto::CcsFanout::Answer answer);
  void lost_for_ccs(const proto::Child& child, proto::LinkId link);
  void table(const wire::Blob& blob);
  bool about_input(const wire::Message& message);
  void copy_input(const wire::Input& input);
  void end_copies();
  void tell_input_taken();
  void suspend(bool on);
  void advance_suspension();
  void begin_epoch(const wire::Message& message);
  void count_out(const std::vector<wire::ProcessSet::Range>& processes);
  void tell_loss(const proto::Child& child, proto::LinkId link, const Error& error);
  void leave(const proto::Child& child, proto::LinkId link);
  void lose_idle(const proto::Child& child, proto::LinkId link, const Error& error);
  void tell_fenced(std::uint32_t host);
  void note_moves(const wire::Message& message);
  void hurry_facts();
  void numbers(const wire::Numbers& message);
  void reshape(const wire::Reshape& order, proto::Upward& upward);
  void reshape(const wire::Reshape& message, const std::vector<wire::Share>& shares);
  void number_subtree(const std::vector<wire::Share>& shares);
  void begin_start();
  void make_processes();
  void start_processes();

  void down_all(const wire::Message& message);
  void down_to(std::uint32_t process, const wire::Message& message);
  void pass_on(const DeskOrders& orders);
  /// A message that goes on up, or to the desk.
  void up(wire::Message message);
  void up(proto::Upward upward);
  void facts(wire::Facts facts);
  void flush_gather();
  void own_stamps();

  bool output_is_waited_for();

  // As parts see it (node_turn.cpp).
  proto::WayUp way_up() const override;
  void hand_up(wire::Message message) override;
  void hand_down(std::uint32_t process, const wire::Message& message) override { down_to(process, message); }
  void hand_down_by(proto::LinkId child, wire::Message message) override;
  bool is_here(std::uint32_t process) const override;
  std::optional<proto::LinkId> way_to(std::uint32_t process) const override;
  void give_up(proto::LinkId link, const Error& error) override;
  void tell(const proto::News& news) override;

  // Who lives.
  void watch(proto::LinkId link);
  bool about_life(proto::LinkId link, const wire::Message& message);
  void watch_turn();
  void note_what_was_sent();
  void obey(const health::Detector::Orders& orders);
  bool is_this_machine(proto::LinkId link) const;

  // The tree is repaired: by who adopts, and by who is adopted.
  /// The launcher of a host, and maybe of others, cannot be reached any more the way it was.
  struct Repair {
    Error error;
    std::map<std::uint32_t, Host> hosts;    // at and below it
    Instant reach_by, end_by;               // in real time
    bool is_gone = false;                   // those below are sought instead
    Instant insist_until = Instant::min();  // a host that is not reached is tried again
    std::set<std::uint32_t> sought = {};    // hosts whose launchers are to be adopted
  };
  /// A claim that has not been answered.
  struct OpenClaim {
    std::string theirs, ours;  // nonces
  };
  bool can_repair(const proto::Child& child, proto::LinkId link, const Error& error) const;
  void begin_repair(const proto::Child& child, proto::LinkId link, const Error& error);
  void presume_gone(std::uint32_t host);
  void seek_below(Repair& repair, std::uint32_t host);
  bool is_lost(std::uint32_t host) const;
  void tell_lost(const Repair& repair, std::uint32_t host);
  void not_there(std::uint32_t host, const std::string& why);
  void not_reached(const Host& host, const Error& error);
  void end_repair(Repair& repair);
  void repair_turn();
  Instant repair_deadline() const;
  bool about_adoption(proto::Child& child, proto::LinkId link, const wire::Message& message);
  void seek_waiting(const proto::Child& child, proto::LinkId link);
  void claim(proto::Child& child, proto::LinkId link, const wire::Waiting& waiting);
  void claimed(const proto::Child& child, proto::LinkId link, const wire::Claimed& answer);
  void given_up();
  std::string nonce();
  std::string proof(const char* of, std::uint32_t host, const OpenClaim& claim) const;

  void take_over();
  void takeover_turn();
  void end_takeover();
  void find_nobody(const std::string& unreached);
  void catch_up(proto::LinkId link, const wire::Claimed& heir, const proto::Heritage& heritage);
  void keep_tree();

  void lose_parent(const Error* visibly);
  bool can_be_adopted() const;
  bool awaits_root() const;
  void offer();
  void from_adopter(const wire::Message& message);
  void adopted(const wire::Claim& claim);
  void catch_up(const wire::Claim& claim);
  void resend(const wire::Resend& order);
  void count_release(const wire::Message& message);

  void record_logins();
  void spawn_processes();
  void desk_turn();
  void words_become_notes();
  void show_real_times();
  Duration child_slack() const;
  void end(const wire::End& message);
  void advance_ending();
  void await_first_word();
  void finish();
  proto::Finish result();
  void show_rest();
  void rest();
  void tell_idle();
  void may_outlive_us(const proto::Child& child);
  void confirm(std::vector<std::uint32_t> hosts);
  void clean_up(proto::KillLeftovers order);
  void relaunch(const wire::Blob& job);
  void begin_run(const wire::Blob& job);
  void begin_output();

  /// The tree of a root that was lost is being taken over.
  struct Takeover {
    proto::TreeShape shape;
    std::map<proto::LinkId, wire::Claimed> heirs;  // who have been found, and what they had been told
    std::vector<wire::LinkLost> lost;              // who have not
    std::string unreached;                         // the first that nobody could ask, and why
  };

  Random random_;
  std::optional<Takeover> takeover_;
  std::unique_ptr<RootDesk> desk_;
  std::shared_ptr<wire::JobSpec> job_;
  Host self_;
  std::uint32_t level_ = 0;
  std::optional<proto::Launch> launch_;
  std::optional<proto::SignGate> sign_gate_;  // root: of all runs
  std::uint32_t refused_ = 0;                 // requests for signatures
  std::optional<proto::OutputPart> output_;   // of a launcher that knows its job
  proto::Allowances allowances_;              // of the children
  proto::JobClock clock_;
  wire::Stamps stamps_;  // of the first run
  bool stamped_ = false;
  bool logins_recorded_ = false;
  bool parent_gone_ = false;
  bool sweeper_ = false;
  Duration first_word_{0};
  Instant first_word_by_ = kNever;
  Instant hold_until_ = kNever;               // the parent is gone, and another may come; in real time
  std::optional<wire::Adopt> relay_;          // we were started for
  std::string nonce_;                         // told to who may adopt us
  Instant stop_at_ = kNever;                  // SIGSTOP for suspended processes; in real time
  std::optional<health::Detector> detector_;  // where launchers are watched

  // Of a job that repairs itself.
  std::map<std::uint32_t, Repair> repairs_;  // by the host of the launcher that was lost
  std::map<proto::LinkId, OpenClaim> claims_;
  bool tree_changed_ = true;  // since the last KeepTree
  bool leaves_job_ = false;
};

}  // namespace charmtree
