# SPDX-License-Identifier: Apache-2.0
"""`charmrun ++gdb`: one prompt for the processes of a job, wherever they run."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from running import Factory, built, command, compiled, error_line, run
from terminal import Terminal
from test_keep_alive import Kept
from test_stack_trees import end_well, start
from vc_faults import wait_until
from vc_job import Job, leftovers, patience, pause
from vc_net import tool
from vcluster import Cluster

COUNTING = "tests/cluster/counting.c"


def counting(hosts: Cluster, charmrun: Path, count: int, total: int, *options: Any) -> Job:
    return start(hosts, charmrun, count, total, *options, compiled(charmrun, COUNTING, "-g", "-O0"))


def prompt(hosts: Cluster, charmrun: Path, commands: list[str], *words: Any) -> str:
    """What is shown at a prompt that is told these."""
    lines = "".join(f"{each}\n" for each in commands)
    done = run(hosts, charmrun, "++gdb", *words, stdin=lines, timeout=patience(120))
    assert done.returncode == 0, done
    return done.stdout


def traced(job: Job) -> list[str]:
    """Who is in a debugger's hands, or stopped."""
    held = []
    for one in job.running("counting"):
        status = Path(f"/proc/{one.pid}/status").read_text(encoding="ascii", errors="replace")
        if "\nTracerPid:\t0\n" not in status or one.state in "tT":
            held.append(f"{one.host}: {one.state}")
    return held


def is_free(job: Job) -> bool:
    return not traced(job) and not job.running("gdb")


def test_one_prompt_rules_26_hosts(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    job = counting(hosts, charmrun, 26, 52)
    told = prompt(
        hosts,
        charmrun,
        ["break count", "continue", "print rank", "each print rank", "up", "print rank * 0 + 7", "focus 17", "next", "focus all", "delete"],
    )
    lines = told.splitlines()
    assert any(line.startswith("[0-51] Breakpoint 1 at ") for line in lines), told
    assert any(line.startswith("    Breakpoint 1, count (step=") for line in lines), told
    assert "[0-51] = {0..51}" in lines
    assert [f"[{process}] = {process}" in lines for process in range(52)] == [True] * 52
    assert any("#1  0x" in line and " in main ()" in line for line in lines), told
    assert "[0-51] = 7" in lines
    assert sum("poll(NULL, 0, 20);" in line for line in lines) == 1, told
    job.until(lambda: is_free(job), "the end of the debuggers")
    end_well(job)


def test_some_processes_are_held_and_the_others_run(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = counting(hosts, charmrun, 3, 6)
    told = prompt(hosts, charmrun, ["print rank", "focus 4", "break count", "continue", "focus all", "bt", "set var over = 1", "delete", "continue"], ":2-4")
    lines = told.splitlines()
    assert [f"[{process}] = {process}" in lines for process in range(6)] == [False, False, True, True, True, False]
    assert sum("Breakpoint 1, count" in line for line in lines) == 1 and "[4]" in lines, told
    for process in (2, 3, 4):
        assert f"[{process}] has ended with status 0" in lines or "[2-4] has ended with status 0" in lines, told
    end_well(job)


def test_who_holds_processes_and_dies_leaves_them_running(cluster: Factory, charmrun: Path) -> None:
    """Stopped at a breakpoint, for longer than a silence may last."""
    hosts = cluster(3)
    job = counting(hosts, charmrun, 3, 6, "++hang-after", "1")
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    child = hosts.popen(0, command(charmrun, "++gdb"), **pipes)
    child.stdin.write("break count\ncontinue\n")  # type: ignore[union-attr]
    child.stdin.flush()  # type: ignore[union-attr]
    job.until(lambda: {one.state for one in job.running("counting")} == {"t"}, "the stop")
    pause(3)
    assert job.err == ""
    child.kill()
    child.communicate()
    job.until(lambda: is_free(job), "the end of the debuggers")
    end_well(job)


def test_a_root_that_dies_leaves_nothing_stopped(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    job = Kept(hosts, charmrun, [compiled(charmrun, COUNTING, "-g", "-O0")])
    job.job.until(lambda: job.job.out.count("begun") == job.processes, "the processes")
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    child = hosts.popen(0, command(charmrun, "++gdb"), **pipes)
    child.stdin.write("break count\ncontinue\n")  # type: ignore[union-attr]
    child.stdin.flush()  # type: ignore[union-attr]
    job.job.until(lambda: {one.state for one in job.job.running("counting")} == {"t"}, "the stop")
    job.lose_root()
    out, err = child.communicate(timeout=patience(60))
    assert child.returncode == 0 and "the job has ended" in err, (out, err)
    again = job.attach()
    again.until(lambda: is_free(again), "the end of the debuggers")
    again.until(lambda: "takes over" in again.err or again.launchers(), "the next root")
    end_well(again)


def test_a_process_that_somebody_has_stopped_runs_while_it_is_held(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = counting(hosts, charmrun, 2, 2)
    for one in job.running("counting"):
        os.kill(one.pid, signal.SIGSTOP)
    told = prompt(hosts, charmrun, ["break count", "continue", "delete", "continue &"])
    assert sum("Breakpoint 1, count" in line for line in told.splitlines()) in (1, 2) and "SIGSTOP" not in told, told
    job.until(lambda: {one.state for one in job.running("counting")} == {"T"}, "the stop that nobody has ended")
    for one in job.running("counting"):
        os.kill(one.pid, signal.SIGCONT)
    end_well(job)


def test_at_a_terminal(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = counting(hosts, charmrun, 2, 4)
    terminal = Terminal(hosts, command(charmrun, "++gdb"))
    terminal.expect(r"\(gdb 0-3\) ")
    terminal.type("continue\r")
    job.until(lambda: not [one for one in job.running("counting") if one.state in "tT"], "the processes")
    terminal.type("\x03")
    terminal.expect(r"\(gdb 0-3\) ")
    terminal.type("print rank\r")
    terminal.expect(r"\[3\] = 3\r\n\(gdb 0-3\) ")
    terminal.type("focus 7\r")
    terminal.expect(r"7: no list of processes of a job with 4")
    terminal.expect(r"\(gdb 0-3\) ")
    terminal.type("quit\r")
    terminal.end()
    job.until(lambda: is_free(job), "the end of the debuggers")
    end_well(job)


def test_what_ends_the_job_ends_the_prompt(cluster: Factory, charmrun: Path) -> None:
    """No limit but the user's own ends a job that is held."""
    hosts = cluster(3)
    job = counting(hosts, charmrun, 2, 2, "++timelimit", patience(3))
    done = run(hosts, charmrun, "++gdb", stdin="break count\ncontinue\ncontinue\ndelete\ncontinue\n", timeout=patience(60))
    assert done.returncode == 0 and "the job has ended" in done.stderr, done
    assert job.wait() == 124, job.said()
    assert leftovers([job]) == []


def test_what_is_asked_wrongly_gets_one_line(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    assert error_line(run(hosts, charmrun, "++gdb")).startswith("no job of yours is running on this machine")
    job = counting(hosts, charmrun, 2, 2)
    for words, said in (
        ([":7"], "7: no list of processes of a job with 2; as 0-3,7"),
        (["nothing:1"], "no running jobs of yours are called 'nothing'; charmrun ++list shows them"),
        (["++label"], "++label has no meaning with ++gdb; leave it out"),
    ):
        assert error_line(run(hosts, charmrun, "++gdb", *words)) == said
    assert "no job of yours is running" in error_line(run(hosts, charmrun, "++gdb", user="ctother"))
    end_well(job)


_KNOCK = """
import re, socket, sys
for name in set(re.findall(r" @(charmtree-control-[0-9]+-[0-9a-f]{16})$", open("/proc/net/unix").read(), re.M)):
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(float(sys.argv[1]))
    one.connect("\\0" + name)
    try:
        print(len(one.recv(1)))
    except ConnectionResetError:
        print(0)
"""


def listening(hosts: Cluster, count: int) -> list[str]:
    """How many TCP sockets do, on each host."""
    look = "cat /proc/net/tcp /proc/net/tcp6 | grep -c ' 0A '"
    return [hosts.run(host, ["sh", "-c", look], check=True).stdout for host in range(count)]


def test_only_the_user_gets_in_and_no_debugger_listens(cluster: Factory, charmrun: Path) -> None:
    """Others do not, though they know the name of the socket; nor is there another way in, on any host."""
    hosts = cluster(3)
    job = counting(hosts, charmrun, 3, 6)
    before = listening(hosts, 3)  # sshd, and where programs that speak to their launcher find it
    child = hosts.popen(0, command(charmrun, "++gdb"), **dict.fromkeys(("stdin", "stdout"), subprocess.PIPE))
    job.until(lambda: len(traced(job)) == 6, "the debuggers")
    tools = hosts.popen(0, command(charmrun, "++exec", ":", "cat"), **dict.fromkeys(("stdin", "stdout"), subprocess.PIPE))
    job.until(lambda: len(job.running("cat")) == 3, "the tools")
    for user, said in (("ctother", "0"), ("root", "0"), ("ctuser", "1")):
        seen = hosts.run(0, ["python3", "-c", _KNOCK, str(patience(30))], user=user, check=True).stdout
        assert seen.splitlines() == [said]
    assert listening(hosts, 3) == before
    for one in (child, tools):
        one.communicate(timeout=patience(60))
    job.until(lambda: is_free(job) and not job.running("cat"), "the end of both")
    end_well(job)


def test_two_prompts_hold_what_is_theirs(cluster: Factory, charmrun: Path) -> None:
    """A process has one debugger: the second is told so."""
    hosts = cluster(3)
    job = counting(hosts, charmrun, 2, 2)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    child = hosts.popen(0, command(charmrun, "++gdb", ":0"), **pipes)
    job.until(lambda: len(traced(job)) == 1, "the first debugger")
    told = prompt(hosts, charmrun, ["print rank"])
    lines = told.splitlines()
    assert "[1] = 1" in lines and "[0]" in lines and "already traced" in told, told
    child.communicate("quit\n", timeout=patience(30))
    assert child.returncode == 0
    job.until(lambda: is_free(job), "the end of the debuggers")
    job.signal(signal.SIGUSR1)
    assert job.wait() == 0, job.said()


class Panes:
    """A tmux that is the test's alone; ++debug opens its prompts there."""

    def __init__(self, hosts: Cluster) -> None:
        tool("tmux", "tmux")
        self.hosts = hosts
        self.env = {"TMUX_TMPDIR": hosts.run(0, ["mktemp", "-d", "/home/shared/tmux.XXXXXX"], check=True).stdout.strip()}

    def tmux(self, *words: str) -> str:
        return self.hosts.run(0, ["tmux", *words], env=self.env, timeout=patience(20)).stdout

    def await_all(self, job: Job, count: int, text: str) -> None:
        job.until(lambda: "tmux attach -t " in job.err, "the word of tmux")
        wait_until(lambda: all(text in self.text(number) for number in range(count)), patience(30))
        assert all(text in self.text(number) for number in range(count)), job.said()

    def text(self, number: int) -> str:
        return self.tmux("capture-pane", "-p", "-t", f":0.{number}")

    def type(self, count: int, line: str) -> None:
        for number in reversed(range(count)):  # those behind one that is closed get its number
            self.tmux("send-keys", "-t", f":0.{number}", line, "Enter")


def test_debug_opens_a_prompt_for_each_process_before_it_begins(cluster: Factory, charmrun: Path) -> None:
    """While it is held, no limit of the start counts."""
    hosts = cluster(3)
    panes = Panes(hosts)
    options = ["+p2", "++nodelist", hosts.nodelist(2), "++timeout", "2", "++debug", "++debug-commands", "break main\\ncontinue"]
    job = Job(hosts, range(2), command(charmrun, *options, built(charmrun, "charm_double")), env=panes.env)
    panes.await_all(job, 2, "Breakpoint 1, main")
    pause(4)
    assert [one.state for one in job.running("charm_double")] == ["t", "t"], job.said()
    panes.type(1, "quit")
    job.until(lambda: len([one for one in job.running("charm_double") if one.state == "t"]) == 1, "one that runs")
    panes.type(1, "quit")
    assert job.wait() == 0, job.said()
    assert leftovers([job]) == []


def test_debug_opens_xterms_where_there_is_a_display(cluster: Factory, charmrun: Path) -> None:
    """What is no xterm here, but started as one; and nothing waits for it."""
    hosts = cluster(3)
    script = '#!/bin/sh\n[ $DISPLAY = :7 ] && echo "$2" && shift 3 && exec "$@" </dev/null >/home/shared/xterm.$$ 2>&1\n'
    xterm = hosts.put(0, "/home/shared/xterm", script, mode=0o755)
    debug = ["++debug-no-pause", "++xterm", xterm, "++display", ":7", "++debugger", "/usr/bin/gdb"]
    job = start(hosts, charmrun, 2, 2, *debug, compiled(charmrun, COUNTING, "-g", "-O0"))
    job.until(lambda: is_free(job), "the end of the debuggers")
    windows = [path.read_text() for path in hosts.path(0, "/home/shared").glob("xterm.*")]
    assert sorted(text[:3] for text in windows) == ["[0]", "[1]"], windows
    end_well(job)


def test_what_debug_needs_is_said_before_anything_starts(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    done = run(hosts, charmrun, "+p1", "++local", "++debug", "++display", ":7", "++xterm", "/no/xterm", "true")
    assert error_line(done).startswith("++debug opens windows by /no/xterm, which is not here; install it")
    done = run(hosts, charmrun, "+p2", "++local", "++debug", "++display", ":7", "++xterm", "/bin/false", "echo", "never")
    assert done.returncode != 0 and "never" not in done.stdout, done
    assert "/bin/false has failed; does it work by itself here?" in done.stderr, done
    job = counting(hosts, charmrun, 2, 2)
    told = prompt(hosts, charmrun, [], "++debugger", "no-gdb")
    assert "[0-1] there is no no-gdb on this host" in told, told
    assert "7: no list of processes" in error_line(run(hosts, charmrun, "++tmux", "7"))
    end_well(job)
