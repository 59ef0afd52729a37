# SPDX-License-Identifier: Apache-2.0
"""CCS: clients of a running job are served, whatever others send to the port."""

from __future__ import annotations

import subprocess
from pathlib import Path

from running import PATIENCE_S, Factory, error_line, run
from served import CLIENT, FILE, GETINFO, SERVER, Served

EMPTY = ""


def test_clients_of_a_running_job_are_served(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = Served(hosts, charmrun, "++server")
    assert job.head[:-1] == ["Charmrun> scalable start enabled. \n", "ccs: 2\n"]
    asked = ["ccs_getinfo", 0, "ccs_getinfo", 3, "ccs_getinfo", 4, "nosuch", 1]
    assert job.ask(*asked) == [GETINFO, GETINFO, EMPTY, EMPTY]
    assert job.ask("ccs_getinfo", 2, "ccs_getinfo.", 1, where=2, address=job.address) == [GETINFO, GETINFO]
    assert job.ask("ccs_getinfo.", 0, "ccs_getinfo.", 3) == [GETINFO, GETINFO]
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


def test_the_output_is_fetched_by_who_has_asked_for_it(cluster: Factory, charmrun: Path) -> None:
    job = Served(cluster(3), charmrun, "++server", program=(SERVER, FILE))
    job.serves()
    redirected, *fetched = (bytes.fromhex(one) for one in job.ask("redirect stdio", 0, *["fetch stdio", 0] * 3))
    assert redirected == b"" and all(one.endswith(b"\n\0") for one in fetched), fetched
    lines = b"".join(one[:-1] for one in fetched).decode().splitlines()
    first = int(lines[0].removeprefix("line "))
    assert lines == [f"line {number}" for number in range(first, first + len(lines))]
    shown = job.end().splitlines()
    assert shown[first : first + len(lines)] == lines


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
