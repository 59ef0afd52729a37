// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/console.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "charmrun/view/display_rules.hpp"
#include "charmrun/view/own_line.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/base/visible.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/node/node.hpp"

namespace charmtree {

using proto::Tone;

namespace {

/// When a start is worth a line of progress, how often that changes, and when names are told.
constexpr Duration kProgressFrom = 300ms, kProgressPause = 200ms, kLateFrom = 3s;
constexpr std::size_t kUsualColumns = 79;

/// The root is not started by a launcher and starts no process itself; it begins with main.
LauncherRecord root_launcher() {
  LauncherRecord root;
  root.name = io::own_host_name();
  root.attempts = 0;
  root.set(Mark::begun, Duration{0});
  return root;
}

/// Of this process, all threads, so far.
Duration cpu_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto duration = [](const timeval& time) {
    return Duration{std::chrono::seconds{time.tv_sec}} + std::chrono::microseconds{time.tv_usec};
  };
  return duration(usage.ru_utime) + duration(usage.ru_stime);
}

StartupRecord describe(const Options& options, const Job& job) {
  StartupRecord record;
  record.version = CHARMTREE_VERSION;
  record.program = options.program;
  record.hosts = job.plan.job.hosts;
  record.processes = job.plan.job.processes;
  record.branching = job.plan.job.launch.shape.branching;
  record.launchers.push_back(root_launcher());
  return record;
}

}  // namespace

Console::Console(io::asio::io_context& io, const Options& options, const Job& job, Instant started)
    : options_(options),
      job_(job),
      started_(started),
      mpir_(job.plan.job.spawn.held),
      daemons_(io, mpir_,
               {[this](debug::ToolAsked asked) { tell(std::move(asked)); },
                [this](const std::string& line) { say(Tone::info, line); }}),
      startup_(describe(options, job), job.plan.hosts, started),
      logins_(job.plan.hosts, job.plan.job.profiles),
      cpu_at_start_(cpu_time()),
      output_(io, display_rules(options), !options.output.file.empty(), {STDOUT_FILENO, STDERR_FILENO},
              output_hooks()),
      news_(io, started, news_hooks()),
      progress_timer_(io),
      input_(io, STDIN_FILENO,
             [this](std::string bytes, bool end) {
               tell(input::InputRead{std::move(bytes), end});
             }),
      known_hosts_(io) {
  if (!job.plan.job.is_numbered_late()) output_.name_files(job.plan.hosts);
  if (!job.plan.job.terminal) return;
  terminal_.emplace(io, STDIN_FILENO, [this](wire::WindowSize size) { tell(input::WindowResized{size}); });
}

UserOutput::Hooks Console::output_hooks() {
  UserOutput::Hooks hooks{
      [this] { there_is_room(); }, [this](std::uint32_t process) { tell(proto::Shown{process}); },
      [this, gone = ::isatty(STDOUT_FILENO) != 0 ? SIGHUP : SIGPIPE] { nobody_reads(gone); },
      [this](const std::string& failure) { say(Tone::error, failure); },
      [this] { return terminal_ && terminal_->raw(); }};
  if (!options_.time.keep_alive) hooks.hung_up = [this] { nobody_reads(SIGPIPE); };
  return hooks;
}

JobNews::Hooks Console::news_hooks() {
  return {[this](std::string line) { output_.pass(std::move(line)); }, [this] { there_is_room(); },
          [this](Tone tone, const std::string& line) { say(tone, line); }};
}

void Console::tell(proto::Event event) {
  if (runner_ != nullptr) runner_->dispatch(std::move(event));
}

void Console::there_is_room() {
  if (runner_ != nullptr) runner_->check_flow();
}

void Console::perform(io::UserAction action) {
  const Overloaded act{
      [this](proto::Show& a) { show(std::move(a)); },
      [this](const proto::Say& a) { say(a.tone, a.text); },
      [this](const proto::Sign& a) { sign(a); },
      [this](const proto::StoreHostKey& a) { store_host_key(a); },
      [this](const proto::Record& a) { record(a); },
      [this](const proto::FenceOver& a) { startup_.fence_over(a); },
      [this](const proto::AllInitialised& a) { startup_.initialised(a); },
      [](const proto::Examined&) {},  // comes only in a checkup, to DoctorConsole
      [this](const proto::Progress& a) { progress(a); },
      [this](const proto::ProcessesKnown& a) { processes_known(a); },
      [this](const stacks::StacksSeen& a) {
        show_stacks(a, [this](const std::string& line) { say(Tone::info, line); });
      },
      [this](const debug::DebugHeard& a) {
        if (hearers_.debug) hearers_.debug(a);
      },
      [this](const debug::ToolHeard& a) {
        if (!daemons_.heard(a) && hearers_.tools) hearers_.tools(a);
      },
      [this](const input::ReadInput& a) { read_input(a); },
      [this](const input::ReleaseKeys&) {
        if (terminal_) terminal_->give_back();
      },
      [this](const proto::StopSelf&) { stop_self(); },
      [this](const proto::ReadHosts& a) { read_hosts(a.pes); },
      [](const proto::RunOver&) {},  // comes only in a session, to SessionListener
      [this](const proto::KeepTree& a) { keep_tree(a); },
  };
  dispatch(act, action);
}

/// With its terminal a job that is kept alive loses its root, by the signal that the shell may not have sent.
void Console::nobody_reads(int signal) {
  if (signal == SIGHUP && tree_file_ != nullptr && tree_file_->is_kept())
    ::raise(SIGHUP);
  else
    tell(proto::UserSignal{signal});
}

void Console::keep_tree(const proto::KeepTree& action) {
  if (tree_file_ == nullptr) return;
  const bool first = !tree_file_->is_kept();
  const wire::JobSpec& job = job_.plan.job;
  if (const auto kept = tree_file_->keep(action); !kept)
    say(Tone::error, "++keep-alive: nobody will be able to take over: " + to_string(kept.error()));
  else if (first)
    say(Tone::info, fmt::format("kept alive: should this charmrun be lost, charmrun ++attach {} takes over "
                                "within {:g} s",
                                job.id, seconds(job.loss.keep_alive)));
}

bool Console::shows_progress_line(const Options& options) {
  return !options.view.quiet && ::isatty(STDERR_FILENO) != 0;
}

bool Console::shows_progress(const Options& options) {
  return !options.view.json.empty() || options.view.dashboard || shows_progress_line(options);
}

void Console::write_events(EventWriter events) {
  news_.begin_events(std::move(events), options_.view.json, job_.plan.job);
}

Result<std::string> Console::open_dashboard() {
  return news_.open_dashboard(
      Dashboard{job_.plan.job, job_.plan.hosts, ::getpid(), io::own_host_name(), started_},
      [this] { return node_->status(); });
}

void Console::announce(const std::string& lines) {
  if (news_.have_stdout()) return news_.announce(lines);
  std::fputs(lines.c_str(), stdout);
  std::fflush(stdout);
}

void Console::progress(const proto::Progress& progress) {
  news_.progress(progress, node_->hosts());
  if (!shows_progress_line(options_)) return;
  const proto::Stage stage = progress.status.stage;
  if (stage != proto::Stage::launch && stage != proto::Stage::start) {
    progressing_ = false;
    progress_timer_.cancel();
    progress_line({});
  } else if (!std::exchange(progressing_, true)) {
    await_progress(kProgressFrom);
  }
}

/// Who is late is told by name when it is more than a moment.
void Console::await_progress(Duration pause) {
  progress_timer_.expires_after(pause);
  progress_timer_.async_wait([this](io::error_code ec) {
    if (ec || !progressing_) return;
    proto::JobStatus status = node_->status();
    if (io::now() - started_ < kLateFrom) status.late.clear();
    progress_line("charmrun: " + proto::summary(status));
    await_progress(kProgressPause);
  });
}

void Console::progress_line(std::string_view line) {
  if (!shows_progress_line(options_)) return;
  const auto size = io::UserTerminal::size();
  output_.progress(visible(line).substr(0, size ? size->columns - 1U : kUsualColumns));
}

/// What goes into a pipe may be on the user's terminal the next moment, written by whoever reads that.
void Console::show(proto::Show action) {
  if (progressing_ && ::isatty(STDOUT_FILENO) == 0) {
    progress_line({});
    await_progress(kProgressFrom);
  }
  if (terminal_) terminal_->take_output();
  news_.output(action);
  if (hearers_.output) hearers_.output(action);
  if (!news_.have_stdout()) return output_.show(std::move(action));
  if (action.output.wants_receipt) output_.confirm_passed(action.output.process);
}

void Console::read_input(const input::ReadInput& action) {
  if (terminal_ && action.keys) terminal_->take();
  input_.read(action.bytes);
}

void Console::processes_known(const proto::ProcessesKnown& known) {
  mpir_.add(known, node_->hosts());
  if (known.all) daemons_.watch();
}

void Console::stop_self() {
  const bool were_held = mpir_.release();
  if (const auto open = std::exchange(open_windows_, nullptr)) return open();
  if (terminal_) terminal_->leave();
  const auto go_on = [this] { tell(proto::UserSignal{SIGCONT}); };
  if (were_held) return daemons_.show(go_on);
  ::raise(SIGSTOP);
  go_on();
}

void Console::say(Tone tone, const std::string& line) {
  if (hearers_.line) hearers_.line(tone, line);
  if (tone == Tone::verbose && !options_.view.verbose) return;
  if (tone == Tone::info && options_.view.quiet) return;
  const std::string text = visible(line);
  news_.say(tone, text);
  const bool charm_line = text.starts_with("Charmrun> ");  // tools look for these on stdout
  if (charm_line && news_.have_stdout()) return;
  output_.say(charm_line ? proto::Stream::out : proto::Stream::err,
              charm_line ? text + "\n" : own_line(tone, text));
}

void Console::show_stacks(const stacks::StacksSeen& seen,
                          const std::function<void(const std::string&)>& say_line) const {
  StackReport report = stack_report(job_.plan.job.id, node_->status(), node_->hosts(), seen.stacks);
  report.is_last = seen.asker.why == stacks::StacksFor::Why::crash;
  if (report.is_last && seen.stacks.groups.empty()) return;
  if (seen.asker.why != stacks::StacksFor::Why::asked) {
    for (const std::string& line : stack_lines(report)) say_line(line);
  } else if (hearers_.stacks) {
    hearers_.stacks(seen.asker.ticket, report);
  }
}

void Console::sign(const proto::Sign& action) {
  const auto answer = [this, launcher = action.launcher, login = action.login](std::string signature) {
    tell(proto::SignatureMade{launcher, login, std::move(signature)});
  };
  if (signer_ == nullptr) return answer({});
  signer_->sign(action.key, action.data, answer);
}

void Console::store_host_key(const proto::StoreHostKey& action) {
  const std::uint32_t host = action.host;
  const HostKey& key = action.key;
  if (host >= job_.key_places.size()) return;
  const Job::KeyPlace& place = job_.key_places[host];
  if (place.file.empty()) return;
  const auto style = place.hashed ? io::NameStyle::hashed : io::NameStyle::plain;
  known_hosts_.add(
      place.file, {place.name, key, style}, [this, host, type = key.type](const Result<void>& added) {
        const std::string &name = job_.plan.hosts[host].name, &file = job_.key_places[host].file;
        if (!added)
          say(Tone::info,
              name + ": its host key could not be written to " + file + ": " + added.error().what);
        else
          say(Tone::info, name + ": host key (" + type + ") added to " + file);
      });
}

/// Hosts that join a running job are no part of its start.
void Console::record(const proto::Record& record) {
  if (record.stamps.host >= job_.plan.hosts.size()) return;
  if (record.error) {
    news_.host_failed(record.stamps.host, job_.plan.hosts[record.stamps.host].name, *record.error,
                      record.failed);
    return startup_.failed(record.stamps.host, *record.error, record.failed);
  }
  startup_.stamped(record.stamps);
  logins_.stamped(record.stamps, cpu_time() - cpu_at_start_);
}

void Console::read_hosts(std::uint32_t pes) {
  auto job = resized_job(options_, job_, pes);
  proto::HostsRead answer;
  if (job) {
    answer.hosts = std::move(job->plan.hosts);
    answer.profiles = std::move(job->plan.job.profiles);
  } else {
    answer.error = job.error();
  }
  tell(std::move(answer));
}

bool Console::finish(proto::Finish& result, std::span<const Host> hosts, Duration limit) {
  output_.finish(hosts, limit);
  known_hosts_.finish();
  if (output_.has_lost_files() && result.status == 0 && result.signal == 0) result.status = kLauncherFailed;
  const auto& where = result.why.host;
  news_.end(result, where && *where < hosts.size() ? hosts[*where].name : "");
  const bool is_told = news_.drain(limit);  // which may have something to say
  return output_.drain(limit) && is_told;
}

}  // namespace charmtree
