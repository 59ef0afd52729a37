# SPDX-License-Identifier: Apache-2.0
"""CCS clients that are slow, broken or hostile: a job with an unmodified Charm++ runtime, its output and its other clients go
on; where a request ends the program, the report says which."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

from running import PATIENCE_S, Factory
from served import FILE, SERVER, Served
from vc_faults import wait_until
from vcluster import REPOSITORY

DEEDS = REPOSITORY / "tests/cluster/ccs_deeds.py"
EMPTY = "00000000"
# In the order in which they are done; what each comes to.
WANTED = {
    "garbage": EMPTY,
    "idle": "open",
    "flood": "open",
    "too_large": EMPTY,
    "unfinished": "open",
    "wrong_pes": EMPTY,
    "long_name": b"",
    "gone": "gone",
    "slow_reader": "open",
    "never_answered": "gone",
    "multicasts": "right",
    "broadcast": "right",
    "burst": "b'burst'",
    "large": "equal",
    "no_reply": "no reply, but 0 bytes",
}


def descriptors(pids: list[int]) -> int:
    return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)


def test_nothing_that_clients_do_disturbs_a_job(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = Served(hosts, charmrun, "++server", "++verbose", program=(SERVER, FILE))
    job.serves()
    launchers = [one.pid for host in range(2) for one in hosts.processes(host) if str(charmrun) in one.cmdline]
    before = descriptors(launchers)
    done = hosts.run(0, ["/usr/bin/python3", str(DEEDS), "127.0.0.1", str(job.port)], timeout=2 * PATIENCE_S)
    found = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert done.stderr == "", found
    assert {name: ast.literal_eval(text) for name, text in found.items()} == WANTED
    assert wait_until(lambda: descriptors(launchers) <= before, PATIENCE_S)
    text = job.end()
    lines = [line for line in text.splitlines() if re.match(r"(line|last) \d+$", line)]
    numbers = [int(line.split()[1]) for line in lines]
    assert numbers == [*range(len(lines) - 1), len(lines) - 1] and lines[-1].startswith("last"), text
    for once in ("sent no request", "sent a request of 536870911 bytes", "named a PE twice", "asked for PE 100000000"):
        assert len(re.findall(rf"CCS client 127.0.0.1 {once}.*: refused", text)) == 1, text


@pytest.mark.parametrize(
    ("handler", "pe", "how"),
    [("ccs_killpe", 3, "process 3: killed by signal 9"), ("die", 1, "process 1: aborted"), ("alone", -1, "aborted")],
)
def test_a_report_names_the_request_that_ended_the_program(
    cluster: Factory, charmrun: Path, handler: str, pe: int, how: str
) -> None:
    hosts = cluster(3)
    job = Served(hosts, charmrun, "++server", program=(SERVER, FILE))
    job.serves()
    assert job.ask("ccs_getinfo", 0, handler, pe)[1:] == ["EOF"]
    text = job.rest()
    whom, verb = (f"PE {pe}", "had not") if pe >= 0 else ("all PEs", "may not have")
    assert job.child.returncode != 0 and re.search(how, text), text
    assert re.search(rf"error: process \d {verb} answered this CCS request: '{handler}' for {whom}, from 127.0.0.1:\d+", text), text
