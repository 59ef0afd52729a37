// SPDX-License-Identifier: Apache-2.0
#include "tree/job/exit_record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/base/exit_status.hpp"
#include "tree/base/signals.hpp"
#include "tree/job/last_words.hpp"
#include "tree/turn/process_end.hpp"

namespace charmtree::proto {

namespace {

/// The status belongs into the line, unless it can be read there already.
std::string with_status(const std::string& what, int status) {
  if (what.starts_with(fmt::format("exited with status {}", status))) return what;
  return fmt::format("{} (status {})", what, status);
}

/// The code belongs into the line, too, where it is not the status.
std::string with_code(const std::string& what, int code, int status) {
  return code == status ? with_status(what, status)
                        : fmt::format("{} (code {}, status {})", what, code, status);
}

}  // namespace

EarlyLeave early_leave(const wire::ProcessExit& exit) {
  if (!exit.registered || exit.signal != 0 || exit.lost_connection) return {};
  return {" without the end of its protocol", "; did it call exit itself? see its output"};
}

void ExitRecord::on(const wire::Facts& facts) {
  ended_ += facts.ended;
  gone_ += facts.exited_ok;
  for (const wire::ProcessSet::Range& range : facts.who_ended) ends_.add({EndKind::well}, range);
  if (!first_ok_) first_ok_ = facts.first_ok;
  if (!code_) code_ = facts.code;
  ends_.add(facts.peers_of_ended());
}

void ExitRecord::note(std::uint32_t process, const WayToEnd& way, const std::string& how) {
  if (!ends_.add(way, {process, process}) || !way.is_failure()) return;
  news_.push_back({process, places_.host_of(process).index, way, how});
}

void ExitRecord::note(const wire::ProcessExit& exit) {
  note(exit.process, way_of(exit), describe(exit));
}

void ExitRecord::note(const wire::AbortUp& abort) {
  note(abort.process, way_of(abort), describe(abort));
}

void ExitRecord::note_lost(const std::vector<wire::ProcessSet::Range>& processes) {
  for (const wire::ProcessSet::Range& range : processes) ends_.add({EndKind::launcher}, range);
}

bool ExitRecord::has_crashed(std::uint32_t process) const {
  const auto& ways = ends_.ways();
  return std::any_of(ways.begin(), ways.end(), [&](const auto& each) {
    const auto& [way, processes] = each;
    return way.kind == EndKind::killed && signals::is_crash(way.number) && processes.contains(process);
  });
}

void ExitRecord::failed(const wire::ProcessExit& exit) {
  ++failed_;
  if (!first_failed_) first_failed_ = exit;
}

/// A process that does not register is only starting if others do, or if the loader gave up.
Phase ExitRecord::phase_of(const wire::ProcessExit& exit) const {
  const bool loader = exit.signal == 0 && !exit.text.empty() && !exit.lost_connection;
  const bool starting = registrations_.count() > 0 || loader;
  return !exit.registered && !exit.ended && starting ? Phase::start : Phase::run;
}

std::string ExitRecord::about(const wire::ProcessExit& exit, const std::string& more) const {
  return places_.about(exit.process, phase_of(exit),
                       fmt::format("{}{}{}", describe(exit), more, remedy(exit)));
}

Ending ExitRecord::ending_of(const wire::ProcessExit& exit) const {
  return {cause_of(exit), exit.process, places_.host_of(exit.process).index, describe(exit),
          lines_of_last_words(exit.last_words)};
}

std::string ExitRecord::first_failure() const {
  return about(*first_failed_,
               failed_ > 1 ? fmt::format(" (the first of {} that failed)", failed_) : std::string{});
}

Verdict ExitRecord::verdict_of(const wire::ProcessExit& exit, std::string_view more,
                               std::string_view hint) const {
  const std::string what = with_status(fmt::format("{}{}", describe(exit), more), status_of(exit));
  const std::string line =
      places_.about(exit.process, phase_of(exit), fmt::format("{}{}{}", what, hint, remedy(exit)));
  return with_first(
      exit.process,
      {status_of(exit), 0, {wire::EndMode::stop, signals::kTerminate}, {line}, ending_of(exit)});
}

Verdict ExitRecord::verdict_of(const wire::AbortUp& abort) const {
  const int status = low_byte(abort.code);
  const std::string how = describe(abort);
  const std::string line =
      places_.about(abort.process, registrations_.is_pending() ? Phase::start : Phase::run,
                    status == kLauncherFailed ? how : with_code(how, abort.code, status));
  return with_first(abort.process, failure(status, line,
                                           {Cause::abort, abort.process, places_.host_of(abort.process).index,
                                            how, lines_of_last_words(abort.last_words)}));
}

Verdict ExitRecord::with_first(std::optional<std::uint32_t> process, Verdict verdict) const {
  if (!first_failed_) return verdict;
  verdict.status = status_of(*first_failed_);
  verdict.why = ending_of(*first_failed_);
  if (first_failed_->process != process) verdict.lines.insert(verdict.lines.begin(), first_failure());
  return verdict;
}

Verdict ExitRecord::verdict_of_early(std::uint32_t waiting, std::string_view before,
                                     std::string_view where) const {
  std::string more = fmt::format(" before {}, while ", before);
  more += waiting == 1 ? "1 other waits" : fmt::format("{} others wait", waiting);
  more += fmt::format(" for it {}", where);
  wire::ProcessExit exit;
  exit.process = first_ok_.value_or(0);
  if (first_failed_) exit = *first_failed_;
  if (remedy(exit).empty())
    more += exit.code == 0 ? "; do all processes run the same program?" : "; see its output";
  return failure(first_failed_ ? status_of(exit) : kLauncherFailed, about(exit, more), ending_of(exit));
}

Verdict ExitRecord::verdict_at_end() const {
  Verdict verdict;
  if (code_) verdict.status = low_byte(code_->code);
  return with_first({}, std::move(verdict));
}

}  // namespace charmtree::proto
