// SPDX-License-Identifier: Apache-2.0
#include "tree/job/failure_notices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace charmtree::proto {

void FailureNotices::add(const wire::ProcessExit& exit, std::string line, Instant now) {
  if (lines_ == kMaxLines || !ends_.add(way_of(exit), {exit.process, exit.process})) return;
  if (failed_.empty()) {
    single_ = std::move(line);
    due_ = std::max(now + kTogether, not_before_);
  }
  failed_.add(exit.process);
}

std::optional<std::string> FailureNotices::take(std::uint32_t others, Instant now) {
  if (now < due_) return std::nullopt;
  std::string text = failed_.size() == 1
                         ? std::move(single_)
                         : fmt::format("{}: run: {}", places_.names_of(failed_), ends_.line());
  text += others == 1 ? "; the other process continues"
                      : fmt::format("; the other {} processes continue", others);
  text += " (++on-failure abort ends the job at such a failure)";
  if (++lines_ == kMaxLines) text += "; further failures are reported at the end";
  ends_ = {};
  failed_ = {};
  due_ = kNever;
  not_before_ = now + kPause;
  return text;
}

}  // namespace charmtree::proto
