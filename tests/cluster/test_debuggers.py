# SPDX-License-Identifier: Apache-2.0
"""MPIR: what debuggers find in charmrun, whether they start it or come later."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from running import REPOSITORY, Factory, compiled, packaged
from test_stack_trees import end_well, start
from vc_job import Job, leftovers, patience
from vcluster import Cluster, Process

GDB = ["gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set pagination off"]
TABLE = ["print MPIR_debug_state", "print *MPIR_proctable@MPIR_proctable_size"]


class Row(NamedTuple):
    host: str
    file: str
    pid: int


def words(commands: list[str]) -> list[str]:
    return [word for each in commands for word in ("-ex", each)]


def attached(hosts: Cluster, where: int, pid: int, *commands: str) -> str:
    """What gdb says that comes to a process there, and goes again."""
    return hosts.run(where, [*GDB, "-p", str(pid), *words(list(commands))], timeout=patience(60)).stdout


def table(out: str) -> list[Row]:
    """What gdb has printed of it."""
    row = re.compile(r'\{host_name = 0x\w+ "(\S+)", executable_name = 0x\w+ "(\S+)", pid = (\d+)\}')
    return [Row(host, file, int(pid)) for host, file, pid in row.findall(out)]


def inner(process: Process) -> int:
    """What its own host calls it."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii", errors="replace")
    return int(re.search(r"^NSpid:.*\t(\d+)$", status, re.MULTILINE)[1])  # type: ignore[index]


def root_of(job: Job) -> int:
    return inner(next(one for one in job.running("charmrun") if one.pid == job.root.pid))


def under_gdb(
    hosts: Cluster, charmrun: Path, count: int, total: int, begin: tuple[str, ...] = ("run",)
) -> tuple[Job, str]:
    """gdb has started charmrun, and stopped where a debugger is to look; and the file for which it waits."""
    go_on = hosts.run(0, ["mktemp", "-u", "/home/shared/go_on.XXXXXX"]).stdout.strip()
    wait = f"shell while [ ! -e {go_on} ]; do sleep 0.05; done"
    begin = ("break MPIR_Breakpoint", *begin, *TABLE, "echo looking\\n", wait, "continue")
    program = ["++verbose", "++nodelist", hosts.nodelist(count), compiled(charmrun, "tests/cluster/stuck.c"), "0"]
    argv = [*GDB, *words(begin), "--args", charmrun, f"+p{total}", *program]
    job = Job(hosts, range(count), list(map(str, argv)))
    job.until(lambda: "\nlooking" in job.out, "the stop")
    return job, go_on


def end_under_gdb(job: Job) -> None:
    """As end_well, whose signal would be gdb's."""
    for one in job.running("stuck"):
        os.kill(one.pid, signal.SIGUSR1)
    assert job.wait() == 0, job.said()
    assert leftovers([job]) == []


@pytest.mark.parametrize("count", [1, 3])
def test_a_debugger_that_starts_a_job_sees_all_processes_before_they_begin(
    cluster: Factory, charmrun: Path, count: int
) -> None:
    hosts = cluster(3)
    job, go_on = under_gdb(hosts, charmrun, count, count)
    assert "\n$1 = 1\n" in job.out, job.said()  # MPIR_DEBUG_SPAWNED
    rows = table(job.out)
    assert [row.host for row in rows] == hosts.names[:count]
    assert {row.file for row in rows} == {str(compiled(charmrun, "tests/cluster/stuck.c"))}
    held = {one.host: inner(one) for one in job.running("stuck")}
    assert [row.pid for row in rows] == [held[host] for host in range(count)]
    job.until(lambda: {one.state for one in job.running("stuck")} == {"T"}, "the processes, held,")
    assert "begun" not in job.out
    # One of them is taken by a debugger of its own, to which a stopped process says so first: it need not obey.
    frames = attached(hosts, 0, rows[0].pid, "break main", "continue", "signal 0", "bt")
    assert " main (" in frames, frames
    hosts.run(0, ["touch", go_on], check=True)
    job.until(lambda: job.out.count("begun") == count, "the processes")
    end_under_gdb(job)
    assert "exited normally" in job.out


def test_a_held_process_runs_on_when_its_debugger_leaves(cluster: Factory, charmrun: Path) -> None:
    """Though it was in the debugger's hands when all others were let go."""
    hosts = cluster(3)
    job, go_on = under_gdb(hosts, charmrun, 2, 2)
    leave = f"{go_on}.leave"
    wait = f"shell while [ ! -e {leave} ]; do sleep 0.05; done"
    look = [*GDB, "-p", str(table(job.out)[1].pid), *words(["echo holding\n", wait, "detach"])]
    debugger = hosts.popen(1, look, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while "holding" not in (line := debugger.stdout.readline()):  # type: ignore[union-attr]
        assert line, "no gdb"
    hosts.run(0, ["touch", go_on], check=True)
    job.until(lambda: job.out.count("begun") == 1, "the process that nobody holds")
    hosts.run(0, ["touch", leave], check=True)
    debugger.communicate(timeout=patience(30))
    job.until(lambda: job.out.count("begun") == 2, "the other one")
    end_under_gdb(job)


def test_debuggers_come_and_go_while_a_job_runs(cluster: Factory, charmrun: Path) -> None:
    """The second one keeps the root for longer than launchers wait for one that is gone."""
    hosts = cluster(3)
    job = start(hosts, charmrun, 3, 6, "++orphan-after", "2", compiled(charmrun, "tests/cluster/stuck.c"), 5)
    root = root_of(job)
    for more in ([], ["shell sleep 5"]):
        seen = attached(hosts, 0, root, *TABLE, *more)
        rows = table(seen)
        assert [row.host for row in rows] == [name for name in hosts.names[:3] for _ in range(2)], seen
        there = {(hosts.names[one.host], inner(one)) for one in job.running("stuck")}
        assert {(row.host, row.pid) for row in rows} == there
    stuck = attached(hosts, 2, rows[5].pid, "bt")
    assert "compute_for_ever" in stuck, stuck
    end_well(job)


KICKER = """#!/bin/sh
echo "for $CHARMTREE_NUMBERS: $*"
[ "$1" = bad ] && exit 3
while sleep 0.1; do :; done
"""


def daemon(path: Path, *arguments: str) -> list[str]:
    """A tool writes what it wants to have on each host."""

    def write(symbol: str, words: list[str]) -> str:
        memory = "".join(f"{word}\\0" for word in words) + "\\0"
        return f'python gdb.selected_inferior().write_memory(int(gdb.parse_and_eval("(long)&{symbol}")), b"{memory}")'

    return [write("MPIR_executable_path", [str(path)]), write("MPIR_server_arguments", list(arguments))]


def test_a_tool_that_starts_a_job_finds_its_daemons_on_each_host(cluster: Factory, charmrun: Path) -> None:
    """Before any process has begun; they end with the job."""
    hosts = cluster(3)
    kicker = hosts.put(0, "/home/shared/kicker", KICKER, mode=0o755)
    job, go_on = under_gdb(hosts, charmrun, 3, 6, ("starti", *daemon(kicker, "--port", "two words"), "continue"))
    assert sorted(one.host for one in job.running("kicker")) == [0, 1, 2], job.said()
    assert len(table(job.out)) == 6 and "begun" not in job.out
    hosts.run(0, ["touch", go_on], check=True)
    job.until(lambda: job.out.count("begun") == 6, "the processes")
    told = [f"{hosts.names[i]}: kicker: for {2 * i}-{2 * i + 1}: --port two words" for i in range(3)]
    assert all(job.out.count(line) + job.err.count(line) == 1 for line in told), job.said()
    end_under_gdb(job)


def test_a_tool_that_comes_later_has_its_daemons_started(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    kicker = hosts.put(0, "/home/shared/kicker", KICKER, mode=0o755)
    job = start(hosts, charmrun, 3, 6, compiled(charmrun, "tests/cluster/stuck.c"))
    root = root_of(job)
    for count in (1, 2):
        attached(hosts, 0, root, *daemon(kicker, "--again"))
        job.until(lambda: len(job.running("kicker")) == 3 * count, "the daemons")
    attached(hosts, 0, root, *daemon(kicker, "bad"))
    bad = f": a tool's daemon, {kicker}, has ended with status 3"
    job.until(lambda: job.err.count(bad) == 3, "what became of them")
    attached(hosts, 0, root, *daemon(Path("/no/kicker")))
    missing = ": a tool's daemon, /no/kicker: spawn: /no/kicker: "
    job.until(lambda: job.err.count(missing) == 3, "why they are not there")
    end_well(job)


def test_the_table_tells_of_a_process_that_is_started_again(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    job = start(hosts, charmrun, 2, 2, "++on-failure", "restart", compiled(charmrun, "tests/cluster/stuck.c"), 9)
    victim = next(one for one in job.running("stuck") if one.host == 1)
    os.kill(victim.pid, signal.SIGKILL)
    job.until(lambda: job.out.count("begun") == 3, "its successor")
    seen = attached(hosts, 0, root_of(job), *TABLE)
    successor = next(one for one in job.running("stuck") if one.host == 1)
    assert table(seen)[1].pid == inner(successor) and successor.pid != victim.pid, seen
    end_well(job)


def test_a_stripped_charmrun_is_found_by_debuggers(charmrun: Path, tmp_path: Path) -> None:
    """Of a file that is not relocated, in its dynamic table: both are what tools need (LaunchMON, STAT)."""
    stripped = tmp_path / "charmrun"
    shutil.copy(charmrun, stripped)
    subprocess.run(["strip", "-s", stripped], check=True)
    assert re.search(r"Type:\s+EXEC", subprocess.check_output(["readelf", "-h", stripped], text=True))
    dynamic = subprocess.check_output(["nm", "-D", "--defined-only", stripped], text=True)
    told = sorted(line.split()[2] for line in dynamic.splitlines() if "MPIR" in line or "totalview" in line)
    assert told == [
        "MPIR_Breakpoint", "MPIR_acquired_pre_main", "MPIR_being_debugged", "MPIR_debug_state",
        "MPIR_executable_path", "MPIR_force_to_main", "MPIR_i_am_starter", "MPIR_partial_attach_ok", "MPIR_proctable",
        "MPIR_proctable_size", "MPIR_server_arguments", "totalview_jobid",
    ]  # fmt: skip
    begin = ["break MPIR_Breakpoint", "run", "print *(int*)&MPIR_proctable_size", "continue"]
    argv = [*GDB, *words(begin), "--args", stripped, "++local", "+p2", "echo", "hello"]
    done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, timeout=patience(60), check=True)
    assert "$1 = 2" in done.stdout and done.stdout.count("hello") == 2, done


def test_mdb_has_a_debugger_for_each_process(cluster: Factory, charmrun: Path) -> None:
    """The one of PyPI: it finds out that mpirun is ours, and gives it a file of programs; homes are one, as on clusters."""
    mdb = packaged("mdb-debugger") / "bin/mdb"
    hosts = cluster(3)
    home = hosts.run(0, ["mktemp", "-d", "/home/shared/mdb.XXXXXX"], check=True).stdout.strip()
    hosts.run(0, ["ln", "-s", str(charmrun), f"{home}/mpirun"], check=True)
    env = {"PATH": f"{home}:{mdb.parent}:/usr/bin:/bin", "HOME": home, "PYTHONUNBUFFERED": "1"}
    where = hosts.put(0, f"{home}/hosts", "".join(f"{name}\n" for name in hosts.names[:3]))
    launch = ["launch", "-n", "3", "-t", compiled(charmrun, "tests/cluster/stuck.c"), "-h", hosts.names[0]]
    mpirun = ["--mpi-command", f"mpirun -f {where} -genv HOME {home}"]
    job = Job(hosts, range(3), list(map(str, [mdb, *launch, *mpirun])), env=env, cwd=home)
    job.until(lambda: "all debug clients connected" in job.out, "the debuggers", 60)
    look = "command break step\ncommand run\ncommand bt\nquit\n"
    seen = hosts.run(0, [mdb, "attach", "-h", hosts.names[0]], env=env, cwd=home, stdin=look, timeout=patience(60))
    frames = re.sub(r"\x1b\[[0-9;]*m", "", seen.stdout)
    for rank in range(3):
        assert f"\n{rank}: #1 " in frames and f"{rank}: Breakpoint" in frames, seen
    job.wait()
    assert leftovers([job]) == []
