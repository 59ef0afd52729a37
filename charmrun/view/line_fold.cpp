// SPDX-License-Identifier: Apache-2.0
// The lines that wait are partly ordered: each process puts its lines into a row, and a line in which several
// have met stands in all their rows. A line joins the first equal one that is not before the last one of its
// process, so that the order never closes to a circle. Whoever leaves takes along all that is before it.
#include "charmrun/view/line_fold.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace charmtree {

void LineFold::add(const LinesRead& lines, Instant now, std::uint32_t processes,
                   std::vector<FoldedLine>& out) {
  processes_ = processes;
  for (std::string_view rest = lines.text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    rest.remove_prefix(line.size());
    const Slot slot = add_line(lines, line, now);
    if (is_complete(slot)) hand_out(Slots{}.set(slot), out);
    while (order_.size() > kMostLines || (bytes_ > kMostBytes && !order_.empty()))
      hand_out(Slots{}.set(order_.begin()->second), out);
  }
}

std::optional<LineFold::Slot> LineFold::last_of(std::uint32_t process) const {
  const auto last = last_.find(process);
  if (last == last_.end()) return {};
  const auto& [slot, number] = last->second;
  return order_.contains(number) ? std::optional{slot} : std::nullopt;
}

std::optional<LineFold::Slot> LineFold::equal_one(std::size_t hash, const LinesRead& lines,
                                                  std::string_view line, std::optional<Slot> last) const {
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return {};
  for (const Slot slot : found->second) {
    const FoldedLine& waiting = slots_[slot].line;
    if (last && (slot == *last || slots_[*last].before[slot])) continue;
    if (waiting.stream == lines.stream && waiting.text == line) return slot;
  }
  return {};
}

LineFold::Slot LineFold::add_line(const LinesRead& lines, std::string_view line, Instant now) {
  const std::size_t hash = std::hash<std::string_view>{}(line);
  const std::optional<Slot> last = last_of(lines.process);
  if (const auto equal = equal_one(hash, lines, line, last)) {
    Waiting& waiting = slots_[*equal];
    waiting.line.processes.add(lines.process);
    if (last) put_before(*last, *equal);
    last_[lines.process] = {*equal, waiting.number};
    return *equal;
  }
  Slot slot = slots_.size();
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Waiting& waiting = slots_[slot];
  waiting = {{{}, std::string{line}, lines.read, lines.stream}, hash, now + window_, ++numbers_, {}};
  waiting.line.processes.add(lines.process);
  if (last) (waiting.before = slots_[*last].before).set(*last);
  bytes_ += line.size();
  order_.emplace(waiting.number, slot);
  by_hash_[hash].push_back(slot);
  last_[lines.process] = {slot, waiting.number};
  return slot;
}

/// `second` is not before `first`.
void LineFold::put_before(Slot first, Slot second) {
  if (slots_[second].before[first]) return;
  const Slots more = Slots{slots_[first].before}.set(first);
  for (const auto& [number, slot] : order_) {
    if (slot == second || slots_[slot].before[second]) slots_[slot].before |= more;
  }
}

/// The chosen and all before them: always the lowest of those that nothing is before any more.
void LineFold::hand_out(const Slots& chosen, std::vector<FoldedLine>& out) {
  Slots leaving = chosen;
  for (const auto& [number, slot] : order_) {
    if (chosen[slot]) leaving |= slots_[slot].before;
  }
  using Place = std::pair<std::pair<std::uint32_t, std::uint64_t>, Slot>;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
  const auto make_ready = [&](Slot slot) {
    const Waiting& waiting = slots_[slot];
    if (waiting.before.none()) ready.push({{waiting.line.processes.lowest(), waiting.number}, slot});
  };
  std::vector<Slot> members;
  for (const auto& [number, slot] : order_) {
    if (!leaving[slot]) continue;
    members.push_back(slot);
    make_ready(slot);
  }
  while (!ready.empty()) {
    const Slot next = ready.top().second;
    ready.pop();
    std::vector<Slot> behind;
    for (const Slot slot : members) {
      if (slots_[slot].before[next]) behind.push_back(slot);
    }
    hand_out_one(next, out);
    for (const Slot slot : behind) make_ready(slot);
  }
}

void LineFold::hand_out_one(Slot slot, std::vector<FoldedLine>& out) {
  Waiting& waiting = slots_[slot];
  bytes_ -= waiting.line.text.size();
  order_.erase(waiting.number);
  const auto equals = by_hash_.find(waiting.hash);
  std::erase(equals->second, slot);
  if (equals->second.empty()) by_hash_.erase(equals);
  out.push_back(std::move(waiting.line));
  for (const auto& [number, other] : order_) slots_[other].before.reset(slot);
  free_.push_back(slot);
}

void LineFold::flush(std::uint32_t process, std::vector<FoldedLine>& out) {
  if (const auto last = last_of(process)) hand_out(Slots{}.set(*last), out);
}

void LineFold::tick(Instant now, std::vector<FoldedLine>& out) {
  if (next_deadline() > now) return;
  Slots due;
  for (const auto& [number, slot] : order_) {
    if (slots_[slot].due > now + window_ / kTogether) break;
    due.set(slot);
  }
  hand_out(due, out);
}

void LineFold::finish(std::vector<FoldedLine>& out) {
  Slots all;
  for (const auto& [number, slot] : order_) all.set(slot);
  hand_out(all, out);
}

}  // namespace charmtree
