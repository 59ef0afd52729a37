// SPDX-License-Identifier: Apache-2.0
// The desk's part in processes that say nothing though they should (DESIGN D25): the user reads of them. What
// else is done about them is their launchers' to do.
#include <fmt/format.h>

#include <set>

#include "charmrun/node/root_desk.hpp"
#include "tree/proto/process_end.hpp"
#include "tree/wire/fold.hpp"

namespace charmtree {

using namespace proto;
using State = wire::Silence::State;

void RootDesk::silence(const wire::Silence& told, Instant now) {
  if (told.process >= job_->processes || judge_.verdict()) return;
  if (tells_progress_) progress_.silences.push_back(told);
  silences_.on(told, now);
}

/// One that is killed because of it is told by its end.
void RootDesk::tell_silences(Instant now, Actions& out) {
  for (const Silences::News& news : silences_.take(now)) {
    if (news.state == State::hung && job_->silence.kills) continue;
    std::set<std::uint32_t> hosts;
    for (const std::uint32_t process : news.processes) hosts.insert(judge_.host_of(process).index);
    std::string line =
        fmt::format("{} on {} ", wire::fold_numbers(news.processes), names({hosts.begin(), hosts.end()}));
    const bool one = news.processes.size() == 1;
    const std::string time = words_for(news.least);
    const std::string silent = fmt::format("{} not served {} for {}", one ? "has" : "have",
                                           one ? "its socket" : "their sockets", time);
    if (news.state == State::over)
      line += fmt::format("{} again, after {}", one ? "serves its socket" : "serve their sockets", time);
    else if (news.state == State::stopped)
      line += fmt::format("{} stopped by a signal, and {}", one ? "is" : "are", silent);
    else
      line +=
          fmt::format("{}: {} (++hang-after)", silent, one ? "it computes or hangs" : "they compute or hang");
    out.push_back(Say{Tone::info, std::move(line)});
  }
}

JobStatus RootDesk::status() const {
  JobStatus status = judge_.status();
  status.silent = silences_.count();
  status.moved = judge_.moved();
  return status;
}

}  // namespace charmtree
