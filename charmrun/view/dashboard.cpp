// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/dashboard.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "charmrun/cli/label.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/wire/fold.hpp"

namespace charmtree {

using namespace proto;

namespace {

constexpr std::uint32_t kOurs = UINT32_MAX;  // the process of our own lines

std::string cut(std::string_view text, std::size_t most) {
  return text.size() <= most ? std::string{text} : std::string{text.substr(0, most)} + "...";
}

/// The last `most` bytes, from the beginning of a line if there is one.
std::string last_part(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string{text};
  text.remove_prefix(text.size() - most);
  const std::size_t newline = text.find('\n');
  if (newline != std::string_view::npos && newline + 1 < text.size()) text.remove_prefix(newline + 1);
  return std::string{text};
}

std::string_view tone_name(Tone tone) {
  return tone == Tone::error ? "error" : tone == Tone::info ? "info" : "verbose";
}

Json command_of(const wire::JobSpec& job) {
  Json words = Json::array();
  std::size_t bytes = 0;
  for (const std::string& word : job.arguments) {
    if (bytes > Dashboard::kMaxCommand) {
      words.push_back("...");
      break;
    }
    words.push_back(cut(word, Dashboard::kMaxCommand));
    bytes += word.size() + 1;
  }
  return words;
}

}  // namespace

Dashboard::Dashboard(const wire::JobSpec& job, const std::vector<Host>& hosts, int pid, std::string root,
                     Instant started)
    : started_(started),
      job_(std::make_shared<const Json>(
          Json{{"id", job.id}, {"pid", pid}, {"root", std::move(root)}, {"command", command_of(job)}})) {
  place(hosts);
}

void Dashboard::make_rows(const std::vector<Host>& hosts) {
  hosts_per_row_ = std::max<std::size_t>(1, (hosts.size() + kMaxRows - 1) / kMaxRows);
  rows_.clear();
  for (std::size_t first = 0; first < hosts.size(); first += hosts_per_row_) {
    Row row;
    std::vector<std::string> names;
    for (std::size_t i = first; i < std::min(first + hosts_per_row_, hosts.size()); ++i)
      names.push_back(hosts[i].name);
    row.name = cut(wire::fold_names(names), kMaxReason);
    row.first_host = static_cast<std::uint32_t>(first);
    row.hosts = static_cast<std::uint32_t>(names.size());
    rows_.push_back(std::move(row));
  }
  host_states_.resize(hosts.size(), HostState::waiting);
}

/// Which hosts there are, and who runs what: at the beginning, and whenever it changes.
void Dashboard::place(const std::vector<Host>& hosts) {
  const std::vector<Row> before = std::exchange(rows_, {});
  make_rows(hosts);
  first_processes_.clear();
  counts_.clear();
  std::uint32_t processes = 0;
  for (const Host& host : hosts) {
    first_processes_.push_back(host.first_process);
    counts_.push_back(host.processes);
    processes = std::max(processes, host.first_process + host.processes);
  }
  for (Row& row : rows_) {
    const std::size_t index = row.first_host / hosts_per_row_;
    if (before.size() == rows_.size()) {
      row.by = before[index].by;
      row.why = before[index].why;
    }
    row.first_process = first_processes_[row.first_host];
    for (std::uint32_t host = row.first_host; host < row.first_host + row.hosts; ++host) {
      row.processes += counts_[host];
      row.up += host_states_[host] == HostState::up ? 1 : 0;
      row.failed += host_states_[host] == HostState::failed ? 1 : 0;
    }
    touch(row);
  }
  placed_ = version_;
  processes_.assign(processes, State::waiting);
  first_failed_.reset();
  listed_.clear();
  for (std::uint32_t process = 0; lists_all() && process < processes; ++process)
    listed_[process].changed = version_;
  for (std::uint32_t host = 0; host < host_states_.size(); ++host) {
    if (host_states_[host] == HostState::up) start_processes(host);
  }
}

Dashboard::Row* Dashboard::row_of_host(std::uint32_t host) {
  const std::size_t row = host / hosts_per_row_;
  return row < rows_.size() ? &rows_[row] : nullptr;
}

Dashboard::Row* Dashboard::row_of_process(std::uint32_t process) {
  if (process >= processes_.size()) return nullptr;
  const auto above = std::upper_bound(first_processes_.begin(), first_processes_.end(), process);
  if (above == first_processes_.begin()) return nullptr;
  auto host = static_cast<std::size_t>(above - first_processes_.begin()) - 1;
  while (host > 0 && counts_[host] == 0) --host;  // those without processes share their first with another
  return row_of_host(static_cast<std::uint32_t>(host));
}

void Dashboard::set_host(std::uint32_t host, HostState state, const std::string& why) {
  Row* row = row_of_host(host);
  if (row == nullptr || host >= host_states_.size()) return;
  HostState& now = host_states_[host];
  row->up -= now == HostState::up ? 1 : 0;
  row->failed -= now == HostState::failed ? 1 : 0;
  now = state;
  row->up += now == HostState::up ? 1 : 0;
  row->failed += now == HostState::failed ? 1 : 0;
  if (row->why.empty()) row->why = cut(why, kMaxReason);
  touch(*row);
}

void Dashboard::start_processes(std::uint32_t host) {
  for (std::uint32_t i = 0; i < counts_[host]; ++i) {
    if (processes_[first_processes_[host] + i] == State::waiting)
      set_process(first_processes_[host] + i, State::running);
  }
}

/// `by` may be -1.
void Dashboard::count(Row& row, State state, std::uint32_t by) const {
  if (state == State::ended) row.ended += by;
  if (state == State::failed) row.bad += by;
  if (state == State::stopped) row.stopped += by;
}

void Dashboard::set_process(std::uint32_t process, State state, std::string how) {
  Row* row = row_of_process(process);
  if (row == nullptr || processes_[process] == state) return;
  State& now = processes_[process];
  count(*row, now, UINT32_MAX);
  now = state;
  count(*row, now, 1);
  touch(*row);
  if (state == State::failed && !first_failed_) first_failed_ = process;
  if (state != State::failed && first_failed_ == process) first_failed_.reset();
  const bool listed =
      lists_all() || listed_.contains(process) || (state == State::failed && listed_.size() < kMaxListed);
  if (listed) listed_[process] = {cut(how, kMaxReason), version_};
}

void Dashboard::progress(const Progress& progress, const std::vector<Host>& hosts) {
  ++version_;
  bool moved = hosts.size() != counts_.size();
  for (std::size_t i = 0; i < hosts.size() && !moved; ++i)
    moved = hosts[i].first_process != first_processes_[i] || hosts[i].processes != counts_[i];
  if (moved) place(hosts);
  if (progress.restarted) {
    moved_.clear();
    for (std::uint32_t process = 0; process < processes_.size(); ++process)
      set_process(process, State::waiting, {});
  }
  for (const std::uint32_t host : progress.hosts_up) {
    set_host(host, HostState::up);
    if (host < counts_.size()) start_processes(host);
  }
  for (const wire::StartedBy& each : progress.started_by) {
    Row* row = row_of_host(each.host);
    if (row == nullptr || hosts_per_row_ > 1 || each.by >= rows_.size()) continue;
    row->by = each.by;
    touch(*row);
  }
  for (const wire::HostFailure& lost : progress.hosts_lost)
    set_host(lost.host, HostState::failed, to_string(lost.error));
  const auto set_processes = [&](const auto& ranges, State state, const std::string& how) {
    for (const auto& [first, last] : ranges) {
      for (std::uint32_t process = first; process < processes_.size() && process <= last; ++process)
        set_process(process, state, how);
    }
  };
  set_processes(progress.ended, State::ended, {});
  for (const Progress::Loss& loss : progress.lost)
    set_process(loss.process, loss.asked ? State::stopped : State::failed, loss.how);
  for (const proto::Loss& loss : progress.losses) set_processes(loss.processes, State::failed, loss.how);
  for (const Progress::ProcessRestart& restart : progress.restarts) {
    const Host* home = host_of(hosts, restart.process);
    if (home == nullptr || home->index != restart.host || moved_.contains(restart.process))
      moved_[restart.process] = restart.host;
    set_process(restart.process, State::running);
  }
  for (const std::uint32_t process : progress.back) set_process(process, State::running);
}

void Dashboard::host_failed(std::uint32_t host, const Error& error) {
  ++version_;
  set_host(host, HostState::failed, to_string(error));
}

void Dashboard::output(const Show& show) {
  if (show.output.text.empty()) return;
  keep({show.output.process, name_of(static_cast<Stream>(show.output.stream)),
        last_part(show.output.text, kMaxTail), ++version_});
}

void Dashboard::say(Tone tone, std::string_view line) {
  keep({kOurs, tone_name(tone), last_part(line, kMaxTail) + "\n", ++version_});
}

void Dashboard::keep(Piece piece) {
  Tail& tail = tails_[piece.process];
  tail.pieces.push_back(piece.added);
  tail.bytes += piece.text.size() + kPieceCost;
  output_bytes_ += piece.text.size() + kPieceCost;
  const Version added = piece.added;
  pieces_.emplace_hint(pieces_.end(), added, std::move(piece));
  while (tail.bytes > kMaxTail && tail.pieces.size() > 1) drop(pieces_.find(tail.pieces.front()));
  while (output_bytes_ > kMaxOutput) drop(pieces_.begin());
}

void Dashboard::drop(std::map<Version, Piece>::iterator piece) {
  const std::uint32_t process = piece->second.process;
  const std::size_t bytes = piece->second.text.size() + kPieceCost;
  Tail& tail = tails_[process];
  tail.pieces.pop_front();  // the oldest of all is the oldest of its process
  tail.bytes -= bytes;
  output_bytes_ -= bytes;
  dropped_ = std::max(dropped_, piece->first);
  pieces_.erase(piece);
  if (tail.pieces.empty()) tails_.erase(process);
}

void Dashboard::end(const Finish& finish, const std::string& host, Instant now) {
  ++version_;
  Json end = {{"status", finish.signal != 0 ? status_of_signal(finish.signal) : finish.status},
              {"signal", finish.signal},
              {"seconds", rounded_seconds(now - started_)}};
  end.update(ending_parts(finish.why));
  if (!host.empty()) end["host"] = host;
  end_ = std::make_shared<const Json>(std::move(end));
  if (finish.why.process) first_failed_ = finish.why.process;
}

Json Dashboard::job_part() const {
  Json json = *job_;
  json["hosts_per_row"] = hosts_per_row_;
  json["lists_all"] = lists_all();
  json["limits"] = {{"tail", kMaxTail}, {"output", kMaxOutput}, {"listed", kMaxListed}};
  return json;
}

Json Dashboard::rows_part(Version since) const {
  Json rows = Json::array();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (row.changed <= since) continue;
    Json json = {{"row", i},
                 {"name", row.name},
                 {"hosts", row.hosts},
                 {"up", row.up},
                 {"failed", row.failed},
                 {"first", row.first_process},
                 {"processes", row.processes},
                 {"ended", row.ended},
                 {"bad", row.bad}};
    if (row.stopped > 0) json["stopped"] = row.stopped;
    if (row.by) json["by"] = *row.by;
    if (!row.why.empty()) json["why"] = row.why;
    rows.push_back(std::move(json));
  }
  return rows;
}

Json Dashboard::processes_part(Version since) const {
  static constexpr std::string_view kNames[] = {"waiting", "running", "ended", "failed", "stopped"};
  Json list = Json::array();
  for (const auto& [process, listed] : listed_) {
    if (listed.changed <= since) continue;
    Json json = {{"process", process}, {"state", kNames[static_cast<std::size_t>(processes_[process])]}};
    if (const auto moved = moved_.find(process); moved != moved_.end())
      json["row"] = moved->second / hosts_per_row_;
    if (!listed.how.empty()) json["how"] = listed.how;
    list.push_back(std::move(json));
  }
  return list;
}

/// From the newest back, as far as there is room.
void Dashboard::add_output(Version since, Json& json) const {
  auto from = pieces_.end();
  std::size_t bytes = 0;
  while (from != pieces_.begin() && std::prev(from)->first > since && (since == 0 || bytes <= kMaxNews))
    bytes += (--from)->second.text.size() + kPieceCost;
  const bool more = from != pieces_.begin() && std::prev(from)->first > since;
  json["left_out"] = more || dropped_ > since;
  Json list = Json::array();
  for (; from != pieces_.end(); ++from) {
    const Piece& piece = from->second;
    Json each = {{"stream", piece.stream}, {"text", piece.text}};
    if (piece.process != kOurs) each["process"] = piece.process;
    list.push_back(std::move(each));
  }
  json["output"] = std::move(list);
}

std::string Dashboard::changes(Version since, const JobStatus& status, Instant now) const {
  const bool anew = since < placed_ || since > version_;  // rows and processes have other numbers
  const Version known = anew ? 0 : since;
  Json json = {{"version", version_}, {"anew", anew}, {"seconds", rounded_seconds(now - started_)}};
  if (anew) json["job"] = job_part();
  json["status"] = status_parts(status);
  json["status"]["late"] = status.late.size();
  json["late"] = Json::array();
  for (std::size_t i = 0; i < std::min(status.late.size(), kMaxLate); ++i)
    json["late"].push_back(status.late[i]);
  if (first_failed_) json["first"] = *first_failed_;
  json["rows"] = rows_part(known);
  json["processes"] = processes_part(known);
  add_output(since > version_ ? 0 : since, json);
  if (end_) json["end"] = *end_;
  return json_text(json);
}

}  // namespace charmtree
