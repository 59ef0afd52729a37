# SPDX-License-Identifier: Apache-2.0
"""Programs that restart lost processes: recovery_double does what stock Charm++ processes of a
fault-tolerant build do and checks what it is told. Three hosts of two processes, below each other.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from running import Factory, built, error_line, program_lines, run
from vcluster import Result

HOSTS, EACH = 3, 2
ALL = HOSTS * EACH
ROUNDS = 4


def recover(cluster: Factory, charmrun: Path, *deaths: str) -> tuple[list[str], Result]:
    """The names of the hosts, and how a job went in which processes die as told."""
    hosts = cluster(HOSTS + 1)
    names = [hosts.names[index] for index in range(1, HOSTS + 1)]
    words = [f"+p{ALL}", "++nodelist", hosts.nodelist(range(1, HOSTS + 1)), "++branching", 1]
    program = [built(charmrun, "recovery_double"), "--rounds", ROUNDS]
    done = run(hosts, charmrun, *words, *program, *[word for death in deaths for word in ("--die", death)])
    return names, done


def started(names: list[str], process: int, phase: int = 1) -> str:
    return f"recovery {process}/{ALL}: phase {phase} on {names[process // EACH]}"


def assert_recovered(names: list[str], done: Result, again: list[str], told: dict[int, list[int]]) -> None:
    """Everybody started and some again; `told`: who lived to say that it knew of the loss of a process."""
    assert done.returncode == 0, (done.stdout, done.stderr)
    lines = [started(names, process) for process in range(ALL)]
    knows = [f"recovery {who}/{ALL}: knows of {lost}" for lost, all_ in told.items() for who in all_]
    expected = [*lines, *again, *knows, f"recovery 0/{ALL}: ok after {ROUNDS} rounds"]
    assert program_lines(done) == sorted(expected)


def others(*but: int) -> list[int]:
    return [process for process in range(ALL) if process not in but]


@pytest.mark.parametrize("lost", [0, 3, 5])
def test_a_lost_process_is_started_anew_on_its_host(cluster: Factory, charmrun: Path, lost: int) -> None:
    names, done = recover(cluster, charmrun, f"round:{lost}:1")
    assert_recovered(names, done, [started(names, lost, 2)], {lost: others(lost)})
    said = f"charmrun: {names[lost // EACH]}: run: process {lost}: killed by signal 9 (SIGKILL: Killed)"
    assert done.stderr.startswith(said)
    assert done.stderr.count("restarting it") == 1


def test_a_script_may_start_a_fault_tolerant_build(cluster: Factory, charmrun: Path) -> None:
    """Which does not show in it: ++syncft says so."""
    hosts = cluster(2)
    script = hosts.put(0, "/home/shared/recover", f'#!/bin/sh\nexec {built(charmrun, "recovery_double")} "$@"\n', mode=0o755)
    words = ["+p2", "++nodelist", hosts.nodelist(2), "++syncft", script, "--rounds", ROUNDS, "--die", "round:1:1"]
    done = run(hosts, charmrun, *words)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "recovery 0/2: knows of 1" in program_lines(done)


def test_a_process_that_only_closed_its_connection_is_replaced(cluster: Factory, charmrun: Path) -> None:
    names, done = recover(cluster, charmrun, "cut:2:1")
    assert_recovered(names, done, [started(names, 2, 2)], {2: others(2)})


def test_a_restarted_process_can_be_lost_again(cluster: Factory, charmrun: Path) -> None:
    """Before it is told anything, and when it runs."""
    names, done = recover(cluster, charmrun, "round:4:1", "start:4:2", "table:4:3")
    again = [started(names, 4, 4)]
    assert_recovered(names, done, again, {4: others(4) + others(4)})


def test_a_loss_before_everybody_knows_of_the_one_before(cluster: Factory, charmrun: Path) -> None:
    names, done = recover(cluster, charmrun, "round:2:1", "ack:5:1")
    again = [started(names, 2, 2), started(names, 5, 3)]
    assert_recovered(names, done, again, {2: others(2, 5), 5: others(2, 5)})


def test_two_lost_at_once(cluster: Factory, charmrun: Path) -> None:
    """Which one comes first is open; it may be told of the other as a survivor."""
    names, done = recover(cluster, charmrun, "round:1:1", "round:4:1")
    assert done.returncode == 0, (done.stdout, done.stderr)
    lines = program_lines(done)
    for survivor in others(1, 4):
        for lost in (1, 4):
            assert lines.count(f"recovery {survivor}/{ALL}: knows of {lost}") == 1
    assert sum(line.startswith("recovery") and "phase" in line for line in lines) == ALL + 2
    assert f"recovery 0/{ALL}: ok after {ROUNDS} rounds" in lines


def test_a_process_that_always_dies_ends_the_job(cluster: Factory, charmrun: Path) -> None:
    names, done = recover(cluster, charmrun, "table:3:0")
    assert done.returncode == 137
    assert done.stderr.count("restarting it") == 5
    last = next(line for line in done.stderr.splitlines() if "error: " in line)
    assert last.startswith(f"charmrun: error: {names[1]}: run: process 3: killed by signal 9 (SIGKILL: Killed)")
    assert "it was restarted 5 times and never ran for 10 s" in last


def test_an_abort_ends_the_job_all_the_same(cluster: Factory, charmrun: Path) -> None:
    _, done = recover(cluster, charmrun, "abort:3:1")
    assert "asked to abort" in error_line(done, 1)
