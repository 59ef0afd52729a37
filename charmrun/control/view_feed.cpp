// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/view_feed.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace charmtree::control {

bool ViewBudget::take(std::size_t bytes, Instant now) {
  const double earned = seconds(now - filled_) * static_cast<double>(kRate);
  left_ = earned >= static_cast<double>(kBurst) ? kBurst
                                                : std::min(kBurst, left_ + static_cast<std::size_t>(earned));
  filled_ = now;
  if (bytes > left_) return false;
  left_ -= bytes;
  return true;
}

std::uint64_t ViewFeed::take_missed(std::size_t unread) {
  return unread <= kGoOnBelow ? std::exchange(missed_, 0) : 0;
}

void ViewHistory::add(Line line) {
  const std::size_t bytes = line.text.size();
  put(std::move(line), bytes);
}

void ViewHistory::add(const proto::Show& action) {
  const wire::Output& all = action.output;
  std::string_view last = all.text;
  if (last.size() > kMostBytes) {
    last.remove_prefix(last.size() - kMostBytes);
    const std::size_t line = last.find('\n');
    if (line != std::string_view::npos && line + 1 < last.size()) last.remove_prefix(line + 1);
  }
  wire::Output output{all.process, all.stream, false, std::string{last}, all.tail, all.read};
  put(Printed{std::move(output), action.host, action.processes, action.raw}, last.size());
}

void ViewHistory::put(Piece piece, std::size_t bytes) {
  pieces_.push_back(std::move(piece));
  sizes_.push_back(bytes + kViewPiece);
  bytes_ += sizes_.back();
  while (bytes_ > kMostBytes + kViewPiece) {
    bytes_ -= sizes_.front();
    sizes_.pop_front();
    pieces_.pop_front();
  }
}

}  // namespace charmtree::control
