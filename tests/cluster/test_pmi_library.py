# SPDX-License-Identifier: Apache-2.0
"""Programs that speak PMI by our libraries (libpmi, libpmi2), over sshd on three hosts; and without charmrun."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import mpi_programs
from running import Factory, built
from vc_job import Job, leftovers

PROCESSES = 7
ROUNDS = 6
DOUBLES = ["pmi_double", "pmi2_double"]
MAPPING = "mapping: (vector,(0,1,3),(1,2,2))"


def run(cluster: Factory, charmrun: Path, double: str, *options: str, ends: str = "") -> Job:
    hosts = cluster(3)
    program = [built(charmrun, double), str(ROUNDS), *([ends] if ends else [])]
    job = Job(hosts, range(3), [charmrun, "++quiet", f"+p{PROCESSES}", *options, "++nodelist", hosts.nodelist(3), *program])
    job.wait()
    assert leftovers([job]) == []
    return job


def said_by_all(processes: int, mapping: str) -> list[str]:
    return sorted([mapping, *(f"process {rank} of {processes}: all values are there" for rank in range(processes))])


@pytest.mark.parametrize("double", DOUBLES)
@pytest.mark.parametrize("pmi", ["auto", "2", "port", "none"])
def test_all_get_what_each_has_put_whatever_else_they_could_speak(cluster: Factory, charmrun: Path, double: str, pmi: str) -> None:
    job = run(cluster, charmrun, double, "++pmi", pmi)
    assert job.wait() == 0, job.said()
    assert sorted(job.out.splitlines()) == said_by_all(PROCESSES, MAPPING)


def test_a_get_is_no_system_call(cluster: Factory, charmrun: Path) -> None:
    job = run(cluster, charmrun, "pmi_double", ends="silent")
    assert job.wait() == 0, job.said()
    assert sorted(job.out.splitlines()) == said_by_all(PROCESSES, MAPPING)


@pytest.mark.parametrize(("double", "ends", "status", "why"), [
    ("pmi_double", "before", 137, "killed by signal 9"),
    ("pmi_double", "inside", 142, "killed by signal 14"),
    ("pmi_double", "abort", 7, "aborted: no more"),
    ("pmi2_double", "abort", 1, "aborted: no more"),
    ("pmi2_double", "die", 1, "exited with status 1"),
])
def test_a_process_that_dies_or_aborts_ends_the_job(cluster: Factory, charmrun: Path, double: str, ends: str, status: int, why: str) -> None:
    job = run(cluster, charmrun, double, ends=ends)
    assert job.wait() == status, job.said()
    (line,) = [line for line in job.err.splitlines() if line.startswith("charmrun: error: ")]
    assert f"process {PROCESSES - 1}: {why}" in line


def test_where_the_others_go_on_their_barriers_fail(cluster: Factory, charmrun: Path) -> None:
    job = run(cluster, charmrun, "pmi_double", "++on-failure", "continue", ends="before")
    assert job.wait() == 137, job.said()
    assert job.err.count("PMI_Barrier() == PMI_SUCCESS is not so") == PROCESSES - 1


@pytest.mark.parametrize("pmi", ["pmi", "pmi2"])
def test_an_mpi_library_starts_by_it(cluster: Factory, charmrun: Path, pmi: str) -> None:
    hosts = cluster(3)
    options, program = mpi_programs.program("intel")
    library = charmrun.parents[1] / f"client-lib/pmi/lib{pmi}.so"
    words = ["env", "-u", "PMI_FD", f"I_MPI_PMI={pmi.ljust(4, '1')}", f"I_MPI_PMI_LIBRARY={library}", program]
    argv = [charmrun, "++quiet", f"+p{PROCESSES}", *options, "++nodelist", hosts.nodelist(3), *words]
    job = Job(hosts, range(3), argv)
    assert job.wait() == 0, job.said()
    assert sorted(job.out.splitlines()) == [f"{rank} of {PROCESSES}: good" for rank in range(PROCESSES)]
    assert leftovers([job]) == []


def test_who_has_not_joined_ends_all_the_same(charmrun: Path) -> None:
    done = subprocess.run([built(charmrun, "pmi_double"), "1", "unjoined"], env={}, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "not yet\n")


@pytest.mark.parametrize("double", DOUBLES)
def test_alone_it_is_a_job_of_one(charmrun: Path, double: str) -> None:
    done = subprocess.run([built(charmrun, double), str(ROUNDS)], env={}, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == said_by_all(1, "mapping: (vector,(0,1,1))")
