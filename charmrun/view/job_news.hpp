// SPDX-License-Identifier: Apache-2.0
// What programs and pages are told of a job while it runs: the events of ++json and the page of ++dashboard.
// Without these two, nothing that is told here goes anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "charmrun/view/dashboard_listener.hpp"
#include "charmrun/view/event_log.hpp"
#include "charmrun/view/event_writer.hpp"
#include "charmrun/view/while_here.hpp"
#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/io/clock.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

class JobNews {
public:
  struct Hooks {
    std::function<void(std::string line)> to_stdout;  // for events whose place that is
    std::function<void()> written;                    // there may be room again
    std::function<void(proto::Tone, const std::string& line)> say;
  };
  /// `started`: when main began.
  JobNews(io::asio::io_context& io, Instant started, Hooks hooks)
      : io_(io), log_(started), hooks_(std::move(hooks)) {}

  /// ++json, whose value is `place`; the first event is written.
  void begin_events(EventWriter writer, const std::string& place, const wire::JobSpec& job);
  /// ++dashboard. Its address, or why there is none; `status` is asked from the loop.
  Result<std::string> open_dashboard(Dashboard dashboard, std::function<proto::JobStatus()> status);

  /// Events are on stdout, and nothing else is.
  bool have_stdout() const { return events_ && events_->on_stdout(); }
  /// Lines that tools look for on stdout, which has events instead.
  void announce(const std::string& lines) { write(log_.message(proto::Tone::info, lines, io::now())); }
  void output(const proto::Show& action);
  void say(proto::Tone tone, const std::string& text);
  /// `index`: of the host among the job's.
  void host_failed(std::uint32_t index, const std::string& name, const Error& error, Instant when);
  /// `hosts`: all of the job.
  void progress(const proto::Progress& progress, const std::vector<Host>& hosts);
  /// The last news. `host`: the name of the one of Ending::host, if there is any.
  void end(const proto::Finish& result, const std::string& host);

  std::size_t backlog() const { return events_ ? events_->backlog() : 0; }
  /// All events are written; false: not within `limit`.
  bool drain(Duration limit);

private:
  void write(std::string line);
  void say_broken(int error);
  void write_progress(const proto::Progress& progress, const std::vector<Host>& hosts);

  WhileHere here_;
  io::asio::io_context& io_;
  EventLog log_;
  Hooks hooks_;
  std::optional<EventWriter> events_;  // ++json
  std::string place_;                  // of those
  bool is_broken_ = false;             // it cannot be written, as has been said
  std::optional<proto::Stage> stage_;  // that was told last
  std::optional<DashboardListener> dashboard_;
};

}  // namespace charmtree
