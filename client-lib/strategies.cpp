// SPDX-License-Identifier: Apache-2.0
#include "client-lib/strategies.hpp"

#include <algorithm>
#include <utility>

#include "client-lib/job.hpp"

namespace charmtree::client {

using Gives = Fences::Gives;
using State = Exchange::State;

namespace {
/// No error, and not done: others have to do something first.
constexpr int kWaits = 1;
/// Asks under way: the launchers shall not wait for this process, nor it be flooded.
constexpr std::size_t kMostAsked = 64;

/// Of them those that are at these places.
std::vector<int> part_of(const std::vector<int>& ranks, std::size_t first, std::size_t count) {
  const auto at = [&](std::size_t place) {
    return ranks.begin() + static_cast<std::ptrdiff_t>(std::min(place, ranks.size()));
  };
  return {at(first), at(first + count)};
}

/// Two are enough: whoever is in the next exchange is done with the one before the last.
std::string offered_as(int count) {
  return count % 2 == 0 ? "charmtree exchange 0" : "charmtree exchange 1";
}
}  // namespace

// ---- from one phase to the next

int Strategies::begin(Strategy how, std::string_view value) {
  if (value.empty() || value.size() > CT_MAX_EXCHANGE) return CT_EINVAL;
  if (how == Strategy::table) return fences_.begin({}, Gives::value, value);
  if (const int error = job_.usable(); error != CT_OK) return error;
  if (all_) return CT_EORDER;
  if (const int error = job_.ensure_registered(Deadline{job_.timeout_ms()}); error != CT_OK) return error;
  const int request = job_.exchange().reserve();
  if (request < 0) return CT_EORDER;
  all_.emplace(UnderWay{request, how, std::string{value}});
  ++count_;
  const int error = advance();
  return error == CT_OK ? request : error;
}

/// Where the launcher does not read, or too many fences are under way, it is tried again.
int Strategies::advance() {
  if (std::exchange(advancing_, true)) return CT_OK;  // called by the transport
  int error = CT_OK;
  while (all_ && error == CT_OK) error = go_on();
  advancing_ = false;
  if (error == CT_EFAILED) finish(false);
  return error == kWaits || error == CT_ETIMEDOUT || error == CT_EORDER || error == CT_EFAILED ? CT_OK
                                                                                               : error;
}

int Strategies::go_on() {
  switch (all_->phase) {
    case Phase::table:
      return lay_out();
    case Phase::arrange:
      return arrange();
    case Phase::fetch:
      return all_->how == Strategy::node_roots ? fetch_by_roots() : fetch_by_asking();
    case Phase::close:
      return close();
  }
  return CT_OK;
}

void Strategies::finish(bool is_over) {
  UnderWay all = std::move(*std::exchange(all_, std::nullopt));
  Exchange& exchange = job_.exchange();
  for (const std::optional<int>& request : {all.named, all.met, all.closed})
    if (request) exchange.abandon(*request);
  for (const int request : all.pieces) exchange.abandon(request);
  for (const auto& [request, rank] : all.asked) exchange.abandon(request);
  if (!is_over)
    exchange.settle(all.request);
  else if (all.segment)
    exchange.settle(all.request, all.segment->take(), all.value.size());
  else
    exchange.settle(all.request, std::move(all.own), all.value.size());
}

/// Begins it, if it has not begun. CT_OK: it is over, or has failed.
int Strategies::meet(std::optional<int>& request, const std::vector<int>& ranks, Gives gives,
                     std::string_view value) {
  if (!request) {
    const int begun = fences_.begin(ranks, gives, value);
    if (begun < 0) return begun;
    request = begun;
  }
  return job_.exchange().state(*request) == State::open ? kWaits : static_cast<int>(CT_OK);
}

bool Strategies::is_root() const {
  return here().front() == own_rank();
}

bool Strategies::has_failed(const std::optional<int>& request) const {
  return request && job_.exchange().state(*request) == State::failed;
}

// ---- who is where

int Strategies::lay_out() {
  if (!job_.has_table()) return kWaits;
  const int processes = static_cast<int>(job_.self().total);
  std::map<int, std::size_t> places;  // of hosts
  ct_peer peer;
  for (int rank = 0; rank < processes; ++rank) {
    if (const int error = job_.lookup(static_cast<std::uint32_t>(rank), peer); error != CT_OK) return error;
    const auto [place, is_new] = places.emplace(peer.host, all_->hosts.size());
    if (is_new) all_->hosts.emplace_back();
    all_->hosts[place->second].push_back(rank);
    if (rank == own_rank()) all_->own_host = place->second;
  }
  const bool are_too_many = all_->hosts.size() > wire::kMostFenceRanges && !transport_;
  if (all_->how == Strategy::node_roots && are_too_many) return CT_EFAILED;  // everywhere
  all_->phase = Phase::arrange;
  return CT_OK;
}

int Strategies::own_rank() const {
  return static_cast<int>(job_.self().process);
}

char* Strategies::slot(int rank) {
  char* const values = all_->segment ? all_->segment->data() : all_->own.data();
  return values + static_cast<std::size_t>(rank) * all_->value.size();
}

void Strategies::place(int rank, std::string_view value) {
  if (value.size() == all_->value.size())
    value.copy(slot(rank), value.size());
  else
    all_->is_good = false;
}

// ---- before anything is fetched

int Strategies::arrange() {
  UnderWay& all = *all_;
  const bool asks = all.how != Strategy::node_roots;
  const bool shares = all.how != Strategy::simple && here().size() > 1;
  if (asks && !all.met) {
    if (const int error = asks_.offer(offered_as(count_), all.value); error != CT_OK) return error;
  }
  const int met = asks ? meet(all.met, {}, Gives::ring, {}) : static_cast<int>(CT_OK);
  if (met != CT_OK && met != kWaits) return met;
  const int named = shares ? tell_name() : static_cast<int>(CT_OK);
  if (named != CT_OK) return named;
  if (met != CT_OK) return met;
  if (has_failed(all.met)) return CT_EFAILED;
  if (shares)
    take_memory();
  else
    all.own.resize(job_.self().total * all.value.size());
  if (has_failed(all.named) && !is_root()) return CT_EFAILED;
  if (all.is_good) place(own_rank(), all.value);
  const auto [first, end] = to_be_asked();
  all.next = first;
  all.end = end;
  all.phase = Phase::fetch;
  return CT_OK;
}

/// With the value: the root has those of its host at once.
int Strategies::tell_name() {
  UnderWay& all = *all_;
  if (!is_root()) return meet(all.named, here(), Gives::value, all.value);
  if (!all.segment && all.is_good) {
    all.segment = Segment::make(job_.self().total * all.value.size());
    all.is_good = all.segment.has_value();
  }
  return meet(all.named, here(), Gives::value, all.value + (all.is_good ? all.segment->name() : ""));
}

/// If that fails, the others of this host hear of it in the end: they wait for this process.
void Strategies::take_memory() {
  UnderWay& all = *all_;
  if (has_failed(all.named)) {
    all.is_good = false;
    return;
  }
  const auto told = [&](int rank) {
    return job_.exchange()
        .value_of(*all.named, static_cast<std::uint32_t>(rank))
        .value_or(std::string_view{});
  };
  if (!is_root()) {
    const std::string_view name = told(here().front());
    if (name.size() > all.value.size())
      all.segment = Segment::open(name.substr(all.value.size()), job_.self().total * all.value.size());
    all.is_good = all.segment.has_value();
  } else if (all.how == Strategy::node_roots && all.is_good) {
    for (const int rank : here())
      if (rank != own_rank()) place(rank, told(rank));
  }
}

// ---- what other hosts' processes gave

/// All, or this process's share of them among those of its host.
std::pair<int, int> Strategies::to_be_asked() const {
  const int processes = static_cast<int>(job_.self().total);
  if (all_->how == Strategy::node_roots || !all_->is_good) return {0, 0};
  if (all_->how == Strategy::simple) return {0, processes};
  const auto sharers = static_cast<std::int64_t>(here().size());
  const auto place = std::find(here().begin(), here().end(), own_rank()) - here().begin();
  const auto share = [&](std::int64_t part) { return static_cast<int>(processes * part / sharers); };
  return {share(place), share(place + 1)};
}

int Strategies::fetch_by_asking() {
  UnderWay& all = *all_;
  collect_asked();
  while (all.is_good && all.next < all.end && all.asked.size() < kMostAsked) {
    if (all.next != own_rank()) {
      const int request = asks_.begin(static_cast<std::uint32_t>(all.next), offered_as(count_));
      if (request < 0) return request;
      all.asked.emplace(request, all.next);
    }
    ++all.next;
    collect_asked();
  }
  if (!all.asked.empty()) return kWaits;
  all.phase = Phase::close;
  return CT_OK;
}

void Strategies::collect_asked() {
  UnderWay& all = *all_;
  Exchange& exchange = job_.exchange();
  for (auto each = all.asked.begin(); each != all.asked.end();) {
    const auto [request, rank] = *each;
    if (exchange.state(request) == State::open) {
      ++each;
      continue;
    }
    const auto value = exchange.value_of(request, static_cast<std::uint32_t>(rank));
    place(rank, value.value_or(std::string_view{}));
    exchange.release(request);
    each = all.asked.erase(each);
  }
}

std::vector<int> Strategies::roots() const {
  std::vector<int> roots;
  for (const std::vector<int>& ranks : all_->hosts) roots.push_back(ranks.front());
  return roots;
}

/// A root that has nothing to give enters all the same: the others wait for it.
int Strategies::fetch_by_roots() {
  UnderWay& all = *all_;
  if (is_root() && all.hosts.size() > 1) {
    if (transport_)
      all.is_good = all.is_good && transport_(slot(0), all.value.size(), roots());
    else if (const int error = gather_from_roots(); error != CT_OK)
      return error;
  }
  all.phase = Phase::close;
  return CT_OK;
}

/// A piece of each host's values in each fence, as many as the largest host has.
int Strategies::gather_from_roots() {
  UnderWay& all = *all_;
  std::size_t most = 0;
  for (const std::vector<int>& ranks : all.hosts) most = std::max(most, ranks.size());
  const std::size_t each = CT_MAX_GIVEN / all.value.size();
  while (all.pieces.size() * each < most) {
    std::string piece;
    if (all.is_good) {
      for (const int rank : part_of(here(), all.pieces.size() * each, each))
        piece.append(slot(rank), all.value.size());
    }
    const int request = fences_.begin(roots(), Gives::value, piece);
    if (request < 0) return request;
    all.pieces.push_back(request);
  }
  for (std::size_t piece = 0; piece < all.pieces.size(); ++piece) {
    if (job_.exchange().state(all.pieces[piece]) == State::open) return kWaits;
  }
  for (std::size_t piece = 0; all.is_good && piece < all.pieces.size(); ++piece) {
    for (const std::vector<int>& ranks : all.hosts) take_piece(all.pieces[piece], ranks, piece * each, each);
  }
  return CT_OK;
}

void Strategies::take_piece(int request, const std::vector<int>& ranks, std::size_t first,
                            std::size_t count) {
  const std::size_t size = all_->value.size();
  const auto piece = job_.exchange().value_of(request, static_cast<std::uint32_t>(ranks.front()));
  const std::vector<int> part = part_of(ranks, first, count);
  if (!piece || piece->size() != part.size() * size) {
    all_->is_good = false;
    return;
  }
  for (std::size_t i = 0; i < part.size(); ++i) place(part[i], piece->substr(i * size, size));
}

// ---- the end

/// One that has failed here fails for all of this host.
int Strategies::close() {
  UnderWay& all = *all_;
  if (all.how == Strategy::simple || here().size() == 1) {
    if (!all.is_good) return CT_EFAILED;
    finish(true);
    return CT_OK;
  }
  if (const int error = meet(all.closed, here(), Gives::value, all.is_good ? "1" : "0"); error != CT_OK)
    return error;
  if (has_failed(all.closed)) return CT_EFAILED;
  const bool are_good = std::all_of(here().begin(), here().end(), [&](int rank) {
    return job_.exchange().value_of(*all.closed, static_cast<std::uint32_t>(rank)) == "1";
  });
  if (!are_good) return CT_EFAILED;
  finish(true);
  return CT_OK;
}

}  // namespace charmtree::client
