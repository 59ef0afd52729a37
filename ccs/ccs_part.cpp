// SPDX-License-Identifier: Apache-2.0
#include "ccs/ccs_part.hpp"

#include <fmt/format.h>

#include "tree/clients/ccs_answer.hpp"
#include "tree/job/host_processes.hpp"

namespace charmtree::proto {

void CcsPart::down(const wire::CcsSpread& piece, Turn& turn) {
  const Seat seat = turn.seat();
  std::optional<CcsFanout::Answer> failed;
  const LocalProcesses local = seat.processes != nullptr ? seat.processes->local() : LocalProcesses{};
  const CcsFanout::Targets targets = fanout_.spread(piece, seat.launch.subtree(), local, failed);
  for (const auto& [link, ranges] : targets.below) {
    wire::CcsSpread part = piece;
    part.processes = piece.first ? ranges : std::vector<wire::ProcessSet::Range>{};
    turn.hand_down_by(link, std::move(part));
  }
  if (piece.last && !targets.own.empty()) request_own(targets.own, turn);
  if (failed) pass_on(std::move(*failed), turn);
  for (const auto& [link, ranges] : targets.below) {
    const Child* child = seat.launch.find(link);
    if (child != nullptr && child->state() != Child::State::up) lost(*child, link, turn);
  }
}

void CcsPart::request_own(const std::vector<std::uint32_t>& processes, Turn& turn) {
  const std::string payload = fanout_.take_payload();
  Upward upward;
  for (const std::uint32_t process : processes)
    turn.seat().processes->request(process, payload, turn.now(), turn.out(), upward);
  turn.tell_up(std::move(upward));
}

void CcsPart::up(LinkId link, wire::CcsAnswer piece, Turn& turn) {
  fanout_.awaits(piece.token) ? merge({link}, piece, turn) : turn.tell_up(std::move(piece));
}

bool CcsPart::merges(const wire::CcsAnswer& piece, Turn& turn) {
  if (!fanout_.awaits(piece.token)) return false;
  merge({kParentLink, piece.process}, piece, turn);
  return true;
}

void CcsPart::merge(CcsFanout::Source source, const wire::CcsAnswer& piece, Turn& turn) {
  if (auto answer = fanout_.answered(source, piece, turn.seat().launch.subtree()))
    pass_on(std::move(*answer), turn);
}

void CcsPart::pass_on(CcsFanout::Answer answer, Turn& turn) {
  RequestAnswered merged{answer.process, answer.token, true, {}, std::move(answer.failure)};
  if (merged.failure.empty())
    merged.bytes = turn.seat().is_root() ? std::move(answer.replies).whole() : wire::encode(answer.replies);
  for (wire::CcsAnswer& piece : pieces(merged)) turn.tell_up(std::move(piece));
}

void CcsPart::lost(const Child& child, LinkId link, Turn& turn) {
  const std::string why = fmt::format("the launcher of {} is lost", child.host.name);
  const std::uint32_t process = turn.seat().launch.subtree().lowest_process(link);
  for (CcsFanout::Answer& answer : fanout_.lost(link, process, why)) pass_on(std::move(answer), turn);
}

}  // namespace charmtree::proto
