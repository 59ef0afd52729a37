# SPDX-License-Identifier: Apache-2.0
"""One exchange by each of the strategies of the client library, over sshd on five hosts: the same values; also where a process dies."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import Factory, built
from vc_job import Job, leftovers

PROCESSES, HOSTS = 13, 5
ROUNDS = 3
NAMES = ["table", "node_roots", "shared", "simple"]


def exchange(cluster: Factory, charmrun: Path, *words: str, options: tuple[str, ...] = (), processes: int = PROCESSES) -> Job:
    hosts = cluster(HOSTS)
    argv = [charmrun, "++quiet", "++branching", "2", f"+p{processes}", *options, "++nodelist", hosts.nodelist(HOSTS)]
    job = Job(hosts, range(HOSTS), [*argv, built(charmrun, "strategies_double"), str(ROUNDS), *words])
    job.wait()
    assert leftovers([job]) == []
    return job


def timed(line: str) -> tuple[str, int]:
    name, *times = line.split()
    assert all(float(time) > 0 for time in times)
    return name, len(times)


# 3000 bytes: what a root gives goes in pieces. 60 processes: more asks than one process has under way.
@pytest.mark.parametrize(("size", "processes"), [(1, PROCESSES), (3000, PROCESSES), (24, 80)])
def test_each_strategy_has_the_same_values(cluster: Factory, charmrun: Path, size: int, processes: int) -> None:
    job = exchange(cluster, charmrun, str(size), processes=processes)
    assert job.wait() == 0, job.said()
    assert [timed(line) for line in job.out.splitlines()] == [(name, ROUNDS) for name in NAMES], job.said()


def test_roots_exchange_by_connections_of_their_own(cluster: Factory, charmrun: Path) -> None:
    job = exchange(cluster, charmrun, "3000", "transport")
    assert job.wait() == 0, job.said()
    carried = [line for line in job.out.splitlines() if "carried" in line]
    assert sorted(carried) == sorted(f"process {root} carried {ROUNDS}" for root in (0, 3, 6, 9, 11)), job.said()


def test_with_a_process_lost_each_fails_for_each(cluster: Factory, charmrun: Path) -> None:
    job = exchange(cluster, charmrun, "100", "dies", options=("++on-failure", "continue"))
    assert job.wait() == 0, job.said()
    failed = [line for line in job.out.splitlines() if "failed" in line]
    assert sorted(failed) == sorted(f"process {rank}: {name} failed" for name in NAMES for rank in range(PROCESSES - 1) for _ in range(ROUNDS)), job.said()
