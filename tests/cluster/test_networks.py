# SPDX-License-Identifier: Apache-2.0
"""Hosts with several networks: at which address processes are told to reach those of other hosts."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from running import Factory, built, charmrun_lines, double_lines, error_line, run
from vcluster import REPOSITORY, Cluster

_HOSTS = 4
_FAST = "10.7.0"  # on the same cables; its interface is another one on each host
_BRIDGE = "172.17.0.1"  # of containers: the same on every host
_TABLE = """
import sys
sys.path.insert(0, {modules!r})
import charmtree
with charmtree.Job() as job:
    job.register(b"x")
    job.table()
    if job.rank == 0:
        job.print(" ".join(job.lookup(rank).address for rank in range(job.size)) + "\\n")
    job.barrier()
"""


def interface(index: int) -> str:
    return f"ib{index % 2}"


@pytest.fixture
def hosts(fresh_cluster: Factory) -> Cluster:
    hosts = fresh_cluster(_HOSTS)
    for index in range(_HOSTS):
        for words in (
            ["link", "add", interface(index), "link", "eth0", "type", "macvlan", "mode", "bridge"],
            ["address", "add", f"{_FAST}.{index + 1}/24", "dev", interface(index)],
            ["link", "set", interface(index), "up"],
            ["link", "add", "docker0", "type", "bridge"],
            ["address", "add", f"{_BRIDGE}/16", "dev", "docker0"],
            ["link", "set", "docker0", "up"],
        ):
            hosts.exec_root(index, ["ip", *words], check=True)
    return hosts


@pytest.fixture
def table(hosts: Cluster, charmrun: Path) -> list[object]:
    """A program that prints its table's addresses."""
    library = charmrun.parents[1] / "client-lib"
    text = _TABLE.format(modules=str(REPOSITORY / "client-lib/python"))
    script = hosts.put(0, "/home/shared/table.py", text)
    return ["++env", f"LD_LIBRARY_PATH={library}", sys.executable, script]


def test_the_network_that_processes_use_can_be_chosen(
    hosts: Cluster, charmrun: Path, table: list[object]
) -> None:
    every = ["+p4", "++nodelist", hosts.nodelist(_HOSTS)]
    usual = [hosts.address(index) for index in range(_HOSTS)]
    fast = [f"{_FAST}.{index + 1}" for index in range(_HOSTS)]
    for words, addresses in (
        ([], usual),
        (["++subnet", f"{_FAST}.0/24"], fast),
        (["++iface", "eth0"], usual),
        (["++remote-shell", "ssh", "++subnet", f"{_FAST}.9/24"], fast),
    ):
        done = run(hosts, charmrun, *every, *words, *table)
        assert (done.returncode, done.stdout, done.stderr) == (0, " ".join(addresses) + "\n", ""), words
    # and processes of Charm++ reach each other there
    done = run(hosts, charmrun, *every, "++subnet", f"{_FAST}.0/24", built(charmrun, "charm_double"), "--prints", 1)
    assert done.returncode == 0 and sorted(double_lines(4, "print", 1)) == sorted(
        line for line in done.stdout.splitlines() if line.startswith("double")
    ), (done.stdout, done.stderr)


def test_a_host_that_is_not_in_the_network_is_named(hosts: Cluster, charmrun: Path) -> None:
    every = ["+p4", "++nodelist", hosts.nodelist(_HOSTS)]
    done = run(hosts, charmrun, *every, "++iface", "ib1", "hostname")
    assert done.returncode == 125 and not done.stdout, done.stdout
    lines = charmrun_lines(done)  # of whoever came first: h00, h02 or both
    for line in lines:
        assert re.match("error: h0[02]: .*no interface ib1 with an address is up .*: there are eth0 198", line), lines
        assert f"ib0 {_FAST}." in line and "++subnet ADDRESS/BITS chooses" in line, line
    assert 1 <= len(lines) <= 2, lines
    done = run(hosts, charmrun, *every, "++subnet", "192.0.2.0/24", "hostname")
    assert done.returncode == 125 and "no interface is in 192.0.2.0/24 (++subnet): there are " in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["++subnet", "10.7.0.0"], "'10.7.0.0' (++subnet) is no network; it looks like 192.0.2.0/24 or 2001:db8::/32"),
        (["++subnet", "10.7.0.0/33"], "'10.7.0.0/33' (++subnet) is no network"),
        (["++iface", "10.7.0.0/24"], "'10.7.0.0/24' (++iface) is no name of an interface; it looks like eth0"),
        (["++iface", "eth0", "++subnet", "10.7.0.0/24"], "++iface and ++subnet: each says it alone"),
    ],
)
def test_a_network_that_is_none_is_refused(cluster: Factory, charmrun: Path, words: list[str], why: str) -> None:
    assert error_line(run(cluster(2), charmrun, "+p2", "++host", "h00,h01", *words, "hostname")).startswith(why)


def test_bridges_of_containers_are_never_told(hosts: Cluster, charmrun: Path, table: list[object]) -> None:
    """Neither where launchers are no children of sshd, nor of the machine where charmrun runs."""
    unset = hosts.put(0, "/home/shared/rsh", '#!/bin/sh\nexec ssh "$1" "unset SSH_CONNECTION; $2"\n', mode=0o755)
    for words in (["++remote-shell", unset], []):
        done = run(hosts, charmrun, "+p4", "++nodelist", hosts.nodelist(_HOSTS), *words, *table)
        assert done.returncode == 0 and _BRIDGE not in done.stdout and len(done.stdout.split()) == 4, done.stdout
