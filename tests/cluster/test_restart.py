# SPDX-License-Identifier: Apache-2.0
"""++on-failure restart: the program is started again as a whole, over the tree that is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from running import Factory, built, charm4py
from test_charm4py import PROGRAMS
from test_losses import rank
from vc_job import Job, kill, leftovers, pause
from vcluster import Cluster

STEPS = 60
RESULT = "result 1504366816"
AGAIN = "charmrun: restarting the job ({} of at most 10 times)"


def new_folder(hosts: Cluster) -> str:
    return hosts.run(0, ["mktemp", "-d", "/home/shared/data.XXXXXX"]).stdout.strip()


def persist(hosts: Cluster, charmrun: Path, processes: int, where: Sequence[int], *options: Any, pace: int = 20) -> Job:
    folder = new_folder(hosts)
    words = ["++on-failure", "restart", "++restart-args", "", f"+p{processes}", "++nodelist", hosts.nodelist([hosts.names[i] for i in where])]
    program = [built(charmrun, "persist"), folder, str(STEPS), str(pace)]
    job = Job(hosts, range(hosts.n), [charmrun, *words, *map(str, options), *program])
    job.until(step_file(job, 10).exists, "step 10")
    return job


def step_file(job: Job, step: int) -> Path:
    return job.cluster.path(0, f"{job.root.args[-3]}/0.{step}")


def everything_on(job: Job, host: int, command: str) -> None:
    for one in (*job.launchers(host), *(one for one in job.running(command) if one.host == host)):
        kill(one)


def check(job: Job, restarts: int, processes: int) -> None:
    assert job.wait() == 0, job.said()
    assert leftovers([job]) == []
    assert RESULT in job.out.splitlines(), job.said()
    assert AGAIN.format(restarts) in job.err and AGAIN.format(restarts + 1) not in job.err, job.said()
    starts = [line for line in job.out.splitlines() if f"of {processes} goes on from step" in line]
    assert len([line for line in starts if not line.endswith(" 0")]) >= processes, job.said()


@pytest.mark.parametrize("host", [2, 3], ids=["leaf", "inner"])
def test_a_killed_process_and_a_killed_host_cost_some_steps(
    cluster: Factory, charmrun: Path, host: int
) -> None:
    """Hosts 1 and 2 are below 0, and 4 below 3. The host lives, and is logged in to again."""
    hosts = cluster(5)
    job = persist(hosts, charmrun, 8, range(5), "++branching", 2, pace=60)
    kill(next(one for one in job.running("persist") if rank(one) == 3))
    job.until(lambda: AGAIN.format(1) in job.err, "the first restart")
    job.until(step_file(job, 30).exists, "step 30")
    everything_on(job, host, "persist")
    check(job, 2, 8)
    assert "process 3: killed by signal 9" in job.errors[0]
    assert job.errors[1].startswith(f"{hosts.names[host]}: run: "), job.said()


def test_a_spare_takes_the_place_of_a_host_that_is_gone(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(5)
    spare = ["++on-host-failure", "spare", "++spare-hosts", 1]
    job = persist(hosts, charmrun, 4, range(1, 5), *spare, "++orphan-after", 1)
    hosts.unplug(2)
    check(job, 1, 4)
    assert f"{hosts.names[2]}: not confirmed that the job has ended there" in job.err
    assert f"left out: {hosts.names[2]}: " in job.err


def test_a_job_is_narrowed_if_the_user_says_so(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(4)
    job = persist(hosts, charmrun, 6, range(1, 4), "++shrink-ok", "++fast-failover")
    hosts.unplug(2)
    check(job, 1, 4)
    assert "the job runs on 2 hosts, with 4 of 6 processes" in job.err
    assert "not confirmed" not in job.err


def test_without_enough_hosts_the_job_ends(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(4)
    job = persist(hosts, charmrun, 3, range(1, 4), "++fast-failover")
    hosts.unplug(2)
    assert job.wait() == 125, job.said()
    assert job.errors[-1] == (
        "2 of 3 hosts are left, the job needs 3; see ++spare-hosts and ++shrink-ok"
    ), job.said()
    assert not leftovers([job])


def test_a_launcher_that_is_too_slow_at_the_end_of_a_run_is_swept_and_started_again(
    cluster: Factory, charmrun: Path
) -> None:
    hosts = cluster(3)
    job = persist(hosts, charmrun, 6, range(3), "++grace", 0.2)
    os.kill(job.launcher(2).pid, signal.SIGSTOP)
    kill(next(one for one in job.running("persist") if rank(one) == 3))
    check(job, 1, 6)
    assert f"{hosts.names[2]}: not confirmed that the job has ended there; waiting at most 10 s" in job.err


PLAIN = """echo restart ${CHARMTREE_RESTARTS:-0} arguments $*
[ $CHARMTREE_PROCESS = 1 ] && exit 7
sleep 98765"""


def test_who_fails_at_once_is_restarted_no_more_than_allowed(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    options = ["++on-failure", "restart", "++max-restarts", "2", "++restart-args", "'+restart' 'my state'"]
    words = [charmrun, *options, "+p3", "++nodelist", hosts.nodelist(2), "sh", "-c", PLAIN, "sh"]
    job = Job(hosts, range(2), words)
    assert job.wait() == 7, job.said()
    assert not leftovers([job])
    assert job.err.count("process 1: exited with status 7") == 3
    assert job.errors[-1] == "the job is not restarted: there have been 2 restarts (++max-restarts)"
    lines = job.out.splitlines()
    assert lines[0] == "restart 0 arguments" and lines[-1] == "restart 2 arguments +restart my state", job.said()


def test_ctrl_c_ends_a_job_that_waits_for_its_restart(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    options = ["++on-failure", "restart", "++restart-args", "", "+p3"]
    words = [charmrun, *options, "++nodelist", hosts.nodelist(2), "sh", "-c", PLAIN, "sh"]
    job = Job(hosts, range(2), words)
    job.until(lambda: "restarting the job (4 of at most 10 times) in 4 s" in job.err, "a longer pause")
    pause(0.5)
    job.signal(signal.SIGINT)
    assert job.wait(3) == -signal.SIGINT, job.said()
    assert "charmrun: Interrupt: ending the job" in job.err
    assert not leftovers([job])


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, str]:
    return {}


@pytest.mark.parametrize("what", ["nothing", "process", "host"])
def test_charm4py_goes_on_from_its_files(
    cluster: Factory, charmrun: Path, what: str, undisturbed: dict[str, str]
) -> None:
    hosts = cluster(3)
    folder = new_folder(hosts)
    options = ["++on-failure", "restart", "+p6", "++nodelist", hosts.nodelist(3)]
    program = [charm4py(), PROGRAMS / "checkpoint.py", folder, "700"]
    hold = hosts.path(0, f"{folder}/hold")
    hold.touch()  # the program is still there when it is struck
    job = Job(hosts, range(3), [charmrun, *options, *program])
    job.until(hosts.path(0, f"{folder}/cell0.200").exists, "step 200")
    if what == "process":
        kill(next(one for one in job.running("python") if rank(one) == 3))
    elif what == "host":
        everything_on(job, 2, "python")
    hold.unlink()
    assert job.wait() == 0, job.said()
    assert (AGAIN.format(1) in job.err) == (what != "nothing"), job.said()
    starts = [int(line.split()[-1]) for line in job.out.splitlines() if line.startswith("from step")]
    assert starts[0] == 0 and (what == "nothing" or starts[1] >= 100), job.said()
    states = [line for line in job.out.splitlines() if line.startswith("state: ")]
    assert states == [undisturbed.setdefault("state", states[-1])], job.said()
    assert not leftovers([job])
