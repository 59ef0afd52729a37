# SPDX-License-Identifier: Apache-2.0
"""`charmrun ++stack-trees`: what the processes of a running job do, of programs that were started like any other."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from mpi_programs import program, session
from running import Factory, answer, charm4py, compiled, error_line, run
from test_charm4py import PROGRAMS
from vc_job import Job, leftovers, patience
from vcluster import Cluster


def start(hosts: Cluster, charmrun: Path, count: int, total: int, *words: Any, begun: int | None = None) -> Job:
    """A job on so many hosts, whose processes (or so many of them) have said that they have begun."""
    options = [f"+p{total}", "++nodelist", hosts.nodelist(count), "++no-fold"]
    job = Job(hosts, range(count), list(map(str, [charmrun, *options, *words])))
    job.until(lambda: job.out.count("begun") == (total if begun is None else begun), "the processes")
    return job


def end_well(job: Job) -> None:
    """It has not been harmed."""
    job.signal(signal.SIGUSR1)
    assert job.wait() == 0, job.said()
    assert leftovers([job]) == []


def test_the_one_that_is_stuck_is_named(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    job = start(hosts, charmrun, 9, 18, compiled(charmrun, "tests/cluster/stuck.c"), 7)
    for _ in range(2):
        lines = answer(hosts, charmrun, "++stack-trees").splitlines()
        assert lines[0].startswith("what 18 processes of job ") and lines[0].endswith(" do, in 2 groups:")
        assert lines[1] == "18:[0-17] main > step"
        assert lines[2].startswith("  17:[0-6,8-17] wait_for_neighbours > ") and lines[2].endswith("  [waits] (++gdb :0)")
        assert lines[3:] == ["  1:[7] compute_for_ever  [computes] on h03 (++gdb :7)"]
    raw = answer(hosts, charmrun, "++stack-trees", "++all-frames")
    assert "18:[0-17] _start > " in raw and "compute_for_ever" in raw
    end_well(job)


def test_tools_get_json_a_graph_or_a_picture(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = start(hosts, charmrun, 2, 4, compiled(charmrun, "tests/cluster/stuck.c"), 3)
    told = json.loads(answer(hosts, charmrun, "++stack-trees", "++json", "-", "++draw", "/home/shared/stuck.dot"))
    assert (told["processes"], told["seen"]) == (4, 4)
    by_processes = {group["which"]: (group["motion"], group["frames"]) for group in told["groups"]}
    assert by_processes["3"] == ("computes", ["main", "step", "compute_for_ever"])
    assert by_processes["0-2"][0] == "waits" and by_processes["0-2"][1][:3] == ["main", "step", "wait_for_neighbours"]
    dot = hosts.path(0, "/home/shared/stuck.dot").read_text()
    for words in ('label="compute_for_ever"', 'label="3:[0-2]", bv="[0-2]", count="3", rep="0"', 'bv="[3]", count="1"'):
        assert words in dot
    answer(hosts, charmrun, "++stack-trees", "++draw", "/home/shared/stuck.svg")
    svg = ElementTree.fromstring(hosts.path(0, "/home/shared/stuck.svg").read_text())
    boxes = {title.text.splitlines()[0]: title.text for title in svg.iter("{http://www.w3.org/2000/svg}title") if title.text}
    assert boxes["compute_for_ever"].endswith("1 processes: 3, computes")
    end_well(job)


def test_a_stopped_process_stays_so_and_is_told(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = start(hosts, charmrun, 2, 2, compiled(charmrun, "tests/cluster/stuck.c"), 9)
    stopped = next(one for one in job.running("stuck") if one.host == 1)
    os.kill(stopped.pid, signal.SIGSTOP)
    job.until(lambda: next(one for one in job.running("stuck") if one.host == 1).state == "T", "the stop")
    lines = answer(hosts, charmrun, "++stack-trees").splitlines()
    assert len(lines) == 4 and any("[stopped by a signal] on h01 (++gdb :" in line for line in lines), lines
    assert next(one for one in job.running("stuck") if one.host == 1).state == "T"
    os.kill(stopped.pid, signal.SIGCONT)
    assert "stopped" not in answer(hosts, charmrun, "++stack-trees")
    end_well(job)


def test_behind_a_shell_it_is_the_program_that_is_shown(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    stuck = compiled(charmrun, "tests/cluster/stuck.c")
    job = start(hosts, charmrun, 2, 2, "sh", "-c", f"trap : USR1; {stuck} 1; true")
    assert "  1:[1] compute_for_ever  [computes] on h01 (++gdb :1)\n" in answer(hosts, charmrun, "++stack-trees")
    end_well(job)


def test_of_a_session_it_shows_what_runs_there(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    with session(hosts, charmrun) as number:
        idle = error_line(run(hosts, charmrun, "++stack-trees", number))
        assert number in idle, idle
        stuck = [charmrun, "++in", number, "+p6", compiled(charmrun, "tests/cluster/stuck.c"), "2"]
        job = Job(hosts, [0], list(map(str, stuck)))
        job.until(lambda: job.out.count("begun") == 6, "the processes")
        job.signal(signal.SIGQUIT)
        job.until(lambda: "charmrun:   1:[2] compute_for_ever  [computes] on h02 (++gdb :2)\n" in job.err, "the word on SIGQUIT")
        assert "  1:[2] compute_for_ever  [computes] on h02 (++gdb :2)\n" in answer(hosts, charmrun, "++stack-trees", number)
        job.signal(signal.SIGUSR1)
        assert job.wait() == 0, job.said()


def test_what_is_asked_wrongly_gets_one_line(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    assert error_line(run(hosts, charmrun, "++stack-trees")).startswith("no job of yours is running on this machine")
    job = start(hosts, charmrun, 2, 2, compiled(charmrun, "tests/cluster/stuck.c"), 0)
    for words, said in (
        (["++draw", "x.png"], "++draw x.png: unknown kind of file; use a name that ends in .svg (picture) or .dot (STATview, dot)"),
        (["++draw", "/no/x.svg"], "cannot write /no/x.svg"),
        (["nothing"], "no running jobs of yours are called 'nothing'; charmrun ++list shows them"),
        (["++label"], "++label has no meaning with ++stack-trees; leave it out"),
    ):
        assert error_line(run(hosts, charmrun, "++stack-trees", *words)) == said
    assert "++draw has no meaning" in error_line(run(hosts, charmrun, "++draw", "x.svg", "true"))
    assert "no job of yours is running" in error_line(run(hosts, charmrun, "++stack-trees", user="ctother"))
    end_well(job)


def test_a_job_that_has_had_its_time_says_where_it_hangs(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    limit = patience(3)
    job = start(hosts, charmrun, 2, 4, "++timelimit", limit, compiled(charmrun, "tests/cluster/stuck.c"), 2)
    job.signal(signal.SIGQUIT)
    job.until(lambda: job.err.count("charmrun:   1:[2] compute_for_ever  [computes] on h01 (++gdb :2)\n") == 1, "the word on SIGQUIT")
    assert job.wait() == 124, job.said()
    assert job.err.count("charmrun:   1:[2] compute_for_ever  [computes] on h01 (++gdb :2)\n") == 2, job.said()
    assert leftovers([job]) == []


def test_python_and_charm_are_shown_as_people_have_written_them(cluster: Factory, charmrun: Path) -> None:
    """Process 1 computes in Python, process 0 waits in Charm++'s scheduler."""
    hosts = cluster(3)
    job = start(hosts, charmrun, 2, 2, charm4py(), PROGRAMS / "stuck.py", begun=1)
    groups = json.loads(answer(hosts, charmrun, "++stack-trees", "++json", "-"))["groups"]
    by_process = {group["which"]: (group["motion"], group["frames"][0], group["frames"][-1]) for group in groups}
    assert by_process == {
        "0": ("waits", "<module> (stuck.py)", "(idle in scheduler)"),
        "1": ("computes", "<module> (stuck.py)", "Worker.compute_for_ever (stuck.py)"),
    }
    end_well(job)


@pytest.mark.parametrize("family", ["mpich5", "openmpi4"])
def test_who_waits_in_mpi_is_shown_there(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(3)
    more, path = program(family, "tests/cluster/mpi_stuck.c")
    job = start(hosts, charmrun, 2, 4, *more, path)
    lines = answer(hosts, charmrun, "++stack-trees").splitlines()
    assert lines[1:] == [
        "4:[0-3] main",
        "  3:[0-2] meet > MPI_Barrier  [waits] on h[00-01] (++gdb :0)",
        "  1:[3] refine_mesh  [computes] on h01 (++gdb :3)",
    ]
    end_well(job)


@pytest.mark.parametrize("limit", ["0", "unlimited"])
def test_a_crash_shows_where_it_was_and_what_the_others_did(cluster: Factory, charmrun: Path, limit: str) -> None:
    """The limit of core files is that of the shell that starts charmrun, on every host."""
    hosts = cluster(3)
    words = ["++nodelist", hosts.nodelist(2), "+p2", "++report", "/home/shared/report.json"]
    shell = ["sh", "-c", f'ulimit -Sc {limit}; exec "$@"', "sh"]
    job = Job(hosts, [0, 1], list(map(str, [*shell, charmrun, *words, compiled(charmrun, "tests/cluster/stuck.c"), 1])))
    job.until(lambda: job.out.count("begun") == 2, "the processes")
    crashed = next(one for one in job.running("stuck") if one.host == 1)
    os.kill(crashed.pid, signal.SIGSEGV)
    assert job.wait() == 139, job.said()
    lines = [line.removeprefix("charmrun: ") for line in job.err.splitlines()]
    why = next(line for line in lines if "killed by signal 11" in line)
    end = next(i for i, line in enumerate(lines) if " did then, in " in line)
    if limit == "0":
        assert "no core file: its limit there is 0 (ulimit -c) (status 139)" in why
        assert lines[end].startswith("what 1 of 2 processes of job ")
        assert lines[end + 1].startswith("1:[0] main > step > wait_for_neighbours > ")
    elif Path("/proc/sys/kernel/core_pattern").read_text().strip() == "core":
        core = re.search(r"core dumped to (\S+) \(status 139\)", why)
        assert core, why
        hosts.path(1, core[1]).unlink()
        assert lines[end + 1] == "2:[0-1] main > step" and "  1:[1] compute_for_ever  [crashed] on h01" in lines
        told = json.loads(hosts.path(0, "/home/shared/report.json").read_text())["ending"]
        assert told["stack"] == ["main", "step", "compute_for_ever"]
    assert lines[-1] == "the other process was ended because of that"
    assert leftovers([job]) == []
