# SPDX-License-Identifier: Apache-2.0
"""Values that processes of the client library exchange, over sshd on five hosts; also where one dies meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import Factory, built
from vc_job import Job, leftovers

PROCESSES = 13
ROUNDS = 12
TREE = ["++quiet", "++branching", "2", f"+p{PROCESSES}"]
FAILED = "it has failed"


def exchange(cluster: Factory, charmrun: Path, *options: str, dies: str = "") -> Job:
    hosts = cluster(5)
    program = [built(charmrun, "exchange_double"), str(ROUNDS), *([dies] if dies else [])]
    job = Job(hosts, range(5), [charmrun, *TREE, *options, "++nodelist", hosts.nodelist(5), *program])
    job.wait()
    assert leftovers([job]) == []
    return job


def test_all_get_what_each_has_given(cluster: Factory, charmrun: Path) -> None:
    job = exchange(cluster, charmrun)
    assert job.wait() == 0, job.said()
    assert sorted(job.out.split("\n")[:-1]) == sorted(f"process {rank}: all values are there" for rank in range(PROCESSES))


def test_the_example_knows_its_neighbours(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    job = Job(hosts, range(5), [charmrun, "++quiet", "+p5", "++nodelist", hosts.nodelist(5), built(charmrun, "neighbours")])
    assert job.wait() == 0, job.said()
    names = hosts.names[:5]
    assert sorted(job.out.splitlines()) == [
        f"process {rank} of 5 on {names[rank]}, between {(rank + 4) % 5} on {names[rank - 1]} and {(rank + 1) % 5} on {names[(rank + 1) % 5]}"
        for rank in range(5)
    ]


@pytest.mark.parametrize("dies", ["before", "inside"])
def test_a_process_that_dies_by_its_fence_ends_the_job(cluster: Factory, charmrun: Path, dies: str) -> None:
    job = exchange(cluster, charmrun, dies=dies)
    assert job.wait() == 137, job.said()
    assert f"process {PROCESSES - 1}: killed by signal 9" in job.err


@pytest.mark.parametrize("dies", ["before", "inside"])
def test_where_the_others_go_on_the_fence_fails_for_each_of_them(cluster: Factory, charmrun: Path, dies: str) -> None:
    job = exchange(cluster, charmrun, "++on-failure", "continue", dies=dies)
    assert job.wait() == 0, job.said()
    lines = job.out.split("\n")[:-1]
    assert len(lines) == PROCESSES - 1
    assert all(f": round {ROUNDS // 2}: {FAILED}" in line for line in lines), job.said()


def test_where_processes_are_started_again_one_by_one_there_are_no_fences(cluster: Factory, charmrun: Path) -> None:
    job = exchange(cluster, charmrun, "++on-failure", "restart")
    assert job.wait() == 0, job.said()
    lines = job.out.split("\n")[:-1]
    assert len(lines) == PROCESSES
    assert all(f": round 0: {FAILED}" in line for line in lines), job.said()
