# SPDX-License-Identifier: Apache-2.0
"""Jobs typed into a shell in tmux, a terminal with a screen: Ctrl-C, Ctrl-Z and fg, TERM, and a window that is closed.

With $CHARMTREE_CAMPAIGN the job is suspended for a minute.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from running import CAMPAIGN, PATIENCE_S, Factory, command
from vc_faults import wait_until
from vc_job import SETTLE_S, patience, pause, sockets
from vc_net import tool
from vcluster import Cluster, Process

HOSTS = 9
_PAUSE_S = 60.0 if CAMPAIGN else 1.0  # at least, and until the time limit would be over
_LIMIT_S, _BEYOND_S = 2.5, 0.5
_PROGRAM = "/home/shared/gated"
# Each has a child, and ends when the gate is closed: when nobody can write there any more.
_SCRIPT = f"""#!/bin/sh
trap 'echo $CHARMTREE_PROCESS >>{_PROGRAM}.hung_up; exit 1' HUP
exec 3<{_PROGRAM}.gate
sleep 1000 &
echo "process $CHARMTREE_PROCESS ready"
read end <&3
echo "process $CHARMTREE_PROCESS done"
"""
_OURS = ("sleep 1000", f"/bin/sh {_PROGRAM}")  # two of each process


class Window:
    """An interactive bash on host 0 in a tmux server of its own, whose only window it is."""

    def __init__(self, hosts: Cluster) -> None:
        tool("tmux", "tmux")
        self._hosts = hosts
        self._sockets = sockets(hosts)
        self._folder = hosts.run(0, ["mktemp", "-d"], check=True).stdout.strip()
        shell = ["bash", "--norc", "--noprofile"]
        self.tmux("new-session", "-d", "-x", "120", "-y", "50", *shell, env={"PS1": "$ "}, check=True)
        self._own = hosts.survivors()

    def tmux(self, *words: str, **options: Any) -> str:
        """What a command of tmux prints."""
        argv = ["tmux", "-S", f"{self._folder}/socket", "-f", "/dev/null", *words]
        return self._hosts.run(0, argv, timeout=PATIENCE_S, **options).stdout

    def close(self) -> None:
        self.tmux("kill-server")  # it fails where the server has ended by then
        self._hosts.run(0, ["rm", "-r", self._folder], check=True)

    def type(self, line: str) -> None:
        self.tmux("send-keys", "-l", line, check=True)
        self.press("Enter")

    def press(self, key: str) -> None:
        self.tmux("send-keys", key, check=True)

    def shows(self, pattern: str) -> None:
        """Waits until it stands on the screen; a line that the window breaks is one."""

        def looks() -> bool:
            nonlocal screen
            screen = self.tmux("capture-pane", "-p", "-J", check=True)
            return re.search(pattern, screen, re.MULTILINE) is not None

        screen = ""
        assert wait_until(looks, PATIENCE_S), f"no {pattern!r} on the screen:\n{screen}"

    def shows_of_all(self, word: str) -> None:
        for one in range(HOSTS):
            self.shows(rf"process {one} {word}$")

    def has_prompt(self) -> None:
        self.shows(r"^\$ *\n*\Z")

    def says_status(self, status: int) -> None:
        self.has_prompt()
        self.type("echo status $?")
        self.shows(rf"^status {status}$")

    def left(self) -> list[Process | str]:
        """What there is of a job, now."""
        return [*self._hosts.survivors(self._own), *sorted(set(sockets(self._hosts)) - set(self._sockets))]

    def has_nothing_else(self) -> None:
        assert wait_until(lambda: not self.left(), patience(SETTLE_S)), self.left()


class GatedJob:
    """One process on each host of a tree, which all run until they are let go."""

    def __init__(self, hosts: Cluster, charmrun: Path) -> None:
        self._hosts = hosts
        self._charmrun = charmrun
        hosts.put(0, _PROGRAM, _SCRIPT, mode=0o755)
        gate = hosts.path(0, f"{_PROGRAM}.gate")
        gate.unlink(missing_ok=True)
        hosts.run(0, ["mkfifo", f"{_PROGRAM}.gate"], check=True)
        self._gate = os.open(gate, os.O_RDWR | os.O_CLOEXEC)

    def typed(self, *options: Any) -> str:
        counts = [f"+p{HOSTS}", "++nodelist", self._hosts.nodelist(HOSTS), "++branching", 2]
        return " ".join(command(self._charmrun, *counts, *options, _PROGRAM))

    def let_go(self) -> None:
        if self._gate >= 0:
            os.close(self._gate)
        self._gate = -1

    def states(self) -> list[str]:
        """Of its processes and their children."""
        return [one.state for one in self._hosts.survivors() if one.cmdline in _OURS]

    def is_stopped(self) -> bool:
        return self.states() == ["T"] * 2 * HOSTS

    def root(self) -> int:
        """The pid of the charmrun that was typed."""
        typed = f"{self._charmrun} +p{HOSTS} "
        found = [one.pid for one in self._hosts.survivors() if one.cmdline.startswith(typed)]
        assert len(found) == 1, found
        return found[0]


@pytest.fixture
def hosts(cluster: Factory) -> Cluster:
    return cluster(HOSTS)


@pytest.fixture
def job(hosts: Cluster, charmrun: Path) -> Iterator[GatedJob]:
    job = GatedJob(hosts, charmrun)
    yield job
    job.let_go()


@pytest.fixture
def window(hosts: Cluster, job: GatedJob) -> Iterator[Window]:
    window = Window(hosts)
    try:
        window.has_prompt()
        yield window
    finally:
        window.close()


def suspend(window: Window, job: GatedJob) -> None:
    window.press("C-z")
    window.shows(r"^\[1\]\+ +Stopped")
    assert wait_until(job.is_stopped, PATIENCE_S), job.states()


def test_ctrl_c_says_where_the_job_is_and_ends_it(window: Window, job: GatedJob) -> None:
    window.type(job.typed())
    window.shows_of_all("ready")
    window.press("C-c")
    window.shows(rf"^(\^C)?charmrun: run: {HOSTS} processes on {HOSTS} hosts$")
    window.shows("^charmrun: Interrupt: ending the job; once more ends it at once$")
    window.says_status(130)
    window.has_nothing_else()


def test_ctrl_z_stops_the_job_and_its_time_until_fg(window: Window, job: GatedJob) -> None:
    limit = patience(_LIMIT_S)
    begun = time.monotonic()
    window.type(job.typed("++timelimit", limit))
    window.shows_of_all("ready")
    suspend(window, job)
    pause(max(_PAUSE_S, begun + limit + _BEYOND_S - time.monotonic()))
    assert job.is_stopped(), job.states()
    window.type("fg")
    assert wait_until(lambda: "T" not in job.states(), PATIENCE_S), job.states()
    assert len(job.states()) == 2 * HOSTS
    job.let_go()
    window.shows_of_all("done")
    window.says_status(0)
    window.has_nothing_else()


def test_term_from_outside_ends_it(window: Window, job: GatedJob) -> None:
    window.type(job.typed())
    window.shows_of_all("ready")
    os.kill(job.root(), signal.SIGTERM)
    window.shows("^charmrun: Terminated: ending the job")
    window.says_status(143)
    window.has_nothing_else()


@pytest.mark.parametrize("suspended", [False, True], ids=["running", "suspended"])
def test_a_window_that_is_closed_leaves_nothing(
    hosts: Cluster, window: Window, job: GatedJob, suspended: bool
) -> None:
    """The shell and its server have gone, too. Everybody was told first."""
    told = hosts.path(0, f"{_PROGRAM}.hung_up")
    told.unlink(missing_ok=True)
    window.type(job.typed())
    window.shows_of_all("ready")
    if suspended:
        suspend(window, job)
    window.tmux("kill-pane", check=True)
    assert wait_until(lambda: not hosts.survivors(), patience(SETTLE_S)), hosts.survivors()
    assert not window.left()  # no socket file either
    assert sorted(told.read_text().split()) == [str(one) for one in range(HOSTS)]
