// SPDX-License-Identifier: Apache-2.0
#include "charmrun/cli/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "charmrun/cli/help.hpp"
#include "charmrun/cli/option_table.hpp"

namespace charmtree {

namespace {

void put_for(std::string_view from, std::string_view to, std::string& text) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// ---- roff

/// A line of text: nothing in it is a request, and a dash is one that can be copied.
std::string roff(std::string_view line) {
  std::string out{line};
  put_for("\\", "\\e", out);
  put_for("-", "\\-", out);
  put_for("'", "\\(aq", out);
  return out.starts_with('.') ? "\\&" + out : out;
}

/// Lines as they stand.
std::string roff_block(std::string_view text) {
  std::string out = ".nf\n";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += roff(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out + ".fi\n";
}

std::string roff_entry(std::string_view name, std::string_view words, std::string_view text) {
  const std::string behind = words.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(words));
  return fmt::format(".TP\n\\fB++{}\\fR{}\n{}\n", roff(name), behind, roff(text));
}

std::string manual_page() {
  std::string out =
      ".TH CHARMRUN 1 \"\" \"charmtree " CHARMTREE_VERSION
      "\"\n.SH NAME\ncharmrun \\- start a parallel program on many hosts\n.SH SYNOPSIS\n"
      "\\fBcharmrun\\fR [\\fIoptions\\fR] \\fIprogram\\fR [\\fIarguments\\fR]\n.SH DESCRIPTION\n";
  out += roff_block(help_introduction());
  out += ".SH MODES\nInstead of a launch, as the first word of the command line.\n";
  for (const ModeRow& row : mode_table()) out += roff_entry(row.name, row.words, row.help);
  out += ".SH OPTIONS\n";
  for (std::uint8_t topic = 0; topic < kOptionTopicCount; ++topic) {
    out += fmt::format(".SS {}\n", roff(title(static_cast<OptionTopic>(topic))));
    for (const OptionRow& row : option_table()) {
      if (row.topic == static_cast<OptionTopic>(topic)) out += roff_entry(row.name, row.value, help_of(row));
    }
  }
  return out + ".SH NOTES\n" + roff_block(help_closing());
}

// ---- shells

struct Completion {
  std::string name;  // with ++
  std::string help;
  std::string_view value;  // empty: none
};

/// All words that begin with ++, flags with their ++no- form.
std::vector<Completion> completions() {
  std::vector<Completion> all;
  for (const ModeRow& mode : mode_table())
    all.push_back({fmt::format("++{}", mode.name), std::string{mode.help}, {}});
  for (const OptionRow& row : option_table()) {
    all.push_back({fmt::format("++{}", row.name), help_of(row), row.value});
    const bool has_no =
        row.is_flag() && row.name != "help" && row.name != "version" && !row.name.starts_with("no-");
    if (has_no) all.push_back({fmt::format("++no-{}", row.name), fmt::format("not ++{}", row.name), {}});
  }
  return all;
}

bool takes_path(std::string_view value) {
  static constexpr std::array<std::string_view, 4> kPaths = {"FILE", "FOLDER", "PATH", "DIR"};
  return std::any_of(kPaths.begin(), kPaths.end(), [&](auto each) { return value.starts_with(each); });
}

/// For a `case`: the options behind which a path stands, or another value.
std::string names_with(const std::vector<Completion>& all, bool path) {
  std::string names;
  for (const Completion& each : all) {
    if (each.value.empty() || takes_path(each.value) != path) continue;
    names += (names.empty() ? "" : "|") + each.name;
  }
  return names;
}

std::string in_quotes(std::string text) {
  put_for("'", "'\\''", text);
  return "'" + text + "'";
}

std::string for_bash(const std::vector<Completion>& all) {
  std::string names;
  for (const Completion& each : all) names += (names.empty() ? "" : " ") + each.name;
  return fmt::format(R"(# bash completion for charmrun
_charmrun() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  COMPREPLY=()
  case $before in
    {}) return ;;
    {}) compopt -o default 2>/dev/null; return ;;
  esac
  case $word in
    +*) mapfile -t COMPREPLY < <(compgen -W '{}' -- "$word") ;;
    *) compopt -o bashdefault -o default 2>/dev/null ;;
  esac
}}
complete -F _charmrun charmrun
)",
                     names_with(all, false), names_with(all, true), names);
}

std::string for_zsh(const std::vector<Completion>& all) {
  std::string list;
  for (const Completion& each : all) list += "  " + in_quotes(each.name + ":" + each.help) + "\n";
  return fmt::format(R"(#compdef charmrun
local -a options
options=(
{})
case ${{words[CURRENT - 1]}} in
  {}) _message value; return ;;
  {}) _files; return ;;
esac
if [[ ${{words[CURRENT]}} == +* ]]; then
  _describe option options
else
  _alternative 'files:file:_files' 'commands:command:_command_names -e'
fi
)",
                     list, names_with(all, false), names_with(all, true));
}

std::string for_fish(const std::vector<Completion>& all) {
  std::string out = "# fish completion for charmrun\n";
  for (const Completion& each : all)
    out += fmt::format("complete -c charmrun -n 'string match -q -- \"+*\" (commandline -ct)' -a {} -d {}\n",
                       in_quotes(each.name), in_quotes(each.help));
  return out;
}

}  // namespace

std::optional<std::string> page_for(std::string_view what) {
  if (what == "man") return manual_page();
  if (what == "bash") return for_bash(completions());
  if (what == "zsh") return for_zsh(completions());
  if (what == "fish") return for_fish(completions());
  return {};
}

}  // namespace charmtree
