// SPDX-License-Identifier: Apache-2.0
// The lines that wait are one queue. A line joins the first equal one behind the last one that has its
// process, or stands at the end; lines leave at the front only. So no process's lines change their order.
#include "charmrun/line_fold.hpp"

#include <functional>
#include <utility>

namespace charmtree {

void LineFold::add(std::uint32_t process, std::string_view lines, Instant read, Instant now,
                   std::uint32_t processes, std::vector<FoldedLine>& out) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n') + 1);
    lines.remove_prefix(line.size());
    add_line(process, line, read, now);
    while (!waiting_.empty() && (waiting_.front().line.processes.size() >= processes ||
                                 waiting_.size() > kMostLines || bytes_ > kMostBytes))
      hand_out(out);
  }
}

void LineFold::add_line(std::uint32_t process, std::string_view line, Instant read, Instant now) {
  const std::size_t hash = std::hash<std::string_view>{}(line);
  std::uint64_t& next = next_[process];
  for (std::size_t at = next > handed_out_ ? next - handed_out_ : 0; at < waiting_.size(); ++at) {
    Waiting& waiting = waiting_[at];
    if (waiting.hash != hash || waiting.line.text != line) continue;
    waiting.line.processes.add(process);
    next = handed_out_ + at + 1;
    return;
  }
  waiting_.push_back({{{}, std::string{line}, read}, hash, now + window_});
  waiting_.back().line.processes.add(process);
  bytes_ += line.size();
  next = handed_out_ + waiting_.size();
}

void LineFold::hand_out(std::vector<FoldedLine>& out) {
  bytes_ -= waiting_.front().line.text.size();
  out.push_back(std::move(waiting_.front().line));
  waiting_.pop_front();
  ++handed_out_;
}

void LineFold::flush(std::uint32_t process, std::vector<FoldedLine>& out) {
  const auto next = next_.find(process);
  while (next != next_.end() && handed_out_ < next->second) hand_out(out);
}

void LineFold::tick(Instant now, std::vector<FoldedLine>& out) {
  while (next_deadline() <= now) hand_out(out);
}

void LineFold::finish(std::vector<FoldedLine>& out) {
  while (!waiting_.empty()) hand_out(out);
}

}  // namespace charmtree
