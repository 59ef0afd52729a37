// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "charmrun/cli/option_table.hpp"

namespace charmtree {

namespace {

constexpr std::array kModes = {
    ModeRow{"plan", Mode::plan, "[options] [program]",
            "say how the job would start, and how fast, without starting anything; ++numHosts may be beyond "
            "the nodelist"},
    ModeRow{
        "doctor", Mode::doctor, "[options] [program]",
        "examine every host without starting anything: can it be reached and logged in to, from here and "
        "from another host, and would the program run there? One line for each finding, with what puts it "
        "right; status 0: a launch would work, 125: it would not. ++timeout is 5 then"},
    ModeRow{"ccs", Mode::ccs, "HOST:PORT HANDLER [PE [DATA]]",
            "ask the handler of a running job (++server) and write its reply; PE is a number, several with "
            "commas, or all [0]; DATA of - is stdin; ++server-auth names the file with its key"},
    ModeRow{"list", Mode::list, "", "show your jobs whose launcher runs on this machine"},
    ModeRow{
        "status", Mode::status, "[JOB]",
        "show how far one of them is, who is late and what runs where; JOB is its number in ++list, or the "
        "beginning of it, or the pid; not needed if there is only one"},
    ModeRow{"view", Mode::view, "[JOB]",
            "show here, too, what a job prints and what its charmrun says, from now on and the last of it "
            "before; from another terminal or login, as often as you like (docs/manual/watching.md)"},
    ModeRow{"stack-trees", Mode::stack_trees, "[JOB]",
            "show in which functions the processes of a job are, which of them wait and which compute: those "
            "that do the same together, in a tree; each is held up for some milliseconds (docs/manual/"
            "hangs.md)"},
    ModeRow{
        "gdb", Mode::gdb, "[JOB][:PROCESSES]",
        "one gdb prompt for processes of a job, wherever they run, 0-3,7 or all: what is typed is done by "
        "each of them, and the same answers are shown once; help there says more (docs/manual/"
        "debuggers.md)"},
    ModeRow{"tmux", Mode::tmux, "[JOB:]PROCESSES",
            "the same, in a pane of tmux for each process; at most 16, of more all in one"},
    ModeRow{
        "session", Mode::session, "[options]",
        "log in to the hosts and stay: programs are run there by ++in, one after the other, without logging "
        "in again; Ctrl-C or ++end ends it (docs/manual/sessions.md)"},
    ModeRow{
        "in", Mode::in, "[JOB] [options] program [arguments]",
        "run this in a session; JOB is its number in ++list, or the beginning of it, or the pid; not needed "
        "if there is only one"},
    ModeRow{"end", Mode::end, "[JOB]", "end a session, and what runs in it"},
    ModeRow{"attach", Mode::attach, "[JOB]",
            "take over a job that was started with ++keep-alive and has lost its charmrun (docs/manual/"
            "keep-alive.md); JOB is its number, or the beginning of it; not needed if there is only one"},
    ModeRow{"detach", Mode::detach, "[JOB]",
            "leave a job that was started with ++keep-alive to itself, until ++attach"},
    ModeRow{"kill", Mode::kill, "JOB",
            "end a job of yours whose launcher runs on this machine, as SIGTERM would; twice: at once"},
};

}  // namespace

std::span<const ModeRow> mode_table() {
  return kModes;
}

const ModeRow* find_mode(std::string_view name) {
  const auto row =
      std::find_if(kModes.begin(), kModes.end(), [&](const ModeRow& r) { return r.name == name; });
  return row == kModes.end() ? nullptr : &*row;
}

}  // namespace charmtree
