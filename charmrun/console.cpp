// SPDX-License-Identifier: Apache-2.0
#include "charmrun/console.hpp"

#include <unistd.h>

#include <csignal>

#include "tree/io/known_hosts.hpp"

namespace charmtree {

using proto::Tone;

namespace {

StartupRecord describe(const Options& options, const Job& job) {
  StartupRecord record;
  record.version = CHARMTREE_VERSION;
  record.program = options.program;
  record.hosts = job.plan.job.hosts;
  record.processes = job.plan.job.processes;
  record.branching = job.plan.job.shape.branching;
  record.levels = job.plan.job.shape.levels;
  return record;
}

}  // namespace

Console::Console(io::asio::io_context& io, const Options& options, const Job& job, Instant started)
    : options_(options),
      job_(job),
      started_(started),
      startup_(describe(options, job)),
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
      input_(io, STDIN_FILENO, [this](std::string bytes, bool end) {
        if (runner_ != nullptr) runner_->dispatch(proto::InputRead{std::move(bytes), end});
      }) {}

void Console::show(proto::Stream stream, std::string bytes) {
  (stream == proto::Stream::out ? out_ : err_).write(std::move(bytes));
}

void Console::say(Tone tone, const std::string& line) {
  if (tone == Tone::verbose && !options_.verbose) return;
  if (tone == Tone::info && options_.quiet) return;
  const bool charm_line = line.starts_with("Charmrun> ");  // tools look for these on stdout
  if (charm_line)
    out_.write(line + "\n");
  else
    err_.write((tone == Tone::error ? "charmrun: error: " : "charmrun: ") + line + "\n");
}

void Console::store_host_key(std::uint32_t host, const HostKey& key) {
  if (host >= job_.key_places.size()) return;
  const Job::KeyPlace& place = job_.key_places[host];
  if (place.file.empty()) return;
  const auto style = place.hashed ? io::NameStyle::hashed : io::NameStyle::plain;
  auto added = io::add_known_host(place.file, place.name, key, style);
  const std::string& name = job_.plan.hosts[host].name;
  if (!added)
    say(Tone::info,
        name + ": its host key could not be written to " + place.file + ": " + added.error().what);
  else
    say(Tone::info, name + ": host key (" + key.type + ") added to " + place.file);
}

void Console::record(const wire::Stamps& stamps) {
  using S = wire::Stamps;
  constexpr std::array<std::pair<S::Step, Mark>, S::kTimes> kSteps = {
      {{S::begun, Mark::begun},
       {S::resolved, Mark::resolved},
       {S::connected, Mark::connected},
       {S::handshaken, Mark::handshaken},
       {S::authenticated, Mark::authenticated},
       {S::executed, Mark::executed},
       {S::hello, Mark::hello},
       {S::prepared, Mark::hello},
       {S::spawned, Mark::spawned},
       {S::registered, Mark::registered},
       {S::gathered, Mark::gathered},
       {S::table, Mark::table}}};
  const Host& host = job_.plan.hosts[stamps.host];
  LauncherRecord launcher;
  launcher.host = static_cast<std::int32_t>(stamps.host);
  launcher.parent =
      stamps.parent == wire::kRootIndex ? kRootLauncher : static_cast<std::int32_t>(stamps.parent);
  launcher.level = stamps.level;
  launcher.name = host.name;
  launcher.processes = host.processes;
  launcher.attempts = stamps.attempts;
  for (const auto& [step, mark] : kSteps) {
    const Instant at = stamps.times[step];
    if (at != kNever && step != S::prepared) launcher.set(mark, at - started_);
  }
  startup_.launchers.push_back(std::move(launcher));
}

bool Console::drain(Duration limit) {
  return out_.drain(limit) && err_.drain(limit);
}

}  // namespace charmtree
