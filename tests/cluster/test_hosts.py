# SPDX-License-Identifier: Apache-2.0
"""Which hosts a job runs on: files of other launchers and batch systems, ++host and ++exclude, allocations by their variables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from running import NUMBER_AND_HOST, Factory, assert_good, built, charmrun_lines, error_line, program_lines, run
from vcluster import Cluster

SHARED = "/home/shared"
# All say: two processes on h01, one on h02.
FILES = {
    "charm": "group main\n  host h01 ++slots 2\n  host h02 slots 1\n",
    "mpich": "# ours\nh01:2\nh02\n",
    "openmpi": "h01 slots = 2 max_slots=4 // big\nh02 slots=1\n",
    "slurm": "h01,h[01-02]\n",
    "pbs": "h01\nh02\nh01\n",
    "lsf": "h01 2 h02 1\n",
    "sge": "h01 1 all.q@h01 UNDEFINED\nh02 1 all.q@h02 <NULL>\nh01 1 long.q@h01 UNDEFINED\n",
}
PLACED = ["0 h01", "1 h01", "2 h02"]
GROUPS = "group main\n host h[01-04]\ngroup big\n host h03 ++slots 2\n host h04\n"


def placed(hosts: Cluster, charmrun: Path, *words: Any, **options: Any) -> list[str]:
    """Number and host of each process, of a job that is good."""
    done = run(hosts, charmrun, *words, *NUMBER_AND_HOST, **options)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return program_lines(done)


@pytest.mark.parametrize("kind", FILES)
def test_the_same_job_by_any_file_of_hosts(cluster: Factory, charmrun: Path, kind: str) -> None:
    hosts = cluster(10)
    path = hosts.put(0, f"{SHARED}/hosts-{kind}", FILES[kind])
    assert placed(hosts, charmrun, "++nodelist", path) == PLACED
    assert placed(hosts, charmrun, "-n", 2, "--hostfile", path) == PLACED[:2]
    assert placed(hosts, charmrun, "+p5", "++nodelist", "-", stdin=FILES[kind]) == ["0 h01", "1 h01", "2 h01", "3 h01", "4 h02"]


def test_a_mistake_in_a_file_of_hosts_is_shown_at_its_place(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    for text, place, what in (
        ("h01:2\nh02:many\n", "2:5", "a number of slots belongs behind the ':'"),
        ("h01 slots=2\nh02:1\n", "2:1", "this line is of MPICH's kind"),
        ("h01\n h02 colour=red\n", "2:6", "'colour=red' is not understood behind a host"),
        ("h[01-\n", "1:6", "the range has no upper end"),
        ("h01 2 h02\n", "1:7", "a number of slots is missing behind 'h02'"),
        ("h01 2 all.q@h01 UNDEFINED more\n", "1:27", "more words than in a line of SGE's"),
        ("group main\n host h01 slots many\n", "2:17", "slots needs a whole number"),
    ):
        path = hosts.put(0, f"{SHARED}/hosts-wrong", text)
        done = run(hosts, charmrun, "++nodelist", path, "true")
        assert done.returncode == 125
        assert done.stderr.startswith(f"charmrun: error: {path}:{place}: {what}"), done.stderr
        assert len(done.stderr.splitlines()) == 3  # with the line and a caret
    done = run(hosts, charmrun, "++host", "h01,h02[", "true")
    assert done.stderr.startswith("charmrun: error: ++host:1:9: a range needs numbers")
    assert error_line(run(hosts, charmrun, "++exclude", "h01", "true")).startswith("++exclude: there is no list of hosts")


def test_hosts_are_chosen_by_sets_with_what_the_nodelist_says_of_them(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    listed = ["++nodelist", hosts.put(0, f"{SHARED}/hosts-groups", GROUPS)]
    assert placed(hosts, charmrun, "++host", "h02,h05:2") == ["0 h02", "1 h05", "2 h05"]
    assert placed(hosts, charmrun, *listed, "++exclude", "h[01-02],h09") == ["0 h03", "1 h04"]
    assert placed(hosts, charmrun, *listed, "++host", "@big,h01!h04") == ["0 h03", "1 h03", "2 h01"]
    assert placed(hosts, charmrun, *listed, "++host", "@main&h[03-07]", "+p2") == ["0 h03", "1 h04"]
    done = run(hosts, charmrun, *listed, "++host", "@huge", "true")
    assert "++host:1:1: " in done.stderr and "groups with hosts: main (4 hosts), big (2 hosts)" in done.stderr


def test_without_a_number_plain_programs_run_once_on_each_host_and_charm_once(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    listed = ["++nodelist", hosts.nodelist(range(1, 4))]
    assert placed(hosts, charmrun, *listed) == ["0 h01", "1 h02", "2 h03"]
    assert placed(hosts, charmrun, *listed, "++numHosts", 2) == ["0 h01", "1 h02"]
    done = run(hosts, charmrun, *listed, built(charmrun, "charm_double"))
    assert_good(done, ["double: ok 1 processes"], said="charmrun: no number of processes was given (+p or ++n): starting 1\n")
    done = run(hosts, charmrun, "++host", "h01:2,h02", built(charmrun, "charm_double"))
    assert_good(done, ["double: ok 3 processes"])
    assert placed(hosts, charmrun, *listed, "-n", 5, "-ppn", 2) == ["0 h01", "1 h01", "2 h02", "3 h02", "4 h03"]


def test_a_session_keeps_the_hosts_that_were_chosen(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    listed = hosts.put(0, f"{SHARED}/hosts-session", "h01:2\nh02\nh03\n")
    done = run(hosts, charmrun, "++session", "++background", "++nodelist", listed, "++exclude", "h02")
    assert done.returncode == 0, done.stderr
    try:
        assert placed(hosts, charmrun, "++in") == ["0 h01", "1 h01", "2 h03"]
    finally:
        assert run(hosts, charmrun, "++end").returncode == 0


SLURM = {"SLURM_JOB_ID": "42", "SLURM_JOB_NODELIST": "h[01-02]", "SLURM_NTASKS": "3", "SLURM_TASKS_PER_NODE": "2,1"}


@pytest.mark.parametrize(
    ("variables", "manager"),
    [
        (SLURM, "Slurm job 42"),
        ({"PBS_JOBID": "42.h00", "PBS_NODEFILE": f"{SHARED}/given-pbs"}, "PBS job 42.h00"),
        ({"LSB_JOBID": "42", "LSB_MCPU_HOSTS": "h01 2 h02 1"}, "LSF job 42"),
        ({"JOB_ID": "42", "PE_HOSTFILE": f"{SHARED}/given-sge"}, "Grid Engine job 42"),
        ({"OAR_JOB_ID": "42", "OAR_NODEFILE": f"{SHARED}/given-pbs"}, "OAR job 42"),
        ({"K_MPI_JOB_ROLE": "launcher", "OMPI_MCA_orte_default_hostfile": f"{SHARED}/given-mpich"}, "Kubernetes, role launcher"),
    ],
    ids=["slurm", "pbs", "lsf", "sge", "oar", "kubernetes"],
)
def test_in_an_allocation_its_hosts_are_used(cluster: Factory, charmrun: Path, variables: dict[str, str], manager: str) -> None:
    hosts = cluster(10)
    for kind in ("pbs", "sge", "mpich"):
        hosts.put(0, f"{SHARED}/given-{kind}", FILES[kind])
    batch = {"where": 1, "env": variables, "cwd": SHARED}  # as the batch systems start a script: on the first host
    ssh = ["++transport", "ssh"]  # there is no Slurm
    done = run(hosts, charmrun, *ssh, *NUMBER_AND_HOST, **batch)
    assert program_lines(done) == PLACED, done.stderr
    assert [line.split(" names the hosts, by ")[0] for line in charmrun_lines(done)] == [manager]
    assert placed(hosts, charmrun, *ssh, "+p2", "++exclude", "h01", **batch) == ["0 h02", "1 h02"]
    assert placed(hosts, charmrun, "++rm", "none", **batch) == ["0 h01"]
    assert placed(hosts, charmrun, "++nodelist", hosts.nodelist([3]), **batch) == ["0 h03"]


def test_allocations_that_contradict_are_named(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    pbs = hosts.put(0, f"{SHARED}/given-pbs", FILES["pbs"])
    both = {**SLURM, "PBS_JOBID": "7", "PBS_NODEFILE": pbs}
    done = run(hosts, charmrun, "true", where=1, env=both)
    assert error_line(done).startswith("we are in Slurm job 42 and in PBS job 7; choose one by ++rm")
    assert placed(hosts, charmrun, "++rm", "pbs", where=1, env=both) == PLACED
    done = run(hosts, charmrun, "true", env={**SLURM, "SLURM_TASKS_PER_NODE": "2"})
    assert re.match(r"Slurm's environment contradicts itself: 2 hosts in \$SLURM_JOB_NODELIST", error_line(done))
    # Variables that came along with a login: this is none of its hosts. Or its list has other names for them.
    done = run(hosts, charmrun, *NUMBER_AND_HOST, where=5, env={"PBS_JOBID": "7", "PBS_NODEFILE": pbs})
    assert program_lines(done) == ["0 h05"]
    assert charmrun_lines(done)[0].startswith(f"not used: PBS job 7: {pbs} does not name this machine (++rm pbs uses it"), done
    assert placed(hosts, charmrun, "++rm", "pbs", where=5, env={"PBS_JOBID": "7", "PBS_NODEFILE": pbs}) == PLACED
