// SPDX-License-Identifier: Apache-2.0
// A launcher below cannot be reached any more, in a job that goes on: we log in to its host again, and if it
// lives it waits there (node_adoption.cpp) and becomes our child once more, with all below it. If it is gone
// we take its place, and seek those that it had started in the same way. Whoever is not found is lost, and
// whatever the job has left there is killed. Until then nothing is said of it: barriers wait.
//
// A launcher that is not there within three usual logins (1.5 to 3 s), or whose host is gone by the verdict,
// is given up for good: its host is swept, its processes are named, and the same is done with each launcher
// that it had started (Facts say who started whom), and with theirs where those are gone, too. All that
// within 2.5 s more; whoever has not been found then is lost, and swept as ever. The two steps are never
// under way at the same time, so that nobody is adopted from under a launcher that lives. Only once a launch
// is over below the lost one: then what is told once, tuples and who is up, need not be told again.
#include <algorithm>
#include <utility>

#include "ccs/guard.hpp"
#include "charmrun/node/adoption_socket.hpp"
#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// Not one that lies, nor while the launch is not over there: what it had to tell then is told once.
bool Node::can_repair(const Child& child, LinkId link, const Error& error) const {
  return job_->repairs() && ending_ == Ending::no && error.code != Errc::bad_peer &&
         (has_numbers_ || !job_->waits_for_all()) && launch_->subtree().is_up(link) &&
         (has_table_ || child.registered == 0);
}

void Node::begin_repair(const Child& child, LinkId link, const Error& error) {
  out_->push_back(
      Say{Tone::verbose, child.host.name + ": cut off, looking for its launcher (" + to_string(error) + ")"});
  leave(child, link);
  const std::uint32_t host = child.host.index;
  const Duration reach = std::clamp(3 * launch_->usual_login(), kReach, kHoldOn);
  Repair repair{error, child.below, real_now_ + reach, real_now_ + reach + kSeek};
  repair.hosts.insert_or_assign(host, child.host);
  repair.sought = {host};
  repairs_.insert_or_assign(host, std::move(repair));
  launch_->adopt(child.host, now_, *out_);
}

/// The lost launcher itself is not waited for any longer; whatever is left there is killed.
void Node::presume_gone(std::uint32_t host) {
  const auto it = repairs_.find(host);
  if (it == repairs_.end() || std::exchange(it->second.is_gone, true)) return;
  if (it->second.sought.erase(host) > 0) launch_->sweep_instead(it->second.hosts.at(host), now_, *out_);
  tell_lost(it->second, host);
  seek_below(it->second, host);
  if (it->second.sought.empty()) repairs_.erase(it);
}

/// Whoever had lost one of them may have died while it sought those that this one had started.
void Node::seek_below(Repair& repair, std::uint32_t host) {
  std::vector<std::uint32_t> gone{host};
  std::set<std::uint32_t> seen;
  while (!gone.empty()) {
    const std::vector<std::uint32_t> children = launch_->subtree().children_of(gone.back());
    gone.pop_back();
    for (const std::uint32_t below : children) {
      if (!seen.insert(below).second) continue;
      const auto known = repair.hosts.find(below);
      if (is_lost(below))
        gone.push_back(below);
      else if (known != repair.hosts.end() && repair.sought.insert(below).second)
        launch_->adopt(known->second, now_, *out_);
    }
  }
}

/// Its launcher was lost before.
bool Node::is_lost(std::uint32_t host) const {
  const Subtree::Entry* entry = launch_->subtree().find(host);
  if (entry == nullptr || entry->processes == 0) return false;
  return below_lost_launchers_.missing({entry->first_process, entry->first_process + entry->processes - 1})
      .empty();
}

void Node::tell_lost(const Repair& repair, std::uint32_t host) {
  wire::LinkLost lost{host, repair.error, {}};
  const Subtree::Entry* entry = launch_->subtree().find(host);
  if (entry != nullptr && entry->processes > 0)
    lost.processes = {{entry->first_process, entry->first_process + entry->processes - 1}};
  takeover_ ? takeover_->lost.push_back(std::move(lost)) : up(std::move(lost));
}

/// It does not answer, or nobody waits there: those below it may.
void Node::not_there(std::uint32_t host, const std::string& why) {
  const auto it = std::find_if(repairs_.begin(), repairs_.end(),
                               [&](auto& repair) { return repair.second.sought.erase(host) > 0; });
  if (it == repairs_.end()) return;
  Repair& repair = it->second;
  out_->push_back(
      Say{Tone::verbose, repair.hosts.at(host).name + ": its launcher is not reached again: " + why});
  if (it->first == host) return presume_gone(host);
  tell_lost(repair, host);
  seek_below(repair, host);
  if (repair.sought.empty()) repairs_.erase(it);
}

/// What waits there, if anything, nobody knows.
void Node::not_reached(const Host& host, const Error& error) {
  if (takeover_ && takeover_->unreached.empty()) takeover_->unreached = host.name + ": " + to_string(error);
  not_there(host.index, to_string(error));
}

/// Whoever has not been found by now is lost with all below.
void Node::end_repair(Repair& repair) {
  for (const std::uint32_t host : std::exchange(repair.sought, {})) {
    if (takeover_ && takeover_->unreached.empty())
      takeover_->unreached = repair.hosts.at(host).name + ": it has not answered in time";
    for (const auto& [link, child] : launch_->children()) {
      if (child.host.index != host || claims_.erase(link) == 0) continue;
      launch_->find(link)->state = Child::State::lost;
      out_->push_back(CloseLink{link});
    }
    launch_->sweep_instead(repair.hosts.at(host), now_, *out_);
    tell_lost(repair, host);
    for (const std::uint32_t below : launch_->subtree().all_below(host)) {
      const auto known = repair.hosts.find(below);
      if (known == repair.hosts.end() || is_lost(below)) continue;
      tell_lost(repair, below);
      launch_->sweep_instead(known->second, now_, *out_);
    }
  }
}

void Node::repair_turn() {
  if (real_now_ >= hold_until_) end({wire::EndMode::kill, 9});
  std::vector<std::uint32_t> late;
  for (const auto& [host, repair] : repairs_) {
    if (!repair.is_gone && real_now_ >= repair.reach_by) late.push_back(host);
  }
  for (const std::uint32_t host : late) {
    const bool answers = std::any_of(claims_.begin(), claims_.end(), [&](const auto& claim) {
      return launch_->children().at(claim.first).host.index == host;
    });
    answers ? void(repairs_.at(host).reach_by = repairs_.at(host).end_by) : presume_gone(host);
  }
  for (auto it = repairs_.begin(); it != repairs_.end();) {
    if (real_now_ < it->second.end_by) {
      ++it;
      continue;
    }
    end_repair(it->second);
    it = repairs_.erase(it);
  }
}

Instant Node::repair_deadline() const {
  Instant deadline = hold_until_;
  for (const auto& [host, repair] : repairs_)
    deadline = earlier(deadline, repair.is_gone ? repair.end_by : repair.reach_by);
  return deadline;
}

/// True: it came from one who is about to be adopted, or it is nothing that such a one may say.
bool Node::about_adoption(Child& child, LinkId link, const wire::Message& message) {
  const auto refuse = [&] {
    give_up(link, Error{Errc::bad_peer, Phase::run, "its launcher does not let itself be adopted"});
    return true;
  };
  if (child.adopter) {
    const auto* waiting = std::get_if<wire::Waiting>(&message);
    if (waiting != nullptr && waiting->host == child.host.index) return claim(child, link, *waiting), true;
    if (!std::holds_alternative<wire::Swept>(message)) return refuse();
    child.state = Child::State::done;
    out_->push_back(CloseLink{link});
    return not_there(child.host.index, "none waits there"), true;
  }
  const auto open = claims_.find(link);
  const auto* taken = std::get_if<wire::Taken>(&message);
  if (taken != nullptr) {
    const bool valid = open == claims_.end()
                           ? child.serves()
                           : ccs::same_secret(taken->proof, proof("taken", child.host.index, open->second));
    return valid && job_->repairs() && (!desk_ || job_->keeps_alive()) ? (given_up(), true) : refuse();
  }
  if (open == claims_.end()) return false;
  const auto* answer = std::get_if<wire::Claimed>(&message);
  if (answer == nullptr || !ccs::same_secret(answer->proof, proof("claimed", child.host.index, open->second)))
    return refuse();
  claimed(child, link, *answer);
  return true;
}

/// A launcher of ours has been adopted by one that is nearer to the root, or by another root: we are taken
/// for dead, and with us our processes. Whoever else is left below may be adopted, too.
void Node::given_up() {
  parent_gone_ = desk_ == nullptr;
  if (desk_)
    desk_->refuse({Errc::link_lost, Phase::run, "another root has taken over the job (++attach)", {}});
  if (detector_) detector_->forget(kParentLink);
  launch_->abandon(*out_);
  repairs_.clear();
  claims_.clear();
  end({wire::EndMode::kill, 9});
}

/// We are there, and now to the one that waits.
void Node::seek_waiting(const Child& child, LinkId link) {
  const std::uint32_t host = child.host.index;
  out_->push_back(Send{link, wire::Adopt{job_->id, host, adoption_socket(*job_, host)}});
}

/// From here on it gets all orders: they come behind the claim.
void Node::claim(Child& child, LinkId link, const wire::Waiting& waiting) {
  const std::uint32_t host = child.host.index;
  std::map<std::uint32_t, Host> below;
  for (const auto& [lost, repair] : repairs_) {
    if (!repair.sought.contains(host)) continue;
    for (const std::uint32_t index : launch_->subtree().all_below(host)) {
      if (const auto known = repair.hosts.find(index); known != repair.hosts.end()) below.insert(*known);
    }
  }
  const OpenClaim open{waiting.nonce, nonce()};
  claims_[link] = open;
  out_->push_back(Send{link, wire::Claim{open.ours, proof("claim", host, open), level_, epoch_,
                                         lost_.ranges(), releases_, clock_.stands(), takeover_.has_value()}});
  launch_->adopted(link, std::move(below), now_);
  if (end_) out_->push_back(Send{link, *end_});
}

void Node::claimed(const Child& child, LinkId link, const wire::Claimed& answer) {
  claims_.erase(link);
  watch(link);
  const std::uint32_t host = child.host.index;
  facts({.started_by = {{host, self_.index}}});
  for (auto it = repairs_.begin(); it != repairs_.end();) {
    it->second.sought.erase(host);
    it = it->second.sought.empty() ? repairs_.erase(it) : std::next(it);
  }
  hurry_facts();
  if (takeover_)
    takeover_->heirs.emplace(link, answer);
  else
    up(wire::Reached{host, launch_->subtree().processes_below(link)});
}

std::string Node::nonce() {
  return ccs::keyed_hash(job_->secret, "nonce" + std::to_string(random_.next()));
}

std::string Node::proof(const char* of, std::uint32_t host, const OpenClaim& claim) const {
  const std::string about = of + (" " + job_->id) + " " + std::to_string(host) + " ";
  return ccs::keyed_hash(job_->secret, about + claim.theirs + claim.ours);
}

}  // namespace charmtree
