// SPDX-License-Identifier: Apache-2.0
// The queue pairs of a process with all others of its job: made, told, connected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/charmtree_verbs.h"
#include "client-lib/ibverbs/device.hpp"
#include "client-lib/ibverbs/failure.hpp"
#include "client-lib/ibverbs/told.hpp"

namespace charmtree::ibverbs {

class Mesh {
public:
  /// The job must outlive the object.
  explicit Mesh(ct_job* job);

  Outcome open(const ct_verbs_options& options);
  /// Once, by all processes. After a failure nothing is left of it.
  Outcome connect(int scheme);

  ibv_qp* queue_pair(int rank) const;
  const Device& device() const { return device_; }
  const ct_verbs_costs& costs() const { return costs_; }

private:
  Outcome open_device(const ct_verbs_options& options);
  Outcome connect_by(int scheme);
  Outcome make_all(unsigned threads);
  Outcome connect_all(const std::vector<Peer>& peers);
  Outcome agree(bool is_connected);

  // By ranges: the turn of this process among those of its host; what each tells, by rank.
  Outcome describe(std::vector<KnownPort>& known, std::string& told);
  Outcome wait_for_turn(std::vector<KnownPort>& known);
  Outcome pass_turn(const std::vector<KnownPort>& known);
  void end_turn();
  int start(const std::vector<int>& ranks, std::string_view value);
  int wait(int request);
  Outcome gather(const std::string& own, std::vector<std::string>& all);
  Outcome gather_piece(std::string_view piece, std::vector<std::string>& all, bool& is_more);
  Outcome find_peers(const std::vector<std::string>& texts, std::vector<Peer>& peers) const;

  // By numbers.
  std::string number_key(std::uint32_t rank) const;
  Outcome offer_numbers();
  Outcome ask_numbers(const std::vector<std::string>& told, std::vector<Peer>& peers);

  Outcome offer(const std::string& key, const std::string& value);
  int ask(std::uint32_t rank, const std::string& key, std::string_view& value);

  std::uint32_t others() const { return static_cast<std::uint32_t>(size_ - 1); }
  /// Of the place-th other process.
  std::uint32_t rank_at(std::uint32_t place) const {
    return place < static_cast<std::uint32_t>(rank_) ? place : place + 1;
  }

  ct_job* job_;
  int rank_, size_;
  std::uint32_t number_ = 0;  // of this mesh among those that the process has connected, the same in all
  Device device_;
  Outcome unopened_;  // why it is not
  ibv_qp_cap capacity_{};
  unsigned threads_ = 0;
  std::uint32_t first_psn_ = 0;
  bool is_used_ = false;
  int turn_ = -1;                       // the request of handing it on
  std::vector<QueuePair> queue_pairs_;  // by the place of the other process
  ct_verbs_costs costs_{};
};

}  // namespace charmtree::ibverbs
