// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/rendezvous.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace charmtree::proto {

namespace {

constexpr std::size_t kRunsShown = 8;
/// Of the numbers of processes.
std::string size_fix(const std::string& starter) {
  return fmt::format("give {} as many processes as charmrun (+p, ++n)", starter);
}

}  // namespace

void Rendezvous::fail(std::string what, std::string fix) {
  if (!error_) error_ = Error{Errc::remote_shell, Phase::hello, std::move(what), std::move(fix)};
}

void Rendezvous::report(RendezvousId launcher, const wire::RankReport& report, Instant now) {
  const std::string who = fmt::format("{}: process {}", report.host, report.rank);
  if (!report.trouble.empty())
    return fail(report.host + ": " + report.trouble, fmt::format("is it this {}'s?", starter_.name));
  if (report.size != 0 && report.size != processes_)
    return fail(
        fmt::format("{}: {} has started {} processes, not {}", who, starter_.name, report.size, processes_),
        size_fix(starter_.name));
  const bool is_one_more = starter_.counts ? report.rank >= processes_
                                           : ranks_.size() == processes_ && !ranks_.contains(report.rank);
  if (is_one_more)
    return fail(fmt::format("{}: there should only be {}", who, processes_), size_fix(starter_.name));
  const auto [place, fresh] = ranks_.emplace(report.rank, launcher);
  if (!fresh) {
    return fail(fmt::format("{} has come before, on {}", who, hosts_[place->second]),
                fmt::format("does this {} start one job, or the same process many times?", starter_.name));
  }
  hosts_[launcher] = report.host;
  await_next(now);
}

void Rendezvous::lost(RendezvousId launcher, const Error& error, Instant now) {
  const auto host = hosts_.find(launcher);
  if (host == hosts_.end() || pending_) return;
  pending_ =
      Error{Errc::link_lost, Phase::hello,
            fmt::format("{}: its launcher has gone ({}), when {}", host->second, error.what, progress()),
            fmt::format("was {} killed there?", starter_.name)};
  fail_at_ = now + kMoment;
}

void Rendezvous::mpiexec_ended(const std::string& how, const std::string& said) {
  if (ranks_.size() == processes_ && !pending_) return;
  fail(fmt::format("{} {} too early: {}{}{}", starter_.name, how, progress(),
                   said.empty() ? "" : "; it last said: ", said),
       "does it start another program, such as hostname?");
}

void Rendezvous::tick(Instant now) {
  if (complete() || error_) return;
  if (now >= fail_at_) error_ = pending_;
  if (now >= give_up_at_)
    fail(fmt::format("no further process of {} has come for {:g} s: {}", starter_.name, seconds(patience_),
                     progress()),
         fmt::format("can they reach this host? see ++useip, ++timeout and what {} says", starter_.name));
}

std::vector<Rendezvous::Seat> Rendezvous::seats() const {
  std::vector<Seat> seats;
  std::map<RendezvousId, std::size_t> places;
  for (const auto& [rank, launcher] : ranks_) {
    const auto [place, fresh] = places.emplace(launcher, seats.size());
    if (fresh) seats.push_back({launcher, hosts_.at(launcher), 0});
    ++seats[place->second].processes;
  }
  return seats;
}

std::string Rendezvous::progress() const {
  if (!starter_.counts) return fmt::format("{} of {} processes have come", ranks_.size(), processes_);
  std::string missing;
  std::size_t runs = 0;
  std::uint32_t next = 0;  // the first that has not been looked at
  const auto gap = [&](std::uint32_t end) {
    if (next == end || ++runs > kRunsShown) return;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", next);
    if (end - next > 1) missing += fmt::format("-{}", end - 1);
  };
  for (const auto& [rank, launcher] : ranks_) {
    gap(rank);
    next = rank + 1;
  }
  gap(processes_);
  if (runs > kRunsShown) missing += ", ...";
  return fmt::format("{} of {} processes have come{}{}", ranks_.size(), processes_,
                     missing.empty() ? "" : ", missing: ", missing);
}

}  // namespace charmtree::proto
