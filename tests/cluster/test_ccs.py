# SPDX-License-Identifier: Apache-2.0
"""CCS: clients of a running job are served, whatever others send to the port."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path
from typing import Any

from running import PATIENCE_S, Factory, charm4py, command, error_line, run
from vcluster import REPOSITORY, Cluster

CLIENT = REPOSITORY / "tests/cluster/ccs_client.py"
UNTIL = REPOSITORY / "tests/cluster/charm4py/until.py"
GETINFO = struct.pack(">5I", 4, 1, 1, 1, 1).hex()  # 4 processes of 1 PE
EMPTY = ""


class Served:
    """A job of 2 processes on each of 2 hosts with a CCS port, on host 0; ends when its file is made."""

    def __init__(self, hosts: Cluster, charmrun: Path, *options: Any) -> None:
        self.hosts = hosts
        self.file = hosts.path(0, "/home/shared") / "over"
        self.file.unlink(missing_ok=True)
        words = ["+p4", "++nodelist", hosts.nodelist(2), "++branching", 1, *options, charm4py(), UNTIL, "/home/shared/over"]
        self.child = hosts.popen(
            0, command(charmrun, *words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.child.stdout
        self.head = [self.child.stdout.readline()]
        while not self.head[-1].startswith("ccs: S") and len(self.head) < 3:
            self.head.append(self.child.stdout.readline())
        match = re.fullmatch(r"ccs: Server IP = ([\d.]+), Server port = (\d+) \$\n", self.head[-1])
        assert match, self.head
        self.address, self.port = match[1], int(match[2])

    def ask(self, *requests: Any, where: int = 0, address: str = "127.0.0.1") -> list[str]:
        argv = ["/usr/bin/python3", str(CLIENT), address, str(self.port), *map(str, requests)]
        return self.hosts.run(where, argv, timeout=PATIENCE_S).stdout.splitlines()

    def end(self) -> str:
        self.file.touch()
        text, _ = self.child.communicate(timeout=PATIENCE_S)
        assert self.child.returncode == 0, text
        return text


def test_clients_of_a_running_job_are_served(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = Served(hosts, charmrun, "++server")
    assert job.head[:-1] == ["Charmrun> scalable start enabled. \n", "ccs: 2\n"]
    asked = ["ccs_getinfo", 0, "ccs_getinfo", 3, "ccs_getinfo", 4, "nosuch", 1]
    assert job.ask(*asked) == [GETINFO, GETINFO, EMPTY, EMPTY]
    assert job.ask("ccs_getinfo", 2, where=2, address=job.address) == [GETINFO]
    # a process on another host reaches a client that came in through loopback
    client = hosts.popen(
        0,
        ["/usr/bin/python3", str(CLIENT), "127.0.0.1", str(job.port), "ccs_killport", "3"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdout and client.stdout.readline() == "\n"
    text = job.end()
    assert client.communicate(timeout=PATIENCE_S)[0] == "b'die\\n\\x00'\n"
    assert "CCS client 127.0.0.1 asked for PE 4; the job has 4: refused" in text


def test_a_private_port_is_reached_from_its_machine_alone(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = Served(hosts, charmrun, "++server-host", "127.0.0.1", "++quiet")
    assert (job.address, job.head[0]) == ("127.0.0.1", "ccs: 2\n")
    assert job.ask("ccs_getinfo", 1) == [GETINFO]
    assert job.ask("ccs_getinfo", 1, where=2, address=hosts.address(0)) == []
    job.end()


def test_a_port_that_is_taken_or_no_address_of_ours_is_told(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    taken = hosts.popen(
        0,
        ["/usr/bin/python3", "-c", "import socket as s; l = s.create_server(('', 7777)); print(1, flush=True); l.accept()"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert taken.stdout and taken.stdout.readline()
        done = run(hosts, charmrun, "++local", "++server-port", "7777", "true")
        assert "port 7777: Address already in use; ++server-port" in error_line(done)
    finally:
        taken.kill()
        taken.communicate()
    done = run(hosts, charmrun, "++local", "++server-host", "192.0.2.77", "true")
    assert "is no IPv4 address of this machine" in error_line(done)
