# SPDX-License-Identifier: Apache-2.0
"""A process dies inside each call of the client library, when it has said half a message, or a whole one, or has heard half of what it
is told: the others go on, or the job ends with its status and one line; nothing is left."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from running import Factory, built
from vc_job import Job, leftovers

BEFORE = ["init", "port", "topology", "offer", "register"]  # the process is none of the job's yet
TOGETHER = ["barrier", "fence", "group_fence", "allgather", "ring", "ask", "by_roots", "by_shares", "by_asks", "finalize"]
ALONE = ["table", "lookup", "ask_late", "handler", "print", "done"]
WHEN = ["torn", "sent", "deaf", "heard"]
PROCESSES = 4
CONTINUE = ["++on-failure", "continue"]


def local(charmrun: Path, call: str, when: str, *options: str) -> subprocess.CompletedProcess[str]:
    argv = [charmrun, "++quiet", "++local", f"+p{PROCESSES}", *options, built(charmrun, "dying_double"), call, when]
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)


def survivors(said: str) -> list[str]:
    return sorted(line for line in said.splitlines() if line.endswith(" is done"))


ALL_OTHERS = [f"process {rank} is done" for rank in range(PROCESSES - 1)]


@pytest.mark.parametrize("call", [*TOGETHER, *ALONE])
def test_the_others_go_on(charmrun: Path, call: str) -> None:
    for when in WHEN:
        done = local(charmrun, call, when, *CONTINUE)
        assert done.returncode == 0, (when, done.stdout, done.stderr)
        assert survivors(done.stdout) == ALL_OTHERS, (when, done.stdout, done.stderr)


@pytest.mark.parametrize("call", [*BEFORE, "fence", "finalize"])
def test_or_the_job_ends_by_it(charmrun: Path, call: str) -> None:
    for when in WHEN:
        done = local(charmrun, call, when)
        assert done.returncode == 137, (when, done.stdout, done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("charmrun: error: ")]
        assert len(lines) == 1 and f"process {PROCESSES - 1}: killed by signal 9" in lines[0], (when, done.stderr)


def test_over_several_hosts(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    for call in TOGETHER:
        argv = [charmrun, "++quiet", f"+p{PROCESSES}", *CONTINUE, "++nodelist", hosts.nodelist(2), built(charmrun, "dying_double"), call, "sent"]
        job = Job(hosts, range(2), argv)
        assert job.wait() == 0, (call, job.said())
        assert survivors(job.out) == ALL_OTHERS, (call, job.said())
        assert leftovers([job]) == [], call
