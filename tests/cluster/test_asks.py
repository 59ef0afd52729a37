# SPDX-License-Identifier: Apache-2.0
"""What processes ask each other one by one, and what the library knows before there is a table, over sshd on several hosts."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from running import Factory, built
from vc_job import Job, leftovers

HOSTS, EACH = 4, 3
PROCESSES = HOSTS * EACH
REPORT = "/tmp/report.json"


def run(cluster: Factory, charmrun: Path, *words: str, options: tuple[str, ...] = ()) -> Job:
    hosts = cluster(HOSTS)
    argv = [charmrun, "++quiet", "++branching", "2", f"+p{PROCESSES}", *options, "++nodelist", hosts.nodelist(HOSTS)]
    job = Job(hosts, range(HOSTS), [*argv, "++report", REPORT, *words])
    job.wait()
    assert leftovers([job]) == []
    return job


def peers(job: Job) -> dict[str, int]:
    """What the launchers have been told that processes used."""
    return json.loads(job.cluster.path(0, REPORT).read_text())["ending"]["peers"]


def test_each_is_told_what_it_asks_and_knows_the_hosts(cluster: Factory, charmrun: Path) -> None:
    job = run(cluster, charmrun, built(charmrun, "asks_double"))
    assert job.wait() == 0, job.said()
    told = sorted(tuple(map(int, line.split())) for line in job.out.splitlines())
    assert [one[:4] for one in told] == [(rank, rank // EACH, HOSTS, PROCESSES - 1) for rank in range(PROCESSES)], job.said()
    assert all(one[4] > 500 for one in told)
    assert peers(job) == {"processes": PROCESSES, "all": PROCESSES * (PROCESSES - 1), "least": PROCESSES - 1, "most": PROCESSES - 1}


def test_who_asks_a_process_that_dies_is_told_that(cluster: Factory, charmrun: Path) -> None:
    job = run(cluster, charmrun, built(charmrun, "asks_double"), "dies", options=("++on-failure", "continue"))
    assert job.wait() == 0, job.said()
    assert sorted(job.out.splitlines()) == sorted(f"process {rank}: 1 failed" for rank in range(PROCESSES - 1)), job.said()


def test_each_answers_each_for_himself(cluster: Factory, charmrun: Path) -> None:
    job = run(cluster, charmrun, built(charmrun, "asks_double"), "answers")
    assert job.wait() == 0, job.said()
    lines = [f"process {rank}: {PROCESSES - 1} answers, asked by {PROCESSES - 1}" for rank in range(PROCESSES)]
    assert sorted(job.out.splitlines()) == sorted(lines), job.said()


def test_a_process_that_finalizes_answers_until_all_do(cluster: Factory, charmrun: Path) -> None:
    job = run(cluster, charmrun, built(charmrun, "asks_double"), "leaves")
    assert job.wait() == 0, job.said()
    assert job.out == f"{PROCESSES - 1} answers\n", job.said()


def stencil(rows: int, columns: int, steps: int) -> list[int]:
    values = list(range(rows * columns))
    for _ in range(steps):
        values = [
            values[(row - 1) % rows * columns + column]
            + values[(row + 1) % rows * columns + column]
            + values[row * columns + (column - 1) % columns]
            + values[row * columns + (column + 1) % columns]
            for row in range(rows)
            for column in range(columns)
        ]
    return values


def test_the_example_asks_its_neighbours_alone(cluster: Factory, charmrun: Path) -> None:
    job = run(cluster, charmrun, built(charmrun, "stencil"), "7")
    assert job.wait() == 0, job.said()
    values = stencil(3, 4, 7)
    lines = [f"process {rank}: {values[rank]}, knows 4 of {PROCESSES}" for rank in range(PROCESSES)]
    assert sorted(job.out.splitlines()) == sorted(lines), job.said()
    assert peers(job) == {"processes": PROCESSES, "all": 4 * PROCESSES, "least": 4, "most": 4}


def looks(charmrun: Path, trace: Path, processes: int) -> list[str]:
    """Who has opened what the kernel tells of the machine's processors, once for each time."""
    argv = ["strace", "-f", "-qq", "-e", "trace=openat", "-o", trace, charmrun, "++quiet", "++local", f"+p{processes}", built(charmrun, "asks_double")]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert len({line.split()[4] for line in done.stdout.splitlines()}) == 1
    return re.findall(r"^(\d+) +openat\(.*/sys/devices/system/cpu/", trace.read_text(), re.MULTILINE)


def test_a_host_is_looked_at_once(charmrun: Path, tmp_path: Path) -> None:
    """Six processes want it; the launcher alone looks, as often as for one."""
    one, six = (looks(charmrun, tmp_path / f"trace-{processes}", processes) for processes in (1, 6))
    assert len(set(one)) == len(set(six)) == 1, (one, six)
    assert len(one) == len(six) > 1
