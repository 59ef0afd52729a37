// SPDX-License-Identifier: Apache-2.0
// The queue pairs of a process with others of its job: with all of them at once, or when they are used first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client-lib/charmtree_verbs.h"
#include "client-lib/ibverbs/device.hpp"
#include "client-lib/ibverbs/failure.hpp"
#include "client-lib/ibverbs/launcher.hpp"
#include "client-lib/ibverbs/on_demand.hpp"
#include "client-lib/ibverbs/telling.hpp"

namespace charmtree::ibverbs {

class Mesh {
public:
  /// The job must outlive the object.
  explicit Mesh(ct_job* job) : launcher_(job, costs_) {}
  Mesh(const Mesh&) = delete;

  /// `when_made`: as that of OnDemand.
  Outcome open(const ct_verbs_options& options, OnDemand::WhenMade when_made);
  /// Once, by all processes. After a failure no queue pair is left of it; on demand others are told why.
  Outcome connect(int scheme);
  /// Waits until that one can be sent to.
  Outcome reach(int rank);

  /// Null: there is none that can receive.
  ibv_qp* queue_pair(int rank) const;
  const Device& device() const { return device_; }
  const ct_verbs_costs& costs() const { return costs_; }

private:
  Outcome open_device(const ct_verbs_options& options);
  /// Of devices from this process.
  std::function<unsigned(ibv_device*)> distances();
  Outcome connect_by(int scheme);
  /// CT_VERBS_RANGES or CT_VERBS_ON_DEMAND, as all agree.
  Outcome choose(int& scheme);
  Outcome connect_on_demand();
  Outcome connect_with_all(Telling& telling);
  Outcome make(Telling& telling);
  /// What all tell, if all have made theirs; else each has a failure.
  Outcome tell(Telling& telling, Outcome unmade, std::vector<std::string>& all);
  Outcome find(Telling& telling, const std::vector<std::string>& told, std::vector<Peer>& peers);
  Outcome make_all(unsigned threads, Made& made);
  Outcome connect_all(const std::vector<Peer>& peers);
  Outcome agree(bool is_connected);
  std::string prefix() const { return "charmtree ibverbs " + std::to_string(number_) + " "; }
  bool is_other(int rank) const { return rank >= 0 && rank < launcher_.size() && rank != launcher_.rank(); }

  ct_verbs_costs costs_{};
  Launcher launcher_;
  std::uint32_t number_ = 0;  // of this mesh among those that the process has connected, the same in all
  Device device_;
  Outcome unopened_;  // why it is not
  OnDemand::WhenMade when_made_;
  ibv_qp_cap capacity_{};
  unsigned threads_ = 0;
  std::uint64_t used_ = 0;  // others, as the program says; 0: all
  bool is_used_ = false;
  Made made_;  // with all
  std::optional<OnDemand> on_demand_;
};

}  // namespace charmtree::ibverbs
