// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/launch_part.hpp"

#include <algorithm>
#include <utility>

#include "tree/turn/upward.hpp"

namespace charmtree::proto {

void LaunchPart::begin(const wire::JobSpec& job, wire::Blob coded_job, LaunchConfig place, Random& random) {
  place.postal = believable(job.launch.login_occupancy, job.launch.login_latency);
  launch_.emplace(job, std::move(coded_job), place, random);
}

void LaunchPart::on(const LinkUp& event, Turn& turn) {
  const Child* child = launch_->find(event.link);
  if (child == nullptr) return;
  if (!event.note.empty()) turn.tell_up(wire::Note{child->host.index, event.note});
  if (!event.key.type.empty()) turn.tell_up(wire::NewHostKey{child->host.index, event.key});
  launch_->on(event, turn.now(), turn.out());
  child = launch_->find_up(event.link);
  if (child != nullptr && child->adopts()) turn.tell(AdopterUp{child->host.index, event.link});
}

void LaunchPart::on(const LoginFailed& event, Turn& turn) {
  const Child* child = launch_->find(event.link);
  if (child == nullptr || child->state() != Child::State::logging_in) return;
  if (!event.note.empty()) turn.tell_up(wire::Note{child->host.index, event.note});
  Upward news;
  launch_->on(event, turn.now(), turn.out(), news.facts.hosts_failed);
  child = launch_->find(event.link);
  if (child != nullptr && child->visits() && child->state() == Child::State::lost)
    turn.tell(VisitFailed{child->host, event.error, child->adopts()});
  turn.tell_up(std::move(news));
}

void LaunchPart::tick(Turn& turn) {
  Upward news;
  launch_->tick(turn.now(), turn.out(), news.facts.hosts_failed);
  turn.tell_up(std::move(news));
}

void LaunchPart::down(const wire::Assign& more, Turn& turn) {
  const Seat seat = turn.seat();
  const bool known = std::all_of(more.hosts.begin(), more.hosts.end(),
                                 [&](const Host& h) { return h.profile < seat.job.profiles.size(); });
  if (!seat.is_ending && known) launch_->add(more.hosts, more.login_rate, turn.now(), turn.out());
}

void LaunchPart::up(LinkId link, const wire::Ask& ask, Turn& turn) {
  if (!turn.seat().is_ending) launch_->ask(link, ask, turn.now(), turn.out());
}

/// Each launcher between the one that failed and the root tries once.
void LaunchPart::up(LinkId link, const wire::HandBack& message, bool stays, Turn& turn) {
  Upward news;
  for (const wire::HostFailure& entry : message.hosts) {
    const std::string& name = launch_->find(link)->below.at(entry.host).name;
    turn.act(Say{Tone::verbose, name + ": not reachable from its launcher, starting it from here (" +
                                    to_string(entry.error) + ")"});
    const bool is_tried = launch_->take_back(link, entry.host, turn.now(), turn.out());
    if (!is_tried && !stays) news.facts.hosts_failed.push_back(entry);
  }
  turn.tell_up(std::move(news));
}

}  // namespace charmtree::proto
