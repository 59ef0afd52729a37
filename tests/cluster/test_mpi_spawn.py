# SPDX-License-Identifier: Apache-2.0
"""Processes of MPI programs have others started (MPI_Comm_spawn): these belong to the job.

Under their own mpiexec, too: Debian's MPICH 4.0 starts nobody, and Intel's library dies where several of one world are on one host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mpi_programs import program, session
from running import PATIENCE_S, Factory, assert_good, charmrun_lines, error_line, run
from vcluster import Cluster

FAMILIES = ["mpich5", "intel", "openmpi4", "openmpi5"]


def spawner(family: str) -> tuple[list[str], Path]:
    more, path = program(family, "tests/cluster/mpi_spawn.c")
    return [*more, "++env", "UCX_LOG_LEVEL=error"], path  # it may say at its end what it has left undone


def words(hosts: Cluster, processes: int, *more: Any) -> list[Any]:
    return [f"+p{processes}", "++nodelist", hosts.nodelist(range(1, 4)), *more]


def merged(parents: int, children: int) -> list[str]:
    """What parents and children say of each other."""
    whole = parents + children
    return [
        *(f"parent {rank}: {rank} of {whole}: good" for rank in range(parents)),
        *(f"child {rank}: {parents + rank} of {whole}: good" for rank in range(children)),
    ]


def born(where: dict[int, str], program_of: dict[int, int] | None = None, folder: str = "/home/ctuser") -> list[str]:
    numbers = program_of or {}
    names = ["first child", "second child"]
    return [
        f"child {rank} of {len(where)}: program {numbers.get(rank, 0)}, {names[numbers.get(rank, 0)]}, on {host} in {folder}"
        for rank, host in where.items()
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_processes_have_others_started_and_speak_to_them(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = spawner(family)
    done = run(hosts, charmrun, *words(hosts, 4), *more, path, 3)
    assert_good(done, [*born({0: "h01", 1: "h02", 2: "h03"}), *merged(4, 3)])


@pytest.mark.parametrize("family", [each for each in FAMILIES if each != "intel"])
def test_two_programs_are_started_as_one_world_where_they_are_wanted(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = spawner(family)
    done = run(hosts, charmrun, *words(hosts, 3), *more, path, "2,1", "host", "h03")
    assert_good(done, [*born(dict.fromkeys(range(3), "h03"), {2: 1}), *merged(3, 3)])
    done = run(hosts, charmrun, *words(hosts, 1), *more, path, 1, "wdir", "/tmp")
    assert_good(done, [*born({0: "h01"}, folder="/tmp"), *merged(1, 1)])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_spawn_that_cannot_be_is_an_error_of_mpi(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = spawner(family)
    parents = 1 if family == "openmpi4" else 2  # which tells no other parent of it; Intel's dies if it is alone
    nobody = [f"parent {rank}: nobody is started" for rank in range(parents)]
    done = run(hosts, charmrun, *words(hosts, parents, "++verbose"), *more, path, 1, "host", "nowhere")
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, nobody)
    assert any("process 0 has no others started: the job has no host called nowhere" in line for line in charmrun_lines(done))
    done = run(hosts, charmrun, *words(hosts, parents, "++on-failure", "continue"), *more, path, 1)
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, nobody)


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_a_program_that_cannot_be_seen_starts_others_if_the_user_allows_it(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = spawner(family)
    script = hosts.put(0, f"/home/shared/hidden-{family}", f'#!/bin/sh\nexec {path} "$@"\n', mode=0o755)
    how = ["++pmi", "pmix" if family == "openmpi5" else "1"]
    done = run(hosts, charmrun, *words(hosts, 2), *how, *more, script, 1)
    assert sorted(done.stdout.splitlines()) == [f"parent {rank}: nobody is started" for rank in range(2)], done
    assert [line for line in charmrun_lines(done) if "++allow-spawn" in line and line.startswith("h01: process 0 ")], done.stderr
    done = run(hosts, charmrun, *words(hosts, 2), *how, "++allow-spawn", *more, script, 1)
    assert_good(done, [*born({0: "h01"}), *merged(2, 1)])


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_spares_are_there_for_processes_that_are_started(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = spawner(family)
    done = run(hosts, charmrun, *words(hosts, 1, "++on-host-failure", "spare", "++spare-hosts", 2), *more, path, 4)
    assert_good(done, [*born({0: "h01", 1: "h02", 2: "h02", 3: "h03"}), *merged(1, 4)])


@pytest.mark.parametrize("family", ["mpich5", "openmpi4", "openmpi5"])
def test_under_mpirun_all_hosts_that_were_named_may_get_processes(cluster: Factory, mpiexec: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = spawner(family)
    done = run(hosts, mpiexec, "-H", "h01:2,h02:2,h03:2", "-n", 1, *more, path, 3)
    assert_good(done, [*born({0: "h01", 1: "h02", 2: "h03"}), *merged(1, 3)])
    script = hosts.put(0, f"/home/shared/manager-{family}", f'#!/bin/sh\nexec {path} "$@"\n', mode=0o755)
    how = ["++pmi", "1" if family == "mpich5" else "pmix"]
    done = run(hosts, mpiexec, "-H", "h01,h02", "++allow-spawn", *how, "-n", 1, *more, script, 2)
    assert_good(done, [*born({0: "h01", 1: "h02"}), *merged(1, 2)])


def test_under_mpirun_a_program_that_starts_nobody_has_its_own_hosts_alone(cluster: Factory, mpiexec: Path) -> None:
    hosts = cluster(10)
    more, path = program("mpich5")
    done = run(hosts, mpiexec, "-H", "h01,h77", "-n", 1, *more, path)
    assert done.returncode == 0, done
    more, path = spawner("mpich5")
    assert error_line(run(hosts, mpiexec, "-H", "h01,h77", "-n", 1, *more, path, 1)).startswith("h77: resolve: no such host")


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_the_end_of_a_process_that_was_started_is_that_of_the_job(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = spawner(family)
    dies = error_line(run(hosts, charmrun, *words(hosts, 3), *more, path, 2, "deed", "die"), 137)
    assert dies.startswith("h01: run: process 3: killed by signal 9 (SIGKILL: Killed) (status 137)")
    aborts = error_line(run(hosts, charmrun, *words(hosts, 3), *more, path, 2, "deed", "abort"), 9)
    assert aborts == "h01: run: process 3: aborted: MPI_Abort (status 9)"
    missing = error_line(run(hosts, charmrun, *words(hosts, 3), *more, path, 2, "deed", "missing"), 125)
    assert ": spawn: /nowhere/child: no such file" in missing


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_a_program_that_starts_others_is_started_again_as_a_whole(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = spawner(family)
    again = ["++on-failure", "restart", "++restart-args", "never"]
    done = run(hosts, charmrun, *words(hosts, 3), *again, *more, path, 2, "deed", "die")
    assert done.returncode == 0, done.stderr
    whole = [*born({0: "h01", 1: "h02"}), *merged(3, 2)]
    assert set(whole) <= set(done.stdout.splitlines())
    assert any("restarting the job (1 of at most 10 times)" in line for line in charmrun_lines(done))


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_each_program_of_a_session_may_start_others(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = spawner(family)
    with session(hosts, charmrun) as number:
        for _ in range(2):
            done = run(hosts, charmrun, "++in", number, "+p3", *more, path, 3)
            assert_good(done, [*born({0: "h01", 1: "h02", 2: "h03"}), *merged(3, 3)])


def test_a_program_without_launcher_gets_one_when_it_starts_others(cluster: Factory, mpiexec: Path) -> None:
    """MPICH's library runs the first mpiexec in PATH, and waits for it to connect."""
    hosts = cluster(10)
    _, path = spawner("mpich5")
    alone = {"PATH": f"{mpiexec.parent}:/usr/bin:/bin"}
    done = hosts.run(0, [path, "2"], env=alone, timeout=PATIENCE_S)
    assert done.returncode == 0 and {"parent 0: 0 of 3: good", "child 1: 2 of 3: good"} <= set(done.stdout.splitlines()), done
    dies = hosts.run(0, [path, "2", "deed", "abort"], env=alone, timeout=PATIENCE_S)
    assert dies.returncode != 0 and "aborted: MPI_Abort (status 9)" in dies.stderr, dies
    missing = hosts.run(0, [path, "1", "deed", "missing"], env=alone, timeout=PATIENCE_S)
    assert missing.returncode != 0 and ": spawn: /nowhere/child: no such file" in missing.stderr, missing
