# SPDX-License-Identifier: Apache-2.0
"""How jobs end: the same status in $?, in the message and in the report, and what is said about the first cause."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from vc_job import Job, leftovers

from running import CAMPAIGN, Factory, built, charm4py, charmrun_lines, error_line, run
from vcluster import Cluster, Result

_SHARED = "/home/shared"
TIMES = 200 if CAMPAIGN else 2

# FIRST FILE CODE OTHER: process FIRST exits with CODE; the other one with OTHER, once nothing is left of the first.
_ONE_AFTER_THE_OTHER = """#!/bin/sh
if [ "$CHARMTREE_PROCESS" = "$1" ]; then
  (while [ -d /proc/$$ ]; do sleep 0.01; done; touch "$2") &
  exit "$3"
fi
until [ -e "$2" ]; do sleep 0.01; done
exit "$4"
"""


def ending(hosts: Cluster, report: str) -> dict[str, Any]:
    return json.loads(hosts.path(0, report).read_text())["ending"]


@pytest.mark.parametrize("spread", [1, 2])
@pytest.mark.parametrize("first", [0, 1])
def test_of_two_that_fail_the_first_gives_the_status(cluster: Factory, charmrun: Path, first: int, spread: int) -> None:
    hosts = cluster(3)
    script = hosts.put(0, f"{_SHARED}/one-after-the-other", _ONE_AFTER_THE_OTHER, mode=0o755)
    words = ["+p2", "++nodelist", hosts.nodelist([1, 2][:spread]), "++report", f"{_SHARED}/report.json"]
    for i in range(TIMES):
        code, other = ((3, 5), (5, 3))[i % 2]
        hosts.path(0, f"{_SHARED}/gone").unlink(missing_ok=True)
        done = run(hosts, charmrun, *words, script, first, f"{_SHARED}/gone", code, other)
        host = hosts.names[1 + first * (spread - 1)]
        line = f"{host}: run: process {first}: exited with status {code} (the first of 2 that failed)"
        assert error_line(done, code) == line, (i, done.stderr)
        told = ending(hosts, f"{_SHARED}/report.json")
        assert (told["status"], told["cause"], told["process"], told["name"]) == (code, "exit", first, host), told
        assert told["how"] == f"exited with status {code}"


def test_all_that_failed_are_named(cluster: Factory, charmrun: Path) -> None:
    """In one line, in the report and as an event each; what ended well is one entry."""
    hosts = cluster(3)
    report, events = f"{_SHARED}/failed.json", f"{_SHARED}/failed.ndjson"
    script = "case $CHARMTREE_PROCESS in 1|4|7) exit 1;; 2|5) exit 2;; esac"
    words = ["+p8", "++nodelist", hosts.nodelist([1, 2]), "++report", report, "++json", events, "sh", "-c", script]
    done = run(hosts, charmrun, *words)
    assert done.returncode in (1, 2), done.stderr
    assert "5 processes failed: 1,4,7 (exit status 1); 2,5 (exit status 2)" in charmrun_lines(done)
    ends = json.loads(hosts.path(0, report).read_text())["ends"]
    assert [(each["status"], each["processes"]) for each in ends] == [
        (0, [[0, 0], [3, 3], [6, 6]]),
        (1, [[1, 1], [4, 4], [7, 7]]),
        (2, [[2, 2], [5, 5]]),
    ]
    told = [json.loads(line) for line in hosts.path(0, events).read_text().splitlines()]
    failed = {each["process"]: (each["host"], each["status"]) for each in told if each["event"] == "process_end"}
    assert failed == {i: (hosts.names[1 + i // 4], 1 if i in (1, 4, 7) else 2) for i in (1, 2, 4, 5, 7)}
    assert [each["ends"] for each in told if each["event"] == "ends"] == [ends]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGSEGV, 139), (signal.SIGKILL, 137)])
def test_a_signal_is_told_with_its_name_and_core_file(
    cluster: Factory, charmrun: Path, number: signal.Signals, status: int
) -> None:
    """Then what the process wrote last, if that cannot be seen above, and what became of the others."""
    hosts = cluster(3)
    report = f"{_SHARED}/report.json"
    dies = f"seq 100 >&2; ulimit -c unlimited; kill -{number.value} $$; sleep 98765"
    stays = {1: "trap '' TERM; sleep 98765 & wait; sleep 98765", 2: "trap 'exit 7' TERM; sleep 98765 & wait"}
    cases = "".join(f"{process}) {text};; " for process, text in stays.items())
    script = f"case $CHARMTREE_PROCESS in 3) sleep 0.3; {dies};; {cases}*) exec sleep 98765;; esac"
    seen = number == signal.SIGKILL
    where = [] if seen else ["++output", f"{_SHARED}/words.%r"]
    words = ["+p5", "++nodelist", hosts.nodelist([1, 2]), "++report", report, *where, "sh", "-c", script]
    done = run(hosts, charmrun, *words, cwd=_SHARED)
    host = hosts.names[2]
    line = error_line(done, status)
    assert line.startswith(f"{host}: run: process 3: killed by signal {number.value} ({number.name}: "), line
    assert f"(status {status})" in line
    lines = charmrun_lines(done)
    last = ["process 3 last wrote on stderr:", *(f"  | {i}" for i in range(93, 101))]
    assert [line for line in lines if "last wrote" in line or "  | " in line] == ([] if seen else last)
    others = "the other 4 processes were ended because of that; process 2 exited with status 7, process 1 had to be killed"
    assert lines[-1] == others
    told = ending(hosts, report)
    assert (told["status"], told["cause"], told["process"], told["name"]) == (status, "killed", 3, host)
    assert told["last_words"][-1] == "100"
    ends = [("killed", number.value, [[3, 3]]), ("stopped", None, [[0, 2], [4, 4]])]
    every = json.loads(hosts.path(0, report).read_text())["ends"]
    assert [(each["end"], each.get("signal"), each["processes"]) for each in every] == ends
    if number == signal.SIGSEGV and Path("/proc/sys/kernel/core_pattern").read_text().strip() == "core":
        core = re.search(r"core dumped to (\S+)", line)
        assert core and hosts.path(2, core[1]).exists(), line
        hosts.path(2, core[1]).unlink()


def test_a_plain_process_that_fails_is_reported_at_once(cluster: Factory, charmrun: Path) -> None:
    """While the others run, in one line; ++on-failure abort ends the job instead."""
    hosts = cluster(3)
    words = [charmrun, "+p4", "++nodelist", hosts.nodelist([1, 2])]
    script = "case $CHARMTREE_PROCESS in 1|2) exit 9;; esac; until [ -e /home/shared/go-on ]; do sleep 0.05; done"
    hosts.path(0, "/home/shared/go-on").unlink(missing_ok=True)
    job = Job(hosts, [0, 1, 2], [*words, "sh", "-c", script])
    lines = "; the other 2 processes continue (++on-failure abort ends the job at such a failure)\n"
    job.until(lambda: job.err.count(" processes continue") > 0, "the line")
    hosts.put(0, "/home/shared/go-on", "")
    assert job.wait() == 9, job.said()
    together = "charmrun: h[01-02]: run: 2 processes failed: 1-2 (exit status 9)" + lines
    alone = re.compile(r"charmrun: h0[12]: run: process [12]: exited with status 9; the other [23] processes continue \(\+\+on-failure abort")
    assert together in job.err or alone.match(job.err), job.said()
    assert job.errors == [f"h0{job.errors[0][2]}: run: process {job.errors[0][2]}: exited with status 9 (the first of 2 that failed)"]
    hosts.path(0, "/home/shared/go-on").unlink()
    job = Job(hosts, [0, 1, 2], [*words, "++on-failure", "abort", "sh", "-c", script])
    assert job.wait() == 9, job.said()
    assert "continue" not in job.err and "because of that" in job.err, job.said()
    assert not leftovers([job])


def test_kill_on_exit_ends_the_job_at_the_first_that_fails(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    program = ["sh", "-c", "case $CHARMTREE_PROCESS in 1) exit 0;; 2) exit 9;; esac; exec sleep 98765"]
    argv = [charmrun, "+p6", "++nodelist", hosts.nodelist([1, 2]), "++kill-on-exit", *program]
    job = Job(hosts, [0, 1, 2], argv)
    assert job.wait() == 9, job.said()
    assert job.errors == [f"{hosts.names[1]}: run: process 2: exited with status 9"]
    # Process 1 may be gone by then.
    assert re.search(r"^charmrun: the other [45] processes were ended because of that$", job.err, re.MULTILINE)
    assert not leftovers([job])


_SIGNALS_ITSELF = """\
import os, sys
from charm4py import charm, Group, Chare
class One(Chare):
    def die(self, number):
        if charm.myPe() == 1: os.kill(os.getpid(), number)
def main(args): Group(One).die(int(args[1]))
charm.start(main)
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGSEGV, 1), (signal.SIGKILL, 137)])
def test_a_signal_that_charm_turns_into_an_abort_is_1(
    cluster: Factory, charmrun: Path, number: signal.Signals, status: int
) -> None:
    hosts = cluster(2)
    script = hosts.put(0, f"{_SHARED}/dies.py", _SIGNALS_ITSELF)
    report = f"{_SHARED}/report.json"
    words = ["+p2", "++nodelist", hosts.nodelist(2), "++report", report, charm4py(), script, number.value]
    done = run(hosts, charmrun, *words)
    line = error_line(done, status)
    told = ending(hosts, report)
    assert (told["status"], told["process"]) == (status, 1)
    assert (" did then, in " in done.stderr) == (number == signal.SIGSEGV)
    assert f"process 1: {told['how']} (status {status})" in line
    assert told["cause"] == ("abort" if status == 1 else "killed")


def test_other_endings_are_in_the_report(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    report = f"{_SHARED}/report.json"
    words = ["+p2", "++nodelist", hosts.nodelist(2), "++report", report]

    def told(*program: Any) -> tuple[Result, dict[str, Any]]:
        done = run(hosts, charmrun, *words, *program)
        return done, ending(hosts, report)

    assert told("true")[1] == {"status": 0, "cause": "finished"}
    done, end = told(built(charmrun, "charm_double"), "--exit", 7)
    assert (done.returncode, end) == (7, {"status": 7, "cause": "finished"})
    done, end = told("++timelimit", "0.5", "sleep", "98765")
    assert (done.returncode, end["status"], end["cause"]) == (124, 124, "time limit")
    done, end = told("./no-such-program")
    assert (done.returncode, end["status"], end["cause"], end["name"]) == (127, 127, "launcher", hosts.names[0])
