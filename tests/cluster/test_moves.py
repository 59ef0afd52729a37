# SPDX-License-Identifier: Apache-2.0
"""++on-failure restart when a host is lost: its processes go on elsewhere, the others wait for them, and the job comes to
the same result as if nothing had happened."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Factory, built, run
from test_losses import rank
from test_restart_in_place import STEPS, steps_of, value_of
from vc_job import Job, kill, leftovers
from vcluster import Cluster

SPARE = ["++on-host-failure", "spare", "++spare-hosts", "1", "++host-patience", "60"]


def resume(hosts: Cluster, charmrun: Path, processes: int, where: list[int], *options: str) -> Job:
    saved = hosts.run(0, ["mktemp", "-d", "/home/shared/saved.XXXXXX"]).stdout.strip()
    words = ["++quiet", "++json", f"{saved}/events", "++on-failure", "restart", *options, f"+p{processes}"]
    names = hosts.nodelist([hosts.names[i] for i in where])
    program = [built(charmrun, "resume"), saved, str(STEPS), "150"]  # time enough to look at it
    job = Job(hosts, range(hosts.n), [charmrun, *words, "++nodelist", names, *program])
    job.until(lambda: len(steps_of(job, 0)) > 2, "some steps")
    return job


def everything_on(job: Job, host: int) -> None:
    for one in (*job.launchers(host), *(one for one in job.running("resume") if one.host == host)):
        kill(one)


@contextlib.contextmanager
def first_stands(job: Job) -> Iterator[None]:
    """Process 0 stands still: the others wait for it, so that the job does not end meanwhile."""
    first = next(one for one in job.running("resume") if rank(one) == 0)
    os.kill(first.pid, signal.SIGSTOP)
    yield
    os.kill(first.pid, signal.SIGCONT)


def moves(job: Job) -> dict[int, str]:
    """On which host each process that was lost goes on."""
    seen = map(json.loads, job.cluster.path(0, f"{job.root.args[-3]}/events").read_text().splitlines())
    return {event["process"]: event["host"] for event in seen if event["event"] == "process_restart"}


def check_result(job: Job, processes: int, moved: set[int]) -> None:
    assert job.wait() == 0, job.said()
    assert leftovers([job]) == []
    results = sorted(line for line in job.out.splitlines() if " has " in line)
    assert results == sorted(f"process {one} has {value_of(one)} after {STEPS} steps" for one in range(processes))
    for process in set(range(processes)) - moved:
        assert steps_of(job, process) == list(range(STEPS))
    for process in moved:
        told = [line for line in job.err.splitlines() if f": process {process} is back (1)" in line]
        assert len(told) >= processes - len(moved), job.said()
        assert len({line.split(", ")[1] for line in told}) == 1  # after as many barriers


@pytest.mark.parametrize("spare", [True, False], ids=["spare", "beside"])
def test_processes_of_a_killed_host_go_on_elsewhere(cluster: Factory, charmrun: Path, spare: bool) -> None:
    """On the spare, or one beside each of the others."""
    hosts = cluster(5)
    processes = 6 if spare else 8
    job = resume(hosts, charmrun, processes, [1, 2, 3, 4], *(SPARE if spare else []))
    now = "  h03: processes 4-5\n  h04: processes 2-3\n" if spare else "  h01: processes 0-2\n  h03: processes 3-5\n  h04: processes 6-7\n"
    with first_stands(job):
        everything_on(job, 2)
        job.until(lambda: run(hosts, charmrun, "++status").stdout.endswith(now), now)
    check_result(job, processes, {2, 3})
    assert moves(job) == {process: hosts.names[host] for process, host in ({2: 4, 3: 4} if spare else {2: 1, 3: 3}).items()}
    assert "restarting processes 2-3 on other hosts" in job.err
    assert not any("restarting the job" in line for line in job.err.splitlines())


def test_a_launcher_takes_those_with_it_that_it_had_started(cluster: Factory, charmrun: Path) -> None:
    """Each host starts the next one."""
    hosts = cluster(4)
    job = resume(hosts, charmrun, 8, [0, 1, 2, 3], "++branching", "1")
    with first_stands(job):
        everything_on(job, 2)
    check_result(job, 8, {4, 5, 6, 7})
    assert set(moves(job)) == {4, 5, 6, 7} and set(moves(job).values()) == {hosts.names[0], hosts.names[1]}


@pytest.mark.parametrize("waits", [False, True], ids=["fast", "fenced"])
def test_a_host_that_is_gone_is_not_waited_for(fresh_cluster: Factory, charmrun: Path, waits: bool) -> None:
    """For longer than until its processes must have ended; or not at all."""
    hosts = fresh_cluster(5)
    options = ["++orphan-after", "1", *([] if waits else ["++fast-failover"])]
    job = resume(hosts, charmrun, 6, [1, 2, 3, 4], *SPARE, *options)
    hosts.unplug(3)
    check_result(job, 6, {4, 5})
