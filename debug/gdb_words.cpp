// SPDX-License-Identifier: Apache-2.0
#include "debug/gdb_words.hpp"

#include <algorithm>
#include <array>

#include "tree/base/visible.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::debug {

namespace {

/// Words as people type them: gdb takes the beginning of each, from the dot on.
struct Word {
  std::string_view must, may;
};
bool is(std::string_view word, const Word& known) {
  if (!word.starts_with(known.must)) return false;
  return known.may.starts_with(word.substr(known.must.size()));
}
template <std::size_t N>
bool is_any_of(std::string_view word, const std::array<Word, N>& known) {
  return std::any_of(known.begin(), known.end(), [&](const Word& each) { return is(word, each); });
}

constexpr std::array<Word, 6> kBreakpoints{
    {{"b", "reak"}, {"br", "eak"}, {"tb", "reak"}, {"hb", "reak"}, {"thb", "reak"}, {"tbr", "eak"}}};
constexpr std::array<Word, 17> kOnce{{{"rb", "reak"},
                                      {"d", "elete"},
                                      {"cl", "ear"},
                                      {"dis", "able"},
                                      {"en", "able"},
                                      {"ign", "ore"},
                                      {"condi", "tion"},
                                      {"catc", "h"},
                                      {"tcatc", "h"},
                                      {"ha", "ndle"},
                                      {"ski", "p"},
                                      {"dir", "ectory"},
                                      {"disp", "lay"},
                                      {"undisp", "lay"},
                                      {"sha", "redlibrary"},
                                      {"so", "urce"},
                                      {"show", ""}}};
constexpr std::array<Word, 2> kResumes{{{"c", "ontinue"}, {"fg", ""}}};
constexpr std::array<Word, 12> kSteps{{{"n", "ext"},
                                       {"s", "tep"},
                                       {"ni", ""},
                                       {"nexti", ""},
                                       {"si", ""},
                                       {"stepi", ""},
                                       {"fin", "ish"},
                                       {"u", "ntil"},
                                       {"adv", "ance"},
                                       {"j", "ump"},
                                       {"sig", "nal"},
                                       {"queue-si", "gnal"}}};
constexpr std::array<Word, 20> kTakesMore{{{"comm", "ands"},
                                           {"define", "-prefix"},
                                           {"doc", "ument"},
                                           {"while", ""},
                                           {"if", ""},
                                           {"ed", "it"},
                                           {"r", "un"},
                                           {"start", "i"},
                                           {"att", "ach"},
                                           {"det", "ach"},
                                           {"tar", "get"},
                                           {"inf", "erior"},
                                           {"add-", "inferior"},
                                           {"clone-", "inferior"},
                                           {"remove-", "inferiors"},
                                           {"interp", "reter-exec"},
                                           {"new-", "ui"},
                                           {"lay", "out"},
                                           {"tui", ""},
                                           {"q", "uit"}}};
/// Which ask for lines if nothing stands behind them.
constexpr std::array<Word, 6> kAlone{
    {{"py", "thon"}, {"pi", ""}, {"python-interactive", ""}, {"gu", "ile"}, {"sh", "ell"}, {"!", ""}}};

struct Command {
  std::string_view word, rest;
};
/// "x/4x p" is x, too.
Command parse(std::string_view line) {
  line = trim(line);
  const std::size_t end = std::min(line.find_first_of(" \t/&"), line.size());
  return {line.substr(0, end), trim(line.substr(end))};
}

bool sets_gdb(const Command& command) {
  if (command.word != "set") return false;
  return !command.rest.starts_with("var") && command.rest.find('=') == std::string_view::npos;
}

/// What the driver relies on.
bool unsettles(const Command& command) {
  constexpr std::array<std::string_view, 8> kOurs{"non-stop", "mi-async",   "confirm",  "pagination",
                                                  "target-a", "schedule-m", "follow-f", "detach-on"};
  return command.word == "set" && std::any_of(kOurs.begin(), kOurs.end(), [&](std::string_view each) {
           return command.rest.starts_with(each);
         });
}

bool tells_breakpoints(const Command& command) {
  constexpr std::array<Word, 3> kThese{{{"b", "reakpoints"}, {"sk", "ip"}, {"disp", "lay"}}};
  return is(command.word, {"i", "nfo"}) && is_any_of(parse(command.rest).word, kThese);
}

std::size_t digits_end(std::string_view text, std::size_t from) {
  while (from < text.size() && is_digit(text[from])) ++from;
  return from;
}

/// "$3 = 5" becomes "= 5": gdb counts the values of all processes of a host together.
void drop_value_number(std::string& line) {
  for (const std::string_view before : {"", "Value returned is "}) {
    if (!line.starts_with(before) || line.size() <= before.size() || line[before.size()] != '$') continue;
    const std::size_t end = digits_end(line, before.size() + 1);
    if (end > before.size() + 1 && std::string_view{line}.substr(end).starts_with(" = "))
      line.erase(before.size(), end + 1 - before.size());
  }
}

/// "Breakpoint 1.3," becomes "Breakpoint 1,": each process has a location of its own.
void drop_location(std::string& line) {
  constexpr std::string_view kBefore = "reakpoint ";
  const std::size_t at = line.find(kBefore);
  if (at == std::string::npos) return;
  const std::size_t dot = digits_end(line, at + kBefore.size());
  if (dot < line.size() && line[dot] == '.') line.erase(dot, digits_end(line, dot + 1) - dot);
}

/// As it is said where there is one thread: 'Thread 2.1 "app" hit Breakpoint' becomes "Breakpoint", and
/// 'Thread 2.1 "app" received signal' "Program received signal".
void drop_thread(std::string& line) {
  if (!line.starts_with("Thread ")) return;
  const std::size_t name = line.find('"');
  const std::size_t end = name == std::string::npos ? name : line.find("\" ", name + 1);
  if (end == std::string::npos) return;
  line.erase(0, end + 2);
  constexpr std::string_view kHit = "hit ";
  line.starts_with(kHit) ? line.erase(0, kHit.size()) : line.insert(0, "Program ");
}

bool is_about_symbols(std::string_view line) {
  constexpr std::array<std::string_view, 9> kThese{
      "Reading symbols", "[Thread debugging", "Using host libthread_db",
      "Attaching to",    "Added inferior",    "[New ",
      "Downloading ",    "[Switching to ",    "(No debugging symbols"};
  return std::any_of(kThese.begin(), kThese.end(),
                     [&](std::string_view each) { return line.starts_with(each); });
}

template <class Change>
std::string each_line(std::string_view text, const Change& change) {
  std::string all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line{text.substr(0, end)};
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!change(line)) continue;
    if (!all.empty()) all += '\n';
    all += visible(line);
  }
  return all;
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kBlank);
  return from == std::string_view::npos ? std::string_view{}
                                        : text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}

GdbManner manner_of(std::string_view line) {
  const Command command = parse(line);
  if (is_any_of(command.word, kAlone) && command.rest.empty()) return GdbManner::takes_more;
  if (is_any_of(command.word, kResumes))
    return command.rest.empty() || command.rest == "&" ? GdbManner::resumes : GdbManner::steps;
  if (is_any_of(command.word, kSteps)) return GdbManner::steps;
  if (is_any_of(command.word, kTakesMore) || unsettles(command)) return GdbManner::takes_more;
  const bool is_once = is_breakpoint(line) || is_any_of(command.word, kOnce) || sets_gdb(command) ||
                       tells_breakpoints(command);
  return is_once ? GdbManner::once : GdbManner::of_each;
}

bool is_in_background(std::string_view line) {
  return trim(line).ends_with('&');
}

bool moves_frame(std::string_view line) {
  constexpr std::array<Word, 3> kThese{{{"up", ""}, {"dow", "n"}, {"f", "rame"}}};
  return is_any_of(parse(line).word, kThese);
}

bool is_breakpoint(std::string_view line) {
  return is_any_of(parse(line).word, kBreakpoints);
}

std::string quoted_for_gdb(std::string_view line) {
  std::string quoted = "\"";
  for (const char c : line) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\t') continue;
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string tidy_answer(std::string_view text) {
  return each_line(text, [](std::string& line) {
    drop_value_number(line);
    return true;
  });
}

std::string tidy_stop(std::string_view text) {
  return each_line(text, [](std::string& line) {
    if (line.empty() || is_about_symbols(line)) return false;
    drop_thread(line);
    drop_location(line);
    drop_value_number(line);
    return true;
  });
}

}  // namespace charmtree::debug
