// SPDX-License-Identifier: Apache-2.0
#include "tree/job/going_on.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tree/base/exit_status.hpp"
#include "tree/base/signals.hpp"
#include "tree/turn/process_end.hpp"
#include "tree/wire/fold.hpp"

namespace charmtree::proto {

namespace {

/// Without a line: what there is to say was said when it happened.
Verdict loss_of(std::string how) {
  Verdict verdict{kLauncherFailed, 0, {wire::EndMode::stop, signals::kTerminate}, {}, {Cause::launcher}};
  verdict.why.how = std::move(how);
  return verdict;
}

}  // namespace

/// How these were lost has been said by the other root; if all others are to be lost, too, that is the cause.
void GoingOn::resume(std::uint32_t epoch, const wire::ProcessSet& lost) {
  losses_.resume(epoch, lost.ranges());
  if (!lost.empty()) first_ = loss_of("some processes were lost before another root took over");
}

bool GoingOn::goes_on_without(const wire::ProcessExit& exit) const {
  return goes_on() && (exit.registered || !of_.registrations.is_pending());
}

bool GoingOn::goes_on_without(const wire::LinkLost& lost) const {
  return goes_on() && !lost.lives && !of_.registrations.is_pending();
}

/// Those who had not registered are counted as gone, since nobody may wait for them in the table.
void GoingOn::lose(const wire::ProcessExit& exit) {
  const Losses::Ranges lost = losses_.lost({{exit.process, exit.process}});
  if (lost.empty()) return;  // its launcher was lost before we heard of its end
  if (!exit.registered) {
    exits_.count_gone();
    exits_.failed(exit);
  }
  const EarlyLeave early = early_leave(exit);
  if (!first_) first_ = exits_.verdict_of(exit, early.what, early.hint);
  losses_.add({lost, of_.places.host_of(exit.process).index, fmt::format("{}{}", describe(exit), early.what),
               exits_.about(exit, fmt::format("{}{}", early.what, early.hint)) + "; going on without it"});
}

/// The names of hosts that are lost with that one, folded.
std::string GoingOn::others_of(const wire::LinkLost& link, const Losses::Ranges& lost) const {
  std::set<std::string> others;
  for (const wire::ProcessSet::Range& range : lost) {
    for (std::uint64_t next = range.first; next <= range.last;) {
      const Host& there = of_.places.host_of(static_cast<std::uint32_t>(next));
      if (there.index != link.host) others.insert(there.name);
      next = std::max(next + 1, std::uint64_t{there.first_process} + there.processes);
    }
  }
  return others.empty() ? std::string{} : wire::fold_names({others.begin(), others.end()});
}

void GoingOn::lose(const wire::LinkLost& link) {
  const Losses::Ranges lost = losses_.lost(link.processes);
  const std::string& host = of_.hosts[link.host].name;
  const std::string how = to_string(link.error);
  const wire::ProcessSet processes{lost};
  std::string line = fmt::format("{}: {}; ", host, how);
  if (processes.empty()) {
    line += link.processes.empty() ? "no process was there" : "its processes had ended";
  } else {
    if (of_.registrations.count() == 0) exits_.count_gone(static_cast<std::uint32_t>(processes.size()));
    line += fmt::format("going on without {} {}", processes.size() == 1 ? "process" : "processes",
                        processes.print());
  }
  if (const std::string others = others_of(link, lost); !others.empty())
    line += fmt::format(", also those of {}, which it had started", others);
  if (!first_ && !processes.empty()) {
    first_ = loss_of(how);
    first_->lines.push_back(fmt::format("{}: {}", host, how));
    first_->why.host = link.host;
  }
  losses_.add({lost, link.host, how, std::move(line)});
}

Verdict GoingOn::verdict_at_end() const {
  Verdict verdict;
  if (losses_.lost().size() == of_.job.processes) verdict = *first_;
  verdict.lines.push_back(losses_.summary());
  verdict.why.lost = losses_.lost();
  return verdict;
}

}  // namespace charmtree::proto
