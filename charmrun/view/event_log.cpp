// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/event_log.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <utility>

#include "charmrun/cli/label.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

using proto::Tone;

namespace {

constexpr std::string_view kEventsFormat = "charmtree-events-1";
constexpr int kMaxDescriptor = 1023;

}  // namespace

std::string EventLog::line(const char* event, Instant now, const Json& more) const {
  Json json = {{"event", event}, {"t", at(now)}};
  json.update(more);
  return json_text(json);
}

std::string EventLog::job(const wire::JobSpec& job, int pid, Instant now) const {
  return line("job", now,
              {{"format", kEventsFormat},
               {"job", job.id},
               {"pid", pid},
               {"command", job.arguments},
               {"hosts", job.hosts},
               {"processes", job.processes}});
}

std::string EventLog::host_up(const std::string& host, Instant now) const {
  return line("host_up", now, {{"host", host}});
}

std::string EventLog::host_failed(const std::string& host, const Error& error, Instant when,
                                  Instant now) const {
  return line("host_failed", now,
              {{"host", host},
               {"phase", name(error.phase)},
               {"error", error.what},
               {"fix", error.fix},
               {"at", at(when)}});
}

std::string EventLog::lost(const proto::Loss& loss, const std::string& host, Instant now) const {
  return line("lost", now, {{"processes", ranges_json(loss.processes)}, {"host", host}, {"how", loss.how}});
}

std::string EventLog::process_restart(const proto::Progress::ProcessRestart& restart, const std::string& host,
                                      Instant now) const {
  return line(
      "process_restart", now,
      {{"process", restart.process}, {"host", host}, {"how", restart.how}, {"restarts", restart.restarts}});
}

std::string EventLog::process_back(std::uint32_t process, Instant now) const {
  return line("process_back", now, {{"process", process}});
}

std::string EventLog::silence(const wire::Silence& told, const std::string& host, Instant now) const {
  using State = wire::Silence::State;
  Json more = {{"process", told.process}, {"host", host}, {"seconds", rounded_seconds(told.lasted)}};
  if (told.state == State::over) return line("process_serves", now, more);
  more["stopped"] = told.state == State::stopped;
  return line("process_silent", now, more);
}

std::string EventLog::process_end(const proto::Progress::Failure& failure, const std::string& host,
                                  Instant now) const {
  Json more = {{"process", failure.process}, {"host", host}};
  more.update(end_parts(failure.way));
  more["how"] = failure.how;
  return line("process_end", now, more);
}

std::string EventLog::ends(const proto::ProcessEnds& ends, Instant now) const {
  return line("ends", now, {{"ends", ends_json(ends)}});
}

std::string EventLog::restart(const proto::Ending& why, Instant now) const {
  return line("restart", now, ending_parts(why));
}

std::string EventLog::stage(const proto::JobStatus& status, Instant now) const {
  return line("stage", now, status_parts(status));
}

std::string EventLog::output(const proto::Show& show, Instant now) const {
  const bool known = show.output.read != kNever;
  const auto stream = static_cast<proto::Stream>(show.output.stream);
  return line("output", now,
              {{"process", show.output.process},
               {"host", show.host},
               {"stream", name_of(stream)},
               {"text", show.output.text},
               {"at", at(known ? show.output.read : now)}});
}

std::string EventLog::message(Tone tone, const std::string& text, Instant now) const {
  const char* name = tone == Tone::error ? "error" : tone == Tone::info ? "info" : "verbose";
  return line("message", now, {{"tone", name}, {"text", text}});
}

std::string EventLog::end(const proto::Finish& finish, const std::string& host, Instant now) const {
  const int status = finish.signal != 0 ? status_of_signal(finish.signal) : finish.status;
  Json more = {{"status", status}, {"signal", finish.signal}};
  more.update(ending_parts(finish.why));
  if (!host.empty()) more["host"] = host;
  return line("end", now, more);
}

Result<EventPlace> event_place(const std::string& text) {
  if (text == "-") return EventPlace{{}, 1};
  if (!text.starts_with("fd:")) return EventPlace{text};
  int fd = -1;
  const auto [stop, error] = std::from_chars(text.data() + 3, text.data() + text.size(), fd);
  if (error != std::errc{} || stop != text.data() + text.size() || fd < 0 || fd > kMaxDescriptor)
    return Error{Errc::bad_input, Phase::options, "++json cannot be '" + quotable(text) + "'",
                 "it takes a file, - for stdout, or fd:N for a descriptor that is open"};
  return EventPlace{{}, fd};
}

}  // namespace charmtree
