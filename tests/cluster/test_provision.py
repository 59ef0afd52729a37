# SPDX-License-Identifier: Apache-2.0
"""Processes counted by the processors of their hosts, and bound to them.

All virtual hosts have this machine's processors. A host that is to have others gets hwloc's own variable
from its sshd; there nothing can be bound.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from running import (
    HELLO,
    Factory,
    assert_good,
    built,
    charm4py,
    charmrun_lines,
    double_lines,
    error_line,
    hello_lines,
    program_lines,
    run,
)
from vcluster import Cluster

_PUS = sorted(os.sched_getaffinity(0))
_DUAL, _SMALL = "pack:2 core:2 pu:2", "pack:1 core:3 pu:1"
_HINTS = ["sh", "-c", "echo $CHARMTREE_PROCESS $(hostname) $(env | grep ^Cmi | sort | tr '\\n' ' ')"]
_ALLOWED = [
    "sh",
    "-c",
    "echo $CHARMTREE_PROCESS $(grep Cpus_allowed_list /proc/self/status | cut -f2)",
]
_AFFINITY = """import os
from charm4py import charm, Chare, Group
class Teller(Chare):
    def tell(self):
        return (charm.myPe(), *sorted(os.sched_getaffinity(0)))
def main(args):
    tellers = Group(Teller)
    for pe in range(charm.numPes()):
        print("affinity", *tellers[pe].tell(ret=True).get())
    charm.exit()
charm.start(main)
"""


def _give(hosts: Cluster, host: int, topology: str) -> None:
    hosts.sshd(host, {"SetEnv": f'HWLOC_SYNTHETIC="{topology}"'})


def _numbers(text: str) -> list[int]:
    """The numbers in "0-2,5"."""
    ends = [part.split("-") for part in text.split(",")]
    return [number for part in ends for number in range(int(part[0]), int(part[-1]) + 1)]


def _cores() -> list[list[int]]:
    """The PUs that we may use of each core of this machine, in its order."""
    cores: list[list[int]] = []
    for pu in _PUS:
        path = Path(f"/sys/devices/system/cpu/cpu{pu}/topology/thread_siblings_list")
        core = [each for each in _numbers(path.read_text(encoding="ascii")) if each in _PUS]
        if core not in cores:
            cores.append(core)
    return cores


@pytest.fixture
def mixed(fresh_cluster: Factory) -> Cluster:
    """h01 has two sockets of two cores of two PUs, h02 one of three cores, h03 what this machine has."""
    hosts = fresh_cluster(4)
    _give(hosts, 1, _DUAL)
    _give(hosts, 2, _SMALL)
    return hosts


def test_hosts_that_differ_get_as_many_processes_as_they_have_pus(mixed: Cluster, charmrun: Path) -> None:
    done = run(mixed, charmrun, "++processPerPU", 1, "++nodelist", mixed.nodelist([1, 2, 3]), *_HINTS)
    assert done.returncode == 0, done.stderr
    places = sorted((int(number), rest) for number, _, rest in (s.partition(" ") for s in program_lines(done)))
    hosts = ["h01"] * 8 + ["h02"] * 3 + ["h03"] * len(_PUS)
    assert [(i, f"{host} CmiProcessPerPU=1") for i, host in enumerate(hosts)] == places
    assert done.stderr == ""


def test_worker_threads_are_counted_and_reach_the_table(mixed: Cluster, charmrun: Path) -> None:
    double = built(charmrun, "charm_double")
    # h01: four workers in two processes; h02: two, the third core is for its process's communication.
    words = ["++processPerSocket", 1, "++oneWthPerCore", "++nodelist", mixed.nodelist([1, 2])]
    done = run(mixed, charmrun, *words, double, "--smp", 2, "--prints", 1)
    assert_good(done, double_lines(3, "print", 1))
    auto = ["++auto-provision", "++smp", "++nodelist", mixed.nodelist([1, 2])]
    refused = error_line(run(mixed, charmrun, *auto, double))
    assert "different numbers of PEs (h01: 3, h02: 2); Charm++ needs as many in each" in refused


def test_pxshm_needs_as_many_processes_on_every_host(mixed: Cluster, charmrun: Path) -> None:
    texts = '"Error parsing NETSTART", "Running in non-SMP mode", "pxshm must be run"'
    source = f"const char* const texts[] = {{{texts}}}; int main(int n, char** w) {{ return *w == texts[n]; }}"
    program = "/home/shared/pxshm"
    compile_it = ["cc", "-x", "c", "-", "-o", str(mixed.path(0, program))]
    subprocess.run(compile_it, input=source, text=True, check=True, timeout=60)
    words = ["++processPerCore", 1, "++nodelist", mixed.nodelist([1, 2]), program]
    refused = error_line(run(mixed, charmrun, *words))
    assert "hosts would get different numbers of processes (h01: 4, h02: 3)" in refused


def test_drop_counts_the_hosts_that_are_left(mixed: Cluster, charmrun: Path) -> None:
    mixed.no_sshd(3)
    words = ["++processPerCore", 1, "++on-host-failure", "drop", "++nodelist", mixed.nodelist([1, 2, 3])]
    done = run(mixed, charmrun, *words, *_HINTS)
    assert done.returncode == 0, done.stderr
    assert len(program_lines(done)) == 4 + 3
    assert "the job runs on 2 hosts, with 7 processes" in charmrun_lines(done)


def test_charm4py_with_processes_per_host(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    words = ["++processPerHost", 2, "++nodelist", hosts.nodelist(3), charm4py(), HELLO]
    done = run(hosts, charmrun, *words, timeout=400)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    pes, machines, other = hello_lines(done)
    assert (pes, machines) == (list(range(6)), 3)
    assert other[-1] == "sum of all PE numbers: 15 (right)"


def test_processes_are_bound_to_cores_before_they_begin(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    cores = _cores()
    each = len(cores) + 1
    words = [f"+p{2 * each}", "++bind", "core", "++report-bindings", "++nodelist", hosts.nodelist(2)]
    done = run(hosts, charmrun, *words, *_ALLOWED)
    assert done.returncode == 0, done.stderr
    allowed = {int(line.split()[0]): _numbers(line.split()[1]) for line in program_lines(done)}
    assert allowed == {number: cores[number % each % len(cores)] for number in range(2 * each)}
    said = charmrun_lines(done)
    assert len(said) == 2  # the last process of a host is on the first core again
    assert said[1].startswith(f"h[00-01]: processes {each - 1},{2 * each - 1}: core 0 (PU")


def test_charm4py_binds_itself_as_is_said(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    script = hosts.put(0, "/home/shared/affinity.py", _AFFINITY)
    options = ["++processPerPU", 1, "++report-bindings", "++nodelist", hosts.nodelist(2)]
    done = run(hosts, charmrun, *options, charm4py(), script, timeout=400)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    told = sorted(line.split()[1:] for line in program_lines(done) if line.startswith("affinity "))
    assert told == sorted([str(pe), str(_PUS[pe % len(_PUS)])] for pe in range(2 * len(_PUS)))
    (said,) = charmrun_lines(done)
    assert said.endswith(", as Charm++ programs bind themselves")


def test_what_a_launcher_may_not_use_is_not_counted(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    one = ["taskset", "-c", str(_PUS[-1]), charmrun, "++local", "++report-bindings"]
    done = hosts.run(0, [*one, "++processPerPU", "2", "++bind", "socket", *_ALLOWED])
    assert done.returncode == 0, done.stderr
    assert program_lines(done) == [f"0 {_PUS[-1]}", f"1 {_PUS[-1]}"]
    assert charmrun_lines(done)[0] == f"h00: process 0: socket 0 (PU {_PUS[-1]})"


def test_a_plan_of_this_machine_is_exact(cluster: Factory, charmrun: Path) -> None:
    done = run(cluster(1), charmrun, "++plan", "++local", "++processPerPU", 1)
    assert done.returncode == 0, done.stderr
    assert f"process{'es' if len(_PUS) > 1 else ''} on the host; 1 PE in each process" in done.stdout
    assert f"{len(_PUS)} PU" in done.stdout
