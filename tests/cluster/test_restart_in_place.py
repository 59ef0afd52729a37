# SPDX-License-Identifier: Apache-2.0
"""++on-failure restart without ++restart-args: a process that dies is started again where it was, and the job comes to
the same result as if nothing had happened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from running import Factory, built
from test_losses import rank
from vc_job import Job, kill, leftovers
from vcluster import Process

PROCESSES, STEPS = 8, 40
KILLED = "killed by signal 9 (SIGKILL: Killed)"


def value_of(process: int) -> int:
    """What examples/resume.c comes to."""
    value = 1
    for step in range(STEPS):
        value = (value * 1664525 + process + step) % 2**32
    return value


def steps_of(job: Job, process: int) -> list[int]:
    words = [line.split() for line in job.out.split("\n")[:-1]]
    return [int(step) for _, who, what, step, *_ in words if int(who) == process and what == "step"]


def victim(job: Job, command: str, process: int) -> Process:
    return next(one for one in job.running(command) if rank(one) == process)


def check_result(job: Job, killed: set[int]) -> None:
    assert job.wait() == 0, job.said()
    assert leftovers([job]) == []
    results = sorted(line for line in job.out.splitlines() if " has " in line)
    assert results == sorted(f"process {one} has {value_of(one)} after {STEPS} steps" for one in range(PROCESSES))
    for process in set(range(PROCESSES)) - killed:
        assert steps_of(job, process) == list(range(STEPS))


def test_killed_processes_resume_and_the_others_wait_for_them(cluster: Factory, charmrun: Path) -> None:
    """One twice; two at a time, on different hosts and levels."""
    hosts = cluster(4)
    hosts.run(0, ["mkdir", "/home/shared/saved"])
    events = "/home/shared/events"
    options = ["++quiet", "++on-failure", "restart", "++branching", "1", f"+p{PROCESSES}", "++json", events]
    resume = [built(charmrun, "resume"), "/home/shared/saved", str(STEPS), "20"]
    job = Job(hosts, range(4), [charmrun, *options, "++nodelist", hosts.nodelist(4), *resume])

    def come(line: str) -> None:
        job.until(lambda: job.err.count(line) == PROCESSES - 1, line)

    job.until(lambda: len(steps_of(job, 5)) > 2, "some steps")
    kill(victim(job, "resume", 5))
    come(": process 5 is back (1)")
    kill(victim(job, "resume", 5))
    come(": process 5 is back (2)")
    both = [victim(job, "resume", 0), victim(job, "resume", 7)]
    for one in both:
        kill(one)
    check_result(job, {0, 5, 7})
    for process, times in ((5, 2), (0, 1), (7, 1)):
        assert job.err.count(f"process {process}: {KILLED}") == times
        for count in range(1, times + 1):
            told = [line for line in job.err.splitlines() if f"process {process} is back ({count})" in line]
            assert len({line.split()[1] for line in told}) == len(told) >= PROCESSES - 2  # each once
            assert len({line.split(", ")[1] for line in told}) == 1  # after as many barriers
    seen = [json.loads(line) for line in hosts.path(0, events).read_text().splitlines()]
    kinds = [event["event"] for event in seen]
    assert kinds.count("process_restart") == kinds.count("process_back") == 4
    assert sorted(seen[-1]["restarted"]) == [[0, 1], [5, 2], [7, 1]]


def test_a_process_that_always_dies_ends_the_job(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    program = ["sh", "-c", "[ $CHARMTREE_PROCESS = 0 ] && exec sleep 98765; exit $((40 + CHARMTREE_RESTARTS))"]
    options = ["++quiet", "++on-failure", "restart", "+p2", "++nodelist", hosts.nodelist(2)]
    done = hosts.run(0, [charmrun, *options, *program])
    assert done.returncode == 45, done
    lines = done.stderr.splitlines()
    assert [line.split("; ")[-1] for line in lines[:2]] == ["restarting it", "restarting it, for the 2nd time"]
    assert len(lines) == 6
    assert "it was restarted 5 times and never ran for 10 s" in lines[-1]


def test_nothing_of_a_plain_process_outlives_it(cluster: Factory, charmrun: Path) -> None:
    """A helper of its own would be there twice."""
    hosts = cluster(2)
    helper = "/home/shared/helper.$CHARMTREE_PROCESS"
    first = f"sleep 98765 & echo $! > {helper}; echo up; wait"
    # It has been killed, and may take a moment to go.
    second = f"for i in 1 2 3 4 5 6 7 8 9; do kill -0 $(cat {helper}) 2>/dev/null || exec echo gone; sleep 0.1; done"
    script = f"if [ $CHARMTREE_RESTARTS = 0 ]; then {first}; else {second}; fi"
    options = ["++quiet", "++on-failure", "restart", "+p2", "++nodelist", hosts.nodelist(2)]
    job = Job(hosts, range(2), [charmrun, *options, "sh", "-c", script])
    job.until(lambda: job.out == "up\nup\n", "both processes")
    for one in job.running("sh"):
        kill(one)
    assert job.wait() == 0, job.said()
    assert job.out == "up\nup\ngone\ngone\n"
    assert leftovers([job]) == []


@pytest.mark.parametrize("reader", ["0", "all"])
def test_who_is_started_again_finds_the_end_of_the_input(cluster: Factory, charmrun: Path, reader: str) -> None:
    """The first life of process 0 reads all of it."""
    hosts = cluster(2)
    script = "[ $CHARMTREE_PROCESS = 0 ] || exit 0; cat; [ $CHARMTREE_RESTARTS = 1 ] || exit 7; echo end"
    options = ["++quiet", "++on-failure", "restart", "++stdin", reader, "+p2", "++nodelist", hosts.nodelist(2)]
    done = hosts.run(0, [charmrun, *options, "sh", "-c", script], stdin="a line\n")
    assert done.returncode == 0, done
    assert done.stdout == "a line\nend\n"
