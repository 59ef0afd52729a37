// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/mesh.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <climits>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

namespace charmtree::ibverbs {

namespace {
constexpr std::uint32_t kDepth = 16;
/// More do not make a device quicker.
constexpr unsigned kMostThreads = 16;
/// A thread is worth so many queue pairs.
constexpr std::uint32_t kEachThread = 32;
/// Of what is told at once, before it: whether more follows.
constexpr std::size_t kMostPiece = CT_MAX_GIVEN - 1;
/// By numbers, which are asked for then.
constexpr std::string_view kMade = "made";
constexpr int kPollMs = 1000;
/// What a process tells is no longer than that, and so much for each queue pair.
constexpr std::size_t kMostTold = 64, kMostOfEach = 8;

Failure failed(const std::string& what, int error) {
  return {error, what + ": " + ct_strerror(error)};
}

std::string makes_no_sense(std::size_t rank) {
  return "what rank " + std::to_string(rank) + " has told makes no sense";
}

/// Exceptions are want of memory, or of a source of numbers.
template <class Call>
Outcome attempt(Call call) noexcept {
  try {
    return call();
  } catch (...) {
    return Failure{CT_ENOMEM, "no memory"};
  }
}

/// "": nothing.
std::string wrong_in(const ct_verbs_options& options) {
  const int mtu = options.mtu;
  if (mtu != 0 && (mtu < 256 || mtu > 4096 || !std::has_single_bit(static_cast<unsigned>(mtu))))
    return "an MTU is 256, 512, 1024, 2048 or 4096 bytes, not " + std::to_string(mtu);
  if (options.port < 0 || options.threads < 0 || options.completions < 0 ||
      (options.has_gid != 0 && options.gid < 0))
    return "a port, a GID, threads and completions are not negative";
  return {};
}

/// Waits as long as it takes, whatever the time-out of the job: what has begun cannot be taken back.
/// `events`: of the launcher's descriptor, for which the call waits.
template <class Call>
int patiently(ct_job* job, int events, Call call) {
  int error = call();
  while (error == CT_ETIMEDOUT) {
    pollfd launcher{ct_descriptor(job), static_cast<short>(events), 0};
    ::poll(&launcher, 1, kPollMs);
    error = call();
  }
  return error;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Any processor that the system lets it have: the process may be bound to one, which its threads would
/// share.
void widen_affinity() {
  cpu_set_t all;
  std::memset(&all, 0xFF, sizeof all);
  ::sched_setaffinity(0, sizeof all, &all);  // where it may not, it is slower
}
}  // namespace

Mesh::Mesh(ct_job* job) : job_(job), rank_(ct_rank(job)), size_(ct_size(job)) {}

Outcome Mesh::open(const ct_verbs_options& options) {
  unopened_ = attempt([&] { return open_device(options); });
  return unopened_;
}

Outcome Mesh::open_device(const ct_verbs_options& options) {
  if (size_ < 0) return Failure{size_, ct_strerror(size_)};
  if (size_ < 2) return Failure{CT_EINVAL, "a job of one process has nobody to connect with"};
  if (const std::string wrong = wrong_in(options); !wrong.empty()) return Failure{CT_EINVAL, wrong};
  capacity_ = options.capacity;
  for (std::uint32_t* each : {&capacity_.max_send_wr, &capacity_.max_recv_wr})
    if (*each == 0) *each = kDepth;
  for (std::uint32_t* each : {&capacity_.max_send_sge, &capacity_.max_recv_sge})
    if (*each == 0) *each = 1;
  const std::uint64_t outstanding =
      std::uint64_t{others()} * (std::uint64_t{capacity_.max_send_wr} + capacity_.max_recv_wr);
  const unsigned useful = std::min(std::max(1U, std::thread::hardware_concurrency()), others() / kEachThread);
  const unsigned wanted = options.threads > 0 ? static_cast<unsigned>(options.threads) : useful;
  threads_ = std::clamp(wanted, 1U, std::min(kMostThreads, others()));
  const Device::Choice choice{options.device == nullptr ? "" : options.device,
                              options.port,
                              options.has_gid != 0 ? options.gid : -1,
                              options.mtu,
                              options.completions,
                              static_cast<int>(std::min<std::uint64_t>(outstanding, INT_MAX))};
  if (auto failure = device_.open(choice)) return failure;
  const auto most = static_cast<std::uint32_t>(std::max(device_.most_queue_pairs(), 0));
  if (others() > most)
    return Failure{CT_EVERBS, device_.name() + ": it has " + std::to_string(most) + " queue pairs, and " +
                                  std::to_string(others()) + " are needed"};
  return {};
}

ibv_qp* Mesh::queue_pair(int rank) const {
  if (rank < 0 || rank >= size_ || rank == rank_ || queue_pairs_.empty()) return nullptr;
  return queue_pairs_[place_among_others(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(rank_))]
      .get();
}

/// A process whose device fails says so to the others, in the exchange in which they wait for it. One that
/// cannot reach its launcher any more says nothing: the others hear of it by its end.
Outcome Mesh::connect(int scheme) {
  if (std::exchange(is_used_, true)) return Failure{CT_EORDER, "it has been connected, or has failed"};
  static std::atomic<std::uint32_t> count{0};
  number_ = count++;
  Outcome failure = attempt([&] { return connect_by(scheme); });
  if (failure) queue_pairs_.clear();
  end_turn();
  return failure;
}

Outcome Mesh::connect_by(int scheme) {
  const bool is_by_numbers = scheme == CT_VERBS_NUMBERS;
  auto begun = Clock::now();
  std::vector<KnownPort> known;
  std::string told;
  Outcome unmade;
  if (!is_by_numbers) unmade = wait_for_turn(known);
  if (scheme != CT_VERBS_RANGES && !is_by_numbers)
    unmade = Failure{CT_EINVAL, "there is no scheme " + std::to_string(scheme)};
  if (!unmade) {
    unmade = attempt([&] {
      first_psn_ = std::random_device{}() & kMostNumber;
      if (auto failure = make_all(is_by_numbers ? 1 : threads_)) return failure;
      return describe(known, told);
    });
  }
  if (!is_by_numbers) {
    if (auto failure = pass_turn(known)) return failure;
  }
  costs_.make = seconds_since(begun);

  begun = Clock::now();
  if (is_by_numbers) {
    told = kMade;
    if (!unmade) unmade = offer_numbers();
  }
  std::vector<std::string> all(static_cast<std::size_t>(size_));
  if (auto failure = gather(unmade ? "" : told, all)) return failure;
  if (unmade) return unmade;
  const auto none = std::find(all.begin(), all.end(), std::string{});
  if (none != all.end())
    return Failure{CT_EFAILED,
                   "rank " + std::to_string(none - all.begin()) + " could not make its queue pairs"};
  std::vector<Peer> peers;
  Outcome failure = attempt([&] { return is_by_numbers ? ask_numbers(all, peers) : find_peers(all, peers); });
  costs_.exchange = seconds_since(begun);

  if (!failure) failure = attempt([&] { return connect_all(peers); });
  const Outcome others = agree(!failure);
  return failure ? failure : others;
}

Outcome Mesh::connect_all(const std::vector<Peer>& peers) {
  const auto begun = Clock::now();
  for (std::uint32_t place = 0; place < others(); ++place) {
    const std::uint32_t rank = rank_at(place);
    if (auto failure = device_.connect(*queue_pairs_[place], psn_to(first_psn_, rank), peers[place],
                                       "with rank " + std::to_string(rank)))
      return failure;
  }
  costs_.connect = seconds_since(begun);
  return {};
}

/// Behind it, all can receive, and nobody sends too early; or none is connected.
Outcome Mesh::agree(bool is_connected) {
  std::vector<std::string> all(static_cast<std::size_t>(size_));
  if (auto failure = gather(is_connected ? "" : "failed", all)) return failure;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty())
      return Failure{CT_EFAILED, "rank " + std::to_string(rank) + " could not be connected with all"};
  }
  return {};
}

// ---- making

/// In the order of places, as far as threads keep it. Where no more threads can be had, those that there are
/// do.
Outcome Mesh::make_all(unsigned threads) {
  if (unopened_) return unopened_;
  std::vector<QueuePair> made(others());
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
    next = others();
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
  costs_.queue_pairs = static_cast<int>(made.size());
  queue_pairs_ = std::move(made);
  return {};
}

// ---- by ranges

/// What this process tells. A port that another one of this host has told is not told again.
Outcome Mesh::describe(std::vector<KnownPort>& known, std::string& told) {
  std::sort(queue_pairs_.begin(), queue_pairs_.end(),
            [](const QueuePair& a, const QueuePair& b) { return a->qp_num < b->qp_num; });
  std::vector<std::uint32_t> made;
  for (const QueuePair& each : queue_pairs_) made.push_back(each->qp_num);
  auto numbers = Numbers::of(made);
  if (!numbers) return Failure{CT_EVERBS, device_.name() + ": two queue pairs have one number"};
  costs_.ranges = static_cast<int>(numbers->ranges().size());
  Told own{static_cast<std::uint32_t>(rank_), device_.port(), first_psn_, std::move(*numbers)};
  const auto same = std::find_if(known.begin(), known.end(), [&](const KnownPort& each) {
    return each.port == device_.port() && each.told_by < static_cast<std::uint32_t>(size_);
  });
  if (same == known.end()) {
    known.push_back({own.port_of, device_.port()});
  } else {
    own.port_of = same->told_by;
    own.port.reset();
  }
  told = encode(own);
  return {};
}

Outcome Mesh::find_peers(const std::vector<std::string>& texts, std::vector<Peer>& peers) const {
  std::vector<std::optional<Told>> all;
  all.reserve(texts.size());
  for (const std::string& text : texts) all.push_back(decode_told(text, static_cast<std::uint32_t>(size_)));
  for (std::uint32_t place = 0; place < others(); ++place) {
    const std::uint32_t rank = rank_at(place);
    auto peer = peer_of(all, rank, static_cast<std::uint32_t>(rank_));
    if (!peer) return Failure{CT_EPROTO, makes_no_sense(rank)};
    peers.push_back(*peer);
  }
  return {};
}

/// One after the other on each host, in the order of ct_local_rank: each is in an allgather with the next
/// one, which the launcher of their host settles, and enters it when it is done. If the one before is lost,
/// so is its turn.
Outcome Mesh::wait_for_turn(std::vector<KnownPort>& known) {
  const int place = ct_local_rank(job_);
  const int before = place > 0 ? ct_local_peer(job_, place - 1) : -1;
  if (before < 0) return {};
  const std::string what = "the wait for rank " + std::to_string(before) + ", which is on this host";
  const int request = start({before, rank_}, {});
  if (request < 0) return failed(what, request);
  const int error = wait(request);
  const void* value = nullptr;
  std::size_t size = 0;
  if (error == CT_OK && ct_gathered(job_, request, before, &value, &size) == CT_OK) {
    costs_.bytes_taken += size;
    if (auto told = decode_ports({static_cast<const char*>(value), size})) known = std::move(*told);
  }
  ct_release(job_, request);
  if (error < 0 && error != CT_EFAILED) return failed(what, error);
  return {};
}

Outcome Mesh::pass_turn(const std::vector<KnownPort>& known) {
  const int next = ct_local_peer(job_, ct_local_rank(job_) + 1);
  if (next < 0) return {};
  turn_ = start({rank_, next}, encode(known));
  if (turn_ < 0) return failed("handing on the turn", turn_);
  return {};
}

/// The next one has been in it since it began to connect; it comes late only where others have failed.
void Mesh::end_turn() {
  if (turn_ < 0) return;
  wait(turn_);
  ct_release(job_, turn_);
}

/// A request of an allgather with these; none: with all.
int Mesh::start(const std::vector<int>& ranks, std::string_view value) {
  ++costs_.requests;
  costs_.bytes_given += value.size();
  return patiently(job_, POLLOUT, [&] {
    return ct_allgather_start(job_, ranks.empty() ? nullptr : ranks.data(), static_cast<int>(ranks.size()),
                              value.data(), value.size());
  });
}

int Mesh::wait(int request) {
  return patiently(job_, ct_poll_events(job_) | POLLIN, [&] { return ct_wait(job_, request); });
}

// ---- what all tell all

/// In pieces, as many as the longest one needs; before each stands whether more follows. All see the same,
/// and come to the same end.
Outcome Mesh::gather(const std::string& own, std::vector<std::string>& all) {
  const std::size_t most = kMostTold + kMostOfEach * others();
  bool is_more = true;
  for (std::size_t at = 0; is_more; at += kMostPiece) {
    const std::string_view rest = std::string_view{own}.substr(std::min(at, own.size()));
    std::string piece(1, rest.size() > kMostPiece ? '\1' : '\0');
    piece += rest.substr(0, kMostPiece);
    if (auto failure = gather_piece(piece, all, is_more)) return failure;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].size() > most) return Failure{CT_EPROTO, makes_no_sense(rank)};
    }
  }
  return {};
}

Outcome Mesh::gather_piece(std::string_view piece, std::vector<std::string>& all, bool& is_more) {
  const std::string what = "the exchange of queue pairs";
  const int request = start({}, piece);
  if (request < 0) return failed(what, request);
  const int error = wait(request);
  Outcome failure;
  if (error < 0) failure = failed(what, error);
  is_more = false;
  for (int rank = 0; rank < size_ && !failure; ++rank) {
    const void* value = nullptr;
    std::size_t size = 0;
    const bool is_there = ct_gathered(job_, request, rank, &value, &size) == CT_OK && size > 0;
    const char more = is_there ? *static_cast<const char*>(value) : '\2';
    if (more != '\0' && (more != '\1' || size != kMostPiece + 1)) {  // one that is followed is full
      failure = Failure{CT_EPROTO, makes_no_sense(static_cast<std::size_t>(rank))};
      break;
    }
    const std::string_view bytes{static_cast<const char*>(value), size};
    is_more = is_more || bytes.front() != 0;
    all[static_cast<std::size_t>(rank)] += bytes.substr(1);
    costs_.bytes_taken += rank == rank_ ? 0 : size;
  }
  ct_release(job_, request);
  return failure;
}

// ---- each number by itself

Outcome Mesh::offer_numbers() {
  if (others() > CT_MAX_OFFERS)
    return Failure{CT_EINVAL,
                   "CT_VERBS_NUMBERS connects at most " + std::to_string(CT_MAX_OFFERS + 1) + " processes"};
  for (std::uint32_t place = 0; place < others(); ++place) {
    const std::uint32_t rank = rank_at(place);
    const Peer own{device_.port(), queue_pairs_[place]->qp_num, psn_to(first_psn_, rank)};
    if (auto failure = offer(number_key(rank), encode(own))) return failure;
  }
  return {};
}

Outcome Mesh::ask_numbers(const std::vector<std::string>& told, std::vector<Peer>& peers) {
  for (std::uint32_t place = 0; place < others(); ++place) {
    const std::uint32_t rank = rank_at(place);
    std::string_view value;
    if (told[rank] != kMade) return Failure{CT_EPROTO, makes_no_sense(rank)};
    if (const int error = ask(rank, number_key(static_cast<std::uint32_t>(rank_)), value); error < 0)
      return failed("the queue pair of rank " + std::to_string(rank), error);
    auto peer = decode_peer(value);
    if (!peer) return Failure{CT_EPROTO, makes_no_sense(rank)};
    peers.push_back(*peer);
  }
  return {};
}

std::string Mesh::number_key(std::uint32_t rank) const {
  return "charmtree ibverbs " + std::to_string(number_) + " for " + std::to_string(rank);
}

// ---- what is told to few

Outcome Mesh::offer(const std::string& key, const std::string& value) {
  ++costs_.requests;
  costs_.bytes_given += key.size() + value.size();
  const int error =
      patiently(job_, POLLOUT, [&] { return ct_offer(job_, key.c_str(), value.data(), value.size()); });
  if (error < 0) return failed("an offer to the others", error);
  return {};
}

int Mesh::ask(std::uint32_t rank, const std::string& key, std::string_view& value) {
  const void* data = nullptr;
  std::size_t size = 0;
  ++costs_.requests;
  const int error = patiently(job_, ct_poll_events(job_) | POLLIN, [&] {
    return ct_ask(job_, static_cast<int>(rank), key.c_str(), &data, &size);
  });
  if (error == CT_OK) value = {static_cast<const char*>(data), size};
  costs_.bytes_taken += value.size();
  return error;
}

}  // namespace charmtree::ibverbs
