# SPDX-License-Identifier: Apache-2.0
"""What tests/bench/exchange measures over virtual hosts with real sshds; each function brings up and clears its own."""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from launch_lines import HOSTS, up, used
from launch_runs import Failed, Line, spread, timed
from vcluster import Cluster

ROOT = Path(__file__).resolve().parents[2]
EACH, SIZE = 4, 24
# More of what is quick: what an exchange costs is what a job with so many uses more than one that measures as often and exchanges nothing.
_ROUNDS = {"table": 100, "node-roots": 100, "shared": 5, "simple": 3}
_RING_HOSTS, _RING_ROUNDS = (2, 4, 16, 64), 30
_OVERLAP_ROUNDS, _OVERLAP_SIZE = 15, 1024
_WORK_MS = 200


def compiled(build: Path, source: str) -> Path:
    """A C program of this directory with the client library of that build, in its bin/."""
    path = build / "bin" / Path(source).stem
    words = [f"-I{ROOT}", "-x", "c", ROOT / "tests/bench" / source, "-x", "none", build / "client-lib/libcharmtree.a"]
    subprocess.run(["c++", "-O2", *words, "-lfmt", "-lm", "-o", path], check=True)
    return path


@dataclass(frozen=True)
class Bench:
    charmrun: Path
    rounds: int

    @property
    def build(self) -> Path:
        return self.charmrun.parents[1]

    def program(self) -> Path:
        return compiled(self.build, "exchange_waits.c")


@dataclass(frozen=True)
class Cost:
    """Of one exchange."""

    ms: list[float]  # of each round
    messages: float  # of all processes, to their launchers
    bytes: float  # through the busiest host, either way, as its network saw them


def _words(lines: str, name: str) -> list[list[float]]:
    return [[float(word) for word in line.split()[1:]] for line in lines.splitlines() if line.startswith(f"{name} ")]


def _command(bench: Bench, hosts: Cluster, names: Sequence[str], each: int, program: Path, *words: object) -> list[str]:
    command = [bench.charmrun, f"+p{len(names) * each}", "++nodelist", hosts.nodelist(names), program, *words]
    return [str(word) for word in command]


def _run(hosts: Cluster, command: Sequence[str]) -> str:
    done = timed(hosts, command)
    if done.returncode != 0:
        raise Failed(f"status {done.returncode}: {command}\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stdout


def _through(hosts: Cluster) -> list[int]:
    """Bytes through each host's network up to now."""
    counts = []
    for host in hosts.hosts:
        lines = Path(f"/proc/{host.pid}/net/dev").read_text(encoding="ascii").splitlines()[2:]
        columns = [line.split(":")[1].split() for line in lines if not line.lstrip().startswith("lo:")]
        counts.append(sum(int(one[0]) + int(one[8]) for one in columns))
    return counts


def _bytes_of(hosts: Cluster, command: Sequence[str]) -> tuple[str, list[int]]:
    before = _through(hosts)
    said = _run(hosts, command)
    return said, [after - begun for after, begun in zip(_through(hosts), before, strict=True)]


def _cost(hosts: Cluster, busy: list[str], without: list[str], rounds: int) -> Cost:
    """Of each of `rounds`, which the one job exchanges by and the other does not."""
    said, through = _bytes_of(hosts, busy)
    _, idle = _bytes_of(hosts, without)
    times = _words(said, "exchange")
    busiest = max(a - b for a, b in zip(through, idle, strict=True)) / rounds
    return Cost([one[0] for one in times], statistics.mean(one[1] for one in times), busiest)


def _cpu_ms(hosts: Cluster, busy: list[str], without: list[str], rounds: int) -> float:
    """The same, of all launchers."""
    of_busy, of_idle = (sum(map(sum, used(hosts, command).values())) for command in (busy, without))
    return (of_busy - of_idle) / rounds


def strategies(bench: Bench) -> Iterator[Line]:
    """An exchange of 24 bytes by each strategy, 64 hosts with four processes each."""
    program = bench.program()
    costs: dict[str, Cost] = {}
    with up(HOSTS) as (hosts, names):
        for name, rounds in _ROUNDS.items():
            busy, idle = (_command(bench, hosts, names, EACH, program, how, rounds, SIZE) for how in (name, "nothing"))
            cost = costs[name] = _cost(hosts, busy, idle, rounds)
            cpu_ms = _cpu_ms(hosts, busy, idle, rounds)
            shown = f"{spread(cost.ms)} ms, {cost.messages:.0f} messages of processes, {cost.bytes:.0f} bytes through the busiest host, "
            yield Line(f"{HOSTS} hosts x {EACH}, exchange by {name}", f"{shown}{cpu_ms:.3g} ms of CPU of all launchers", "counted", True)
    for name in ("table", "node-roots"):
        requests = costs["simple"].messages / costs[name].messages
        carried = costs["simple"].bytes / costs[name].bytes
        yield Line(f"  simple / {name}: messages, bytes", f"{requests:.3g}, {carried:.3g}", ">= 10", min(requests, carried) >= 10)


def ring(bench: Bench) -> Iterator[Line]:
    """The neighbours' values, by a ring and by put, fence and two gets."""
    program = bench.program()
    with up(max(_RING_HOSTS)) as (hosts, names):
        for count, each in [*((count, 1) for count in _RING_HOSTS), (max(_RING_HOSTS), EACH), (max(_RING_HOSTS), 4 * EACH)]:
            costs = {}
            for how in ("ring", "put"):
                busy, idle = (_command(bench, hosts, names[:count], each, program, one, _RING_ROUNDS, SIZE) for one in (how, "nothing"))
                costs[how] = _cost(hosts, busy, idle, _RING_ROUNDS)
            shown = "; ".join(f"{how} {spread(cost.ms)} ms, {cost.bytes:.0f} bytes" for how, cost in costs.items())
            ratio = statistics.median(costs["put"].ms) / statistics.median(costs["ring"].ms)
            yield Line(f"{count * each} processes on {count} hosts, put / ring", f"{ratio:.2f}; through the busiest host: {shown}", "counted", True)


def overlap(bench: Bench) -> Iterator[Line]:
    """How much of a fence is hidden by what a process does meanwhile. One computes on each core, or none does, and the others sleep: where
    they are more, all wait for the last one to get its turn, whether a fence is under way or not."""
    program = bench.program()
    with up(HOSTS) as (hosts, names):
        for computing in (0, os.cpu_count() or 1):
            words = ["overlap", computing, _OVERLAP_ROUNDS, _OVERLAP_SIZE, _WORK_MS]
            rounds = _words(_run(hosts, _command(bench, hosts, names, 1, program, *words)), "overlap")
            hidden = [1 - (start + wait) / blocking for blocking, start, _, _, wait in rounds]
            columns = list(zip(*rounds, strict=True))
            shown = ", ".join(f"{name} {spread(column)}" for name, column in zip(("blocking", "start", "alone", "beside", "wait"), columns, strict=True))
            who = f"of {computing} that compute" if computing else "of all, who sleep"
            what = f"{HOSTS} hosts, allgather of {_OVERLAP_SIZE} bytes each: hidden {who}"
            yield Line(what, f"{spread([100 * one for one in hidden])} %; ms: {shown}", ">= 90 %", statistics.median(hidden) >= 0.9)


def start(bench: Bench) -> Iterator[Line]:
    """What the gather and the table add to a launch."""
    program = bench.program()
    shares, gathers = [], []
    with up(HOSTS) as (hosts, names):
        words = _command(bench, hosts, names, 1, program, "start")
        for _ in range(bench.rounds + 1):
            said = _run(hosts, ["sh", "-c", 'date +%s.%N; exec "$@"', "sh", *words])
            begun = float(said.split()[0])
            ((registered, table),) = _words(said, "start")
            shares.append(100 * (table - registered) / (registered - begun))
            gathers.append(1e3 * (table - registered))
    del shares[0], gathers[0]
    shown = f"{spread(shares)} %; {spread(gathers)} ms from the last process's tuple to the last process's table"
    yield Line(f"{HOSTS} hosts: gather and table / launch", shown, "<= 2 %", statistics.median(shares) <= 2)
