// SPDX-License-Identifier: Apache-2.0
// CCS requests for several processes go down the tree once per launcher, and one answer comes up from each
// (CcsFanout).
#include <fmt/format.h>

#include "charmrun/node/node.hpp"
#include "tree/clients/ccs_answer.hpp"

namespace charmtree {

using namespace proto;

void Node::spread(const wire::CcsSpread& piece) {
  std::optional<CcsFanout::Answer> failed;
  const LocalProcesses local = processes_ ? processes_->local() : LocalProcesses{};
  const CcsFanout::Targets targets = fanout_.spread(piece, launch_->subtree(), local, failed);
  for (const auto& [link, ranges] : targets.below) {
    if (launch_->find_up(link) == nullptr) continue;
    wire::CcsSpread part = piece;
    part.processes = piece.first ? ranges : std::vector<wire::ProcessSet::Range>{};
    out_->push_back(Send{link, std::move(part)});
  }
  if (piece.last && !targets.own.empty()) request_own(targets.own, fanout_.take_payload());
  if (failed) pass_on(std::move(*failed));
  for (const auto& [link, ranges] : targets.below) {
    const Child* child = launch_->find(link);
    if (child != nullptr && child->state != Child::State::up) lost_for_ccs(*child, link);
  }
}

void Node::request_own(const std::vector<std::uint32_t>& processes, const std::string& payload) {
  Upward upward;
  for (const std::uint32_t process : processes) processes_->request(process, payload, now_, *out_, upward);
  up(std::move(upward));
}

/// An answer that others are merged with.
void Node::merge(CcsFanout::Source source, const wire::CcsAnswer& piece) {
  if (auto answer = fanout_.answered(source, piece, launch_->subtree())) pass_on(std::move(*answer));
}

/// The root hands the client what all have answered, without saying who.
void Node::pass_on(CcsFanout::Answer answer) {
  RequestAnswered merged{answer.process, answer.token, true, {}, std::move(answer.failure)};
  if (merged.failure.empty())
    merged.bytes = desk_ ? std::move(answer.replies).whole() : wire::encode(answer.replies);
  for (wire::CcsAnswer& piece : pieces(merged)) up(std::move(piece));
}

void Node::lost_for_ccs(const Child& child, LinkId link) {
  const std::string why = fmt::format("the launcher of {} is lost", child.host.name);
  const std::uint32_t process = launch_->subtree().lowest_process(link);
  for (CcsFanout::Answer& answer : fanout_.lost(link, process, why)) pass_on(std::move(answer));
}

}  // namespace charmtree
