// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/status_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "charmrun/report/json_parts.hpp"
#include "charmrun/report/report.hpp"
#include "tree/base/join.hpp"
#include "tree/base/visible.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::control {
namespace {

constexpr std::string_view kStatusFormat = "charmtree-status-1";
constexpr std::string_view kIdle = "idle";
constexpr std::size_t kMostOfCommand = 60;

Json read(const std::string& answer) {
  Json json = Json::parse(answer, nullptr, false);
  return json.is_object() ? json : Json::object();
}

std::string text_of(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_string() ? visible(it->get<std::string>()) : std::string{};
}

std::uint64_t number_of(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_number() ? it->get<std::uint64_t>() : 0;
}

Duration age(const Json& json) {
  const auto it = json.find("seconds");
  if (it == json.end() || !it->is_number()) return Duration{0};
  const double most = 1e9;  // the text may be another program's
  return std::chrono::round<Duration>(
      std::chrono::duration<double>{std::clamp(it->get<double>(), 0.0, most)});
}

std::string command(const Json& json) {
  std::string text = text_of(json, "command");
  if (text.size() > kMostOfCommand) text = text.substr(0, kMostOfCommand - 3) + "...";
  return text;
}

bool is_called(const Json& job, const std::string& wanted) {
  return text_of(job, "job").starts_with(wanted) || std::to_string(number_of(job, "pid")) == wanted;
}

/// `what`, in the plural, are called `wanted`: none, or several.
Error ambiguous(std::size_t number, std::string_view what, const std::string& wanted, std::string fix) {
  return bad_input(fmt::format("{} {} of yours are called '{}'", number == 0 ? "no" : std::to_string(number),
                               what, quotable(wanted)),
                   std::move(fix));
}

/// Returns how long a job without a charmrun still waits for one.
std::string wait_left(const RootlessJob& job, std::int64_t now_ms) {
  return human_time(std::chrono::milliseconds{job.waits_until() - now_ms});
}

std::string not_taken_over(const RootlessJob& job) {
  return fmt::format("job {} has ended: no charmrun has taken over within its {:g} s (++keep-alive)", job.id,
                     seconds(job.keep_alive));
}

}  // namespace

std::string status_json(const wire::JobSpec& job, int pid, const std::vector<Host>& hosts,
                        const proto::JobStatus& status, Duration elapsed,
                        const std::optional<SessionStatus>& session) {
  std::string command = join(job.arguments, " ");
  for (const wire::FurtherProgram& each : job.spawn.further)
    command += fmt::format(" : {}", join(each.arguments, " "));
  Json json = {{"format", kStatusFormat},
               {"job", job.id},
               {"pid", pid},
               {"command", visible(command)},
               {"seconds", rounded_seconds(elapsed)}};
  json.update(status_parts(status));
  json["late"] = status.late;
  json["summary"] = visible(proto::summary(status));
  json["placement"] = proto::placement_lines(hosts, status.moved);
  if (!session) return json_text(json);
  json["session"] = {{"runs", session->runs}, {"waiting", session->waiting}};
  if (session->idle) {
    json["stage"] = kIdle;
    json["summary"] = fmt::format("idle: a session, waiting for what to run ({} so far)", session->runs);
    json["placement"] = Json::array();
  } else if (session->waiting > 0) {
    json["summary"] =
        fmt::format("{}; {} more wait to be run", json["summary"].get<std::string>(), session->waiting);
  }
  return json_text(json);
}

std::string list_text(const std::vector<std::string>& answers) {
  if (answers.empty()) return "no job of yours is running on this machine\n";
  std::string text = fmt::format("{:<16}  {:>7}  {:>6}  {:>9}  {:>9}  {:<6}  {}\n", "JOB", "PID", "HOSTS",
                                 "PROCESSES", "RUNNING", "STAGE", "COMMAND");
  for (const std::string& answer : answers) {
    const Json json = read(answer);
    text += fmt::format("{:<16}  {:>7}  {:>6}  {:>9}  {:>9}  {:<6}  {}\n", text_of(json, "job"),
                        number_of(json, "pid"), number_of(json, "hosts"), number_of(json, "processes"),
                        human_time(age(json)), text_of(json, "stage"), command(json));
  }
  return text;
}

std::int64_t RootlessJob::waits_until() const {
  return seen_ms + std::chrono::ceil<std::chrono::milliseconds>(kSeenEvery + kLossKnown + keep_alive).count();
}

RootlessJob::State RootlessJob::state(std::int64_t now_ms, const std::string& own_machine) const {
  const std::int64_t recent = std::chrono::duration_cast<std::chrono::milliseconds>(2 * kSeenEvery).count();
  if (held) return State::silent;
  if (machine != own_machine && now_ms - seen_ms <= recent) return State::elsewhere;
  return now_ms <= waits_until() ? State::waits : State::over;
}

bool RootlessJob::is_forgotten(std::int64_t now_ms) const {
  return !held &&
         now_ms > waits_until() + std::chrono::duration_cast<std::chrono::milliseconds>(kRemembered).count();
}

std::string rootless_text(const std::vector<RootlessJob>& jobs, std::int64_t now_ms,
                          const std::string& own_machine) {
  std::string text;
  for (const RootlessJob& job : jobs) {
    switch (job.state(now_ms, own_machine)) {
      case RootlessJob::State::silent:
        text += fmt::format("job {} has a charmrun here that does not answer: is it suspended?\n", job.id);
        break;
      case RootlessJob::State::elsewhere:
        text += fmt::format("job {} has its charmrun on {}\n", job.id, job.machine);
        break;
      case RootlessJob::State::waits:
        text += fmt::format(
            "job {} runs without a charmrun and ends within {} unless taken over: charmrun ++attach {}\n",
            job.id, wait_left(job, now_ms), job.id);
        break;
      case RootlessJob::State::over:
        text += not_taken_over(job) + "\n";
        break;
    }
  }
  return text;
}

std::optional<Error> rootless_error(const RootlessJob& job, std::int64_t now_ms,
                                    const std::string& own_machine) {
  switch (job.state(now_ms, own_machine)) {
    case RootlessJob::State::silent:
      break;
    case RootlessJob::State::elsewhere:
      return bad_input(fmt::format("job {} has its charmrun on {}", job.id, job.machine),
                       "call charmrun on that machine");
    case RootlessJob::State::waits:
      return bad_input(fmt::format("job {} runs without a charmrun and ends within {} unless taken over",
                                   job.id, wait_left(job, now_ms)),
                       fmt::format("charmrun ++attach {} takes it over; Ctrl-C ends it there", job.id));
    case RootlessJob::State::over:
      return bad_input(not_taken_over(job), "charmrun ++list shows what runs");
  }
  return std::nullopt;
}

std::string list_json(const std::vector<std::string>& answers, const std::vector<RootlessJob>& rootless,
                      std::int64_t now_ms, const std::string& own_machine) {
  constexpr std::array<std::string_view, 4> kStages = {"silent", "elsewhere", "rootless", "over"};
  std::string text;
  for (const std::string& answer : answers) text += json_text(read(answer));
  for (const RootlessJob& job : rootless) {
    const auto state = job.state(now_ms, own_machine);
    Json json = {{"format", kStatusFormat},
                 {"job", job.id},
                 {"machine", job.machine},
                 {"stage", kStages[static_cast<std::size_t>(state)]}};
    if (state == RootlessJob::State::waits)
      json["waits"] = rounded_seconds(std::chrono::milliseconds{job.waits_until() - now_ms});
    text += json_text(json);
  }
  return text;
}

std::string id_of(const std::string& answer) {
  return text_of(read(answer), "job");
}

std::uint32_t processes_of(const std::string& answer) {
  return static_cast<std::uint32_t>(number_of(read(answer), "processes"));
}

bool is_session(const std::string& answer) {
  return read(answer).contains("session");
}

bool is_idle(const std::string& answer) {
  return text_of(read(answer), "stage") == kIdle;
}

std::string status_text(const std::string& answer) {
  const Json json = read(answer);
  std::string text =
      fmt::format("job {}: {}\n", text_of(json, "job"), text_of(json, "command")) +
      fmt::format("launcher: pid {}, since {}\n", number_of(json, "pid"), human_time(age(json))) +
      text_of(json, "summary") + "\n";
  const auto placement = json.find("placement");
  if (placement == json.end() || !placement->is_array()) return text;
  for (const Json& line : *placement) {
    if (line.is_string()) text += "  " + visible(line.get<std::string>()) + "\n";
  }
  return text;
}

std::size_t count_sessions(const std::vector<std::string>& answers, const std::string& wanted) {
  return static_cast<std::size_t>(std::count_if(
      answers.begin(), answers.end(),
      [&](const std::string& answer) { return is_session(answer) && is_called(read(answer), wanted); }));
}

std::set<std::uint64_t> pids_of(const std::vector<std::string>& answers) {
  std::set<std::uint64_t> pids;
  for (const std::string& answer : answers) pids.insert(number_of(read(answer), "pid"));
  return pids;
}

Result<std::string> choose_session(const std::vector<std::string>& answers, const std::string& wanted) {
  std::vector<std::string> ids, fitting;
  for (const std::string& answer : answers) {
    const Json json = read(answer);
    if (!json.contains("session")) continue;
    const std::string& id = ids.emplace_back(text_of(json, "job"));
    if (is_called(json, wanted)) fitting.push_back(id);
  }
  if (fitting.size() == 1) return fitting.front();
  if (ids.empty())
    return bad_input("no session of yours is running on this machine", "charmrun ++session starts one");
  const std::string all = join(ids, ", ");
  if (wanted.empty())
    return bad_input(fmt::format("{} sessions of yours are running", ids.size()), "say which one: " + all);
  return ambiguous(fitting.size(), "sessions", wanted, "there is: " + all);
}

Result<std::string> choose_job(const std::vector<std::string>& answers, const std::string& wanted,
                               const std::vector<std::string>& silent) {
  std::vector<std::string> fitting;
  for (const std::string& answer : answers) {
    if (is_called(read(answer), wanted)) fitting.push_back(answer);
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty() && !silent.empty())
    return bad_input(
        fmt::format("no job that answers is {}; {} {} not",
                    wanted.empty() ? "running here" : fmt::format("called '{}'", quotable(wanted)),
                    join(silent, ", "), silent.size() == 1 ? "does" : "do"),
        "is its charmrun suspended, or held by a debugger?");
  if (wanted.empty()) {
    return answers.empty()
               ? bad_input("no job of yours is running on this machine", "jobs are seen where charmrun runs")
               : bad_input(fmt::format("{} jobs of yours are running", answers.size()),
                           "charmrun ++status JOB; charmrun ++list shows them");
  }
  return ambiguous(fitting.size(), "running jobs", wanted, "charmrun ++list shows them");
}

}  // namespace charmtree::control
