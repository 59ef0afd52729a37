// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/mesh.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <climits>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "client-lib/ibverbs/chooser.hpp"
#include "client-lib/ibverbs/nearness.hpp"
#include "client-lib/ibverbs/stopwatch.hpp"

namespace charmtree::ibverbs {

namespace {
constexpr std::uint32_t kDepth = 16;
/// More do not make a device quicker.
constexpr unsigned kMostThreads = 16;
/// A thread is worth so many queue pairs.
constexpr std::uint32_t kEachThread = 32;
/// What a process says that wants queue pairs with all, or those that it uses.
constexpr std::string_view kAll = "all", kUsed = "used";

/// "": nothing.
std::string wrong_in(const ct_verbs_options& options) {
  const int mtu = options.mtu;
  if (mtu != 0 && (mtu < 256 || mtu > 4096 || !std::has_single_bit(static_cast<unsigned>(mtu))))
    return "an MTU is 256, 512, 1024, 2048 or 4096 bytes, not " + std::to_string(mtu);
  if (options.port < 0 || options.threads < 0 || options.completions < 0 || options.peers < 0 ||
      (options.has_gid != 0 && options.gid < 0))
    return "a port, a GID, threads, completions and peers are not negative";
  return {};
}

/// Any processor that the system lets it have: the process may be bound to one, which its threads would
/// share.
void widen_affinity() {
  cpu_set_t all;
  std::memset(&all, 0xFF, sizeof all);
  ::sched_setaffinity(0, sizeof all, &all);  // where it may not, it is slower
}

/// As the kernel lists them.
std::string own_processors() {
  cpu_set_t own;
  CPU_ZERO(&own);
  ::sched_getaffinity(0, sizeof own, &own);
  std::string list;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &own)) list += (list.empty() ? "" : ",") + std::to_string(i);
  return list;
}
}  // namespace

Outcome Mesh::open(const ct_verbs_options& options, OnDemand::WhenMade when_made) {
  when_made_ = std::move(when_made);
  unopened_ = attempt([&] { return open_device(options); });
  return unopened_;
}

Outcome Mesh::open_device(const ct_verbs_options& options) {
  const int size = launcher_.size();
  if (size < 0) return Failure{size, ct_strerror(size)};
  if (size < 2) return Failure{CT_EINVAL, "a job of one process has nobody to connect with"};
  if (const std::string wrong = wrong_in(options); !wrong.empty()) return Failure{CT_EINVAL, wrong};
  used_ = static_cast<std::uint64_t>(options.peers);
  capacity_ = options.capacity;
  for (std::uint32_t* each : {&capacity_.max_send_wr, &capacity_.max_recv_wr})
    if (*each == 0) *each = kDepth;
  for (std::uint32_t* each : {&capacity_.max_send_sge, &capacity_.max_recv_sge})
    if (*each == 0) *each = 1;
  const std::uint64_t partners =
      used_ == 0 ? launcher_.others() : std::min<std::uint64_t>(used_, launcher_.others());
  const std::uint64_t outstanding = partners * (std::uint64_t{capacity_.max_send_wr} + capacity_.max_recv_wr);
  const unsigned useful =
      std::min(std::max(1U, std::thread::hardware_concurrency()), launcher_.others() / kEachThread);
  const unsigned wanted = options.threads > 0 ? static_cast<unsigned>(options.threads) : useful;
  threads_ = std::clamp(wanted, 1U, std::min(kMostThreads, launcher_.others()));
  Device::Choice choice{options.device == nullptr ? "" : options.device,
                        options.port,
                        options.has_gid != 0 ? options.gid : -1,
                        options.mtu,
                        options.completions,
                        static_cast<int>(std::min<std::uint64_t>(outstanding, INT_MAX)),
                        {}};
  choice.distance = distances();
  return device_.open(choice);
}

/// From the processors that this process may use now. The host is looked at only if somebody wants to know.
std::function<unsigned(ibv_device*)> Mesh::distances() {
  auto nearness = std::make_shared<std::optional<Nearness>>();
  return [this, nearness](ibv_device* device) {
    if (!*nearness) nearness->emplace(launcher_.topology());
    std::ifstream file{std::string{device->ibdev_path} + "/device/local_cpulist"};
    std::string there;
    std::getline(file, there);
    return (*nearness)->distance(own_processors(), there);
  };
}

ibv_qp* Mesh::queue_pair(int rank) const {
  if (!is_other(rank)) return nullptr;
  if (on_demand_) return on_demand_->queue_pair(static_cast<std::uint32_t>(rank));
  if (made_.queue_pairs.empty()) return nullptr;
  return made_
      .queue_pairs[place_among_others(static_cast<std::uint32_t>(rank),
                                      static_cast<std::uint32_t>(launcher_.rank()))]
      .get();
}

Outcome Mesh::reach(int rank) {
  if (!is_other(rank))
    return Failure{CT_EINVAL, "rank " + std::to_string(rank) + " is no other process of this job"};
  if (on_demand_) return attempt([&] { return on_demand_->reach(static_cast<std::uint32_t>(rank)); });
  if (made_.queue_pairs.empty()) return Failure{CT_EORDER, "it is not connected"};
  return {};
}

/// A process whose device fails says so to the others, in the exchange in which they wait for it. One that
/// cannot reach its launcher any more says nothing: the others hear of it by its end.
Outcome Mesh::connect(int scheme) {
  if (std::exchange(is_used_, true)) return Failure{CT_EORDER, "it has been connected, or has failed"};
  static std::atomic<std::uint32_t> count{0};
  number_ = count++;
  Outcome failure = attempt([&] { return connect_by(scheme); });
  if (failure) made_ = {};
  return failure;
}

Outcome Mesh::connect_by(int scheme) {
  if (scheme == CT_VERBS_BEST) {
    if (auto failure = choose(scheme)) return failure;
  }
  if (scheme == CT_VERBS_ON_DEMAND) return connect_on_demand();
  if (scheme == CT_VERBS_NUMBERS) {
    OneByOne telling{launcher_, device_, prefix()};
    return connect_with_all(telling);
  }
  if (scheme != CT_VERBS_RANGES && !unopened_)
    unopened_ = Failure{CT_EINVAL, "there is no scheme " + std::to_string(scheme)};
  Ranges telling{launcher_, device_};
  return connect_with_all(telling);
}

/// All at once only if that suits each. One that cannot be connected at all says so by either way.
Outcome Mesh::choose(int& scheme) {
  const auto neighbours = static_cast<std::uint64_t>(std::max(ct_local_size(launcher_.job()), 1));
  const bool all =
      unopened_ || wants_all({launcher_.others(), neighbours, device_.most_queue_pairs(), used_});
  std::vector<std::string> told;
  if (auto failure = launcher_.gather(std::string{all ? kAll : kUsed}, told)) return failure;
  const bool is_all = std::find(told.begin(), told.end(), kUsed) == told.end();
  scheme = is_all ? CT_VERBS_RANGES : CT_VERBS_ON_DEMAND;
  return {};
}

/// Nobody waits for anybody. One whose device fails listens, too, and tells those that ask.
Outcome Mesh::connect_on_demand() {
  on_demand_.emplace(launcher_, device_, unopened_, costs_, capacity_, prefix(), when_made_);
  auto failure = on_demand_->listen();
  return unopened_ ? unopened_ : failure;
}

Outcome Mesh::connect_with_all(Telling& telling) {
  std::vector<std::string> told;
  if (auto failure = tell(telling, make(telling), told)) return failure;
  Outcome failure = attempt([&]() -> Outcome {
    std::vector<Peer> peers;
    if (auto unfound = find(telling, told, peers)) return unfound;
    return connect_all(peers);
  });
  const Outcome others = agree(!failure);
  return failure ? failure : others;
}

Outcome Mesh::make(Telling& telling) {
  const Stopwatch watch{costs_.make};
  if (auto failure = telling.begin()) return failure;
  return attempt([&] { return make_all(telling.threads(threads_), made_); });
}

Outcome Mesh::tell(Telling& telling, Outcome unmade, std::vector<std::string>& all) {
  const Stopwatch watch{costs_.exchange};
  std::string own;
  if (!unmade) unmade = attempt([&] { return telling.describe(made_, own); });
  if (auto failure = telling.pass_on()) return failure;
  if (auto failure = launcher_.gather(unmade ? "" : own, all)) return failure;
  if (unmade) return unmade;
  const auto none = std::find(all.begin(), all.end(), std::string{});
  if (none != all.end())
    return Failure{CT_EFAILED,
                   "rank " + std::to_string(none - all.begin()) + " could not make its queue pairs"};
  return {};
}

Outcome Mesh::find(Telling& telling, const std::vector<std::string>& told, std::vector<Peer>& peers) {
  const Stopwatch watch{costs_.exchange};
  return telling.find(told, peers);
}

Outcome Mesh::connect_all(const std::vector<Peer>& peers) {
  const Stopwatch watch{costs_.connect};
  for (std::uint32_t place = 0; place < launcher_.others(); ++place) {
    const std::uint32_t rank = launcher_.rank_at(place);
    if (auto failure = device_.connect(*made_.queue_pairs[place], psn_to(made_.first_psn, rank), peers[place],
                                       "with rank " + std::to_string(rank)))
      return failure;
  }
  return {};
}

/// Behind it, all can receive, and nobody sends too early; or none is connected.
Outcome Mesh::agree(bool is_connected) {
  std::vector<std::string> all;
  if (auto failure = launcher_.gather(is_connected ? "" : "failed", all)) return failure;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty())
      return Failure{CT_EFAILED, "rank " + std::to_string(rank) + " could not be connected with all"};
  }
  return {};
}

/// In the order of places, as far as threads keep it. Where no more threads can be had, those that there are
/// do.
Outcome Mesh::make_all(unsigned threads, Made& all) {
  if (unopened_) return unopened_;
  const std::uint32_t others = launcher_.others();
  if (const std::uint64_t most = device_.most_queue_pairs(); others > most)
    return Failure{CT_EVERBS, device_.name() + ": it has " + std::to_string(most) + " queue pairs, and " +
                                  std::to_string(others) + " are needed"};
  std::vector<QueuePair> made(others);
  std::atomic<std::uint32_t> next{0};
  std::mutex mutex;
  Outcome failure;
  const auto work = [&]() noexcept {
    Outcome wrong = attempt([&]() -> Outcome {
      for (std::uint32_t place = next++; place < made.size(); place = next++) {
        const std::string whose =
            "queue pair " + std::to_string(place + 1) + " of " + std::to_string(made.size());
        if (auto unmade = device_.make(made[place], capacity_, whose)) return unmade;
      }
      return {};
    });
    if (!wrong) return;
    const std::lock_guard alone{mutex};
    if (!failure) failure = std::move(wrong);
    next = others;
  };
  std::vector<std::thread> helpers;
  attempt([&]() -> Outcome {
    helpers.reserve(threads);
    while (helpers.size() + 1 < threads) {
      helpers.emplace_back([&] {
        widen_affinity();
        work();
      });
    }
    return {};
  });
  work();
  for (std::thread& each : helpers) each.join();
  if (failure) return failure;
  std::sort(made.begin(), made.end(),
            [](const QueuePair& a, const QueuePair& b) { return a->qp_num < b->qp_num; });
  std::vector<std::uint32_t> numbers;
  numbers.reserve(made.size());
  for (const QueuePair& each : made) numbers.push_back(each->qp_num);
  auto sorted = Numbers::of(numbers);
  if (!sorted) return Failure{CT_EVERBS, device_.name() + ": two queue pairs have one number"};
  for (std::uint32_t place = 0; when_made_ && place < others; ++place)
    when_made_(launcher_.rank_at(place), made[place].get());
  costs_.queue_pairs = static_cast<int>(made.size());
  costs_.ranges = static_cast<int>(sorted->ranges().size());
  all = {std::move(made), std::move(*sorted), std::random_device{}() & kMostNumber};
  return {};
}

}  // namespace charmtree::ibverbs
