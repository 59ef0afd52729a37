// SPDX-License-Identifier: Apache-2.0
// One fence of very many processes, or one exchange by a strategy of the client library (ct_exchange_start),
// in simulated time: the launchers are FencePart alone, the root's Inquiries beside it, each with its turn,
// and between them is the simulator's network. A launcher does one thing after the other, as there. What the
// processes give is real, and packed as it would be.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kvs/fence/messages.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/settings.hpp"
#include "tree/base/random.hpp"
#include "tree/wire/job_spec.hpp"
#include "tree/wire/kvs_messages.hpp"

namespace charmtree::fence {

struct Settings {
  double hosts = 1000, processes = 10'000;  // all together
  double bytes = 100;                       // that each process gives
  double alike = 0.8;                       // a share of them is the same for all
  double branching = 0;  // of the tree; 0: the one that a launch would make (launch_tree.hpp)
  double within = 0;     // fails if it takes so many times the bound of the links
  double strategy = 0;   // table (and any fence), node_roots, shared, simple: CT_...; or queue pairs with all
                         // by ranges (4), by each number (5), or with neighbours on demand (6)
  sim::Settings links;   // what messages cost, and the network
};

class Launcher;
class QueuePairs;

enum class Strategy : std::uint8_t { table, node_roots, shared, simple, ranges, numbers, on_demand };

class World {
public:
  World(const Settings& settings, std::uint64_t seed);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  void run();

  struct Record {
    Duration up{0}, end{0};               // the root has all; the last host has all
    std::uint64_t given = 0, packed = 0;  // bytes
    std::uint64_t said = 0;               // bytes, by processes of queue pairs to their launchers
    std::uint64_t messages = 0;
    std::uint64_t requests = 0;        // of processes to their launchers
    std::uint64_t asks = 0;            // of these those that go over links, if they are too many only counted
    std::uint64_t link = 0;            // bytes over the busiest one, both ways
    Duration busiest{0}, all_busy{0};  // a launcher's time, the most and together
    bool is_counted = false;  // asks are not simulated: `end` is what the root's launcher takes for them
    std::vector<std::string> wrong = {};
  };
  const Record& record() const { return record_; }

  /// Of a launcher, at most; all launchers one above the other, at most.
  std::uint32_t most_children() const;
  std::uint32_t depth() const;
  /// No fence over these links is sooner: the root's takes all in, and that with the most children sends all
  /// to each of them.
  Duration bound() const;
  /// Nor over any others: each takes all in.
  Duration floor() const;

  // ---- for its launchers
  void send_up(std::uint32_t launcher, kvs::FenceUp message);
  void send_down(std::uint32_t launcher, const kvs::FenceDown& message);
  void wrong(std::string what) { record_.wrong.push_back(std::move(what)); }

private:
  using Message = std::variant<kvs::FenceUp, kvs::FenceDown, wire::Inquiry, wire::Inquired,
                               wire::InquiryReply, wire::Answered>;
  struct Arrival {
    Duration at;
    std::uint64_t sequence;
    std::uint32_t to, link;  // 0: from above
    std::shared_ptr<Message> message;
    std::size_t bytes;
    friend bool operator<(const Arrival& a, const Arrival& b) {  // the earliest on top
      return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }
  };

  void grow_tree();
  void enter(std::uint32_t host);
  std::string value(std::uint32_t process);
  void arrive(Arrival& arrival);
  void fence_arrives(Arrival& arrival);
  void check_fence();

  // ---- exchanges whose processes ask
  struct Wanted {
    std::uint32_t by = 0, about = 0;  // processes, the latter of another host
  };
  struct Asker {  // a host, whose processes ask at the same pace
    std::deque<Wanted> wanted = {};
    std::uint32_t open = 0;
  };
  Strategy strategy() const { return static_cast<Strategy>(sim::whole(settings_.strategy)); }
  bool asks() const {
    return strategy() != Strategy::table && strategy() != Strategy::node_roots &&
           strategy() != Strategy::ranges;
  }
  bool asks_each() const { return strategy() == Strategy::simple || strategy() == Strategy::numbers; }
  void note(const std::string& wrong) {
    if (!wrong.empty()) this->wrong(wrong);
  }
  void begin_asking(std::uint32_t launcher);
  void ask(std::uint32_t launcher);
  void count_asks();
  std::size_t value_bytes() const;  // of an answer
  std::uint64_t asks_of(std::uint32_t launcher) const;
  std::uint64_t asks_about(std::uint32_t launcher) const;
  void inquiry_arrives(std::uint32_t at, Message message);
  void want_neighbours(std::uint32_t launcher);
  /// A process is asked, or has an answer, and answers for its part; the latter perhaps later.
  std::string answers(std::uint32_t process, std::uint32_t by, const std::string& key);
  void is_answered(std::uint32_t at, const wire::Answered& answer);
  void reply(std::uint32_t at, const wire::Inquired& inquired, std::string value);
  std::uint32_t launcher_of(std::uint32_t process) const;
  void send(std::uint32_t from, std::uint32_t to, Message message);
  void send_shared(std::uint32_t from, std::uint32_t to, std::shared_ptr<Message> message, std::size_t bytes);
  void pass_on(std::uint32_t from, std::uint32_t process, Message message);
  void serve_requests(std::uint32_t launcher, double requests, double bytes);
  Duration of_bytes(double bytes, double nanoseconds) const;

  Settings settings_;
  Random random_;
  sim::Network network_;
  std::shared_ptr<wire::JobSpec> job_;
  std::vector<std::uint32_t> parents_, levels_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<sim::Wire> wires_;  // by the launcher at the lower end
  std::vector<std::unique_ptr<Launcher>> launchers_;
  std::vector<Duration> free_at_;
  std::priority_queue<Arrival> queue_;
  Duration now_{0};
  std::uint64_t sequence_ = 0;
  std::string common_;
  std::unique_ptr<QueuePairs> queue_pairs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, wire::Inquired> deferred_;  // by process and asker
  std::vector<Asker> askers_;                                                   // by launcher
  std::vector<std::uint32_t> first_;                                            // process of each host
  std::vector<std::uint64_t> asked_over_link_, fenced_over_link_;  // bytes, as counted before, and in fact
  std::vector<std::uint64_t> over_link_;                           // bytes, by the launcher at the lower end
  std::vector<Duration> busy_;                                     // launchers' time
  Record record_;
};

}  // namespace charmtree::fence
