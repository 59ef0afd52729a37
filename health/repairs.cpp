// SPDX-License-Identifier: Apache-2.0
// A launcher that is not there within three usual logins (1.5 to 3 s), or whose host is gone by the verdict,
// is given up for good: its host is swept, its processes are named, and the same is done with each launcher
// that it had started (Facts say who started whom), and with theirs where those are gone, too. All that
// within 2.5 s more; whoever has not been found then is lost, and swept as ever. The two steps are never
// under way at the same time, so that nobody is adopted from under a launcher that lives. Only once a launch
// is over below the lost one: then what is told once, tuples and who is up, need not be told again.
#include "health/repairs.hpp"

#include <algorithm>
#include <utility>

#include "health/adoption_socket.hpp"
#include "tree/base/handle.hpp"
#include "tree/job/run_progress.hpp"
#include "tree/overlay/keyed_hash.hpp"

namespace charmtree::health {

using namespace proto;

/// Not one that lies, nor while the launch is not over there: what it had to tell then is told once.
bool Repairs::can_repair(const Child& child, LinkId link, const Error& error, const Seat& seat) {
  return seat.job.repairs() && !seat.is_ending && error.code != Errc::bad_peer &&
         (seat.progress.has_numbers || !seat.job.waits_for_all()) && seat.launch.subtree().is_up(link) &&
         (seat.progress.has_table || child.registered == 0);
}

void Repairs::begin(const Child& child, const Error& error, Turn& turn) {
  Launch& launch = turn.seat().launch;
  const std::uint32_t host = child.host.index;
  const Duration reach = std::clamp(3 * launch.usual_login(), kReach, kLongestReach);
  Repair repair{error, child.below, turn.real_now() + reach, turn.real_now() + reach + kSeek};
  repair.hosts.insert_or_assign(host, child.host);
  repair.sought = {host};
  repairs_.insert_or_assign(host, std::move(repair));
  launch.adopt(child.host, Duration{0}, turn.now(), turn.out());
}

void Repairs::take_over(const TreeShape& shape, Turn& turn) {
  takes_over_ = true;
  const Seat seat = turn.seat();
  Subtree& subtree = seat.launch.subtree();
  Repair repair{Error{Errc::link_lost, Phase::run, "its launcher does not wait for another root", {}},
                {},
                turn.real_now(),
                turn.real_now() + kTakeOver,
                true,
                turn.real_now() + kInsist};
  for (const Host& host : *seat.hosts) {
    subtree.add(host);
    subtree.answered(host.index);
    repair.hosts.emplace(host.index, host);
  }
  for (const wire::StartedBy& told : shape.started_by) subtree.started(told);
  seat.progress.below_lost_launchers.add_all(shape.lost.ranges());
  const Error before{Errc::link_lost, Phase::run, "its launcher was lost, before another root took over", {}};
  for (const Host& host : *seat.hosts) {
    if (is_lost(host.index, seat)) tell_lost(before, host.index, turn);
  }
  seek_below(repair, wire::kRootIndex, turn);
  if (!repair.sought.empty()) repairs_.insert_or_assign(wire::kRootIndex, std::move(repair));
}

void Repairs::presume_gone(std::uint32_t host, Turn& turn) {
  const auto it = repairs_.find(host);
  if (it == repairs_.end() || std::exchange(it->second.is_gone, true)) return;
  if (it->second.sought.erase(host) > 0)
    turn.seat().launch.sweep_instead(it->second.hosts.at(host), turn.now(), turn.out());
  tell_lost(it->second.error, host, turn);
  seek_below(it->second, host, turn);
  if (it->second.sought.empty()) repairs_.erase(it);
}

/// Whoever had lost one of them may have died while it sought those that this one had started.
void Repairs::seek_below(Repair& repair, std::uint32_t host, Turn& turn) {
  const Seat seat = turn.seat();
  const Duration insistence = std::max(repair.insist_until, turn.real_now()) - turn.real_now();
  std::vector<std::uint32_t> gone{host};
  std::set<std::uint32_t> seen;
  while (!gone.empty()) {
    const std::vector<std::uint32_t> children = seat.launch.subtree().children_of(gone.back());
    gone.pop_back();
    for (const std::uint32_t below : children) {
      if (!seen.insert(below).second) continue;
      const auto known = repair.hosts.find(below);
      if (is_lost(below, seat))
        gone.push_back(below);
      else if (known != repair.hosts.end() && repair.sought.insert(below).second)
        seat.launch.adopt(known->second, insistence, turn.now(), turn.out());
    }
  }
}

/// Its launcher was lost before.
bool Repairs::is_lost(std::uint32_t host, const Seat& seat) {
  const Subtree::Entry* entry = seat.launch.subtree().find(host);
  if (entry == nullptr || entry->processes == 0) return false;
  return seat.progress.below_lost_launchers
      .missing({entry->first_process, entry->first_process + entry->processes - 1})
      .empty();
}

void Repairs::tell_lost(const Error& error, std::uint32_t host, Turn& turn) {
  wire::LinkLost lost{host, error, {}};
  const Subtree::Entry* entry = turn.seat().launch.subtree().find(host);
  if (entry != nullptr && entry->processes > 0)
    lost.processes = {{entry->first_process, entry->first_process + entry->processes - 1}};
  turn.tell(LauncherLost{std::move(lost)});
}

void Repairs::not_there(std::uint32_t host, const std::string& why, Turn& turn) {
  const auto it = std::find_if(repairs_.begin(), repairs_.end(),
                               [&](auto& repair) { return repair.second.sought.erase(host) > 0; });
  if (it == repairs_.end()) return;
  Repair& repair = it->second;
  turn.act(Say{Tone::verbose, repair.hosts.at(host).name + ": its launcher is not reached again: " + why});
  if (it->first == host) return presume_gone(host, turn);
  tell_lost(repair.error, host, turn);
  seek_below(repair, host, turn);
  if (repair.sought.empty()) repairs_.erase(it);
}

void Repairs::not_reached(const Host& host, const Error& error, Turn& turn) {
  turn.tell(LauncherUnreached{host.name + ": " + to_string(error)});
  not_there(host.index, to_string(error), turn);
}

/// Whoever has not been found by now is lost with all below.
void Repairs::end(Repair& repair, Turn& turn) {
  const Seat seat = turn.seat();
  for (const std::uint32_t host : std::exchange(repair.sought, {})) {
    turn.tell(LauncherUnreached{repair.hosts.at(host).name + ": it has not answered in time"});
    for (const auto& [link, child] : seat.launch.children()) {
      if (child.host.index != host || claims_.erase(link) == 0) continue;
      seat.launch.find(link)->lost();
      turn.act(CloseLink{link});
    }
    seat.launch.sweep_instead(repair.hosts.at(host), turn.now(), turn.out());
    tell_lost(repair.error, host, turn);
    for (const std::uint32_t below : seat.launch.subtree().all_below(host)) {
      const auto known = repair.hosts.find(below);
      if (known == repair.hosts.end() || is_lost(below, seat)) continue;
      tell_lost(repair.error, below, turn);
      seat.launch.sweep_instead(known->second, turn.now(), turn.out());
    }
  }
}

void Repairs::turn(Turn& turn) {
  std::vector<std::uint32_t> late;
  for (const auto& [host, repair] : repairs_) {
    if (!repair.is_gone && turn.real_now() >= repair.reach_by) late.push_back(host);
  }
  for (const std::uint32_t host : late) {
    const auto& children = turn.seat().launch.children();
    const bool answers = std::any_of(claims_.begin(), claims_.end(), [&](const auto& claim) {
      return children.at(claim.first).host.index == host;
    });
    answers ? void(repairs_.at(host).reach_by = repairs_.at(host).end_by) : presume_gone(host, turn);
  }
  for (auto it = repairs_.begin(); it != repairs_.end();) {
    if (turn.real_now() < it->second.end_by) {
      ++it;
      continue;
    }
    end(it->second, turn);
    it = repairs_.erase(it);
  }
}

Instant Repairs::next_deadline() const {
  Instant deadline = kNever;
  for (const auto& [host, repair] : repairs_)
    deadline = earlier(deadline, repair.is_gone ? repair.end_by : repair.reach_by);
  return deadline;
}

/// What a claimed one says, and what one says who was sent to adopt.
bool Repairs::up(Child& child, LinkId link, const wire::Message& message, Turn& turn) {
  const Seat seat = turn.seat();
  const auto refuse = [&] {
    turn.give_up(link, Error{Errc::bad_peer, Phase::run, "its launcher does not let itself be adopted"});
    return true;
  };
  const auto open = claims_.find(link);
  const bool is_claimed = open != claims_.end();
  const auto proves = [&](const std::string& proof, const char* what) {
    return same_secret(proof, adoption_proof(seat.job, what, child.host.index, open->second));
  };
  if (child.adopts()) {
    return handle(
               message,
               [&](const wire::Waiting& waiting) {
                 return waiting.host == child.host.index ? (claim(child, link, waiting, turn), true)
                                                         : refuse();
               },
               [&](const wire::Swept&) {
                 child.done();
                 turn.act(CloseLink{link});
                 not_there(child.host.index, "none waits there", turn);
               }) ||
           refuse();
  }
  return handle(
             message,
             [&](const wire::Taken& taken) {
               const bool is_valid = is_claimed ? proves(taken.proof, "taken") : child.serves();
               const bool may_be = seat.job.repairs() && (!seat.is_root() || seat.job.keeps_alive());
               return is_valid && may_be ? (turn.tell(GivenUp{}), true) : refuse();
             },
             [&](const wire::Claimed& answer) {
               if (!is_claimed) return false;
               if (!proves(answer.proof, "claimed")) return refuse();
               return claimed(child.host.index, link, answer, turn), true;
             }) ||
         (is_claimed && refuse());
}

/// We are there, and now to the one that waits.
void Repairs::arrived(std::uint32_t host, LinkId link, Turn& turn) {
  const wire::JobSpec& job = turn.seat().job;
  turn.act(Send{link, wire::Adopt{job.id, host, adoption_socket(job, host)}});
}

/// From here on it gets all orders: they come behind the claim.
void Repairs::claim(Child& child, LinkId link, const wire::Waiting& waiting, Turn& turn) {
  const Seat seat = turn.seat();
  const std::uint32_t host = child.host.index;
  std::map<std::uint32_t, Host> below;
  for (const auto& [lost, repair] : repairs_) {
    if (!repair.sought.contains(host)) continue;
    for (const std::uint32_t index : seat.launch.subtree().all_below(host)) {
      if (const auto known = repair.hosts.find(index); known != repair.hosts.end()) below.insert(*known);
    }
  }
  const Nonces nonces{waiting.nonce, make_nonce(seat.job, random_)};
  claims_[link] = nonces;
  const RunProgress& progress = seat.progress;
  turn.act(Send{link, wire::Claim{nonces.adopter, adoption_proof(seat.job, "claim", host, nonces), seat.level,
                                  progress.epoch, progress.lost.ranges(), progress.releases,
                                  turn.is_suspended(), takes_over_}});
  seat.launch.adopted(link, std::move(below), turn.now());
  turn.tell(LauncherClaimed{link});
}

void Repairs::claimed(std::uint32_t host, LinkId link, const wire::Claimed& answer, Turn& turn) {
  claims_.erase(link);
  for (auto it = repairs_.begin(); it != repairs_.end();) {
    it->second.sought.erase(host);
    it = it->second.sought.empty() ? repairs_.erase(it) : std::next(it);
  }
  turn.seat().launch.claimed(link, turn.now(), turn.out());
  turn.tell(LauncherFound{host, link, answer});
}

void Repairs::stop() {
  repairs_.clear();
  claims_.clear();
}

}  // namespace charmtree::health
