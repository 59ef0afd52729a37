# SPDX-License-Identifier: Apache-2.0
"""MPI programs, from the command to their end, beside the launchers that their MPIs bring: the same binary, the same hosts and sshds.
Nothing is done between MPI_Init and MPI_Finalize (tests/cluster/mpi_check.c)."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import peers as peer
from launch_lines import HOSTS, SHARE, Settings, interleaved, our_command, ratios, up
from launch_runs import Failed, Line, good, spread
from mpi_programs import program

_HERE = 4  # processes on one host
_ALONE = 5  # runs of one process
_MORE = 8  # so many times as often, where a run takes a tenth of a second
_TRIES = 4  # of a launch by another launcher
_INIT = ["init", "0"]


def mpi(settings: Settings) -> Iterator[Line]:
    """Open MPI 5 sleeps for a second in MPI_Init unless it leaves out a way between processes that it would not take: both do."""
    hydra, openmpi = peer.make_hydra(), peer.make_mpirun()
    with up(HOSTS) as (hosts, names):
        contestants: dict[str, Callable[[], float]] = {"nothing": lambda: good(hosts, our_command(settings, hosts, names, peer.TRUE))}
        own: dict[str, float] = {}
        for family in ("mpich5", "openmpi5"):
            more, path = program(family)
            words = [*our_command(settings, hosts, names, path)[:-1], *more, str(path), *_INIT]
            contestants[family] = lambda words=words: good(hosts, words)
            own[family] = _own_cpu(more, path)
        _, path = program("mpich5")
        contestants["Hydra"] = lambda: good(hosts, peer.hydra_command(hydra, names, [str(path), *_INIT]))
        _, other = program("openmpi5")
        contestants["mpirun"] = lambda: _at_last(hosts, peer.mpirun_command(openmpi, names, [str(other), *_INIT]))
        times = interleaved(settings, contestants, settings.rounds)
    nothing = statistics.median(times["nothing"])
    for family, other, target in (("mpich5", "Hydra", 0.75), ("openmpi5", "mpirun", 0.5)):
        bound = nothing + HOSTS * own[family] / (os.cpu_count() or 1)
        yield _beside(f"{HOSTS} hosts", times, family, other, target, f"; floor {bound:.3g} s")
    yield from _here(settings, hydra, path)


def _at_last(hosts: Cluster, words: list[str]) -> float:
    """Open MPI's mpirun does not reach one of 64 hosts now and then: what counts is a launch that it does well."""
    for _ in range(_TRIES - 1):
        try:
            return good(hosts, words)
        except Failed:
            continue
    return good(hosts, words)


def _own_cpu(words: list[str], path: Path) -> float:
    """Seconds of a core that the program takes from MPI_Init to MPI_Finalize where it is alone: with those of a job of nothing, the floor."""
    environment = {**os.environ, **dict(word.split("=", 1) for word in words if "=" in word)}
    taken = []
    for _ in range(_ALONE):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([path, *_INIT], env=environment, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken)


def mpi_dilated(settings: Settings) -> Iterator[Line]:
    """On hosts of a small share of a core each, so that none takes time from another one: MPI_Init takes seconds there by itself."""
    hydra = peer.make_hydra()
    _, path = program("mpich5")
    with up(HOSTS, cpu_share=SHARE) as (hosts, names):
        ours = [*our_command(settings, hosts, names, path)[:-1], str(path), *_INIT]
        theirs = peer.hydra_command(hydra, names, [str(path), *_INIT])
        contestants = {"mpich5": lambda: good(hosts, ours), "Hydra": lambda: good(hosts, theirs)}
        times = interleaved(settings, contestants, settings.dilated_rounds)
    ratio = statistics.median(times["Hydra"]) / statistics.median(times["mpich5"])
    detail = f"{spread(times['Hydra'])} s, ours {spread(times['mpich5'])} s"
    yield Line(f"mpich5, {HOSTS} dilated hosts, Hydra's time / ours", f"{ratio:.1f}; {detail}", ">= 6", ratio >= 6)


def _here(settings: Settings, hydra: Path, path: Path) -> Iterator[Line]:
    with up(1) as (hosts, _):
        times = interleaved(
            settings,
            {
                "mpich5": lambda: good(hosts, [str(settings.charmrun), "++local", f"+p{_HERE}", str(path), *_INIT]),
                "Hydra": lambda: good(hosts, [str(hydra), "-n", str(_HERE), str(path), *_INIT]),
            },
            settings.rounds * _MORE,
        )
    yield _beside(f"one host, {_HERE} processes", times, "mpich5", "Hydra", 1.0)


def _beside(what: str, times: dict[str, list[float]], mine: str, other: str, target: float, more: str = "") -> Line:
    ratio = statistics.median(ratios(times[mine], times[other]))
    detail = f"ours {spread(times[mine])} s, {other} {spread(times[other])} s{more}"
    return Line(f"{mine}, {what}, wall / {other}'s", f"{ratio:.2f}; {detail}", f"<= {target:g}", ratio <= target)
