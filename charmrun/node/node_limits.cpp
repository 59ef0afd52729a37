// SPDX-License-Identifier: Apache-2.0
// How much a child may say. What it speaks for is checked in node_trust.cpp; here is looked at how often and
// how long it speaks, so that no launcher that has been taken over fills the memory of those above it.
#include <fmt/format.h>

#include <algorithm>

#include "charmrun/node/node.hpp"
#include "tree/wire/message_members.hpp"
#include "tree/wire/message_rows.hpp"

namespace charmtree {

using namespace proto;

namespace {

/// Facts, output and answers, and what takes no memory: they have limits of their own, or need none.
bool is_counted(const wire::Message& message) {
  return std::visit([]<class M>(const M&) { return wire::kRowOf<M>.is_counted; },
                    static_cast<const wire::AnyMessage&>(message));
}

}  // namespace

/// Who is about to be adopted may know of every loss in the job.
wire::Remit Node::remit(LinkId link) const {
  if (!launch_ || link == kParentLink || link == kAdopterLink) return {};
  const auto found = launch_->children().find(link);
  if (found == launch_->children().end()) return {0, 0};
  const Child& child = found->second;
  if (child.adopter || claims_.contains(link)) return {job_->hosts, job_->processes};
  return {child.below.size() + 1, launch_->subtree().most_processes_of(link)};
}

/// Why this ends the link; nothing: it does not.
std::optional<Error> Node::refusal(LinkId link, const wire::Message& message) {
  const auto refuse = [](const char* why) { return Error{Errc::bad_peer, Phase::run, why}; };
  if (!allowed(link, message)) return refuse("its launcher spoke for hosts that it was not given");
  if (const auto* hello = std::get_if<wire::Hello>(&message); hello != nullptr && hello->clock == kNever)
    return refuse("its launcher has no clock");
  allowances_.set(link, remit(link));
  if (is_counted(message) && !allowances_.message(link, now_))
    return refuse("its launcher said more than there can be to say");
  note_told(link, message);
  return {};
}

/// What a host tells once in a run.
void Node::note_told(LinkId link, const wire::Message& message) {
  using Told = Subtree::Told;
  if (const auto* m = std::get_if<wire::Checkup>(&message)) launch_->subtree().told(m->host, Told::checkup);
  if (const auto* m = std::get_if<wire::Bindings>(&message)) launch_->subtree().told(m->host, Told::bindings);
  if (const auto* m = std::get_if<wire::QueuePairsUp>(&message))
    launch_->find(link)->queue_pairs += std::uint64_t{m->block.sources} * m->block.targets;
}

/// Its texts are not kept longer than what that child has said already leaves room for; lines have a limit of
/// their own (has_room).
void Node::shorten_texts(LinkId link, wire::Message& message) {
  const auto cut = [&](std::string& text) { allowances_.cut(link, text, now_); };
  std::visit(
      [&]<class M>(M& m) {
        if constexpr (!std::is_same_v<M, wire::Note>) wire::for_each_text(m, cut);
      },
      static_cast<wire::AnyMessage&>(message));
}

/// False: the user is not to read it.
bool Node::has_room(LinkId link, const wire::Message& message) {
  const auto* note = std::get_if<wire::Note>(&message);
  return note == nullptr || allowances_.line(link, note->text.size(), now_);
}

/// Of what this turn says to the user, from that place on: it was said because of a message from this child.
/// Errors are told once each, by those who find them.
void Node::leave_out_lines(LinkId link, std::size_t from) {
  const auto too_much = [&](const Action& action) {
    const auto* say = std::get_if<Say>(&action);
    return say != nullptr && say->tone != Tone::error && !allowances_.line(link, say->text.size(), now_);
  };
  const auto begin = out_->begin() + static_cast<std::ptrdiff_t>(from);
  out_->erase(std::remove_if(begin, out_->end(), too_much), out_->end());
}

void Node::tell_left_out(bool all) {
  for (const auto& [link, lines] : allowances_.take_left_out(now_, all)) {
    const Child* child = launch_->find(link);
    if (child == nullptr) continue;
    out_->push_back(
        Say{Tone::info, fmt::format("{} more {} from {} {} left out", lines, lines == 1 ? "line" : "lines",
                                    child->host.name, lines == 1 ? "was" : "were")});
  }
}

}  // namespace charmtree
