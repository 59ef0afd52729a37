// SPDX-License-Identifier: Apache-2.0
// What a launcher is: one pure object with one `on(event, now, out)` and one `next_deadline()`, a switchboard
// of parts (proto::Turn). Root, inner and leaf are the same class; a root has a RootController (judgement,
// output, input) instead of a parent. The launcher on a real host and the simulator run this very object.
//
// Here is which part hears what, and in which order; what a part does with it is told there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "health/adoption.hpp"
#include "health/repairs.hpp"
#include "health/takeover.hpp"
#include "health/watch.hpp"
#include "tree/base/random.hpp"
#include "tree/job/output_part.hpp"
#include "tree/node/root_controller.hpp"
#include "tree/node/run_parts.hpp"
#include "tree/overlay/launch_part.hpp"
#include "tree/overlay/parent.hpp"
#include "tree/overlay/signing_part.hpp"
#include "tree/overlay/trust.hpp"
#include "tree/turn/events.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree {

class Node : private proto::Turn {
public:
  /// A root; it starts with Begin. RootPlan::takes_over: of a tree that there is.
  Node(RootPlan plan, std::uint64_t seed);
  /// Any other launcher; it starts with its parent's Welcome (or Sweep). If none has come within `first_word`
  /// of the first event, it ends: of a host that has lost its power, sshd does not notice that for hours.
  /// `most_links`: to launchers that it starts (LaunchConfig).
  explicit Node(std::uint64_t seed, Duration first_word = kFirstWord, std::size_t most_links = SIZE_MAX);

  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Handles one event and appends what the shell must do, in order. Never blocks or throws; `now` must not
  /// go back. After a Finish action every event is ignored.
  void on(proto::Event event, Instant now, proto::Actions& out);
  /// When a Tick is wanted at the latest.
  Instant next_deadline() const;
  /// The host of a launcher that has been welcomed.
  std::uint32_t host() const { return place_.self.index; }
  /// Root: the job's hosts, with the processes that they have got.
  const std::vector<Host>& hosts() const { return root_->hosts(); }
  /// Of the root.
  proto::JobStatus status() const { return root_->status(); }
  /// The job's end has begun.
  bool ending() const { return run_->shutdown.has_begun(); }
  /// Nobody of the tree that was to be taken over could be asked: it may wait for another root still.
  bool leaves_job() const { return leaves_job_; }
  /// It stays for the next run of the program.
  bool idle() const { return run_->shutdown.is_idle(); }
  bool suspended() const { return clock_.stands(); }
  /// What the sender at the other end of this link may speak for, at present.
  wire::Remit remit(proto::LinkId link) const;

  /// A parent speaks at once when a login has succeeded, unless its host is very busy.
  static constexpr Duration kFirstWord = 2min, kUnbounded = Duration::max();

private:
  // What has come (node_messages.cpp).
  void hear(proto::Event event);
  void hear_link(proto::LinkMessage event);
  void from_parent(const wire::Message& message);
  void from_child(proto::Child& child, proto::LinkId link, wire::Message message);
  void welcome(const wire::Welcome& message);
  void done(proto::Child& child, proto::LinkId link, const wire::Done& message);
  void lose_silent(const proto::LinkSilent& silent);

  // A turn's end.
  void root_turn();
  void pass_on(const RootOrders& orders);
  void advance_end();

  // Launchers above and below.
  void lose(proto::LinkId link, const Error& error);
  void tell_loss(const proto::Child& child, proto::LinkId link, const Error& error);
  void forget(const proto::Child& child, proto::LinkId link);
  void lose_parent(const Error* visibly);
  void follow(const wire::Claim& claim);
  void end_takeover();

  // The job stops, goes on, ends, begins again.
  void suspend(bool on);
  void end(const wire::End& order);
  void rest();
  void finish();
  void begin_run(const wire::Blob& job);

  // As parts see it (proto::Turn).
  proto::Seat seat() override;
  proto::WayUp way_up() const override { return parent_.way_up(); }
  void tell_up(wire::Message message) override;
  using Turn::tell_up;
  void hand_up(wire::Message message) override;
  void hand_down_all(const wire::Message& message) override;
  void hand_down(std::uint32_t process, const wire::Message& message) override;
  void hand_down_by(proto::LinkId child, wire::Message message) override;
  bool is_here(std::uint32_t process) const override { return run_->host.contains(process); }
  std::optional<proto::LinkId> way_to(std::uint32_t process) const override;
  void give_up(proto::LinkId link, const Error& error) override;
  void tell(const proto::News& news) override;

  Random random_;
  std::size_t most_links_ = SIZE_MAX;
  proto::Place place_;
  std::unique_ptr<RootController> root_;  // null: no root
  proto::Parent parent_;
  // The tree.
  proto::LaunchPart launch_;
  proto::Trust trust_;  // in the children
  proto::SigningPart signing_;
  std::optional<proto::OutputPart> output_;  // of a launcher that knows its job
  proto::StartupTimes times_;
  health::Watch watch_;
  health::Repairs repairs_{random_};
  health::Adoption adoption_{random_};
  std::optional<health::Takeover> takeover_;  // while it lasts
  health::KeptTree kept_tree_;
  bool leaves_job_ = false;
  // The present run of the program.
  std::optional<RunParts> run_;
  Instant stop_at_ = kNever;  // SIGSTOP for suspended processes; in real time
};

}  // namespace charmtree
