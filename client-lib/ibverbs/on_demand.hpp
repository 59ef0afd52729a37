// SPDX-License-Identifier: Apache-2.0
// The queue pairs of a process that are made when they are used first: Pairs, with a device and a launcher.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "client-lib/ibverbs/device.hpp"
#include "client-lib/ibverbs/launcher.hpp"
#include "client-lib/ibverbs/pairs.hpp"

namespace charmtree::ibverbs {

class OnDemand final : private Maker {
public:
  /// Told of each queue pair that is made, when it can take what it is to receive.
  using WhenMade = std::function<void(std::uint32_t rank, ibv_qp* queue_pair)>;

  /// They must outlive the object. `unopened`: why the device is not. `prefix`: of the keys of this time, the
  /// same in all processes.
  OnDemand(Launcher& launcher, const Device& device, Outcome unopened, ct_verbs_costs& costs,
           const ibv_qp_cap& capacity, std::string prefix, WhenMade when_made);
  OnDemand(const OnDemand&) = delete;
  ~OnDemand() override;

  /// From now on others can have theirs.
  Outcome listen();
  /// Waits until that one can be sent to, or for the time-out of the job (CT_ETIMEDOUT): then it is to be
  /// called again.
  Outcome reach(std::uint32_t rank);
  /// Null: there is none that can receive.
  ibv_qp* queue_pair(std::uint32_t rank) const;

private:
  struct Open {
    std::uint32_t rank = 0;
    int request = -1;
  };

  Outcome make(std::uint32_t rank, Peer& own) override;
  Outcome connect(std::uint32_t rank, const Peer& own, const Peer& other) override;
  void release(std::uint32_t rank) override { queue_pairs_.erase(rank); }

  static void asked(ct_job* job, int rank, const char* key, void* self);
  void carry_out(Pairs::Actions actions);
  void send_asks();
  void collect();
  std::string why_unanswered(std::uint32_t rank) const;
  Outcome wait_for(std::uint32_t rank);

  Launcher& launcher_;
  const Device& device_;
  Outcome unopened_;
  ct_verbs_costs& costs_;
  ibv_qp_cap capacity_;
  std::string prefix_;
  WhenMade when_made_;
  std::map<std::uint32_t, QueuePair> queue_pairs_;
  std::deque<Pairs::Ask> asks_;  // to be sent
  std::vector<Open> open_;       // that were sent, and are not answered
  Outcome broken_;               // by the launcher
  Pairs pairs_;
};

}  // namespace charmtree::ibverbs
