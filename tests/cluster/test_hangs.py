# SPDX-License-Identifier: Apache-2.0
"""++hang-after, ++hang-action: a Charm++ process that does not serve its socket, because it computes or is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running import Factory, answer, charm4py, command, error_line, run
from test_charm4py import PROGRAMS
from test_exec import ADAPTER, editor_of
from test_losses import rank
from vc_job import Job, leftovers, patience, pause
from vcluster import Cluster

AFTER_S, MOST_S = 3.0, 20.0  # of silence: two pings of a job of two processes; on a machine that is too busy to ping

Holder = Callable[[Cluster, Path], "subprocess.Popen[Any]"]


def start(hosts: Cluster, charmrun: Path, times: int, *options: Any) -> tuple[Job, str]:
    """The last process computes for so many times as long as is allowed; the job ends when the file is there."""
    after = min(patience(AFTER_S), MOST_S)
    over = hosts.run(0, ["mktemp", "-u", "/home/shared/over.XXXXXX"]).stdout.strip()
    words = ["+p2", "++nodelist", hosts.nodelist(2), "++hang-after", after, *options]
    program = [charm4py(), PROGRAMS / "silent.py", over, times * after]
    job = Job(hosts, range(2), list(map(str, [charmrun, *words, *program])))
    job.until(lambda: "serving\n" in job.out, "the computation")
    return job, over


def test_who_does_not_serve_its_socket_is_told(cluster: Factory, charmrun: Path) -> None:
    """Process 1 computes, process 0 is stopped."""
    hosts = cluster(2)
    job, over = start(hosts, charmrun, 2, "++json", "/home/shared/hang.json")
    stopped = next(one for one in job.running("python") if rank(one) == 0)
    os.kill(stopped.pid, signal.SIGSTOP)
    computes, waits = (f"charmrun: process {i} on {hosts.names[i]} " for i in (1, 0))
    job.until(lambda: f"{computes}has not served its socket for" in job.err, "the word of process 1")
    job.until(lambda: f"{waits}is stopped by a signal, and has not served" in job.err, "the word of process 0")
    job.until(lambda: "Worker.compute (silent.py)" in job.err, "where it computes")
    assert "run: 2 processes on 2 hosts, " in answer(hosts, charmrun, "++status")
    os.kill(stopped.pid, signal.SIGCONT)
    for words in (computes, waits):
        job.until(lambda start=words: f"{start}serves its socket again, after " in job.err, f"the end of {words}")
    hosts.run(0, ["touch", over], check=True)
    assert job.wait() == 0, job.said()
    assert leftovers([job]) == []
    seen = map(json.loads, hosts.path(0, "/home/shared/hang.json").read_text().splitlines())
    told = {(one["event"], one["process"], one.get("stopped")) for one in seen if "process_s" in one["event"]}
    assert told >= {("process_silent", 0, True), ("process_silent", 1, False), ("process_serves", 0, None), ("process_serves", 1, None)}


def test_who_does_not_serve_its_socket_is_killed_if_the_user_says_so(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    job, _ = start(hosts, charmrun, 1000, "++hang-action", "kill")
    assert job.wait() == 137, job.said()
    assert job.errors[0].startswith(f"{hosts.names[1]}: run: process 1: killed by ++hang-action: it had not served its socket for")
    assert leftovers([job]) == []
    refused = error_line(run(hosts, charmrun, "+p2", "++local", "++hang-action", "kill", "sleep", "98765"))
    assert refused == "sleep: only of Charm++ programs it shows that they hang (++hang-action kill); leave it out"


def held_by_gdb(hosts: Cluster, charmrun: Path) -> subprocess.Popen[Any]:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return hosts.popen(0, command(charmrun, "++gdb", ":1"), **pipes)


def held_by_an_editor(hosts: Cluster, charmrun: Path) -> subprocess.Popen[Any]:
    editor = editor_of(hosts, charmrun, ":1", "++debugger", ADAPTER)
    editor.attach(stopOnEntry=True)
    return editor.child


@pytest.mark.parametrize("held", [held_by_gdb, held_by_an_editor])
def test_who_is_held_by_a_debugger_does_not_hang(cluster: Factory, charmrun: Path, held: Holder) -> None:
    """It would be killed if it did; and when the debugger is gone it runs on."""
    hosts = cluster(2)
    job, over = start(hosts, charmrun, 0, "++hang-action", "kill")

    def state() -> str:
        return next(one.state for one in job.running("python") if rank(one) == 1)

    debugger = held(hosts, charmrun)
    job.until(lambda: state() == "t", "the debugger")
    pause(3 * AFTER_S)
    assert state() == "t" and "socket" not in job.err, job.said()
    debugger.kill()
    debugger.communicate()
    job.until(lambda: state() in "SR", "the end of the debugger")
    hosts.run(0, ["touch", over], check=True)
    assert job.wait() == 0, job.said()
    assert leftovers([job]) == []
