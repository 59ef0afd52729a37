// SPDX-License-Identifier: Apache-2.0
#include "debug/gdb_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "debug/gdb_words.hpp"

namespace charmtree::debug {

namespace {

using Kind = AnswerSet::Kind;

std::uint32_t number_in(std::string_view text) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The frame that gdb shows: "#2  0x... in main () at ...".
std::uint32_t frame_in(std::string_view text) {
  return text.starts_with('#') ? number_in(text.substr(1)) : 0;
}

/// What a process has ended with; gdb counts in octal.
std::string end_by(const std::string& code) {
  unsigned status = 0;
  if (code.empty()) return "has ended";
  std::from_chars(code.data(), code.data() + code.size(), status, 8);
  return fmt::format("has ended with status {}", status);
}

constexpr std::string_view kRuns = "runs: Ctrl-C stops it";
constexpr std::string_view kNotTaken =
    "this prompt does not take that command: one that asks for more lines, or takes hold of other processes";

}  // namespace

GdbDriver::GdbDriver(const std::vector<Subject>& subjects) {
  for (const Subject& each : subjects)
    inferiors_.push_back({each.process, each.pid, fmt::format("i{}", inferiors_.size() + 1)});
}

std::vector<std::string> GdbDriver::command() {
  return {"gdb", "-q", "--interpreter=mi3", "-ex", "set pagination off", "-ex", "set confirm off", "-ex",
          "set width 0", "-ex", "set height 0", "-ex", "set mi-async on", "-ex", "set non-stop on", "-ex",
          "set print thread-events off", "-ex", "set print inferior-events off", "-ex",
          "set debuginfod enabled off",
          // Stopped by others, a process goes on when the prompt wants it.
          "-ex", "handle SIGSTOP SIGTSTP nostop noprint nopass", "-ex", "handle SIGCONT nostop noprint"};
}

GdbDriver::Which GdbDriver::those_of(const DebugOrder& order) const {
  const wire::ProcessSet set{order.which};
  Which which;
  for (std::size_t i = 0; i < inferiors_.size(); ++i) {
    if (inferiors_[i].state != State::gone && set.contains(inferiors_[i].process)) which.push_back(i);
  }
  return which;
}

void GdbDriver::order(const DebugOrder& order, Out& out) {
  const Which which = those_of(order);
  if (order.what == DebugOrder::What::interrupt) {
    for (const std::size_t i : which) {
      if (inferiors_[i].state == State::running) interrupt(inferiors_[i], out);
    }
    return;
  }
  apart_ = order.each;
  out.said.keep_apart(apart_);
  number_ = order.number;
  owing_.clear();
  for (const std::size_t i : which) owing_.insert(inferiors_[i].process);
  order.what == DebugOrder::What::begin ? begin(which, out) : command(order, which, out);
  settle(out);
}

/// gdb begins with an inferior, and numbers those that are added as they come.
void GdbDriver::begin(const Which& which, Out& out) {
  for (const std::size_t i : which) {
    Inferior& inferior = inferiors_[i];
    inferior.state = State::attaching;
    if (i > 0) send({}, "-add-inferior", out);
    send({Sent::What::attach, 0, {i}},
         fmt::format("-target-attach --thread-group {} {}", inferior.group, inferior.pid), out);
  }
}

void GdbDriver::command(const DebugOrder& order, const Which& which, Out& out) {
  const GdbManner manner = manner_of(order.line);
  if (manner == GdbManner::once) return command_once(order.line, which, out);
  for (const std::size_t i : which) {
    if (manner == GdbManner::takes_more)
      answer(i, Kind::said, kNotTaken, out);
    else if (inferiors_[i].state != State::stopped)
      answer(i, Kind::said, kRuns, out);
    else
      command_of(i, order.line, out);
  }
}

void GdbDriver::command_once(const std::string& line, const Which& which, Out& out) {
  if (which.empty()) return;
  const auto stopped = std::find_if(which.begin(), which.end(), [&](std::size_t i) {
    return inferiors_[i].state == State::stopped && inferiors_[i].thread != 0;
  });
  std::string options;
  if (stopped != which.end())
    options = fmt::format("--thread {} --frame {}", inferiors_[*stopped].thread, inferiors_[*stopped].frame);
  say_to({Sent::What::command, 0, which}, options, is_breakpoint(line) ? only_these(line, which) : line, out);
}

/// A breakpoint of gdb's is of all that it holds.
std::string GdbDriver::only_these(const std::string& line, const Which& which) const {
  const auto held = std::count_if(inferiors_.begin(), inferiors_.end(),
                                  [](const Inferior& each) { return each.state != State::gone; });
  if (which.size() == static_cast<std::size_t>(held)) return line;
  std::string these;
  for (const std::size_t i : which)
    these += fmt::format("{}$_inferior=={}", these.empty() ? "" : "||", inferiors_[i].group.substr(1));
  constexpr std::string_view kIf = " if ";
  const std::size_t at = line.find(kIf);
  if (at == std::string::npos) return fmt::format("{} if {}", line, these);
  return fmt::format("{} if ({})&&({})", line.substr(0, at), these, line.substr(at + kIf.size()));
}

void GdbDriver::command_of(std::size_t index, const std::string& line, Out& out) {
  const Inferior& inferior = inferiors_[index];
  const GdbManner manner = manner_of(line);
  Sent sent{Sent::What::command, 0, {index}, moves_frame(line), is_in_background(line)};
  if (manner == GdbManner::resumes)
    return send(std::move(sent), "-exec-continue --thread-group " + inferior.group, out);
  if (manner == GdbManner::steps) {
    for (const std::uint32_t thread : inferior.threads) {
      if (thread != inferior.thread) send({}, fmt::format("-exec-continue --thread {}", thread), out);
    }
  }
  say_to(std::move(sent), fmt::format("--thread {} --frame {}", inferior.thread, inferior.frame), line, out);
}

void GdbDriver::interrupt(const Inferior& inferior, Out& out) {
  send({}, "-exec-interrupt --thread-group " + inferior.group, out);
}

void GdbDriver::say_to(Sent sent, const std::string& options, std::string_view line, Out& out) {
  send(std::move(sent), fmt::format("-interpreter-exec {} console {}", options, quoted_for_gdb(line)), out);
}

void GdbDriver::send(Sent sent, std::string_view words, Out& out) {
  sent.token = ++last_token_;
  out.to_gdb += fmt::format("{}{}\n", sent.token, words);
  sent_.push_back(std::move(sent));
}

void GdbDriver::heard(std::string_view line, Out& out) {
  const MiRecord record = read_mi(line);
  out.said.keep_apart(apart_);
  switch (record.kind) {
    case MiRecord::Kind::console:
      console_ += record.text;
      break;
    case MiRecord::Kind::log:
      log_ += record.text;
      break;
    case MiRecord::Kind::result:
      result(record, out);
      break;
    case MiRecord::Kind::exec:
      if (record.name == "stopped") stopped(record, out);
      break;
    case MiRecord::Kind::notify:
      notified(record, out);
      break;
    case MiRecord::Kind::other:
      break;
  }
  constexpr std::size_t kMost = 2 * kMostDebugText;
  if (console_.size() > kMost) console_.resize(kMost);
  if (log_.size() > kMost) log_.resize(kMost);
  settle(out);
}

void GdbDriver::result(const MiRecord& record, Out& out) {
  const std::string console = std::exchange(console_, {}), log = std::exchange(log_, {});
  if (sent_.empty() || sent_.front().token != record.token) return;
  const Sent sent = std::move(sent_.front());
  sent_.pop_front();
  if (record.name == "error") {
    const std::string why = tidy_answer(record.field("msg"));
    for (const std::size_t i : sent.of)
      sent.what == Sent::What::attach ? gone(i, why, out) : answer(i, Kind::said, why, out);
    return;
  }
  if (sent.what != Sent::What::command) return;
  const bool runs = record.name == "running";
  const std::string text = runs ? std::string{} : tidy_answer(console.empty() ? log : console);
  for (const std::size_t i : sent.of) {
    Inferior& inferior = inferiors_[i];
    if (runs) inferior.state = State::running;
    if (sent.moves_frame) inferior.frame = frame_in(console);
    if (!runs || sent.in_background) answer(i, Kind::said, text, out);
  }
}

GdbDriver::Inferior* GdbDriver::of_thread(const MiRecord& record, std::string_view key) {
  const std::uint32_t thread = number_in(record.field(key));
  const auto found = std::find_if(inferiors_.begin(), inferiors_.end(),
                                  [&](const Inferior& each) { return each.threads.contains(thread); });
  return found == inferiors_.end() ? nullptr : &*found;
}

/// With the thread that has something to say all others of its process stop, and say nothing.
void GdbDriver::stopped(const MiRecord& record, Out& out) {
  const std::string text = tidy_stop(std::exchange(console_, {}));
  log_.clear();
  Inferior* inferior = of_thread(record, "thread-id");
  if (inferior == nullptr) return;
  const auto index = static_cast<std::size_t>(inferior - inferiors_.data());
  const std::uint32_t thread = number_in(record.field("thread-id"));
  const bool is_bidden = record.field("reason").empty() || record.field("signal-name") == "0";
  if (inferior->state == State::attaching && thread != *inferior->threads.begin()) return;
  if (inferior->state == State::stopped && is_bidden) return;
  const bool was_running = inferior->state == State::running;
  inferior->state = State::stopped;
  inferior->thread = thread;
  inferior->frame = 0;
  if (was_running && inferior->threads.size() > 1) interrupt(*inferior, out);
  answer(index, Kind::stopped, text, out);
}

void GdbDriver::notified(const MiRecord& record, Out& out) {
  const auto of_group = [&](std::string_view key) {
    const std::string group = record.field(key);
    return std::find_if(inferiors_.begin(), inferiors_.end(),
                        [&](const Inferior& each) { return each.group == group; });
  };
  if (record.name == "thread-created" || record.name == "thread-exited") {
    const auto inferior = of_group("group-id");
    if (inferior == inferiors_.end()) return;
    const std::uint32_t thread = number_in(record.field("id"));
    if (record.name == "thread-created") {
      inferior->threads.insert(thread);
    } else {
      inferior->threads.erase(thread);
      if (inferior->thread == thread && !inferior->threads.empty())
        inferior->thread = *inferior->threads.begin();
    }
  } else if (record.name == "thread-group-exited") {
    const auto inferior = of_group("id");
    console_.clear();
    if (inferior != inferiors_.end() && inferior->state != State::new_one)
      gone(static_cast<std::size_t>(inferior - inferiors_.begin()), end_by(record.field("exit-code")), out);
  } else if (record.name == "thread-selected") {
    Inferior* inferior = of_thread(record, "id");
    const std::uint32_t thread = number_in(record.field("id"));
    if (inferior == nullptr || std::exchange(inferior->thread, thread) == thread) return;
    inferior->frame = 0;
  }
}

void GdbDriver::answer(std::size_t index, Kind kind, std::string_view text, Out& out) {
  const std::uint32_t process = inferiors_[index].process;
  if (!text.empty() || kind != Kind::said) out.said.add(kind, text, process);
  owing_.erase(process);
}

void GdbDriver::gone(std::size_t index, std::string_view why, Out& out) {
  if (std::exchange(inferiors_[index].state, State::gone) == State::gone) return;
  answer(index, Kind::gone, why, out);
}

void GdbDriver::ended(std::string_view why, Out& out) {
  for (std::size_t i = 0; i < inferiors_.size(); ++i) gone(i, why, out);
  settle(out);
}

void GdbDriver::settle(Out& out) {
  if (number_ == 0 || !owing_.empty()) return;
  out.done = std::exchange(number_, 0);
}

}  // namespace charmtree::debug
