// SPDX-License-Identifier: Apache-2.0
#include "charmrun/event_log.hpp"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "charmrun/startup_record.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

using Json = nlohmann::ordered_json;
using proto::Tone;

namespace {

constexpr std::string_view kFormat = "charmtree-events-1";
constexpr int kMaxDescriptor = 1023;

/// To the microsecond: what is finer is not known.
double since(Instant started, Instant when) {
  return std::round(seconds(when - started) * 1e6) / 1e6;
}

std::string line(const char* event, double time, const Json& more) {
  Json json = {{"event", event}, {"t", time}};
  json.update(more);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string EventLog::job(const wire::JobSpec& job, int pid, Instant now) const {
  return line("job", since(started_, now),
              {{"format", kFormat},
               {"job", job.id},
               {"pid", pid},
               {"command", job.arguments},
               {"hosts", job.hosts},
               {"processes", job.processes}});
}

std::string EventLog::host_up(const std::string& host, Instant now) const {
  return line("host_up", since(started_, now), {{"host", host}});
}

std::string EventLog::host_failed(const std::string& host, const Error& error, Instant when) const {
  return line("host_failed", since(started_, when),
              {{"host", host}, {"phase", name(error.phase)}, {"error", error.what}, {"fix", error.fix}});
}

std::string EventLog::stage(const proto::JobStatus& status, Instant now) const {
  return line("stage", since(started_, now),
              {{"stage", proto::name(status.stage)},
               {"hosts", status.hosts},
               {"hosts_up", status.hosts_up},
               {"hosts_failed", status.hosts_failed},
               {"processes", status.processes},
               {"registered", status.registered},
               {"ended", status.ended}});
}

std::string EventLog::output(const proto::Show& show, Instant now) const {
  const bool known = show.output.read != kNever;
  const auto stream = static_cast<proto::Stream>(show.output.stream);
  return line("output", since(started_, known ? show.output.read : now),
              {{"process", show.output.process},
               {"host", show.host},
               {"stream", stream == proto::Stream::err ? "stderr" : "stdout"},
               {"text", show.output.text}});
}

std::string EventLog::message(Tone tone, const std::string& text, Instant now) const {
  const char* name = tone == Tone::error ? "error" : tone == Tone::info ? "info" : "verbose";
  return line("message", since(started_, now), {{"tone", name}, {"text", text}});
}

std::string EventLog::end(const proto::Finish& finish, const std::string& host, Instant now) const {
  const int status = finish.signal != 0 ? 128 + finish.signal : finish.status;
  Json more = {{"status", status}, {"signal", finish.signal}, {"cause", name(finish.why.cause)}};
  if (finish.why.process) more["process"] = *finish.why.process;
  if (!host.empty()) more["host"] = host;
  if (!finish.why.how.empty()) more["how"] = finish.why.how;
  return line("end", since(started_, now), more);
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
