# SPDX-License-Identifier: Apache-2.0
"""PMI-2: Slurm's library, alone and as the one that Intel's MPI is told to take."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from mpi_programs import program
from running import Factory, assert_good, error_line, run
from vcluster import REPOSITORY, Cluster

CHECK = ["/usr/bin/python3", REPOSITORY / "tests/cluster/pmi2_check.py"]
LIBRARY = "libpmi2.so.0"


@pytest.fixture(autouse=True, scope="module")
def _library() -> None:
    try:
        ctypes.CDLL(LIBRARY)
    except OSError as error:
        pytest.skip(str(error))


def words(hosts: Cluster, n: int, each: int) -> list[object]:
    return [f"+p{n * each}", "++nodelist", hosts.nodelist(range(1, 1 + n))]


@pytest.mark.parametrize(("n", "each"), [(1, 1), (1, 3), (3, 2), (9, 1)])
def test_processes_find_each_other_their_neighbours_and_what_their_host_has(
    cluster: Factory, charmrun: Path, n: int, each: int
) -> None:
    hosts = cluster(10)
    total = n * each
    done = run(hosts, charmrun, *words(hosts, n, each), *CHECK)
    assert_good(
        done,
        [
            f"process {rank} of {total}: ring {rank} r{(rank - 1) % total} r{(rank + 1) % total}, "
            f"leader {rank // each * each}, (vector,(0,{n},{each}))"
            for rank in range(total)
        ],
    )


def test_an_abort_and_further_processes(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    done = run(hosts, charmrun, *words(hosts, 2, 1), *CHECK, "abort")
    assert error_line(done, 1) == "h02: run: process 1: aborted: MPI_Abort: enough of it (status 1)"
    done = run(hosts, charmrun, *words(hosts, 2, 1), "++allow-spawn", *CHECK, "spawn")
    assert_good(done, ["spawn 0 of 2: True [0, 0]", *(f"child {rank} of 2: True address;of parent" for rank in range(2))])


@pytest.mark.parametrize(("n", "each"), [(1, 3), (9, 1)])
def test_intel_takes_the_library_that_it_is_told(cluster: Factory, charmrun: Path, n: int, each: int) -> None:
    hosts = cluster(10)
    more, path = program("intel")
    options = ["++pmi", "2", *more, "++env", f"I_MPI_PMI_LIBRARY=/usr/lib/x86_64-linux-gnu/{LIBRARY}"]
    done = run(hosts, charmrun, *words(hosts, n, each), *options, path)
    total = n * each
    assert_good(done, [f"{rank} of {total}: good" for rank in range(total)])
