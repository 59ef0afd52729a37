// SPDX-License-Identifier: Apache-2.0
#include "tree/job/decision.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "tree/base/exit_status.hpp"
#include "tree/base/signals.hpp"

namespace charmtree::proto {

Verdict failure(int status, std::string line, Ending why) {
  if (why.how.empty()) why.how = line;
  return {status, 0, {wire::EndMode::stop, signals::kTerminate}, {std::move(line)}, std::move(why)};
}

void Decision::decide(Verdict verdict, std::uint32_t unfinished) {
  if (verdict_) return;
  verdict_ = std::move(verdict);
  verdict_->why.restarted = restarted_;
  if (verdict_->why.process && verdict_->end.mode != wire::EndMode::finish) aftermath_.begin(unfinished);
}

void Decision::refuse(const Error& error) {
  decide(failure(kLauncherFailed, to_string(error)));
}

/// That the program is not there on any host is its user's to know.
void Decision::too_few(const std::string& line) {
  Verdict verdict = failure(launch_.all_failed() ? launch_.failure_status() : kLauncherFailed, line);
  verdict.lines = launch_.failure_lines();
  verdict.lines.push_back(line);
  decide(std::move(verdict));
}

void Decision::time_limit_reached() {
  decide(failure(kTimeLimit, "Time limit reached (++timelimit)", {Cause::time_limit}));
}

/// kKill, which nobody can catch, is that of ++kill: it ends the job as TERM does, but counts each time.
void Decision::interrupted(int signal) {
  const bool twice = signal == signals::kTerminate || signal == signals::kHangup;
  if (verdict_) return interrupted_again(signal, twice);
  const bool ordered = signal == signals::kKill;
  const int ends = ordered ? signals::kTerminate : signal;
  const std::string how = ordered ? "++kill" : strsignal(signal);
  Verdict verdict{status_of_signal(ends), ends, {wire::EndMode::stop, static_cast<std::uint8_t>(ends)}, {}};
  verdict.why = {Cause::user_signal, {}, {}, how};
  if (signal == signals::kBrokenPipe)
    return decide(std::move(verdict));  // as quiet as everybody in a pipe to `head`
  std::string line = fmt::format("{}: ending the job", how);
  if (!launch_.all_up()) line += fmt::format(" during the launch ({})", launch_.summary());
  verdict.lines.push_back(twice ? line : line + "; once more ends it at once");
  decide(std::move(verdict));
}

/// What we say of an end may meet a broken pipe: that cuts no grace short, but of a job that is done nothing
/// more is wanted. A signal that comes twice (`timeout` does that) is one; whoever sends it to a job that
/// ends anyway does not wait for readers.
void Decision::interrupted_again(int signal, bool twice) {
  if (signal == signals::kBrokenPipe && verdict_->end.mode != wire::EndMode::finish) return;
  if (twice && verdict_->why.cause == Cause::user_signal) return;
  verdict_->end.mode = wire::EndMode::kill;
  if (!twice) return;
  verdict_->signal = signal;
  verdict_->status = status_of_signal(signal);
}

void Decision::lose_output(std::uint32_t host, const std::string& how) {
  if (!verdict_ || verdict_->status != 0) return;
  verdict_->status = kLauncherFailed;
  verdict_->why.cause = Cause::launcher;
  verdict_->why.host = host;
  verdict_->why.how = how;
}

}  // namespace charmtree::proto
