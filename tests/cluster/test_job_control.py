# SPDX-License-Identifier: Apache-2.0
"""Jobs under a shell with job control, in a real terminal: Ctrl-C, Ctrl-Z, fg, &, and a pipe to head."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from running import PATIENCE_S, Factory, charm4py, command
from served import UNTIL
from terminal import Terminal
from vc_faults import wait_until
from vcluster import Cluster

HOSTS = 3  # in a chain
NEVER = "/home/shared/never"  # a file that there never is
WAITER = """#!/bin/sh
trap 'echo "$CHARMTREE_PROCESS got INT"; exit 0' INT
sleep 1000 &
echo "$CHARMTREE_PROCESS ready"
while :; do wait; done
"""


@pytest.fixture
def hosts(cluster: Factory) -> Cluster:
    hosts = cluster(HOSTS)
    hosts.put(0, "/home/shared/waiter", WAITER, mode=0o755)
    return hosts


@pytest.fixture
def shell(hosts: Cluster) -> Iterator[Terminal]:
    """It must end well, with its terminal as it was."""
    seat = Terminal(hosts, ["bash", "--norc", "--noprofile", "-i"], PS1="$ ")
    seat.expect(r"\$ ")
    yield seat
    seat.type("exit 0\r")
    seat.end(0)


def typed(hosts: Cluster, charmrun: Path, *words: str) -> str:
    """A job of one process on each host, as one types it."""
    options = [f"+p{HOSTS}", "++nodelist", hosts.nodelist(HOSTS), "++branching", 1, *words]
    return " ".join(command(charmrun, *options))


def expect_all(seat: Terminal, words: str) -> None:
    """Of every process, in any order."""
    rest = set(range(HOSTS))
    while rest:
        rest.remove(int(seat.expect(rf"(\d) {words}\r\n")[1]))


def waiters(hosts: Cluster, fits: Callable[[str], bool]) -> Callable[[], bool]:
    """Whether the states of all of them, and of their children, are as wanted."""

    def look() -> bool:
        ours = ("sleep 1000", "/bin/sh /home/shared/waiter")
        states = [one.state for one in hosts.survivors() if one.cmdline in ours]
        return len(states) == 2 * HOSTS and all(map(fits, states))

    return look


def test_ctrl_c_says_where_the_job_is_and_ends_it(hosts: Cluster, charmrun: Path, shell: Terminal) -> None:
    shell.type(typed(hosts, charmrun, "/home/shared/waiter") + "\r")
    expect_all(shell, "ready")
    shell.type("\x03")
    shell.expect(r"charmrun: run: 3 processes on 3 hosts\r\ncharmrun:   \S+: processes 0-2, 1 on each\r\n")
    shell.expect("charmrun: Interrupt: ending the job; once more ends it at once\r\n")
    expect_all(shell, "got INT")
    shell.expect(r"\n\$ ")  # the shell forgets what was typed before
    shell.asks("echo $?", "130")


def test_ctrl_z_stops_all_processes_until_fg(hosts: Cluster, charmrun: Path, shell: Terminal) -> None:
    shell.type(typed(hosts, charmrun, "++timelimit", "100", "/home/shared/waiter") + "\r")
    expect_all(shell, "ready")
    for _ in range(2):
        shell.type("\x1a")
        shell.expect(r"\[1\]\+ +Stopped")
        assert wait_until(waiters(hosts, lambda state: state == "T"), PATIENCE_S)
        shell.type("fg\r")
        shell.expect(r"/home/shared/waiter\r\n")
        assert wait_until(waiters(hosts, lambda state: state != "T"), PATIENCE_S)
    shell.type("\x03")
    expect_all(shell, "got INT")
    shell.expect(r"\n\$ ")  # the shell forgets what was typed before
    shell.asks("echo $?", "130")


def test_ctrl_z_and_ctrl_c_with_a_charm_program(hosts: Cluster, charmrun: Path, shell: Terminal) -> None:
    shell.type(typed(hosts, charmrun, str(charm4py()), str(UNTIL), NEVER) + "\r")
    shell.expect("serving\r\n")

    def states() -> set[str]:
        return {one.state for one in hosts.survivors() if one.cmdline.endswith(f" {UNTIL} {NEVER}") and "charmrun" not in one.cmdline}

    shell.type("\x1a")
    shell.expect(r"\[1\]\+ +Stopped")
    assert wait_until(lambda: states() == {"T"}, PATIENCE_S)
    shell.type("fg\r")
    shell.expect(rf" {NEVER}\r\n")
    assert wait_until(lambda: "T" not in states(), PATIENCE_S)
    shell.type("\x03")
    shell.expect("charmrun: run: 3 processes on 3 hosts\r\ncharmrun:   .*: processes 0-2, 1 on each\r\n")
    shell.expect("once more ends it at once\r\n\r\n\\$ ")  # no stack traces
    shell.asks("echo $?", "130")


def test_a_job_in_the_background_leaves_the_terminal_to_the_shell(
    hosts: Cluster, charmrun: Path, shell: Terminal
) -> None:
    program = "'test $CHARMTREE_PROCESS = 0 || exit 0; echo up; read x; echo got $x; read y; echo then $y'"
    shell.type(typed(hosts, charmrun, "sh", "-c", program) + " &\r")
    shell.expect(r"up\r\n")
    shell.asks("echo mine $((40 + 2))", "mine 42")
    shell.type("jobs\r")
    shell.expect(r"\[1\]\+ +Running")
    shell.hands_over("fg")
    shell.expect(r"then \$y'\r\n")
    shell.type("one\r")
    shell.expect(r"got one\r\n")
    shell.type("\x1a")
    shell.expect(r"Stopped")
    shell.type("bg\r")
    shell.expect(r"&\r\n")
    shell.asks("echo mine $((40 + 3))", "mine 43")
    shell.hands_over("fg")
    shell.expect(r"then \$y'\r\n")
    shell.type("two\r")
    shell.expect(r"then two\r\n")
    shell.expect(r"\$ ")  # a line typed before it can still be the job's
    shell.asks("echo $?", "0")


def test_typed_lines_that_nobody_reads_are_the_shells(hosts: Cluster, charmrun: Path, shell: Terminal) -> None:
    """One is the process's; the next would be read when that one was."""
    shell.hands_over(typed(hosts, charmrun, "sh", "-c", "'sleep 2; echo late'"))
    shell.type("echo $((1 + 1)) first\recho $((2 + 2)) second\r")
    found = shell.expect(r"late\r\n(.|\n)*\n4 second\r\n")
    assert "\n2 first" not in found[0]


def test_head_ends_the_job_without_a_word(hosts: Cluster, charmrun: Path, shell: Terminal) -> None:
    shell.type(typed(hosts, charmrun, "yes") + " | head -n 1; echo ${PIPESTATUS[*]}\r")
    found = shell.expect(r"PIPESTATUS\[\*\]\}\r\n(.*\r\n)*?(\d+ \d+)\r\n")
    slow = r"(\r\x1b\[Kcharmrun: launch: [^\r\n]*)*(\r\x1b\[K)?"  # how far it is, wiped out again
    assert found[2] == "141 0" and re.fullmatch(slow + r"y\r\n", found[1] or ""), found[0]
