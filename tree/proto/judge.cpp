// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "tree/base/exit_status.hpp"
#include "tree/base/signals.hpp"
#include "tree/proto/last_words.hpp"
#include "tree/wire/fold.hpp"

namespace charmtree::proto {

namespace {

int status_of(Errc code) {
  if (code == Errc::no_program) return kNotFound;
  return code == Errc::not_executable ? kNotExecutable : kLauncherFailed;
}

bool by_host(const wire::HostFailure& a, const wire::HostFailure& b) {
  return a.host < b.host;
}

/// Of its own accord, though it had registered.
bool has_left(const wire::ProcessExit& exit) {
  return exit.signal == 0 && !exit.lost_connection;
}
constexpr std::string_view kWithoutEnd = " without the end of its protocol";
constexpr std::string_view kSeeOutput = "; did it call exit itself? see its output";

/// The status belongs into the line, unless it can be read there already.
std::string with_status(const std::string& what, int status) {
  if (what.starts_with(fmt::format("exited with status {}", status))) return what;
  return fmt::format("{} (status {})", what, status);
}

}  // namespace

const Host& Judge::host_of(std::uint32_t process) const {
  if (const auto moved = moved_.host_of(process)) return hosts_[*moved];
  const Host* host = charmtree::host_of(hosts_, process);
  return host != nullptr ? *host : hosts_.back();
}

std::string Judge::about(std::uint32_t process, Phase phase, const std::string& what) const {
  return fmt::format("{}: {}: process {}: {}", host_of(process).name, name(phase), process, what);
}

/// A process that does not register is only starting if others do, or if the loader gave up.
Phase Judge::phase_of(const wire::ProcessExit& exit) const {
  const bool loader = exit.signal == 0 && !exit.text.empty() && !exit.lost_connection;
  return !exit.registered && !exit.ended && (registered_ > 0 || loader) ? Phase::start : Phase::run;
}

std::string Judge::about(const wire::ProcessExit& exit, const std::string& more) const {
  return about(exit.process, phase_of(exit), fmt::format("{}{}{}", describe(exit), more, remedy(exit)));
}

void Judge::decide(Verdict verdict) {
  if (verdict_) return;
  verdict_ = std::move(verdict);
  verdict_->why.restarted = restarted_;
  if (!verdict_->why.process || verdict_->end.mode == wire::EndMode::finish) return;
  aftermath_.begin(job_.processes - std::min(job_.processes, done()));
}

void Judge::fail(int status, std::string line, Ending why) {
  if (why.how.empty()) why.how = line;
  decide({status, 0, {wire::EndMode::stop, 15}, {std::move(line)}, std::move(why)});
}

Ending Judge::ending_of(const wire::ProcessExit& exit) const {
  return {cause_of(exit), exit.process, host_of(exit.process).index, describe(exit),
          lines_of_last_words(exit.last_words)};
}

/// The job ends by this; its status is nevertheless that of the first process that failed.
Verdict Judge::verdict_of(const wire::ProcessExit& exit, std::string_view more, std::string_view hint) const {
  const wire::ProcessExit& first = bad_exit_ ? *bad_exit_ : exit;
  const int status = status_of(first);
  Verdict verdict{status, 0, {wire::EndMode::stop, 15}, {}, ending_of(first)};
  if (first.process != exit.process) verdict.lines.push_back(first_bad_exit());
  const std::string what = with_status(fmt::format("{}{}", describe(exit), more), status_of(exit));
  verdict.lines.push_back(
      about(exit.process, phase_of(exit), fmt::format("{}{}{}", what, hint, remedy(exit))));
  return verdict;
}

void Judge::fail(const wire::ProcessExit& exit, std::string_view more, std::string_view hint) {
  decide(verdict_of(exit, more, hint));
}

std::string Judge::first_bad_exit() const {
  return about(*bad_exit_,
               bad_exits_ > 1 ? fmt::format(" (the first of {} that failed)", bad_exits_) : std::string{});
}

void Judge::on(wire::Facts facts, Instant now) {
  for (const std::uint32_t host : facts.hosts_up) up_ += answered_.insert(host).second ? 1 : 0;
  for (wire::HostFailure& failure : facts.hosts_failed) {
    answered_.insert(failure.host);
    failures_.push_back(std::move(failure));
  }
  await_answers(now);
  blocks_.insert(blocks_.end(), std::make_move_iterator(facts.blocks.begin()),
                 std::make_move_iterator(facts.blocks.end()));
  if (facts.epoch == epoch_) {
    for (std::size_t kind = 0; kind < kBarrierKinds; ++kind) barrier_[kind] += facts.barrier[kind];
  }
  registered_ += facts.registered;
  if (register_by_ == kNever) await_registrations(now);
  ended_ += facts.ended;
  exited_ += facts.exited_ok;
  if (losses_) losses_->ended(facts.who_ended);
  for (const wire::ProcessSet::Range& range : facts.who_ended) ends_.add({EndKind::well}, range);
  if (job_.restarts_in_place) {
    for (const wire::ProcessSet::Range& range : facts.who_ended) finished_.add(range);
  }
  if (!first_ok_) first_ok_ = facts.first_ok;
  if (!code_) code_ = facts.code;
  // Of those that came together, the lowest number counts as the first.
  std::stable_sort(facts.exits.begin(), facts.exits.end(),
                   [](const auto& a, const auto& b) { return a.process < b.process; });
  for (const wire::ProcessExit& exit : facts.exits) judge_exit(exit);
  judge_launch();
  judge_end();
}

void Judge::begin_epoch(std::uint32_t epoch) {
  epoch_ = epoch;
  barrier_ = {};
}

void Judge::lost(const wire::ProcessExit& exit, const std::string& why) {
  ++exited_;
  note_end(exit);
  fail(exit, "", "; " + why);
}

void Judge::moved(const wire::Share& share) {
  for (std::uint32_t i = 0; i < share.processes; ++i) moved_.move(share.first_process + i, share.host);
}

std::vector<std::uint32_t> Judge::processes_on(std::uint32_t host) const {
  std::vector<std::uint32_t> processes;
  const Host& there = hosts_[host];
  for (std::uint32_t i = 0; i < there.processes; ++i) {
    if (!moved_.host_of(there.first_process + i)) processes.push_back(there.first_process + i);
  }
  for (const auto& [process, hosts] : moved_) {
    if (hosts.back() == host) processes.push_back(process);
  }
  std::sort(processes.begin(), processes.end());
  return processes;
}

std::vector<std::uint32_t> Judge::unfinished_on(std::uint32_t host) const {
  std::vector<std::uint32_t> processes = processes_on(host);
  std::erase_if(processes, [&](std::uint32_t process) { return finished_.contains(process); });
  return processes;
}

bool Judge::any_finished_on(std::uint32_t host) const {
  return processes_on(host).size() != unfinished_on(host).size();
}

void Judge::registered(wire::TupleBlock block, Instant now) {
  if (table_taken_) return;
  const auto again = std::find_if(blocks_.begin(), blocks_.end(), [&](const wire::TupleBlock& known) {
    return known.first_process == block.first_process && known.tuples.size() == block.tuples.size();
  });
  if (again != blocks_.end()) {
    *again = std::move(block);
    return;
  }
  blocks_.push_back(std::move(block));
  ++registered_;
  await_registrations(now);
}

/// Of Charm++ programs nobody is restarted who is about to be in the first table, nor once another one has
/// ended: then the program is ending, and those that have ended would not help it to recover. A client of the
/// client library is not once all were told that they may leave.
bool Judge::can_be_restarted(const wire::ProcessExit& exit) const {
  if (!exit.restartable) return false;
  if (job_.restarts_processes) return table_taken_ && ended_ == 0;
  const bool has_registered = exit.registered || exit.ended;
  return !has_registered || !leaving();
}

void Judge::judge_exit(const wire::ProcessExit& exit) {
  if (verdict_) {
    note_end(exit);
    return aftermath_.on(exit, verdict_->end.signal);
  }
  if (exit.refused) return fail(kLauncherFailed, about(exit.process, Phase::start, exit.text));
  if (can_be_restarted(exit)) {
    crashes_.push_back(exit);
    return;
  }
  note_end(exit);
  if (goes_on_without(exit)) return lose(exit);
  ++exited_;
  if (exit.registered) {
    const bool left = has_left(exit);
    return fail(exit, left ? kWithoutEnd : "", left ? kSeeOutput : "");
  }
  if (losses_) losses_->ended({{exit.process, exit.process}});
  ++bad_exits_;
  if (!bad_exit_) bad_exit_ = exit;
  if (exit.signal != 0 || bad_exit_rule_ == BadExit::ends) fail(exit, "", "");
}

/// Of those who had not registered nobody may wait in the table for them: exited_.
void Judge::lose(const wire::ProcessExit& exit) {
  const Losses::Ranges lost = losses_->lost({{exit.process, exit.process}});
  if (lost.empty()) return;  // its launcher was lost before we heard of its end
  if (!exit.registered) {
    ++exited_;
    ++bad_exits_;
    if (!bad_exit_) bad_exit_ = exit;
  }
  const bool left = exit.registered && has_left(exit);
  const std::string_view more = left ? kWithoutEnd : "", hint = left ? kSeeOutput : "";
  if (!first_loss_) first_loss_ = verdict_of(exit, more, hint);
  const std::string how = fmt::format("{}{}", describe(exit), more);
  losses_->add({lost, host_of(exit.process).index, how,
                about(exit.process, phase_of(exit),
                      fmt::format("{}{}{}; going on without it", how, hint, remedy(exit)))});
}

void Judge::lose(const wire::LinkLost& link) {
  if (verdict_) return;
  const Losses::Ranges lost = losses_->lost(link.processes);
  const std::string& host = hosts_[link.host].name;
  const std::string how = to_string(link.error);
  wire::ProcessSet processes;
  std::set<std::string> others;
  for (const wire::ProcessSet::Range& range : lost) {
    processes.add(range);
    for (std::uint64_t next = range.first; next <= range.last;) {
      const Host& there = host_of(static_cast<std::uint32_t>(next));
      if (there.index != link.host) others.insert(there.name);
      next = std::max(next + 1, std::uint64_t{there.first_process} + there.processes);
    }
  }
  std::string line = fmt::format("{}: {}; ", host, how);
  if (processes.empty()) {
    line += link.processes.empty() ? "no process was there" : "its processes had ended";
  } else {
    if (registered_ == 0) exited_ += static_cast<std::uint32_t>(processes.size());
    line += fmt::format("going on without {} {}", processes.size() == 1 ? "process" : "processes",
                        processes.print());
  }
  if (!others.empty())
    line += fmt::format(", also those of {}, which it had started",
                        wire::fold_names({others.begin(), others.end()}));
  if (!first_loss_ && !processes.empty()) {
    first_loss_ = Verdict{kLauncherFailed, 0, {wire::EndMode::stop, 15}, {}, {Cause::launcher}};
    first_loss_->lines.push_back(fmt::format("{}: {}", host, how));
    first_loss_->why.host = link.host;
    first_loss_->why.how = how;
  }
  losses_->add({lost, link.host, how, std::move(line)});
  judge_end();
}

std::optional<wire::Lost> Judge::tell_losses(Instant now) {
  if (!losses_ || verdict_ || table_pending()) return {};
  auto lost = losses_->tell(now);
  if (lost) begin_epoch(lost->epoch);
  return lost;
}

/// Waits until every host has answered, so that one run lists all bad hosts; equal errors are one line.
void Judge::judge_launch() {
  if (job_.checkup && answered_.size() == hosts_.size()) return decide({});  // the doctor's to judge
  const bool can_do_without = !numbered_ && job_.launch.on_failure != wire::OnHostFailure::abort;
  if (can_do_without || failures_.empty() || answered_.size() < hosts_.size() || verdict_) return;
  const int status = status_of(std::min_element(failures_.begin(), failures_.end(), by_host)->error.code);
  Verdict verdict{status, 0, {wire::EndMode::stop, 15}, failure_lines(), {Cause::launcher}};
  verdict.why.host = std::min_element(failures_.begin(), failures_.end(), by_host)->host;
  verdict.why.how = verdict.lines.front();
  decide(std::move(verdict));
}

void Judge::leave_out(const std::set<std::uint32_t>& hosts) {
  left_out_ = hosts;
  answered_.insert(hosts.begin(), hosts.end());
}

std::set<std::uint32_t> Judge::failed_hosts() const {
  std::set<std::uint32_t> hosts = left_out_;
  for (const wire::HostFailure& failure : failures_) hosts.insert(failure.host);
  return hosts;
}

std::vector<std::string> Judge::numbered(Instant now) {
  std::vector<std::string> lines = failure_lines();
  numbered_ = true;
  failures_.clear();
  answered_.clear();
  for (const Host& host : hosts_) {
    if (host.processes == 0) answered_.insert(host.index);
  }
  up_ = answered_.size();
  idle_ = static_cast<std::uint32_t>(up_);
  await_answers(now);
  return lines;
}

void Judge::reshaped(Instant now) {
  blocks_.clear();
  table_taken_ = false;
  registered_ = 0;
  register_by_ = kNever;
  barrier_ = {};
  numbered(now);
}

void Judge::too_few(const std::string& line) {
  Verdict verdict{kLauncherFailed, 0, {wire::EndMode::stop, 15}, {}, {Cause::launcher}};
  const bool nobody =
      failures_.size() == hosts_.size();  // that the program is not there is its user's to know
  if (nobody)
    verdict.status = status_of(std::min_element(failures_.begin(), failures_.end(), by_host)->error.code);
  verdict.lines = failure_lines();
  verdict.lines.push_back(line);
  verdict.why.how = line;
  decide(std::move(verdict));
}

/// Of the hosts that failed, folded.
std::vector<std::string> Judge::failure_lines() {
  std::stable_sort(failures_.begin(), failures_.end(), by_host);
  std::vector<std::string> lines;
  std::vector<bool> listed(failures_.size());
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    if (listed[i]) continue;
    std::vector<std::string> names;
    for (std::size_t j = i; j < failures_.size(); ++j) {
      if (!(failures_[j].error == failures_[i].error)) continue;
      listed[j] = true;
      names.push_back(hosts_[failures_[j].host].name);
    }
    const std::string count = names.size() > 1 ? fmt::format(" ({} hosts)", names.size()) : "";
    lines.push_back(fmt::format("{}: {}{}", wire::fold_names(names), to_string(failures_[i].error), count));
  }
  return lines;
}

/// A process that leaves without having registered is normal for a plain program, and fatal where others wait
/// for it in the table.
void Judge::judge_end() {
  if (exited_ > 0 && table_pending() && !verdict_) {
    std::string more = " before registering, while ";
    more += registered_ == 1 ? "1 other waits" : fmt::format("{} others wait", registered_);
    more += " for it in the node table";
    wire::ProcessExit exit;
    exit.process = first_ok_.value_or(0);
    if (bad_exit_) exit = *bad_exit_;
    if (remedy(exit).empty())
      more += exit.code == 0 ? "; do all processes run the same program?" : "; see its output";
    if (first_loss_ && !bad_exit_) return decide(*first_loss_);
    fail(bad_exit_ ? status_of(exit) : kLauncherFailed, about(exit, more), ending_of(exit));
  }
  const bool all = done() >= job_.processes && job_.processes > 0;
  if (all || (job_.resizes && ended_ > 0)) decide(verdict_at_end());  // there process 0 ends for all
}

Verdict Judge::verdict_at_end() const {
  Verdict verdict;
  if (losses_ && !losses_->lost().empty()) {
    if (losses_->lost().size() == job_.processes) verdict = *first_loss_;
    verdict.lines.push_back(losses_->summary());
    verdict.why.lost = losses_->lost();
    return verdict;
  }
  if (code_) verdict.status = low_byte(code_->code);
  if (bad_exit_) {
    verdict.status = status_of(*bad_exit_);
    verdict.why = ending_of(*bad_exit_);
    verdict.lines.push_back(first_bad_exit());
  }
  return verdict;
}

void Judge::on(const wire::AbortUp& abort) {
  const std::string how = describe(abort);
  note_end(abort.process, way_of(abort), how);
  if (verdict_) return;
  ++exited_;
  const int status = low_byte(abort.code);
  fail(status,
       about(abort.process, table_taken_ ? Phase::run : Phase::start,
             status == kLauncherFailed ? how : with_status(how, status)),
       {Cause::abort, abort.process, host_of(abort.process).index, how,
        lines_of_last_words(abort.last_words)});
}

void Judge::on(const wire::LinkLost& lost) {
  if (job_.checkup) {
    answered_.insert(lost.host);
    return judge_launch();
  }
  if (!verdict_) {
    for (const wire::ProcessSet::Range& range : lost.processes) ends_.add({EndKind::launcher}, range);
  }
  if (goes_on_without(lost)) return lose(lost);
  fail(kLauncherFailed, fmt::format("{}: {}", hosts_[lost.host].name, to_string(lost.error)),
       {Cause::launcher, {}, lost.host, to_string(lost.error)});
}

void Judge::lose_output(std::uint32_t host, const std::string& how) {
  if (!verdict_ || verdict_->status != 0) return;
  verdict_->status = kLauncherFailed;
  verdict_->why.cause = Cause::launcher;
  verdict_->why.host = host;
  verdict_->why.how = how;
}

void Judge::refuse(const Error& error) {
  fail(kLauncherFailed, to_string(error));
}

/// kKill, which nobody can catch, is that of ++kill: it ends the job as TERM does, but counts each time.
void Judge::interrupted(int signal) {
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
  if (!all_up()) line += fmt::format(" during the launch ({} of {} hosts are up)", up_, hosts_.size());
  verdict.lines.push_back(twice ? line : line + "; once more ends it at once");
  decide(std::move(verdict));
}

/// What we say of an end may meet a broken pipe: that cuts no grace short, but of a job that is done nothing
/// more is wanted. A signal that comes twice (`timeout` does that) is one; whoever sends it to a job that
/// ends anyway does not wait for readers.
void Judge::interrupted_again(int signal, bool twice) {
  if (signal == signals::kBrokenPipe && verdict_->end.mode != wire::EndMode::finish) return;
  if (twice && verdict_->why.cause == Cause::user_signal) return;
  verdict_->end.mode = wire::EndMode::kill;
  if (!twice) return;
  verdict_->signal = signal;
  verdict_->status = status_of_signal(signal);
}

void Judge::time_limit_reached() {
  fail(kTimeLimit, "Time limit reached (++timelimit)", {Cause::time_limit});
}

void Judge::begin(Instant now) {
  await_answers(now);
}

void Judge::take_over() {
  numbered_ = true;
  for (const Host& host : hosts_) answered_.insert(host.index);
  up_ = answered_.size();
  idle_ = static_cast<std::uint32_t>(
      std::count_if(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.processes == 0; }));
}

/// How these were lost has been said by the other root; if all others are to be lost, too, that is the cause.
void Judge::resume(const Heritage& heritage) {
  table_taken_ = heritage.has_table;
  if (table_taken_) registered_ = job_.processes;
  opened_ = heritage.releases;
  losses_->resume(heritage.epoch, heritage.lost.ranges());
  if (!heritage.lost.empty()) {
    first_loss_ = Verdict{kLauncherFailed, 0, {wire::EndMode::stop, 15}, {}, {Cause::launcher}};
    first_loss_->why.how = "some processes were lost before another root took over";
  }
  judge_end();
}

void Judge::await_answers(Instant now) {
  answer_by_ = answered_.size() < hosts_.size() && !stalled_ ? now + patience() : kNever;
}

void Judge::stalled(bool stalled, Instant now) {
  stalled_ = stalled;
  await_answers(now);
  await_registrations(now);
}

/// Nobody is late before every host has answered: until then the launch has limits of its own.
void Judge::await_registrations(Instant now) {
  const bool wanted = table_pending() && answered_.size() == hosts_.size() && !stalled_;
  register_by_ = wanted ? now + job_.timeout : kNever;
}

Instant Judge::next_deadline() const {
  if (verdict_) return kNever;
  const Instant deadline = earlier(register_by_, answer_by_);
  return losses_ && !table_pending() ? earlier(deadline, losses_->next_deadline()) : deadline;
}

std::vector<wire::HostFailure> Judge::tick(Instant now) {
  std::vector<wire::HostFailure> silent;
  if (!verdict_ && now >= answer_by_) silent = give_up_silent_hosts();
  if (now < register_by_ || verdict_) return silent;
  register_by_ = kNever;
  if (!table_pending() || registered_ >= job_.processes) return silent;
  fail(kLauncherFailed,
       fmt::format("{}: start: {} of {} processes have not registered within {:g} s; do they run the same "
                   "program? see also ++timeout",
                   wire::fold_names(unregistered_hosts()), job_.processes - registered_, job_.processes,
                   seconds(job_.timeout)));
  return silent;
}

/// Every step of a launch has its own limit; this one is for launchers that answered and then hang.
std::vector<wire::HostFailure> Judge::give_up_silent_hosts() {
  answer_by_ = kNever;
  const Error error{Errc::timed_out, Phase::hello,
                    fmt::format("no news from its launcher for {:g} s", seconds(patience())),
                    "see ++timeout"};
  std::vector<wire::HostFailure> silent;
  for (const Host& host : hosts_) {
    if (answered_.insert(host.index).second) silent.push_back({host.index, error});
  }
  failures_.insert(failures_.end(), silent.begin(), silent.end());
  judge_launch();
  if (job_.checkup) silent.clear();  // the doctor sees who has said nothing
  return silent;
}

std::vector<std::string> Judge::unregistered_hosts() const {
  std::set<std::uint32_t> complete;
  for (const wire::TupleBlock& block : blocks_) complete.insert(block.host);
  std::vector<std::string> names;
  for (const Host& host : hosts_) {
    if (host.processes > 0 && !complete.contains(host.index)) names.push_back(host.name);
  }
  return names;
}

std::vector<std::string> Judge::unanswered_hosts() const {
  std::vector<std::string> names;
  for (const Host& host : hosts_) {
    if (!answered_.contains(host.index)) names.push_back(host.name);
  }
  return names;
}

JobStatus Judge::progress() const {
  JobStatus status;
  status.hosts = static_cast<std::uint32_t>(hosts_.size()) - idle_;
  status.hosts_up = static_cast<std::uint32_t>(up_) - idle_;
  status.hosts_failed = static_cast<std::uint32_t>(failures_.size());
  status.processes = job_.processes;
  status.registered = registered_;
  status.ended = done();
  if (losses_) status.lost = static_cast<std::uint32_t>(losses_->lost().size());
  if (verdict_)
    status.stage = Stage::end;
  else if (!all_up())
    status.stage = Stage::launch;
  else
    status.stage = table_pending() ? Stage::start : Stage::run;
  return status;
}

JobStatus Judge::status() const {
  JobStatus status = progress();
  if (status.stage == Stage::launch) status.late = unanswered_hosts();
  if (status.stage == Stage::start) status.late = unregistered_hosts();
  return status;
}

std::optional<std::vector<wire::TupleBlock>> Judge::take_blocks() {
  if (table_taken_ || registered_ == 0 || registered_ < job_.processes || verdict_) return {};
  std::sort(blocks_.begin(), blocks_.end(),
            [](const auto& a, const auto& b) { return a.first_process < b.first_process; });
  if (!wire::is_complete(blocks_, job_.processes)) return {};
  table_taken_ = true;
  return std::move(blocks_);
}

bool Judge::take_release(BarrierKind kind) {
  std::uint32_t& entered = barrier_[static_cast<std::size_t>(kind)];
  if (entered == 0 || entered < (losses_ ? losses_->awaited() : job_.processes)) return false;
  entered = 0;
  ++opened_[static_cast<std::size_t>(kind)];
  return true;
}

}  // namespace charmtree::proto
