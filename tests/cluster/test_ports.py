# SPDX-License-Identifier: Apache-2.0
"""Ports that launchers reserve for the processes of their hosts: they follow each other, and all can be reached by them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from running import Factory, built
from vc_job import Job, leftovers

HOSTS, EACH = 3, 4
PROCESSES = HOSTS * EACH


class Told(NamedTuple):
    rank: int
    host: int
    local_rank: int
    tcp: int
    udp: int
    restarts: int


def ports(job: Job) -> list[Told]:
    assert job.wait() == 0, job.said()
    assert leftovers([job]) == []
    told = sorted(Told(*map(int, line.split())) for line in job.out.splitlines())
    assert [one.rank for one in told] == list(range(PROCESSES)), job.said()
    return told


def check_rows(told: list[Told]) -> None:
    for host in range(HOSTS):
        here = [one for one in told if one.host == host]
        assert [one.local_rank for one in here] == list(range(EACH))
        for row in ([one.tcp for one in here], [one.udp for one in here]):
            assert row == list(range(row[0], row[0] + EACH))


def test_the_example_sends_to_each(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = Job(hosts, range(3), [charmrun, "++quiet", "+p7", "++nodelist", hosts.nodelist(3), built(charmrun, "alltoall")])
    assert job.wait() == 0, job.said()
    assert sorted(job.out.splitlines()) == [f"process {rank} heard 7 processes, their sum is 21" for rank in range(7)]


def test_the_processes_of_a_host_have_ports_in_a_row_and_all_reach_each_other(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(HOSTS)
    options = ["++quiet", "++branching", "1", f"+p{PROCESSES}", "++nodelist", hosts.nodelist(HOSTS)]
    told = ports(Job(hosts, range(HOSTS), [charmrun, *options, built(charmrun, "ports_double")]))
    check_rows(told)
    assert {one.tcp for one in told if one.local_rank == 0} == {told[0].tcp}  # on all hosts the same


def test_hosts_of_one_machine_have_each_a_row_of_its_own(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    told = ports(Job(hosts, range(1), [charmrun, "++quiet", "++hosts", str(HOSTS), f"+p{PROCESSES}", built(charmrun, "ports_double")]))
    check_rows(told)
    assert len({one.tcp for one in told}) == len({one.udp for one in told}) == PROCESSES


def test_a_process_that_is_started_again_has_its_port_again_and_is_reached_by_it(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(HOSTS)
    options = ["++quiet", "++on-failure", "restart", f"+p{PROCESSES}", "++nodelist", hosts.nodelist(HOSTS)]
    told = ports(Job(hosts, range(HOSTS), [charmrun, *options, built(charmrun, "ports_double"), "dies"]))
    check_rows(told)
    assert [one.restarts for one in told] == [0] * (PROCESSES - 1) + [1]
