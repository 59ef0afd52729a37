// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "charmrun/cli/option_table.hpp"

namespace charmtree {

namespace {

constexpr std::string_view kOfView = "label label-format timestamp fold fold-window",
                           kOfPrompts = "debug-commands debugger";

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
    ModeRow{"list", Mode::list, "", "show your jobs whose launcher runs on this machine", "json"},
    ModeRow{
        "status", Mode::status, "[JOB]",
        "show how far one of them is, who is late and what runs where; JOB is its number in ++list, or the "
        "beginning of it, or the pid; not needed if there is only one",
        "json"},
    ModeRow{"view", Mode::view, "[JOB][:PROCESSES]",
            "show here, too, what a job, or these processes of it, print, and what its charmrun says, from "
            "now on and the last of it "
            "before; from another terminal or login, as often as you like (docs/manual/watching.md)",
            kOfView},
    ModeRow{"stack-trees", Mode::stack_trees, "[JOB]",
            "show in which functions the processes of a job are, which of them wait and which compute: those "
            "that do the same together, in a tree; each is held up for some milliseconds (docs/manual/"
            "hangs.md)",
            "json draw all-frames"},
    ModeRow{
        "gdb", Mode::gdb, "[JOB][:PROCESSES]",
        "one gdb prompt for processes of a job, wherever they run, 0-3,7 or all: what is typed is done by "
        "each of them, and the same answers are shown once; help there says more (docs/manual/"
        "debuggers.md)",
        kOfPrompts},
    ModeRow{"tmux", Mode::tmux, "[JOB:]PROCESSES",
            "the same, in a pane of tmux for each process; at most 16, of more all in one", kOfPrompts},
    ModeRow{"dap", Mode::dap, "[JOB]:PROCESS",
            "a debug adapter on the host of that process, for an editor at the other end of stdin and stdout "
            "(docs/manual/debuggers.md has the settings of VS Code and others)",
            "debugger"},
    ModeRow{
        "exec", Mode::exec, "[JOB]:[PROCESSES] COMMAND...",
        "run a command on the hosts of these processes of a job, all if none are named, without a further "
        "login; their pids are in its CHARMTREE_PIDS (docs/manual/watching.md)",
        kOfView},
    ModeRow{
        "session", Mode::session, "[options]",
        "log in to the hosts and stay: programs are run there by ++in, one after the other, without logging "
        "in again; Ctrl-C or ++end ends it (docs/manual/sessions.md)"},
    ModeRow{
        "in", Mode::in, "[JOB] [options] program [arguments]",
        "run this in a session; JOB is its number in ++list, or the beginning of it, or the pid; not needed "
        "if there is only one"},
    ModeRow{"end", Mode::end, "[JOB]", "end a session, and what runs in it", ""},
    ModeRow{"attach", Mode::attach, "[JOB]",
            "take over a job that was started with ++keep-alive and has lost its charmrun (docs/manual/"
            "keep-alive.md); JOB is its number, or the beginning of it; not needed if there is only one",
            "json report timeline dashboard label label-format timestamp fold fold-window"},
    ModeRow{"detach", Mode::detach, "[JOB]",
            "leave a job that was started with ++keep-alive to itself, until ++attach", ""},
    ModeRow{"kill", Mode::kill, "JOB",
            "end a job of yours whose launcher runs on this machine, as SIGTERM would; twice: at once", ""},
    ModeRow{"replace-charm4py", Mode::replace_charm4py, "[ENVIRONMENT]",
            "be the charmrun that charm4py's own commands start: in the Python environment (a folder such as "
            "~/venv) whose command this is, or in that one; what was there is kept",
            ""},
    ModeRow{"restore-charm4py", Mode::restore_charm4py, "[ENVIRONMENT]",
            "give charm4py its own charmrun back", ""},
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
