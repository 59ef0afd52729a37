// SPDX-License-Identifier: Apache-2.0
// A device of this host, one port of it, and what queue pairs need of it. It is released in reverse order.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client-lib/ibverbs/failure.hpp"
#include "client-lib/ibverbs/told.hpp"

namespace charmtree::ibverbs {

/// Gives back what libibverbs has made.
template <auto kRelease>
struct Releases {
  void operator()(auto* object) const { kRelease(object); }
};
using Context = std::unique_ptr<ibv_context, Releases<&ibv_close_device>>;
using Domain = std::unique_ptr<ibv_pd, Releases<&ibv_dealloc_pd>>;
using Completions = std::unique_ptr<ibv_cq, Releases<&ibv_destroy_cq>>;
using QueuePair = std::unique_ptr<ibv_qp, Releases<&ibv_destroy_qp>>;

class Device {
public:
  struct Choice {
    std::string name;     // empty: any
    int port = 0;         // 0: any that is active
    int gid = -1;         // index; -1: the one that reaches farthest
    int mtu = 0;          // bytes, and no other; 0: what the port can
    int completions = 0;  // that its queue holds; 0: `useful`, or what a queue can
    int useful = 1;
    /// Of a device, where several may be chosen: the nearest one that can be used is.
    std::function<unsigned(ibv_device*)> distance;
  };
  Outcome open(const Choice& choice);

  /// "rxe0 port 1", for messages.
  std::string name() const;
  const Port& port() const { return port_; }
  ibv_pd* domain() const { return domain_.get(); }
  ibv_cq* completions() const { return completions_.get(); }
  std::uint64_t most_queue_pairs() const {
    return attributes_.max_qp > 0 ? static_cast<std::uint64_t>(attributes_.max_qp) : 0;
  }

  /// In INIT. `whose`: "the queue pair for rank 3", for messages.
  Outcome make(QueuePair& made, const ibv_qp_cap& capacity, const std::string& whose) const;
  /// From INIT to RTS.
  Outcome connect(ibv_qp& queue_pair, std::uint32_t own_psn, const Peer& peer,
                  const std::string& whose) const;

private:
  Outcome choose_port(const Choice& choice, const std::vector<ibv_device*>& devices);
  std::string try_port(const Choice& choice);
  std::string choose_gid(const Choice& choice, bool is_ethernet);
  Failure failed(const std::string& what) const;

  Context context_;
  Domain domain_;
  Completions completions_;
  ibv_device_attr attributes_{};
  std::uint8_t number_ = 0;  // of the port, from 1
  std::uint8_t gid_index_ = 0;
  Port port_;
};

}  // namespace charmtree::ibverbs
