// SPDX-License-Identifier: Apache-2.0
// The shell around a Node: feeds it events, carries out its actions in order, and wakes it at its deadlines.
// This is the whole difference between a launcher on a real host and one in the simulator.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tree/io/asio.hpp"
#include "tree/io/host/host_runtime.hpp"
#include "tree/io/host/user_side.hpp"
#include "tree/io/link/links.hpp"

namespace charmtree {
class Node;
}

namespace charmtree::io {

class Runner : public UserEvents {
public:
  /// What waits for the parent above which nothing more is read from clients and children, and the rest at
  /// which reading goes on: answers to CCS requests, for instance. Output is far less, see
  /// proto::OutputQueue.
  static constexpr std::size_t kHighWater = 8U << 20, kLowWater = 2U << 20;
  /// What is queued may take so long before we stop ourselves.
  static constexpr Duration kFlush = 1s;
  /// The root: output is written if no more than this is not.
  static constexpr std::size_t kScreenRest = 512U << 10;

  /// `user` is null for launchers that are not the root. Both must outlive the runner; so must what
  /// `transports` names.
  Runner(asio::io_context& io, Node& node, Transports transports, ChildWatch& watch, UserSide* user);

  /// Hands an event to the node, now or, if a node turn is under way, right after it.
  void dispatch(proto::Event event) override;
  /// Not the root: the link to the parent.
  void open_parent(std::unique_ptr<Link> link) { links_.open_parent(std::move(link)); }
  /// Looks whether there is room for more; the user side calls it when its backlog has shrunk.
  void check_flow() override;

  /// The root: serves clients of the running job there; see ClientListener.
  Result<std::uint16_t> open_to_clients(const std::vector<std::uint32_t>& addresses, std::uint16_t port,
                                        bool any_user) {
    return host_.open_to_clients(addresses, port, any_user);
  }

  bool finished() const { return finished_; }
  const proto::Finish& result() const { return result_; }

private:
  void turn(proto::Event event);
  void execute(proto::Action& action);
  void perform(const proto::Prepare& action);
  void perform(const staging::ReadPiece& action);
  void perform(const proto::Finish& action);
  void drained(proto::LinkId link);
  template <class A>
  void for_user(A& action);
  void run_over(const proto::RunOver& action);
  void show(proto::Show& action);
  void arm_timer();
  void stop_self(Instant by);

  asio::io_context& io_;
  Node& node_;
  UserSide* user_;
  Links links_;
  HostRuntime host_;
  asio::steady_timer timer_, stop_timer_;
  Instant armed_ = kNever;
  std::deque<proto::Event> queue_;
  proto::Actions actions_;
  std::map<proto::LinkId, staging::ReadPiece> reads_;  // for links that have to be drained first
  bool in_turn_ = false;
  bool paused_ = false;
  std::uint64_t shown_ = 0;  // the cost of output that is not yet said to be written
  bool finished_ = false;
  proto::Finish result_{0, 0};
};

}  // namespace charmtree::io
