// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/on_demand.hpp"

#include <random>
#include <utility>

#include "client-lib/ibverbs/stopwatch.hpp"
#include "tree/base/overloaded.hpp"

namespace charmtree::ibverbs {

namespace {
/// The program asks others, too.
constexpr std::size_t kMostOpen = CT_MAX_ASKS / 2;
}  // namespace

OnDemand::OnDemand(Launcher& launcher, const Device& device, Outcome unopened, ct_verbs_costs& costs,
                   const ibv_qp_cap& capacity, std::string prefix, WhenMade when_made)
    : launcher_(launcher),
      device_(device),
      unopened_(std::move(unopened)),
      costs_(costs),
      capacity_(capacity),
      prefix_(std::move(prefix)),
      when_made_(std::move(when_made)),
      pairs_(prefix_, *this) {}

/// What it has asked is given up by ct_finalize.
OnDemand::~OnDemand() {
  launcher_.listen(prefix_, nullptr, nullptr);
}

Outcome OnDemand::listen() {
  return launcher_.listen(prefix_, &OnDemand::asked, this);
}

void OnDemand::asked(ct_job*, int rank, const char* key, void* self) {
  auto& demand = *static_cast<OnDemand*>(self);
  auto failure = attempt([&]() -> Outcome {
    Pairs::Actions actions;
    demand.collect();
    demand.pairs_.asked(static_cast<std::uint32_t>(rank), key, actions);
    demand.carry_out(std::move(actions));
    return {};
  });
  if (failure) demand.broken_ = std::move(failure);
}

Outcome OnDemand::reach(std::uint32_t rank) {
  for (;;) {
    Pairs::Actions actions;
    pairs_.reach(rank, actions);
    carry_out(std::move(actions));
    collect();
    if (pairs_.state(rank) == Pairs::State::failed) return pairs_.why(rank);
    if (pairs_.state(rank) == Pairs::State::ready) return {};
    if (broken_) return broken_;
    if (auto failure = wait_for(rank)) return failure;
  }
}

ibv_qp* OnDemand::queue_pair(std::uint32_t rank) const {
  return pairs_.is_connected(rank) ? queue_pairs_.at(rank).get() : nullptr;
}

/// For its answer; or for any, which lets its own ask be sent.
Outcome OnDemand::wait_for(std::uint32_t rank) {
  const Stopwatch watch{costs_.exchange};
  const std::string what = "the wait for rank " + std::to_string(rank);
  const Open* awaited = open_.empty() ? nullptr : &open_.front();
  for (const Open& each : open_) {
    if (each.rank == rank) awaited = &each;
  }
  if (awaited == nullptr) return failed(what, CT_EORDER);
  const int error = ct_wait(launcher_.job(), awaited->request);
  if (error < 0 && error != CT_EFAILED) return failed(what, error);
  return {};
}

/// Their order is kept, however few can be under way.
void OnDemand::send_asks() {
  while (!asks_.empty() && open_.size() < kMostOpen) {
    const auto& [rank, key] = asks_.front();
    const int request = launcher_.start_ask(rank, key);
    if (request == CT_EORDER) return;
    if (request < 0) {
      broken_ = failed("asking rank " + std::to_string(rank), request);
      return;
    }
    open_.push_back({rank, request});
    asks_.pop_front();
  }
}

void OnDemand::carry_out(Pairs::Actions actions) {
  const Overloaded each{
      [&](Pairs::Ask& ask) { asks_.push_back(std::move(ask)); },
      [&](const Pairs::Answer& answer) {
        if (auto failure = launcher_.answer(answer.rank, answer.key, answer.value))
          broken_ = std::move(failure);
      },
  };
  for (Pairs::Action& action : actions) std::visit(each, action);
  send_asks();
}

/// Takes note of what has been answered.
void OnDemand::collect() {
  Pairs::Actions actions;
  for (std::size_t i = 0; i < open_.size();) {
    const auto [rank, request] = open_[i];
    const int state = ct_test(launcher_.job(), request);
    if (state < 0 && state != CT_EFAILED) {
      broken_ = failed("asking rank " + std::to_string(rank), state);
      break;
    }
    if (state == 0) {
      ++i;
      continue;
    }
    if (state == 1)
      pairs_.told(rank, launcher_.gathered(request, static_cast<int>(rank)), actions);
    else
      pairs_.unanswered(rank, {state, why_unanswered(rank)}, actions);
    ct_release(launcher_.job(), request);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  carry_out(std::move(actions));
}

std::string OnDemand::why_unanswered(std::uint32_t rank) const {
  const bool is_lost = ct_alive(launcher_.job(), static_cast<int>(rank)) == 0;
  return "rank " + std::to_string(rank) + (is_lost ? " is lost" : " has ended, and was not connected before");
}

/// Where the device could not be opened, whoever asks is told that.
Outcome OnDemand::make(std::uint32_t rank, Peer& own) {
  if (unopened_) return unopened_;
  const Stopwatch watch{costs_.make};
  QueuePair made;
  if (auto failure = device_.make(made, capacity_, "the queue pair for rank " + std::to_string(rank)))
    return failure;
  own = {device_.port(), made->qp_num, std::random_device{}() & kMostNumber};
  ++costs_.queue_pairs;
  ibv_qp* queue_pair = (queue_pairs_[rank] = std::move(made)).get();
  if (when_made_) when_made_(rank, queue_pair);
  return {};
}

Outcome OnDemand::connect(std::uint32_t rank, const Peer& own, const Peer& other) {
  const Stopwatch watch{costs_.connect};
  return device_.connect(*queue_pairs_.at(rank), own.psn, other, "with rank " + std::to_string(rank));
}

}  // namespace charmtree::ibverbs
