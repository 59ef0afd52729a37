# SPDX-License-Identifier: Apache-2.0
"""Signals that charmrun gets: what the processes get of them, and what becomes of the job."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from running import Factory, built
from vc_job import Job, leftovers, patience
from vcluster import Cluster

HOSTS = 3  # in a chain
TRAPS = """#!/bin/sh
for name in INT HUP TERM USR1 USR2 QUIT; do
  trap "echo got $name" $name
done
sleep 1000 &
echo ready
while :; do wait; done
"""

Start = Callable[..., Job]


@pytest.fixture
def start(cluster: Factory, charmrun: Path) -> Iterator[Start]:
    """Starts a job, of a program that says which signals it gets and survives them."""
    hosts = cluster(HOSTS)
    hosts.put(0, "/home/shared/traps", TRAPS, mode=0o755)
    jobs: list[Job] = []

    def start(*options: Any, before: tuple[str, ...] = (), program: Any = None) -> Job:
        counts = [f"+p{HOSTS}", "++nodelist", hosts.nodelist(HOSTS), "++branching", "1"]
        argv = [*before, charmrun, *counts, *options, *(program or ["/home/shared/traps"])]
        jobs.append(Job(hosts, range(HOSTS), argv))
        return jobs[-1]

    yield start
    assert not jobs or not leftovers(jobs)


def ready(job: Job) -> Job:
    said(job, "ready")
    return job


def said(job: Job, words: str, times: int = HOSTS) -> None:
    job.until(lambda: job.out.splitlines().count(words) >= times, f"{times} times {words!r}")


def test_signals_of_the_users_reach_the_program_alone(start: Start) -> None:
    job = ready(start())
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        job.signal(number)
        said(job, f"got {number.name.removeprefix('SIG')}")
    job.signal(signal.SIGQUIT)
    job.until(lambda: "run: 3 processes on 3 hosts" in job.err, "a status")
    job.signal(signal.SIGTERM)
    said(job, "got TERM")
    assert job.wait() == -signal.SIGTERM
    assert "got QUIT" not in job.out


MASKED = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("here", [(), ("++local",)])
def test_signals_that_the_starter_has_blocked_come_in(start: Start, here: tuple[str, ...]) -> None:
    job = ready(start(*here, before=("/usr/bin/python3", "-c", MASKED)))
    ours = [*job.running("charmrun"), *job.running("traps")]
    assert len(ours) > HOSTS
    for one in ours:  # a guardian waits for SIGCHLD alone
        assert blocked(one.pid) <= {signal.SIGCHLD}, one
    job.signal(signal.SIGTERM)
    said(job, "got TERM")
    assert job.wait() == -signal.SIGTERM


def blocked(pid: int) -> set[int]:
    mask = int(re.findall(r"SigBlk:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))[0], 16)
    return {number for number in signal.valid_signals() if mask >> (number - 1) & 1}


def test_who_ignores_it_is_killed_after_the_grace(start: Start) -> None:
    """Also if it comes twice, as `timeout` sends it."""
    job, grace = ready(start("++grace", "1.5")), 1.5
    begin = time.monotonic()
    job.signal(signal.SIGTERM)
    said(job, "got TERM")
    job.signal(signal.SIGTERM)
    assert job.wait() == -signal.SIGTERM
    assert grace <= time.monotonic() - begin <= grace + patience(3)
    assert job.out.splitlines().count("got TERM") == HOSTS


def test_a_program_may_survive_ctrl_c_but_not_twice(start: Start) -> None:
    job = ready(start("++no-int-ends", "++grace", "100"))
    job.signal(signal.SIGINT)
    said(job, "got INT")
    time.sleep(1.1)  # after the moment in which the next one would end it
    job.signal(signal.SIGINT)
    said(job, "got INT", 2 * HOSTS)
    job.signal(signal.SIGINT)
    assert job.wait(20) == -signal.SIGINT
    assert "run: 3 processes on 3 hosts" in job.err


def test_signals_ignored_at_the_start_stay_ignored(start: Start) -> None:
    job = ready(start(before=("sh", "-c", 'trap "" HUP INT; exec "$@"', "sh")))
    job.signal(signal.SIGHUP)
    job.signal(signal.SIGINT)
    job.signal(signal.SIGUSR1)  # as the others it has been seen to by now
    said(job, "got USR1")
    job.signal(signal.SIGTERM)
    assert job.wait() == -signal.SIGTERM
    assert "got HUP" not in job.out and "got INT" not in job.out


def test_charm_clients_are_ended_quietly(start: Start, charmrun: Path) -> None:
    """Stock ones print a stack trace each when they get a signal."""
    double = built(charmrun, "charm_double")
    job = start(program=[double, "--prints", "1", "--compute", "1000"])
    job.until(lambda: job.out.count("print 0") == HOSTS, "all prints")
    job.signal(signal.SIGINT)
    assert job.wait() == -signal.SIGINT
    assert job.err.splitlines()[2:] == ["charmrun: Interrupt: ending the job; once more ends it at once"]


def test_a_job_without_a_shell_can_be_suspended_too(start: Start) -> None:
    """As batch systems do it. Its time limit does not run meanwhile, nor does the grace."""
    job = ready(start("++timelimit", "2.5", "++grace", "0.5"))
    begin = time.monotonic()
    job.signal(signal.SIGTSTP)
    states = lambda: {one.state for one in job.running("traps")}  # noqa: E731
    job.until(lambda: states() == {"T"}, "stopped processes")
    time.sleep(2)
    stopped = time.monotonic() - begin
    assert states() == {"T"}
    job.signal(signal.SIGCONT)
    job.until(lambda: "T" not in states(), "processes that run again")
    assert job.wait() == 124
    assert time.monotonic() - begin > stopped + 1, "the limit ran on"
