# SPDX-License-Identifier: Apache-2.0
"""Launchers watch each other: who falls silent is missed, who is only slow is not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from vc_job import Job, leftovers, patience, pause
from vcluster import Cluster

from running import CAMPAIGN, Factory

STAY = ["sleep", "98765"]


def _job(hosts: Cluster, where: range, charmrun: Path, *words: str) -> Job:
    """A process on each host but the first, from which it is started."""
    names = [hosts.names[index] for index in where[1:]]
    job = Job(hosts, where, [charmrun, f"+p{len(names)}", "++nodelist", hosts.nodelist(names), *words, *STAY])
    job.until(lambda: len(job.running("sleep")) == len(names), "all processes")
    pause(1.0)
    return job


def _chain(hosts: Cluster, charmrun: Path, *words: str) -> Job:
    """Each launcher started the next."""
    return _job(hosts, range(hosts.n), charmrun, "++branching", "1", *words)


def test_a_host_without_a_word_is_missed_within_seconds(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(4)
    job = _chain(hosts, charmrun, "++heartbeat", "0.1", "++detect-within", "0.5", "++orphan-after", "2")
    hosts.unplug(3)
    begin = time.monotonic()
    assert job.wait(10) == 125, job.said()
    assert time.monotonic() - begin < patience(10)  # the dead host is looked for once more
    assert any(f"{hosts.names[3]}: run: the host is gone: silent for" in line for line in job.errors), job.said()
    assert not leftovers([job])  # it has missed us, too


def test_nothing_is_left_below_a_host_that_falls_silent(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(6)
    job = _chain(hosts, charmrun, "++orphan-after", "3")
    hosts.drop(2)
    assert job.wait(10) == 125, job.said()
    assert any(f"{hosts.names[2]}: run: the host is gone: silent for" in line for line in job.errors), job.said()
    assert not leftovers([job])


def test_a_root_that_is_stopped_orphans_nobody(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(4)
    job = _chain(hosts, charmrun, "++orphan-after", "1")
    for silent in (job.root.pid, job.launcher(1).pid):
        os.kill(silent, signal.SIGSTOP)
        pause(4.0)
        os.kill(silent, signal.SIGCONT)
        pause(1.0)
        assert job.root.poll() is None, job.said()
        assert len(job.running("sleep")) == 3, job.said()
    job.signal(signal.SIGTERM)
    assert job.wait() == -signal.SIGTERM, job.said()
    assert not leftovers([job])


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    """All that is started meanwhile: other work of the tests has the other cores."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def _load(loops: int) -> Iterator[None]:
    """So many processes that are always ready to run, each of a session of its own: where sessions share the processor,
    not processes (sched(7), autogroup), they would be one against all launchers.
    """
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True) for _ in range(loops)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
        for one in busy:
            one.wait()


def test_an_overloaded_machine_is_not_taken_for_dead_hosts(fresh_cluster: Factory, charmrun: Path) -> None:
    """35 seconds with 20 busy loops on one core; in the campaign an hour with 32. Meanwhile a launcher of another job
    is stopped, which is missed, with all that is below it.
    """
    loops = 32 if CAMPAIGN else 20
    with _one_core():
        hosts = fresh_cluster(14)
        job = _job(hosts, range(10), charmrun, "++branching", "3")
        other = _job(hosts, range(10, 14), charmrun, "++branching", "1", "++timeout", "25")  # so long may its launchers be frozen
        with _load(loops):
            os.kill(other.launcher(12).pid, signal.SIGSTOP)
            until = time.monotonic() + (3600 if CAMPAIGN else 35)
            while time.monotonic() < until and job.root.poll() is None:
                pause(1.0)
            assert job.root.poll() is None, job.said()
            assert os.getloadavg()[0] > (loops - 2 if CAMPAIGN else loops / 3)
        assert other.wait(1) == 125, other.said()
        assert any(f"{hosts.names[12]}: run: its launcher is frozen" in line for line in other.errors), other.said()
        job.signal(signal.SIGTERM)
        assert job.wait() == -signal.SIGTERM, job.said()
    assert not job.errors and "charmrun: Terminated: ending the job\n" in job.err, job.said()
    assert not leftovers([job, other])
