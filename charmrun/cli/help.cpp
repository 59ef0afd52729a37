// SPDX-License-Identifier: Apache-2.0
#include "charmrun/cli/help.hpp"

#include <fmt/format.h>

#include "tree/wire/greeting.hpp"

namespace charmtree {
namespace {

constexpr std::size_t kWidth = 79;
constexpr std::size_t kTextColumn = 25;

constexpr std::string_view kIntroduction =
    R"(charmrun starts a parallel program on many hosts, over ssh: Charm++, AMPI and
charm4py programs as they are, and any other program.

  charmrun [options] program [arguments] [: +pN program [arguments]]...

  charmrun +p4 ++local ./hello          4 processes on this machine
  charmrun +p64 ++nodelist nodes ./app  64 processes on the hosts in `nodes`
  charmrun ++n 8 ++ppn 16 ./app         8 processes of 16 threads (SMP builds)
  charmrun ++plan +p64 ++nodelist nodes   how would that start, and how fast?
  charmrun ++doctor ++nodelist nodes      what is wrong with which host?

A nodelist holds a line `host NAME` for each host. Options may stand anywhere,
also behind the program; a lone ++ leaves the words after it to the program.
++no-NAME undoes a flag. Defaults are in [brackets].
)";

constexpr std::string_view kClosing = R"(
Environment
  $NODELIST              the nodelist, if there is no ++nodelist
  $CONV_RSH              the remote shell, if there is no ++remote-shell
  $CHARMRUN_IP           this machine's address, if there is no ++useip
  $CHARMTREE_SERVER_HOST  as ++server-host, for jobs that have a server
  ~/.charmrunrc          on each remote host: bash reads this file before the
                         program is started there

Exit status
  That of the program (128+N if signal N killed it). 124: ++timelimit is over;
  125: charmrun or a host failed, or a mistake in options or nodelist; 126: the
  program cannot be executed; 127: it was not found. Of several that fail the
  first one counts (docs/manual/exit-status.md).
)";

// Appends `text`, whose first line begins at `column`, broken at blanks; further lines begin at kTextColumn.
void append_wrapped(std::string_view text, std::size_t column, std::string& out) {
  bool line_begins = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!line_begins && column + 1 + word.size() > kWidth) {
      out += '\n';
      out.append(kTextColumn, ' ');
      column = kTextColumn;
      line_begins = true;
    }
    if (!line_begins) out += ' ';
    out += word;
    column += word.size() + (line_begins ? 0 : 1);
    line_begins = false;
  }
  out += '\n';
}

void append_row(const OptionRow& row, std::string& out) {
  std::string left = fmt::format("  ++{}", row.name);
  if (!row.value.empty()) left += fmt::format(" {}", row.value);
  if (row.name.size() == 1) left += fmt::format(", +{}{}", row.name, row.value);
  if (left.size() + 2 > kTextColumn) {
    out += left + '\n';
    left.clear();
  }
  out += fmt::format("{:<{}}", left, kTextColumn);
  append_wrapped(help_of(row), kTextColumn, out);
}

void append_row(const ModeRow& row, std::string& out) {
  out += fmt::format("  ++{}{}{}\n", row.name, row.words.empty() ? "" : " ", row.words);
  out.append(kTextColumn, ' ');
  append_wrapped(row.help, kTextColumn, out);
}

}  // namespace

std::string_view help_introduction() {
  return kIntroduction;
}

std::string_view help_closing() {
  return kClosing;
}

std::string help_of(const OptionRow& row) {
  if (row.default_text.empty()) return std::string{row.help};
  return fmt::format("{} [{}]", row.help, row.default_text);
}

std::string help_text() {
  std::string out{kIntroduction};
  out += "\nInstead of a launch (first word only)\n";
  for (const ModeRow& row : mode_table()) append_row(row, out);
  for (std::uint8_t topic = 0; topic < kOptionTopicCount; ++topic) {
    out += fmt::format("\n{}\n", title(static_cast<OptionTopic>(topic)));
    for (const OptionRow& row : option_table())
      if (row.topic == static_cast<OptionTopic>(topic)) append_row(row, out);
  }
  out += kClosing;
  return out;
}

std::string version_text() {
  return fmt::format("charmrun (charmtree) " CHARMTREE_VERSION "\nprotocol {}\n", wire::protocol());
}

}  // namespace charmtree
