# SPDX-License-Identifier: Apache-2.0
"""Hosts that fail, are late or busy at the launch, and what the user wants done about them."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from running import NUMBER_AND_HOST, Factory, charmrun_lines, error_line, program_lines, run

_TREES = ([], ["++branching", "3"])


def _numbers_by_host(lines: list[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for number, host in sorted((int(line.split()[0]), line.split()[1]) for line in lines):
        places.setdefault(host, []).append(number)
    return places


@pytest.mark.parametrize("tree", _TREES, ids=["pool", "static"])
def test_drop_runs_on_the_hosts_that_are_left(fresh_cluster: Factory, charmrun: Path, tree: list[str]) -> None:
    hosts = fresh_cluster(12)
    for dead in (1, 6):
        hosts.drop(dead)
    hosts.no_sshd(9)
    options = [*tree, "++on-host-failure", "drop", "++nodelist", hosts.nodelist(range(12))]
    done = run(hosts, charmrun, "+p24", *options, *NUMBER_AND_HOST)
    assert done.returncode == 0, done.stderr
    living = [hosts.names[i] for i in range(12) if i not in (1, 6, 9)]
    expected = {host: [2 * i, 2 * i + 1] for i, host in enumerate(living)}
    assert _numbers_by_host(program_lines(done)) == expected
    said = charmrun_lines(done)
    assert "left out: h[01,06]: connect: silent for too long; see ++host-patience (2 hosts)" in said
    assert any(re.match(r"left out: h09: connect: connection refused", line) for line in said)
    assert "the job runs on 9 hosts, with 18 of 24 processes" in said
    assert said[-1] == "the program ran without 3 of 12 hosts: h[01,06,09] (++on-host-failure drop)"


def test_spares_take_the_places_of_dead_hosts(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(9)
    hosts.drop(2)
    hosts.no_sshd(4)
    options = ["++on-host-failure", "spare", "++spare-hosts", "3", "++nodelist", hosts.nodelist(range(9))]
    done = run(hosts, charmrun, "+p12", *options, *NUMBER_AND_HOST)
    assert done.returncode == 0, done.stderr
    expected = {hosts.names[host]: [2 * i, 2 * i + 1] for i, host in enumerate((0, 1, 3, 5, 6, 7))}
    assert _numbers_by_host(program_lines(done)) == expected


def test_too_few_spares_end_the_job(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(4)
    for host in (1, 2):
        hosts.no_sshd(host)
    options = ["++on-host-failure", "spare", "++spare-hosts", "1", "++nodelist", hosts.nodelist(range(4))]
    done = run(hosts, charmrun, "+p3", *options, *NUMBER_AND_HOST)
    assert done.returncode == 125
    assert done.stdout == ""
    said = charmrun_lines(done)
    assert any(line.startswith("error: h[01-02]: connect: connection refused") for line in said), said
    assert "error: 2 of 4 hosts are left, the job needs 3; see ++spare-hosts" in said


def test_hosts_that_come_up_late_are_waited_for(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(5)
    hosts.no_sshd(3)
    late = threading.Timer(6.0, lambda: hosts.sshd(3))
    late.start()
    began = time.monotonic()
    try:
        options = ["++wait-hosts", "90", "++nodelist", hosts.nodelist(range(5))]
        done = run(hosts, charmrun, "+p5", *options, *NUMBER_AND_HOST)
    finally:
        late.join()
    assert done.returncode == 0, done.stderr
    assert len(_numbers_by_host(program_lines(done))) == 5
    assert time.monotonic() - began > 6.0


@pytest.mark.parametrize("tree", _TREES, ids=["pool", "static"])
def test_a_touchy_sshd_with_eight_names_is_not_fed_too_many_logins(
    fresh_cluster: Factory, charmrun: Path, tree: list[str]
) -> None:
    hosts = fresh_cluster(4)
    names = [f"alias{i}" for i in range(8)]
    block = "".join(f"Host {name}\n HostName {hosts.address(2)}\n HostKeyAlias h02\n" for name in names)
    hosts.ssh_config(block)
    for host in range(4):
        hosts.sshd(host, {"MaxStartups": "2:50:5"})
    nodes = hosts.nodelist([0, 1, *names, 3])
    for _ in range(3):
        done = run(hosts, charmrun, "+p11", *tree, "++nodelist", nodes, *NUMBER_AND_HOST)
        assert done.returncode == 0, done.stderr
        places = Counter(line.split()[1] for line in program_lines(done))
        assert places == {"h00": 1, "h01": 1, "h02": 8, "h03": 1}


def test_nothing_runs_where_a_host_is_bad(fresh_cluster: Factory, charmrun: Path) -> None:
    """Neither if it lacks the program, nor if it cannot be logged in to."""
    hosts = fresh_cluster(4, own=[2])
    hosts.put(0, "/home/ctuser/app", "#!/bin/sh\nhostname\n", mode=0o755)
    options = ["+p4", "++nodelist", hosts.nodelist(range(4))]
    done = run(hosts, charmrun, *options, "./app")
    assert (done.returncode, done.stdout) == (127, "")
    assert error_line(done, 127).startswith("h02: spawn: /home/ctuser/app: no such file")
    hosts.no_sshd(3)
    done = run(hosts, charmrun, *options, "hostname")
    assert (done.returncode, done.stdout) == (125, "")
    assert error_line(done).startswith("h03: connect: connection refused")
    early = run(hosts, charmrun, "++start-early", *options, "hostname")  # the others may have run
    assert error_line(early).startswith("h03: connect: connection refused")


def test_drop_does_without_a_host_that_lacks_the_program(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(4, own=[2])
    script = "#!/bin/sh\necho $CHARMTREE_PROCESS $(hostname)\n"
    hosts.put(0, "/home/ctuser/app", script, mode=0o755)
    options = ["++on-host-failure", "drop", "++nodelist", hosts.nodelist(range(4))]
    done = run(hosts, charmrun, "+p4", *options, "./app")
    assert done.returncode == 0, done.stderr
    assert sorted(_numbers_by_host(program_lines(done))) == ["h00", "h01", "h03"]
    assert any(line.startswith("left out: h02: spawn: /home/ctuser/app: no such file") for line in charmrun_lines(done))
