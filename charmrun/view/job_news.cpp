// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/job_news.hpp"
#include "tree/io/write_error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace charmtree {

using proto::Tone;

void JobNews::begin_events(EventWriter writer, const std::string& place, const wire::JobSpec& job) {
  events_.emplace(std::move(writer));
  place_ = place;
  events_->begin(io_, here_.guarded(hooks_.written), [this](int error) { say_broken(error); });
  write(log_.job(job, ::getpid(), io::now()));
}

Result<std::string> JobNews::open_dashboard(Dashboard dashboard, std::function<proto::JobStatus()> status) {
  dashboard_.emplace(io_, std::move(dashboard), std::move(status),
                     [this](const std::string& note) { hooks_.say(Tone::verbose, note); });
  return dashboard_->open();
}

void JobNews::write(std::string line) {
  if (events_->on_stdout())
    hooks_.to_stdout(std::move(line));
  else
    events_->write(std::move(line));
}

void JobNews::output(const proto::Show& action) {
  if (dashboard_) dashboard_->tell([&](Dashboard& dashboard) { dashboard.output(action); });
  if (have_stdout()) write(log_.output(action, io::now()));
}

void JobNews::say(Tone tone, const std::string& text) {
  if (events_) write(log_.message(tone, text, io::now()));
  if (dashboard_) dashboard_->tell([&](Dashboard& dashboard) { dashboard.say(tone, text); });
}

void JobNews::host_failed(std::uint32_t index, const std::string& name, const Error& error, Instant when) {
  if (dashboard_) dashboard_->tell([&](Dashboard& dashboard) { dashboard.host_failed(index, error); });
  if (events_) write(log_.host_failed(name, error, when, io::now()));
}

void JobNews::progress(const proto::Progress& progress, const std::vector<Host>& hosts) {
  if (events_) write_progress(progress, hosts);
  if (dashboard_) dashboard_->tell([&](Dashboard& dashboard) { dashboard.progress(progress, hosts); });
  stage_ = progress.status.stage;
}

void JobNews::write_progress(const proto::Progress& progress, const std::vector<Host>& hosts) {
  const Instant now = io::now();
  for (const std::uint32_t host : progress.hosts_up) write(log_.host_up(hosts[host].name, now));
  for (const proto::Loss& loss : progress.losses) write(log_.lost(loss, hosts[loss.host].name, now));
  for (const proto::Progress::ProcessRestart& restart : progress.restarts)
    write(log_.process_restart(restart, hosts[restart.host].name, now));
  for (const std::uint32_t process : progress.back) write(log_.process_back(process, now));
  for (const wire::Silence& told : progress.silences) {
    const Host* host = host_of(hosts, told.process);
    write(log_.silence(told, host != nullptr ? host->name : "", now));
  }
  for (const proto::Progress::Failure& failure : progress.failures)
    write(log_.process_end(failure, hosts[failure.host].name, now));
  if (progress.restarted) write(log_.restart(*progress.restarted, now));
  if (!stage_ || *stage_ != progress.status.stage) write(log_.stage(progress.status, now));
}

/// Once, though it may be known at the end before the loop hears of it.
void JobNews::say_broken(int error) {
  if (error == 0 || std::exchange(is_broken_, true)) return;
  hooks_.say(Tone::error, fmt::format("++json: cannot write {}: {}; the job goes on without it", place_,
                                      io::write_error(error)));
}

bool JobNews::drain(Duration limit) {
  if (!events_) return true;
  const bool is_written = events_->drain(limit);
  say_broken(events_->failure());
  return is_written;
}

void JobNews::end(const proto::Finish& result, const std::string& host) {
  if (events_) {
    if (!result.why.ends.ways().empty()) write(log_.ends(result.why.ends, io::now()));
    write(log_.end(result, host, io::now()));
  }
  if (!dashboard_) return;
  dashboard_->tell([&](Dashboard& dashboard) { dashboard.end(result, host, io::now()); });
  dashboard_->finish();
}

}  // namespace charmtree
