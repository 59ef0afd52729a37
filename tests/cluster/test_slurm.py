# SPDX-License-Identifier: Apache-2.0
"""Inside allocations of a real Slurm: the right hosts, the right counts, and an end that leaves nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from running import NUMBER_AND_HOST, Factory, program_lines
from slurm import Slurm, slurm
from vc_faults import wait_until
from vc_job import patience
from vcluster import Cluster, Process, Result

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


@pytest.mark.parametrize("transport", ["auto", "ssh", "srun"])
def test_salloc_gives_hosts_and_slots_without_a_host_option(manager: Slurm, charmrun: Path, transport: str) -> None:
    def allocated(*words: str) -> list[str]:
        return placed(manager.run("salloc", "-Q", *words, charmrun, "++transport", transport, *NUMBER_AND_HOST))

    assert allocated("-N2", "-n3", "-w", "h[01-02]") == ["0 h01", "1 h01", "2 h02"]
    assert allocated("-w", "h[01-03]") == ["0 h01", "1 h02", "2 h03"]
    assert allocated("--ntasks-per-node=2", "-w", "h[02,04]") == ["0 h02", "1 h02", "2 h04", "3 h04"]
    if transport != "srun":  # one srun does not reach all parts
        assert allocated("-n1", "-w", "h01", ":", "-N2", "-n2", "-w", "h[02-03]") == ["0 h01", "1 h02", "2 h03"]  # a heterogeneous job
    assert wait_until(lambda: manager.jobs() == [], patience(60))


def test_a_batch_job_runs_on_its_hosts_and_its_status_is_the_programs(hosts: Cluster, manager: Slurm, charmrun: Path) -> None:
    script = hosts.put(0, "/home/shared/slurm-job", f"#!/bin/sh\n{charmrun} sh -c '{NUMBER_AND_HOST[2]}; exit 3'\n", mode=0o755)
    done = manager.run("sbatch", "-W", "-w", "h[01-02]", "--ntasks-per-node=2", "-o", "/home/shared/slurm-out", script)
    assert done.returncode == 3, (done.stdout, done.stderr)
    lines = hosts.path(0, "/home/shared/slurm-out").read_text().splitlines()
    assert sorted(line for line in lines if "charmrun" not in line) == [f"{i} h0{1 + i // 2}" for i in range(4)]
    assert any(" names the hosts, by $SLURM_JOB_NODELIST" in line for line in lines)


def test_a_step_has_its_own_hosts_and_several_charmruns_are_refused(manager: Slurm, charmrun: Path) -> None:
    step = ["salloc", "-Q", "-w", "h[01-02]", "--ntasks-per-node=2", "srun", "--overlap", "-N1", "-w", "h02"]
    assert placed(manager.run(*step, "-n1", charmrun, *NUMBER_AND_HOST)) == ["0 h02"]
    assert placed(manager.run(*step, "-n1", charmrun, "++rm", "slurm-job", *NUMBER_AND_HOST)) == ["0 h01", "1 h02"]
    done = manager.run(*step, "-n2", charmrun, *NUMBER_AND_HOST)
    assert "srun has started 2 of this charmrun; start one: salloc or sbatch" in done.stderr


@pytest.mark.parametrize("transport", ["ssh", "srun"])
def test_scancel_ends_the_job_and_leaves_nothing(hosts: Cluster, manager: Slurm, charmrun: Path, transport: str) -> None:
    text = f"#!/bin/sh\nexec {charmrun} ++transport {transport} sleep 1000\n"
    script = hosts.put(0, "/home/shared/slurm-long", text, mode=0o755)
    number = manager.run("sbatch", "--parsable", "-w", "h[01-03]", "--ntasks-per-node=2", "-o", "/dev/null", script, check=True).stdout.strip()

    def sleeping() -> list[int]:
        return sorted(one.host for one in hosts.processes() if one.cmdline == "sleep 1000")

    assert wait_until(lambda: sleeping() == [1, 1, 2, 2, 3, 3], patience(60))
    steps = manager.run("squeue", "-h", "-s", "-o", "%i", check=True).stdout.split()
    by_srun = {f"{number}.{i}" for i in range(2)}  # of the two hosts on which charmrun is not
    assert set(steps) & by_srun == (by_srun if transport == "srun" else set()), steps
    manager.run("scancel", number, check=True)
    assert wait_until(lambda: sleeping() == [] and manager.jobs() == [], patience(60))
    # What is left now, but for Slurm itself, the fixture of all tests would find.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_root_that_is_killed_leaves_nothing_on_hosts_that_srun_started(
    hosts: Cluster, manager: Slurm, charmrun: Path, number: int
) -> None:
    job = manager.popen("salloc", "-Q", "-N3", "sh", "-c", f"{charmrun} sleep 1000; true")

    def running(command: str) -> list[Process]:
        return [one for one in hosts.processes() if one.cmdline == command]

    assert wait_until(lambda: len(running("sleep 1000")) == 3, patience(60))
    [root] = [one for one in running(f"{charmrun} sleep 1000") if one.host == 0]
    os.kill(root.pid, number)
    assert wait_until(lambda: running("sleep 1000") == [], patience(60))
    job.communicate(timeout=patience(60))
    assert wait_until(lambda: manager.jobs() == [], patience(60))


def test_the_status_and_the_words_of_a_program_that_srun_started(manager: Slurm, charmrun: Path) -> None:
    done = manager.run("salloc", "-Q", "-N3", charmrun, "++kill-on-exit", "sh", "-c", "exit $((3 * CHARMTREE_PROCESS))")
    assert done.returncode in {3, 6}, done.stderr
    done = manager.run("salloc", "-Q", "-N2", charmrun, "++launcher", "/no/charmrun", "true")
    assert done.returncode == 125 and "/no/charmrun" in done.stderr, done.stderr
    done = manager.run("salloc", "-Q", "-N3", charmrun, "++stdin", "all", "cat", stdin="a line\n" * 1000 + "the end")
    assert done.returncode == 0 and done.stdout.count("a line\n") == 3000 and done.stdout.count("the end") == 3
