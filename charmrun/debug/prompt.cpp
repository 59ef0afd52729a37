// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/prompt.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "debug/gdb_words.hpp"
#include "tree/base/visible.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

namespace {

using debug::DebugAnswer;
using debug::DebugOrder;
using debug::trim;
using wire::ProcessSet;

constexpr std::string_view kHelp =
    R"(What is typed here is told to the gdb of each process in the prompt's brackets; the same
answers are shown once. As in gdb: break, continue, next, step, finish, print, backtrace,
up, info locals, thread 2, set var x=3, help COMMAND ...   An empty line: the last one again.

  focus 3,8-11    the next commands are for these processes alone; focus all: for all
  each COMMAND    answers that differ in numbers are shown one by one, not as {low..high}
  COMMAND &       do not wait until they stop (continue &)
  Ctrl-C          stop those that run; twice: the prompt, though some have not answered
  detach, quit    let go of all processes: they run on
)";

/// "focus 3" is focus, and 3.
std::optional<std::string_view> behind(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return {};
  line.remove_prefix(word.size());
  if (!line.empty() && line.front() != ' ') return {};
  return trim(line);
}

ProcessSet subtract(const ProcessSet& set, const ProcessSet& gone) {
  ProcessSet rest;
  for (const auto& range : set.ranges()) {
    for (const auto& part : gone.missing(range)) rest.add(part);
  }
  return rest;
}

std::string names(const DebugAnswer& answer) {
  const ProcessSet set{answer.which};
  const std::uint64_t more = answer.processes - set.size();
  return more == 0 ? set.print() : fmt::format("{} and {} more", set.print(), more);
}

/// What hosts say may hold anything.
std::string show(const DebugAnswer& answer) {
  std::string text = debug::shown(answer), all = '[' + names(answer) + ']';
  const bool one_line = text.find('\n') == std::string::npos;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    all += (one_line ? " " : "\n    ") + visible(std::string_view{text}.substr(from, end - from));
    from = end + 1;
  }
  return all + '\n';
}

}  // namespace

Result<ProcessSet> read_processes(std::string_view text, std::uint32_t processes) {
  const Error error{Errc::bad_input, Phase::options,
                    fmt::format("{}: no list of processes of a job with {}", quotable(text), processes),
                    "as 0-3,7"};
  ProcessSet set;
  if (text.empty() || text == "all") {
    if (processes > 0) set.add({0, processes - 1});
    return set;
  }
  const auto number = [&](std::string_view digits) -> std::optional<std::uint32_t> {
    std::uint32_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size()) return {};
    return value < processes ? std::optional{value} : std::nullopt;
  };
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = trim(text.substr(0, comma));
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first) return error;
    set.add({*first, *last});
    if (comma == text.size()) return set;
    text.remove_prefix(comma + 1);
  }
}

DebugOrder Prompt::begin(const std::string& debugger) {
  awaited_ = ++number_;
  return {0, number_, DebugOrder::What::begin, false, debugger, held_.ranges()};
}

Prompt::Deed Prompt::typed(std::string_view line) {
  line = trim(line);
  if (line.empty()) line = last_line_;
  if (line.empty()) return {};
  const std::string command{line};
  last_line_ = command;
  if (command == "help") return {std::string{kHelp}};
  constexpr std::array<std::string_view, 5> kLeave{"quit", "q", "exit", "detach", "disconnect"};
  for (const std::string_view each : kLeave) {
    if (command == each) return {{}, {}, true};
  }
  if (const auto which = behind(command, "focus")) return focus(*which);
  if (const auto rest = behind(command, "each")) return tell(*rest, true);
  return tell(command, false);
}

Prompt::Deed Prompt::focus(std::string_view which) {
  last_line_.clear();
  const auto set = read_processes(which, held_.empty() ? 0 : held_.ranges().back().last + 1);
  if (!set) return {to_string(set.error()) + '\n'};
  ProcessSet unheld = subtract(*set, held_);
  if (!unheld.empty() && !which.empty() && which != "all")
    return {fmt::format("{}: not held by this prompt, which has {}\n", unheld.print(), held_.print())};
  focus_ = subtract(held_, subtract(held_, *set));
  return {};
}

Prompt::Deed Prompt::tell(std::string_view line, bool each) {
  if (line.empty()) return {"each COMMAND\n"};
  if (focus_.empty()) return {"no process is left here: focus all\n"};
  awaited_ = ++number_;
  answered_ = 0;
  each_ = each;
  interrupted_ = false;
  said_.keep_apart(each);
  return {{}, DebugOrder{0, number_, DebugOrder::What::command, each, std::string{line}, focus_.ranges()}};
}

/// Of those that do not stop even then the next answers are still shown.
Prompt::Deed Prompt::interrupted() {
  if (is_waiting() && std::exchange(interrupted_, true)) {
    awaited_ = 0;
    return {take()};
  }
  return {{}, DebugOrder{0, ++number_, DebugOrder::What::interrupt, false, {}, focus_.ranges()}};
}

std::string Prompt::heard(const debug::DebugUp& up) {
  ProcessSet gone;
  for (const DebugAnswer& answer : up.said.answers) {
    answered_ += answer.processes;
    if (answer.kind != DebugAnswer::Kind::gone) continue;
    gone.add_all(answer.which);
  }
  held_ = subtract(held_, gone);
  focus_ = subtract(focus_, gone);
  if (focus_.empty()) focus_ = held_;
  said_.add(up.said);
  if (up.done != 0 && up.done == awaited_) awaited_ = 0;
  return is_waiting() ? std::string{} : take();
}

std::string Prompt::so_far() {
  const std::string text = take();
  if (!is_waiting()) return text;
  return text + fmt::format("{} of {} have answered; Ctrl-C stops the others\n",
                            std::min<std::uint64_t>(answered_, focus_.size()), focus_.size());
}

std::string Prompt::take() {
  const debug::DebugAnswers all = said_.take();
  std::string text;
  for (const DebugAnswer& answer : all.answers) text += show(answer);
  if (all.left_out > 0) text += fmt::format("({} more answers; focus shows those of fewer)\n", all.left_out);
  return text;
}

}  // namespace charmtree
