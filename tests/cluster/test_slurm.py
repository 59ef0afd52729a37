# SPDX-License-Identifier: Apache-2.0
"""Inside allocations of a real Slurm: the right hosts, the right counts, and an end that leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from running import NUMBER_AND_HOST, Factory, program_lines
from slurm import Slurm, slurm
from vc_faults import wait_until
from vc_job import patience
from vcluster import Cluster, Result

NODES = 4


@pytest.fixture
def hosts(cluster: Factory) -> Cluster:
    return cluster(10)


@pytest.fixture
def manager(hosts: Cluster) -> Iterator[Slurm]:
    with slurm(hosts, NODES) as running:
        yield running


def placed(done: Result) -> list[str]:
    assert done.returncode == 0, (done.stdout, done.stderr)
    return program_lines(done)


def test_salloc_gives_hosts_and_slots_without_a_host_option(manager: Slurm, charmrun: Path) -> None:
    def allocated(*words: str) -> list[str]:
        return placed(manager.run("salloc", "-Q", *words, charmrun, *NUMBER_AND_HOST))

    assert allocated("-N2", "-n3") == ["0 h01", "1 h01", "2 h02"]
    assert allocated("-N3") == ["0 h01", "1 h02", "2 h03"]
    assert allocated("-N2", "--ntasks-per-node=2", "-w", "h[02,04]") == ["0 h02", "1 h02", "2 h04", "3 h04"]
    assert allocated("-n1", ":", "-N2", "-n2") == ["0 h01", "1 h02", "2 h03"]  # a heterogeneous job
    assert manager.jobs() == []


def test_a_batch_job_runs_on_its_hosts_and_its_status_is_the_programs(hosts: Cluster, manager: Slurm, charmrun: Path) -> None:
    script = hosts.put(0, "/home/shared/slurm-job", f"#!/bin/sh\n{charmrun} sh -c '{NUMBER_AND_HOST[2]}; exit 3'\n", mode=0o755)
    done = manager.run("sbatch", "-W", "-N2", "--ntasks-per-node=2", "-o", "/home/shared/slurm-out", script)
    assert done.returncode == 3, (done.stdout, done.stderr)
    lines = hosts.path(0, "/home/shared/slurm-out").read_text().splitlines()
    assert sorted(line for line in lines if "charmrun" not in line) == [f"{i} h0{1 + i // 2}" for i in range(4)]
    assert any(" names the hosts, by $SLURM_JOB_NODELIST" in line for line in lines)


def test_a_step_has_its_own_hosts_and_several_charmruns_are_refused(manager: Slurm, charmrun: Path) -> None:
    step = ["salloc", "-Q", "-N2", "--ntasks-per-node=2", "srun", "--overlap", "-N1", "-w", "h02"]
    assert placed(manager.run(*step, "-n1", charmrun, *NUMBER_AND_HOST)) == ["0 h02"]
    assert placed(manager.run(*step, "-n1", charmrun, "++rm", "slurm-job", *NUMBER_AND_HOST)) == ["0 h01", "1 h02"]
    done = manager.run(*step, "-n2", charmrun, *NUMBER_AND_HOST)
    assert "srun has started 2 of this charmrun; start one: salloc or sbatch" in done.stderr


def test_scancel_ends_the_job_and_leaves_nothing(hosts: Cluster, manager: Slurm, charmrun: Path) -> None:
    script = hosts.put(0, "/home/shared/slurm-long", f"#!/bin/sh\nexec {charmrun} sleep 1000\n", mode=0o755)
    number = manager.run("sbatch", "--parsable", "-N3", "--ntasks-per-node=2", "-o", "/dev/null", script, check=True).stdout.strip()

    def sleeping() -> list[int]:
        return sorted(one.host for one in hosts.processes() if one.cmdline == "sleep 1000")

    assert wait_until(lambda: sleeping() == [1, 1, 2, 2, 3, 3], patience(60))
    manager.run("scancel", number, check=True)
    assert wait_until(lambda: sleeping() == [] and manager.jobs() == [], patience(60))
    # What is left now, but for Slurm itself, the fixture of all tests would find.
