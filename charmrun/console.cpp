// SPDX-License-Identifier: Apache-2.0
#include "charmrun/console.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "charmrun/own_line.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/base/visible.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/surroundings.hpp"

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

/// Where the output goes decides how it is shown.
DisplayRules display_rules(const Options& options) {
  const auto kind = [](int fd) { return ::isatty(fd) != 0 ? ScreenKind::terminal : ScreenKind::file; };
  DisplayRules rules;
  rules.screens = {kind(STDOUT_FILENO), kind(STDERR_FILENO)};
  rules.one_screen = io::same_file(STDOUT_FILENO, STDERR_FILENO);
  if (auto label = label_of(options)) rules.label = std::move(*label);
  if (auto label = label_of(options, true)) rules.fold_label = std::move(*label);
  if (auto file = file_name_of(options)) rules.file = std::move(*file);
  const bool usual =
      rules.screens[0] == ScreenKind::terminal && may_fold(options) && !options.process.interactive;
  if (options.output.fold ? *options.output.fold : usual)
    rules.fold_above = options.output.fold ? 1 : kFewProcesses;
  rules.fold_window = options.output.fold_window;
  rules.wall_ms = io::wall_ms_at_zero();
  return rules;
}

std::string with_carriage_returns(const std::string& lines) {
  std::string text;
  for (const char c : lines) {
    if (c == '\n' && !text.ends_with('\r')) text += '\r';
    text += c;
  }
  return text;
}

}  // namespace

Console::Console(io::asio::io_context& io, const Options& options, const Job& job, Instant started)
    : io_(io),
      options_(options),
      job_(job),
      started_(started),
      startup_(describe(options, job), job.plan.hosts, started),
      logins_(job.plan.hosts, job.plan.job.profiles),
      cpu_at_start_(cpu_time()),
      out_(
          io, STDOUT_FILENO, written(),
          while_here([this, gone = ::isatty(STDOUT_FILENO) != 0 ? SIGHUP : SIGPIPE] { nobody_reads(gone); })),
      err_(io, STDERR_FILENO, written(), [] {}),
      event_log_(started),
      progress_timer_(io),
      display_(display_rules(options)),
      display_timer_(io),
      input_(io, STDIN_FILENO,
             [this](std::string bytes, bool end) {
               if (runner_ != nullptr) runner_->dispatch(proto::InputRead{std::move(bytes), end});
             }),
      known_hosts_(io) {
  if (!options.output.file.empty()) {
    files_.emplace(io, written(), while_here([this] { tell_file_failure(); }));
    if (!job.plan.job.is_numbered_late()) name_files(job.plan.hosts);
  }
  if (!job.plan.job.terminal) return;
  terminal_.emplace(io, STDIN_FILENO, [this](wire::WindowSize size) {
    if (runner_ != nullptr) runner_->dispatch(proto::WindowResized{size});
  });
}

/// With its terminal a job that is kept alive loses its root, by the signal that the shell may not have sent.
void Console::nobody_reads(int signal) {
  if (signal == SIGHUP && tree_file_ != nullptr && tree_file_->is_kept())
    ::raise(SIGHUP);
  else if (runner_ != nullptr)
    runner_->dispatch(proto::UserSignal{signal});
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
  return !options.shown.quiet && ::isatty(STDERR_FILENO) != 0;
}

bool Console::shows_progress(const Options& options) {
  return !options.shown.json.empty() || options.shown.dashboard || shows_progress_line(options);
}

std::function<void()> Console::written() {
  return while_here([this] {
    if (runner_ != nullptr) runner_->check_flow();
  });
}

std::function<void()> Console::while_here(std::function<void()> action) const {
  return [here = std::weak_ptr<const bool>{here_}, action = std::move(action)] {
    if (!here.expired()) action();
  };
}

void Console::write_events(EventWriter events) {
  events_.emplace(std::move(events));
  events_->begin(io_, written(), [this](int error) {
    say(Tone::error, fmt::format("++json: cannot write {}: {}; the job goes on without it",
                                 options_.shown.json, std::strerror(error)));
  });
  event(event_log_.job(job_.plan.job, ::getpid(), io::now()));
}

Result<std::string> Console::open_dashboard() {
  const wire::JobSpec& job = job_.plan.job;
  dashboard_.emplace(
      io_, Dashboard{job, job_.plan.hosts, ::getpid(), io::own_host_name(), started_},
      [this] { return node_->status(); }, [this](const std::string& note) { say(Tone::verbose, note); });
  return dashboard_->open();
}

void Console::event(std::string line) {
  if (events_->on_stdout())
    out_.write(std::move(line));
  else
    events_->write(std::move(line));
}

void Console::announce(const std::string& lines) {
  if (stdout_has_events()) return event(event_log_.message(Tone::info, lines, io::now()));
  std::fputs(lines.c_str(), stdout);
  std::fflush(stdout);
}

void Console::progress(const proto::Progress& progress) {
  const Instant now = io::now();
  if (events_) {
    for (const std::uint32_t host : progress.hosts_up)
      event(event_log_.host_up(node_->hosts()[host].name, now));
    for (const proto::Loss& loss : progress.losses)
      event(event_log_.lost(loss, node_->hosts()[loss.host].name, now));
    for (const proto::Progress::Restart& restart : progress.restarts) {
      event(event_log_.process_restart(restart, node_->hosts()[restart.host].name, now));
    }
    for (const std::uint32_t process : progress.back) event(event_log_.process_back(process, now));
    for (const wire::Silence& told : progress.silences) {
      const Host* host = host_of(node_->hosts(), told.process);
      event(event_log_.silence(told, host != nullptr ? host->name : "", now));
    }
    for (const proto::Progress::Failure& failure : progress.failures)
      event(event_log_.process_end(failure, node_->hosts()[failure.host].name, now));
    if (progress.restarted) event(event_log_.restart(*progress.restarted, now));
    if (!stage_ || *stage_ != progress.status.stage) event(event_log_.stage(progress.status, now));
  }
  if (dashboard_)
    dashboard_->tell([&](Dashboard& dashboard) { dashboard.progress(progress, node_->hosts()); });
  stage_ = progress.status.stage;
  if (!shows_progress_line(options_)) return;
  if (*stage_ != proto::Stage::launch && *stage_ != proto::Stage::start) {
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
  DisplayWrites writes;
  display_.progress(visible(line).substr(0, size ? size->columns - 1U : kUsualColumns), writes);
  write(std::move(writes));
}

void Console::show(proto::Show action) {
  if (dashboard_) dashboard_->tell([&](Dashboard& dashboard) { dashboard.output(action); });
  if (stdout_has_events()) {
    event(event_log_.output(action, io::now()));
    if (action.output.wants_receipt) out_.confirm(when_shown(action.output.process));
    return;
  }
  if (static_cast<proto::Stream>(action.output.stream) == proto::Stream::terminal)
    return out_.write(std::move(action.output.text));
  DisplayWrites writes;
  display_.show(std::move(action), io::now(), writes);
  write(std::move(writes));
}

void Console::write(DisplayWrites writes) {
  for (DisplayWrite& each : writes) {
    std::string& bytes = each.ink.bytes;
    const bool to_file = !each.file.empty();
    if (terminal_ && terminal_->raw() && !to_file) bytes = with_carriage_returns(bytes);
    if (to_file)
      files_->write(std::move(each.file), std::move(bytes));
    else
      writer(each.stream).write(std::move(bytes));
    for (const std::uint32_t process : each.ink.receipts) {
      if (to_file)
        files_->confirm(when_shown(process));
      else
        writer(each.stream).confirm(when_shown(process));
    }
  }
  await_display();
}

std::function<void()> Console::when_shown(std::uint32_t process) {
  return while_here([this, process] {
    if (runner_ != nullptr) runner_->dispatch(proto::Shown{process});
  });
}

void Console::name_files(std::span<const Host> hosts) {
  DisplayWrites writes;
  display_.name_files(hosts, writes);
  write(std::move(writes));
}

/// The first is said at once, how many others there were at the end.
void Console::tell_file_failure() {
  const auto failure = files_->first_failure();
  if (!failure || std::exchange(told_file_failure_, true)) return;
  say(Tone::error, "++output: cannot write " + failure->path + ": " + std::strerror(failure->error) +
                       "; the job goes on without it");
}

void Console::finish_files(std::span<const Host> hosts, Duration limit) {
  if (!files_) return;
  name_files(hosts);
  if (!files_->drain(limit)) return;
  tell_file_failure();
  if (const std::size_t others = files_->failures(); others > 1)
    say(Tone::error, "++output: " + std::to_string(others - 1) + " more could not be written");
}

void Console::await_display() {
  const Instant due = display_.next_deadline();
  if (due == display_due_) return;
  display_due_ = due;
  display_timer_.cancel();
  if (due == kNever) return;
  display_timer_.expires_at(io::to_steady(due));
  display_timer_.async_wait([this](io::error_code ec) {
    if (ec) return;
    display_due_ = kNever;
    DisplayWrites writes;
    display_.tick(io::now(), writes);
    write(std::move(writes));
  });
}

void Console::read_input(const proto::ReadInput& action) {
  if (terminal_ && action.keys) terminal_->take();
  input_.read(action.bytes);
}

void Console::release_keys() {
  if (terminal_) terminal_->give_back();
}

void Console::stop_self() {
  if (terminal_) terminal_->leave();
  ::raise(SIGSTOP);
  if (runner_ != nullptr) runner_->dispatch(proto::UserSignal{SIGCONT});
}

void Console::say(Tone tone, const std::string& line) {
  if (tone == Tone::verbose && !options_.shown.verbose) return;
  if (tone == Tone::info && options_.shown.quiet) return;
  const std::string text = visible(line);
  if (events_) event(event_log_.message(tone, text, io::now()));
  if (dashboard_) dashboard_->tell([&](Dashboard& dashboard) { dashboard.say(tone, text); });
  const bool charm_line = text.starts_with("Charmrun> ");  // tools look for these on stdout
  if (charm_line && stdout_has_events()) return;
  DisplayWrites writes;
  display_.say(charm_line ? proto::Stream::out : proto::Stream::err,
               charm_line ? text + "\n" : own_line(tone, text), io::now(), writes);
  write(std::move(writes));
}

void Console::sign(const proto::Sign& action) {
  const auto answer = [this, launcher = action.launcher, login = action.login](std::string signature) {
    if (runner_ != nullptr) runner_->dispatch(proto::SignatureMade{launcher, login, std::move(signature)});
  };
  if (signer_ == nullptr) return answer({});
  signer_->sign(action.key, action.data, answer);
}

void Console::store_host_key(std::uint32_t host, const HostKey& key) {
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
    const std::string& host = job_.plan.hosts[record.stamps.host].name;
    if (dashboard_) {
      dashboard_->tell(
          [&](Dashboard& dashboard) { dashboard.host_failed(record.stamps.host, *record.error); });
    }
    if (events_) event(event_log_.host_failed(host, *record.error, record.failed, io::now()));
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
  if (runner_ != nullptr) runner_->dispatch(std::move(answer));
}

bool Console::finish(proto::Finish& result, std::span<const Host> hosts, Duration limit) {
  DisplayWrites writes;
  display_.finish(io::now(), writes);
  write(std::move(writes));
  finish_files(hosts, limit);
  known_hosts_.finish();
  const bool lost_files = files_ && files_->failures() > 0;
  if (lost_files && result.status == 0 && result.signal == 0) result.status = kLauncherFailed;
  const auto& where = result.why.host;
  const std::string host = where && *where < hosts.size() ? hosts[*where].name : "";
  if (events_) {
    if (!result.why.ends.ways().empty()) event(event_log_.ends(result.why.ends, io::now()));
    event(event_log_.end(result, host, io::now()));
  }
  if (dashboard_) {
    dashboard_->tell([&](Dashboard& dashboard) { dashboard.end(result, host, io::now()); });
    dashboard_->finish();
  }
  return out_.drain(limit) && err_.drain(limit) && (!events_ || events_->drain(limit));
}

}  // namespace charmtree
