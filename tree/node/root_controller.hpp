// SPDX-License-Identifier: Apache-2.0
// What the root does beyond being a launcher: it shows output, serves input and scanf, passes judgement, and
// keeps the job's list of hosts. Pure: it answers with actions and with messages for the tree; the Node sends
// them. Each subject is a part, with its own state and deadline; here is what is said to which, and when.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ccs/router.hpp"
#include "health/crash_restarts.hpp"
#include "health/orphan_bound.hpp"
#include "health/program_restart.hpp"
#include "health/restarts_in_place.hpp"
#include "health/silence_report.hpp"
#include "kvs/inquiries.hpp"
#include "kvs/worlds.hpp"
#include "tree/job/binding_report.hpp"
#include "tree/job/job_resizing.hpp"
#include "tree/job/judge.hpp"
#include "tree/job/numbering.hpp"
#include "tree/job/progress_report.hpp"
#include "tree/job/root_turn.hpp"
#include "tree/job/run_end.hpp"
#include "tree/job/run_plan.hpp"
#include "tree/job/start_report.hpp"
#include "tree/job/time_limit.hpp"
#include "tree/job/user_signals.hpp"
#include "tree/node/root_plan.hpp"
#include "tree/node/services.hpp"
#include "tree/node/shown_lately.hpp"
#include "tree/overlay/new_host_keys.hpp"

namespace charmtree {

/// What the controller wants the Node to do.
struct RootOrders {
  std::vector<wire::Share> numbers;                              // the hosts' processes, to be told first
  bool start = false;                                            // or: every host starts those that it has
  std::vector<wire::Message> everyone;                           // to all children
  std::vector<std::pair<std::uint32_t, wire::Message>> process;  // to the launcher of that process
  std::vector<wire::Message> spread;                             // each by its component
  std::optional<wire::End> end;
  bool relaunch = false;                                  // RootController::next_run is due
  std::optional<bool> suspend;                            // or go on; after all else
  std::optional<wire::Reshape> reshape;                   // the hosts that there are get other processes ...
  std::vector<Host> new_hosts;                            // ... and these join
  std::vector<std::pair<std::uint32_t, Error>> given_up;  // processes, whose launchers are not to be heard
};

class RootController {
public:
  explicit RootController(RootPlan plan);
  /// The controller of the next run of the program. This one is of no use any more; job() stays the same
  /// object, with other contents. Precondition: RootOrders::relaunch.
  std::unique_ptr<RootController> next_run(Instant now);
  /// That of the next run of a session, which this one awaits. The same holds.
  std::unique_ptr<RootController> next_run(const proto::RunPlan& run, Instant now);
  /// The run of a session is over, and nothing of it is left but what is not confirmed.
  bool awaits_run() const { return end_.awaits_run(); }
  /// The session ends by this signal, with its run if there is one.
  void end_session(int signal) {
    end_.end_session(judge_);
    judge_.decision().interrupted(signal);
  }

  /// A job that no launcher could be told about is over at once.
  void begin(Instant now);
  bool has_begun() const { return start_.begun_at() != kNever; }
  /// As Judge. What was on its way to the root that was lost, input among it, does not come any more.
  void resume(const proto::InheritedState& inherited, Instant now, proto::Actions& out, RootOrders& orders);
  /// The job is over.
  void refuse(const Error& error) { judge_.refuse(error); }
  void facts(wire::Facts facts, Instant now);
  /// What a process has printed, in its turn.
  void output(wire::Output output, proto::Actions& out);
  /// Any other message from below that is for the root alone.
  void message(const wire::Message& message, Instant now, proto::Actions& out, RootOrders& orders);
  /// ClientOpened, ClientBytes and ClientClosed: of CCS.
  template <class E>
  void on(const E& event, Instant now, proto::Actions& out, RootOrders& orders) {
    if (!ccs_) return;
    if constexpr (std::is_same_v<E, proto::ClientBytes>)
      ccs_->on(event, now, out, orders.process);
    else
      ccs_->on(event, now, out);
  }
  /// Handles an event of a service's component at the root. `output_stalls`: see stalled().
  void on(const proto::Event& event, bool output_stalls, Instant now, proto::Actions& out,
          RootOrders& orders);
  void hosts_read(const proto::HostsRead& event, Instant now) { resizing_.on(event, judge_, now); }
  /// Those of tree/base/signals.hpp that a user sends.
  void signal(int signal, Instant now, proto::Actions& out, RootOrders& orders);
  /// Lifts the limits of the start while `output` (the user takes none), or while a debugger or a tool is
  /// connected.
  void stalled(bool output, Instant now);
  /// Hosts are getting the job's files: that may take longer than any start.
  void files_move(std::uint32_t percent, Instant now) { judge_.files_move(percent, now); }
  /// All launchers stay for the next run, but for those that were lost. `unconfirmed`: hosts on which
  /// something of this one may be left; `unbounded`: those of them where it may stay for ever.
  void idle(const std::set<std::uint32_t>& unconfirmed, const std::set<std::uint32_t>& unbounded, Instant now,
            proto::Actions& out);
  /// Since then a launcher was lost, and nothing else.
  void lost_idle() {
    if (restart_) restart_->lost_launcher();
  }
  /// Since then nothing is left on these either.
  void confirmed(const std::vector<std::uint32_t>& hosts) {
    if (restart_) restart_->confirmed(hosts);
  }
  /// Looks at what has changed: table, barriers, input, verdict. Called after every event.
  void turn(Instant now, proto::Actions& out, RootOrders& orders);
  Instant next_deadline() const;

  const std::shared_ptr<wire::JobSpec>& job() const { return job_; }
  const wire::Blob& coded_job() const { return coded_job_; }
  const std::vector<Host>& hosts() const { return hosts_; }
  const proto::Judge& judge() const { return judge_; }
  proto::JobStatus status() const;
  /// Processes that were silent when the job's end was decided.
  const wire::ProcessSet& silent_at_end() const { return silences_.at_end(); }

private:
  /// What the parts say, in one turn.
  class Turn final : public proto::RootTurn {
  public:
    Turn(RootController& controller, Instant now, proto::Actions& out, RootOrders& orders)
        : RootTurn(now, out, controller.judge_), root_(controller), out_(out), orders_(orders) {}

    void to_all(wire::Message message) override { orders_.everyone.push_back(std::move(message)); }
    void spread(wire::Message message) override { orders_.spread.push_back(std::move(message)); }
    void to(std::uint32_t process, wire::Message message) override {
      orders_.process.emplace_back(process, std::move(message));
    }
    void give_up_launcher_of(std::uint32_t process, Error why) override {
      orders_.given_up.emplace_back(process, std::move(why));
    }
    void tell(const proto::RootNews& news) override;

  private:
    RootController& root_;
    proto::Actions& out_;
    RootOrders& orders_;
  };

  RootController(RootPlan plan, std::shared_ptr<wire::JobSpec> job);
  void link_lost(const wire::LinkLost& lost, Instant now, proto::Actions& out, RootOrders& orders);
  void repaired(const wire::Reached& reached, Instant now, proto::Actions& out, RootOrders& orders);
  void number(Turn& turn, RootOrders& orders);
  void deliver_table(Turn& turn, proto::Actions& out, RootOrders& orders);
  void resize(Turn& turn, RootOrders& orders);
  void recover(Turn& turn, RootOrders& orders);
  void go_on(Turn& turn, RootOrders& orders);
  void tell_verdict(Turn& turn, proto::Actions& out, RootOrders& orders);
  void restart(Instant now, proto::Actions& out, RootOrders& orders);
  bool cancel_restart();
  bool is_restarting() const { return restart_ && restart_->is_due(); }
  bool stays() const;
  bool has_reader() const;
  input::InputRoot& input() { return services_.of<input::InputService>(); }

  std::shared_ptr<wire::JobSpec> job_;
  wire::Blob coded_job_;
  std::vector<Host> hosts_;
  proto::Judge judge_;
  std::uint32_t tables_ = 0;  // made
  // How it begins.
  proto::Numbering numbering_;
  proto::StartReport start_;
  proto::BindingReport bindings_;
  proto::NewHostKeys new_host_keys_;
  // What the user sees and does.
  std::optional<proto::ProgressReport> progress_;  // if somebody looks at it
  proto::SilenceReport silences_;
  ShownLately shown_lately_;
  proto::UserSignals signals_;
  std::optional<ccs::Router> ccs_;
  struct {
    proto::Inquiries inquiries;
    proto::Worlds worlds;
  } kvs_;
  node::RootComponents<node::Services> services_;
  // What is started again, or has to change.
  proto::OrphanBound orphan_bound_;
  proto::CrashRestarts crashes_;                    // of fault-tolerant Charm++ programs
  std::optional<proto::RestartsInPlace> in_place_;  // if single processes of others are started again
  proto::JobResizing resizing_;
  // How it ends.
  proto::TimeLimit time_limit_;
  proto::RunEnd end_;
  std::shared_ptr<const RootPlan> first_plan_;    // if the program may be started again as a whole
  std::optional<proto::ProgramRestart> restart_;  // then, too
};

}  // namespace charmtree
