# SPDX-License-Identifier: Apache-2.0
"""Open MPI programs that charmrun cannot see: behind wrappers, in scripts, loaded while they run. PMIx is on offer to each program whose
library does not show; the helper of a host starts when the first process connects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mpi_programs import program
from running import Factory, assert_good, run
from vcluster import Cluster

# Words before the program: each of them hides it from a look at the command line.
WRAPPERS = {
    "env": ["env", "A=1"],
    "nice": ["nice"],
    "timeout": ["timeout", "60"],
    "taskset": ["taskset", "0xffff"],
    "setsid": ["setsid", "--wait"],
    "sh -c": ["sh", "-c", '"$0" "$@"'],
    "two shells": ["sh", "-c", 'sh -c "$0"; exit $?'],
    "python -c": ["python3", "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"],
    "subprocess": ["python3", "-c", "import subprocess as s, sys; sys.exit(s.run(sys.argv[1:]).returncode)"],
    "gdb": ["gdb", "-q", "-batch", "-ex", "run", "--args"],
}


def words(hosts: Cluster, count: int, each: int) -> list[Any]:
    return [f"+p{count * each}", "++nodelist", hosts.nodelist(range(1, count + 1))]


@pytest.mark.parametrize("family", ["openmpi4", "openmpi5"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_processes_find_each_other_through_a_wrapper(cluster: Factory, charmrun: Path, wrapper: str, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    done = run(hosts, charmrun, *words(hosts, 2, 1), *more, *WRAPPERS[wrapper], path)
    assert done.returncode == 0, done.stderr
    good = [line for line in done.stdout.splitlines() if line.endswith("good")]
    assert sorted(good) == ["0 of 2: good", "1 of 2: good"], done.stdout + done.stderr


@pytest.mark.parametrize("family", ["openmpi4", "openmpi5"])
def test_what_is_not_seen_ends_as_what_is(cluster: Factory, charmrun: Path, family: str) -> None:
    """Its aborts and losses are those of an MPI program, and nothing is left of its helpers."""
    hosts = cluster(10)
    more, path = program(family)
    aborted = run(hosts, charmrun, *words(hosts, 2, 2), *more, "env", "A=1", path, "abort", 3)
    assert aborted.returncode == 7
    assert "process 3: aborted" in aborted.stderr
    killed = run(hosts, charmrun, *words(hosts, 2, 2), *more, "env", "A=1", path, "kill", 2)
    assert killed.returncode == 137, killed.stderr
    left = [hosts.run(host, ["sh", "-c", "ls -d /tmp/charmtree-*/*.pmix 2>/dev/null"]).stdout for host in (1, 2)]
    assert left == ["", ""]


@pytest.mark.parametrize("family", ["openmpi4", "openmpi5"])
def test_what_is_not_seen_may_start_others_where_that_is_allowed(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family, "tests/cluster/mpi_spawn.c")
    done = run(hosts, charmrun, *words(hosts, 2, 1), "++allow-spawn", *more, "env", "A=1", path, 2)
    assert done.returncode == 0, done.stderr
    merged = [*(f"parent {rank}: {rank} of 4: good" for rank in range(2)), *(f"child {rank}: {2 + rank} of 4: good" for rank in range(2))]
    assert sorted(line for line in done.stdout.splitlines() if line.endswith("good")) == sorted(merged)


def test_no_helper_starts_where_no_process_connects(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    looks = "echo ${PMIX_RANK:-none} ${PMIX_SERVER_URI4:+address}; ps -eo args | grep -c '[+][+]pmix-helper'"
    done = run(hosts, charmrun, *words(hosts, 1, 2), "sh", "-c", looks)
    assert sorted(done.stdout.split()) == ["0", "0", "0", "1", "address", "address"], done.stdout + done.stderr


def test_a_launcher_below_us_is_offered_nothing(cluster: Factory, charmrun: Path) -> None:
    """Debian's mpirun would take itself for a process of the job."""
    hosts = cluster(10)
    _, path = program("openmpi4")
    words_of_its = ["--allow-run-as-root", "--oversubscribe", "-n", "2", path]
    for command in (["mpirun.openmpi", *words_of_its], ["sh", "-c", 'mpirun.openmpi "$@"', "sh", *words_of_its]):
        assert_good(run(hosts, charmrun, *words(hosts, 1, 1), *command), ["0 of 2: good", "1 of 2: good"])


def test_processes_that_do_not_find_each_other_are_told_of(cluster: Factory, charmrun: Path) -> None:
    """What they were offered is taken away from them, and each of them is a job of its own."""
    hosts = cluster(10)
    _, path = program("openmpi4", "tests/cluster/mpi_stays.c")
    alone = ["env", "-i", "PATH=/usr/bin:/bin", path, 3]
    done = run(hosts, charmrun, *words(hosts, 2, 2), *alone)
    assert done.stdout.splitlines() == ["0 of 1"] * 4
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("charmrun: h01: process 0 has loaded lib"), lines
    assert "; ++pmi pmix ends the job where Open MPI cannot be served" in lines[0], lines
    assert run(hosts, charmrun, *words(hosts, 2, 2), path, 3).stderr == ""
