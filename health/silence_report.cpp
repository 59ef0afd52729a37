// SPDX-License-Identifier: Apache-2.0
#include "health/silence_report.hpp"

#include <fmt/format.h>

#include <set>
#include <string>

#include "tree/turn/job_status.hpp"
#include "tree/turn/process_end.hpp"
#include "tree/wire/fold.hpp"

namespace charmtree::proto {

using State = wire::Silence::State;

/// One that is killed because of it is told by its end.
bool SilenceReport::turn(const Judge& judge, Instant now, Actions& out) {
  bool some_hang = false;
  for (const Silences::News& news : silences_.take(now)) {
    if (news.state == State::hung && job_->silence.kills) continue;
    some_hang = some_hang || news.state == State::hung;
    std::set<std::uint32_t> hosts;
    for (const std::uint32_t process : news.processes) hosts.insert(judge.places().host_of(process).index);
    std::string line = fmt::format("{} on {} ", wire::fold_numbers(news.processes),
                                   names_of({hosts.begin(), hosts.end()}, hosts_));
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
  return some_hang;
}

}  // namespace charmtree::proto
