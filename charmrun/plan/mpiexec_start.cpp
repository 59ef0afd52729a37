// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/mpiexec_start.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "charmrun/cli/user_signals.hpp"
#include "charmrun/plan/own_address.hpp"
#include "charmrun/plan/program_file.hpp"
#include "charmrun/plan/program_rules.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/host/own_addresses.hpp"
#include "tree/io/link/remote_command.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/start_report.hpp"
#include "tree/wire/ipv4.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

namespace {

/// Where launchers may find us; the user's choice alone, if there is one.
Result<std::vector<std::string>> root_places(const Options& options, std::uint16_t port) {
  auto chosen = chosen_address(options);
  if (!chosen) return chosen.error();
  std::vector<std::uint32_t> addresses;
  if (*chosen != 0) addresses = {*chosen};
  const std::vector<wire::Address> own =
      addresses.empty() ? io::addresses_for_others() : std::vector<wire::Address>{};
  for (const wire::Address& address : own) {
    if (address.is_ipv4()) addresses.push_back(address.ipv4());
  }
  if (const std::string_view option = options.connecting_starter()->option; addresses.empty() && !own.empty())
    return bad_input(fmt::format("{}: launchers reach charmrun by IPv4 alone, and this machine is at {}",
                                 option, wire::text_of(own.front())),
                     fmt::format("start it where there is an IPv4 address, or without {}", option));
  if (addresses.empty()) addresses = {INADDR_LOOPBACK};
  if (addresses.size() > wire::Ticket::kMostPlaces) addresses.resize(wire::Ticket::kMostPlaces);
  std::vector<std::string> places;
  places.reserve(addresses.size());
  for (const std::uint32_t address : addresses)
    places.push_back(fmt::format("{}:{}", wire::dotted(address), port));
  return places;
}

/// Nothing that is secret becomes a word of a command or a variable: the ticket goes by standard input.
std::string script_text(const std::string& launcher, const wire::Ticket& ticket, std::string_view rank) {
  return fmt::format("#!/bin/sh\n{}{} <<'END'\n{}\nEND\n", rank, io::remote_command(launcher, kRankWord),
                     wire::to_line(ticket));
}

std::vector<std::string> starter_words(const ConnectingStarter& starter, const Options::Launch& launch,
                                       std::uint32_t processes, const std::string& script) {
  std::vector<std::string> words = launch.remote_shell;
  if (words.empty()) words = *split_command(starter.command);
  if (starter.takes_count && !launch.mpiexec_without_count)
    words.insert(words.end(), {"-n", std::to_string(processes)});
  words.push_back(script);
  return words;
}

}  // namespace

MpiexecStart::MpiexecStart(io::asio::io_context& io, io::ChildWatch& watch, const Options& options, Say say)
    : io_(io),
      options_(options),
      starter_(options.connecting_starter()->name),
      say_(std::move(say)),
      command_(io, watch,
               {[this](const std::string& line) {
                  say_(ending_ ? proto::Tone::verbose : proto::Tone::info, starter_ + ": " + line);
                },
                [this](const std::string& how, const std::string& last) {
                  rendezvous_->mpiexec_ended(how, last);
                  if (rendezvous_->complete() && !ending_) say_(proto::Tone::info, starter_ + " " + how);
                }}) {}

Result<void> MpiexecStart::begin(const Job& job) {
  const std::uint32_t processes = job.plan.job.processes;
  wire::Ticket ticket;
  ticket.version = CHARMTREE_VERSION;
  ticket.secret = io::random_bytes(wire::Ticket::kSecret);
  ticket.processes = processes;
  ticket.patience = options_.time.to_start;
  const ConnectingStarter& starter = *options_.connecting_starter();
  rendezvous_.emplace(processes, options_.time.to_start,
                      proto::Rendezvous::Starter{starter_, starter.takes_count});
  listener_.emplace(io_, ticket.secret, processes,
                    io::RendezvousListener::Sink{
                        [this](proto::RendezvousId launcher, const wire::RankReport& report) {
                          say_(proto::Tone::verbose, fmt::format("{}: process {} of {}'s has come",
                                                                 report.host, report.rank, starter_));
                          rendezvous_->report(launcher, report, io::now());
                        },
                        [this](proto::RendezvousId launcher, const Error& error) {
                          rendezvous_->lost(launcher, error, io::now());
                        },
                        [this](const std::string& note) { say_(proto::Tone::info, note); }});
  auto port = listener_->open();
  if (!port) return port.error();
  auto where = root_places(options_, *port);
  if (!where) return where.error();
  ticket.places = std::move(*where);
  const Profile& profile = job.plan.job.profiles.at(0);
  ticket.script =
      fmt::format("{}/charmrun.{}.{}", profile.directory, ::getpid(), job.plan.job.id.substr(0, 4));
  if (auto written = script_.write(ticket.script, script_text(profile.launcher, ticket, starter.rank));
      !written)
    return written;
  rendezvous_->begin(io::now());
  const std::vector<std::string> words = starter_words(starter, options_.launch, processes, ticket.script);
  std::string line = "starting";
  for (const std::string& word : words) line += " " + word;
  say_(proto::Tone::verbose, line);
  return command_.start(words);
}

void MpiexecStart::wait(Instant limit) {
  io::asio::signal_set signals{io_};
  watch_ending_signals(signals, [this](int signal) {
    signal_ = signal;
    io_.stop();
  });
  io::asio::steady_timer timer{io_};
  Instant late_at = io::now() + proto::StartReport::kLateAfter;
  const auto armed = std::make_shared<std::optional<Instant>>();  // the handler may be called after the loop
  while (!rendezvous_->complete() && !rendezvous_->error() && signal_ == 0 && io::now() < limit) {
    // Only for another time: a wait that is cancelled is an event of its own, and the loop would never rest.
    if (const Instant due = earlier(earlier(limit, late_at), rendezvous_->next_deadline()); *armed != due) {
      *armed = due;
      timer.expires_at(io::to_steady(due));
      timer.async_wait([armed](io::error_code ec) {
        if (!ec) armed->reset();
      });
    }
    io_.restart();
    if (io_.run_one() == 0) break;
    rendezvous_->tick(io::now());
    if (io::now() < late_at) continue;
    late_at = kNever;
    say_(proto::Tone::info,
         fmt::format("after {:g} s: {}", seconds(proto::StartReport::kLateAfter), rendezvous_->progress()));
  }
}

std::optional<proto::Finish> MpiexecStart::rendezvous(Job& job, Instant started) {
  const Duration limit = job.plan.time_limit;
  if (auto begun = begin(job); !begun) {
    say_(proto::Tone::error, to_string(begun.error()));
    return give_up(kLauncherFailed, 0);
  }
  wait(limit > Duration{0} ? started + limit : kNever);
  if (signal_ != 0) {
    say_(proto::Tone::info, fmt::format("{}: ending the start by {} ({})", strsignal(signal_), starter_,
                                        rendezvous_->progress()));
    return give_up(status_of_signal(signal_), signal_);
  }
  if (rendezvous_->error()) {
    say_(proto::Tone::error, to_string(*rendezvous_->error()));
    return give_up(kLauncherFailed, 0);
  }
  if (!rendezvous_->complete()) {
    say_(proto::Tone::error, "Time limit reached (++timelimit)");
    return give_up(kTimeLimit, 0);
  }
  script_.remove();
  if (const auto fits = seat(job); !fits) {
    say_(proto::Tone::error, to_string(fits.error()));
    return give_up(kLauncherFailed, 0);
  }
  listener_->close();
  const Duration elapsed = io::now() - started;
  if (limit > Duration{0}) job.plan.time_limit = std::max(limit - elapsed, Duration{1});
  job.notes.push_back(fmt::format("{} and the connections took {:.3f} s", starter_, seconds(elapsed)));
  io_.restart();
  return {};
}

/// The processes of a host get numbers in a row, whatever their ranks are: Charm++ needs that.
Result<void> MpiexecStart::seat(Job& job) {
  std::vector<proto::RendezvousId> launchers;
  for (const proto::Rendezvous::Seat& seat : rendezvous_->seats()) {
    Host host;
    host.index = static_cast<std::uint32_t>(launchers.size());
    host.name = seat.host;
    host.address = wire::dotted(listener_->address_of(seat.launcher));
    host.processes = seat.processes;
    launchers.push_back(seat.launcher);
    job.plan.hosts.push_back(std::move(host));
  }
  listener_->seat(std::move(launchers));
  number_processes(job.plan.hosts);
  Placement placement;
  for (const Host& host : job.plan.hosts)
    placement.hosts.push_back({host.index, host.first_process, host.processes});
  wire::JobSpec& spec = job.plan.job;
  spec.hosts = static_cast<std::uint32_t>(job.plan.hosts.size());
  spec.launch.shape = {spec.hosts, 1};
  spec.launch.batch = spec.hosts;  // their launchers are there
  job.notes.push_back(
      fmt::format("job {}: {} processes on {} hosts, by {}", spec.id, spec.processes, spec.hosts, starter_));
  placement.counts.pes_per_process = spec.pes_per_process;
  const std::string& directory = spec.profiles.at(0).directory;
  const auto read = [&] { return program_traits(options_, directory); };
  const auto no_mpi = [] { return wire::Mpi::none; };  // it has been looked for
  return ProgramRules{options_, read, no_mpi}.check(placement);
}

std::optional<proto::Finish> MpiexecStart::give_up(int status, int signal) {
  ending_ = true;
  script_.remove();
  listener_.reset();
  command_.finish(io::MpiexecCommand::Patience::no);
  return proto::Finish{status, signal};
}

void MpiexecStart::finish() {
  ending_ = true;
  command_.finish(io::MpiexecCommand::Patience::yes);
}

}  // namespace charmtree
