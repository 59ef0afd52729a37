// SPDX-License-Identifier: Apache-2.0
// A launch of many hosts in simulated time. It runs the very Node that a real launcher runs. A launcher does
// one thing after the other: a login costs it `postal.occupancy`, every message that it receives `receive`.
// Everything else takes time without costing any: links, logins, shells. One seed, one run, event by event.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "charmrun/node/node.hpp"
#include "tree/proto/postal.hpp"

namespace charmtree::sim {

struct Config {
  std::uint64_t seed = 1;
  std::uint32_t hosts = 1000;
  std::uint32_t processes_per_host = 1;
  wire::Shape shape;                      // {0, 0}: late binding
  proto::Postal postal;                   // what a login really costs
  double sigma = 0;                       // of the logarithm of the latency, whose median is postal.latency
  double dead = 0;                        // share of the hosts: no answer before `give_up`
  double refusing = 0;                    // share of the hosts: refuse at once
  std::vector<std::uint32_t> dead_hosts;  // these besides
  std::uint32_t batch = 0;
  Duration give_up = 10s;
  Duration link = 50us;     // one way, at least; plus an exponential tail of the same mean
  Duration receive = 20us;  // to read and merge one message
  Duration spawn = 600us;   // of one process
};

struct Outcome {
  Duration ideal{0};         // of a pool that everybody can take from at no cost
  Duration hosts_up{0};      // the last living host's hello was received by its parent
  Duration processes_up{0};  // the root has heard of every host
  std::uint32_t launchers = 0, dead = 0;
  std::uint64_t events = 0;
  std::uint32_t deepest = 0, widest = 0;
  std::uint64_t trace = 0;  // hash of all that happened
  std::vector<std::string> wrong;
};

class World {
public:
  explicit World(const Config& config);
  /// Until every host has answered or been given up.
  Outcome run();

private:
  struct Launcher {
    std::unique_ptr<Node> node;
    std::uint32_t host, parent, level;
    proto::LinkId link;  // of the parent, to this one
    Duration free_at{0};
    Instant armed = kNever;
    std::map<proto::LinkId, std::uint32_t> children;  // launchers; kNobody: logging in
    Duration last_up{0}, last_down{0};                // arrivals on the link to the parent keep their order
  };
  struct Happening {
    Duration at;
    std::uint64_t sequence;
    std::uint32_t to;
    std::unique_ptr<proto::Event> event;
    friend bool operator<(const Happening& a, const Happening& b) {  // std::push_heap: the largest on top
      return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }
  };
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  void put(Duration at, std::uint32_t to, proto::Event event);
  void deliver(Happening happening);
  void arm(std::uint32_t id, Duration now);
  void send(std::uint32_t id, Duration at, const proto::Send& action);
  void login(std::uint32_t id, Duration at, const proto::Login& action);
  void perform(std::uint32_t id, const proto::Action& action, Duration& now);
  void draw_latencies();
  Duration ideal() const;
  void note(std::uint64_t value) { outcome_.trace = (outcome_.trace ^ value) * 0x100000001B3ULL; }

  Config config_;
  Random random_;
  std::vector<bool> dead_, refusing_, started_;
  std::uint32_t living_ = 0, answered_ = 0;
  std::vector<Happening> queue_;
  std::uint64_t sequence_ = 0;
  std::deque<Launcher> launchers_;   // 0: the root
  std::vector<Duration> latencies_;  // by host
  std::uint64_t processes_ = 0;      // started
  bool done_ = false;
  Outcome outcome_;
};

}  // namespace charmtree::sim
