// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/signing_part.hpp"

#include <fmt/format.h>

#include "tree/overlay/launch.hpp"

namespace charmtree::proto {

namespace {
/// Lines: a launcher that goes on asking gets no more of the screen.
constexpr std::uint32_t kRefusalsTold = 20;

bool is_logging_in(const Launch& launch, LinkId link) {
  const auto child = launch.children().find(link);
  return child != launch.children().end() && child->second.state() == Child::State::logging_in;
}
}  // namespace

SigningPart::SigningPart(const wire::JobSpec& job, std::map<std::string, std::string> key_names)
    : gate_(std::in_place, job, LaunchConfig{}.retries + 1), key_names_(std::move(key_names)) {}

void SigningPart::on(const SignatureWanted& event, Turn& turn) {
  const Seat seat = turn.seat();
  if (!is_logging_in(seat.launch, event.link)) return;
  if (seat.is_root() || turn.way_up() != WayUp::open) return turn.act(Signed{event.link, {}});
  const std::uint32_t host = seat.launch.children().at(event.link).host.index;
  turn.tell_up(wire::SignRequest{seat.self.index, event.link, host, event.data});
}

void SigningPart::on(const SignatureMade& event, Turn& turn) {
  down({event.launcher, event.login, event.signature}, turn);
}

void SigningPart::up(const wire::SignRequest& request, Turn& turn) {
  const Seat seat = turn.seat();
  if (!seat.is_root()) return turn.tell_up(request);
  const Host& host = (*seat.hosts)[request.host];
  const std::string& launcher = (*seat.hosts)[request.launcher].name;
  const auto key = gate_->admit(host, request.data, seat.is_ending);
  if (!key) {
    if (refused_++ < kRefusalsTold)
      turn.act(Say{Tone::info, fmt::format("{}: refused to sign a login for the launcher on {}: {}",
                                           host.name, launcher, key.error().what)});
    return down({request.launcher, request.login, {}}, turn);
  }
  turn.act(Say{Tone::verbose, fmt::format("{}: signing the login with {} for the launcher on {}", host.name,
                                          key_names_.at(*key), launcher)});
  turn.act(Sign{request.launcher, request.login, *key, request.data});
}

void SigningPart::down(const wire::SignReply& reply, Turn& turn) {
  const Seat seat = turn.seat();
  if (!seat.is_root() && reply.launcher == seat.self.index) {
    if (is_logging_in(seat.launch, reply.login)) turn.act(Signed{reply.login, reply.signature});
    return;
  }
  const Subtree::Entry* entry = seat.launch.subtree().find(reply.launcher);
  if (entry != nullptr) turn.hand_down_by(entry->link, reply);
}

void SigningPart::heard(const wire::Facts& facts) {
  for (const std::uint32_t host : facts.hosts_up) gate_->answered(host);
  for (const wire::HostFailure& failure : facts.hosts_failed) gate_->failed(failure);
}

void SigningPart::heard(const wire::LinkLost& lost) {
  if (lost.lives) return;
  gate_->lost(lost.host);
  for (const std::uint32_t host : lost.hosts) gate_->lost(host);
}

}  // namespace charmtree::proto
