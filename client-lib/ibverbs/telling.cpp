// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/telling.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace charmtree::ibverbs {

namespace {
/// Of OneByOne: what is told besides is asked for then.
constexpr std::string_view kMade = "made";
}  // namespace

// ---- ranges

/// If the one before is lost, so is its turn.
Outcome Ranges::begin() {
  const int place = ct_local_rank(launcher_.job());
  const int before = place > 0 ? ct_local_peer(launcher_.job(), place - 1) : -1;
  if (before < 0) return {};
  const std::string what = "the wait for rank " + std::to_string(before) + ", which is on this host";
  const int request = launcher_.start({before, launcher_.rank()}, {});
  if (request < 0) return failed(what, request);
  const int error = launcher_.wait(request);
  if (error == CT_OK) {
    if (auto told = decode_ports(launcher_.gathered(request, before))) known_ = std::move(*told);
  }
  ct_release(launcher_.job(), request);
  if (error < 0 && error != CT_EFAILED) return failed(what, error);
  return {};
}

Outcome Ranges::describe(const Made& made, std::string& told) {
  const auto size = static_cast<std::uint32_t>(launcher_.size());
  Told own{static_cast<std::uint32_t>(launcher_.rank()), device_.port(), made.first_psn, made.numbers};
  const auto same = std::find_if(known_.begin(), known_.end(), [&](const KnownPort& each) {
    return each.port == device_.port() && each.told_by < size;
  });
  if (same == known_.end()) {
    known_.push_back({own.port_of, device_.port()});
  } else {
    own.port_of = same->told_by;
    own.port.reset();
  }
  told = encode(own);
  return {};
}

Outcome Ranges::pass_on() {
  const int next = ct_local_peer(launcher_.job(), ct_local_rank(launcher_.job()) + 1);
  if (next < 0) return {};
  turn_ = launcher_.start({launcher_.rank(), next}, encode(known_));
  if (turn_ < 0) return failed("handing on the turn", turn_);
  return {};
}

/// The next one has been in it since it began to connect; it comes late only where others have failed.
Ranges::~Ranges() {
  if (turn_ < 0) return;
  launcher_.wait(turn_);
  ct_release(launcher_.job(), turn_);
}

Outcome Ranges::find(const std::vector<std::string>& told, std::vector<Peer>& peers) {
  std::vector<std::optional<Told>> all;
  all.reserve(told.size());
  for (const std::string& text : told)
    all.push_back(decode_told(text, static_cast<std::uint32_t>(launcher_.size())));
  for (std::uint32_t place = 0; place < launcher_.others(); ++place) {
    const std::uint32_t rank = launcher_.rank_at(place);
    auto peer = peer_of(all, rank, static_cast<std::uint32_t>(launcher_.rank()));
    if (!peer) return Failure{CT_EPROTO, makes_no_sense(rank)};
    peers.push_back(*peer);
  }
  return {};
}

// ---- one by one

Outcome OneByOne::describe(const Made& made, std::string& told) {
  if (launcher_.others() > CT_MAX_OFFERS)
    return Failure{CT_EINVAL,
                   "CT_VERBS_NUMBERS connects at most " + std::to_string(CT_MAX_OFFERS + 1) + " processes"};
  for (std::uint32_t place = 0; place < launcher_.others(); ++place) {
    const std::uint32_t rank = launcher_.rank_at(place);
    const Peer own{device_.port(), made.queue_pairs[place]->qp_num, psn_to(made.first_psn, rank)};
    if (auto failure = launcher_.offer(key_for(rank), encode(own))) return failure;
  }
  told = kMade;
  return {};
}

Outcome OneByOne::find(const std::vector<std::string>& told, std::vector<Peer>& peers) {
  for (std::uint32_t place = 0; place < launcher_.others(); ++place) {
    const std::uint32_t rank = launcher_.rank_at(place);
    std::string_view value;
    if (told[rank] != kMade) return Failure{CT_EPROTO, makes_no_sense(rank)};
    if (const int error = launcher_.ask(rank, key_for(static_cast<std::uint32_t>(launcher_.rank())), value);
        error < 0)
      return failed("the queue pair of rank " + std::to_string(rank), error);
    auto peer = decode_peer(value);
    if (!peer) return Failure{CT_EPROTO, makes_no_sense(rank)};
    peers.push_back(*peer);
  }
  return {};
}

}  // namespace charmtree::ibverbs
