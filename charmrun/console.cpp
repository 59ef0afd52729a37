// SPDX-License-Identifier: Apache-2.0
#include "charmrun/console.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "tree/io/surroundings.hpp"

namespace charmtree {

using proto::Tone;

namespace {

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
    : options_(options),
      job_(job),
      startup_(describe(options, job), job.plan.hosts, started),
      logins_(job.plan.hosts, job.plan.job.profiles),
      cpu_at_start_(cpu_time()),
      out_(
          io, STDOUT_FILENO,
          [this] {
            if (runner_ != nullptr) runner_->check_flow();
          },
          [this] {
            if (runner_ != nullptr) runner_->dispatch(proto::UserSignal{SIGPIPE});
          }),
      err_(
          io, STDERR_FILENO,
          [this] {
            if (runner_ != nullptr) runner_->check_flow();
          },
          [] {}),
      input_(io, STDIN_FILENO,
             [this](std::string bytes, bool end) {
               if (runner_ != nullptr) runner_->dispatch(proto::InputRead{std::move(bytes), end});
             }),
      known_hosts_(io) {
  if (!job.plan.job.terminal) return;
  terminal_.emplace(io, STDIN_FILENO, [this](wire::WindowSize size) {
    if (runner_ != nullptr) runner_->dispatch(proto::WindowResized{size});
  });
}

void Console::show(proto::Stream stream, std::string bytes) {
  if (stream != proto::Stream::terminal) return write_lines(stream, std::move(bytes));
  out_.write(std::move(bytes));
}

void Console::write_lines(proto::Stream stream, std::string lines) {
  if (terminal_ && terminal_->raw()) lines = with_carriage_returns(lines);
  writer(stream).write(std::move(lines));
}

void Console::confirm(const proto::Confirm& action) {
  writer(action.stream).confirm([this, process = action.process] {
    if (runner_ != nullptr) runner_->dispatch(proto::Shown{process});
  });
}

void Console::read_input(const proto::ReadInput& action) {
  if (terminal_ && action.keys) terminal_->take();
  input_.read(action.bytes);
}

void Console::release_keys() {
  if (terminal_) terminal_->give_back();
}

void Console::say(Tone tone, const std::string& line) {
  if (tone == Tone::verbose && !options_.verbose) return;
  if (tone == Tone::info && options_.quiet) return;
  const bool charm_line = line.starts_with("Charmrun> ");  // tools look for these on stdout
  if (charm_line)
    write_lines(proto::Stream::out, line + "\n");
  else
    write_lines(proto::Stream::err, (tone == Tone::error ? "charmrun: error: " : "charmrun: ") + line + "\n");
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
  if (record.error) return startup_.failed(record.stamps.host, *record.error, record.failed);
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

bool Console::drain(Duration limit) {
  known_hosts_.finish();
  return out_.drain(limit) && err_.drain(limit);
}

}  // namespace charmtree
