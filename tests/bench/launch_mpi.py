# SPDX-License-Identifier: Apache-2.0
"""MPI programs, from the command to their end, beside the launchers that their MPIs bring: the same binary, the same hosts and sshds.
Nothing is done between MPI_Init and MPI_Finalize (tests/cluster/mpi_check.c)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import peers as peer
from launch_lines import HOSTS, SHARE, Settings, interleaved, our_command, ratios, up
from launch_runs import Line, good, spread
from mpi_programs import program

_HERE = 4  # processes on one host
_INIT = ["init", "0"]


def mpi(settings: Settings) -> Iterator[Line]:
    """Open MPI 5 sleeps for a second in MPI_Init unless it leaves out a way between processes that it would not take: both do."""
    hydra, openmpi = peer.make_hydra(), peer.make_mpirun()
    with up(HOSTS) as (hosts, names):
        contestants: dict[str, Callable[[], float]] = {}
        for family in ("mpich5", "openmpi5"):
            more, path = program(family)
            words = [*our_command(settings, hosts, names, path)[:-1], *more, str(path), *_INIT]
            contestants[family] = lambda words=words: good(hosts, words)
        _, path = program("mpich5")
        contestants["Hydra"] = lambda: good(hosts, peer.hydra_command(hydra, names, [str(path), *_INIT]))
        _, other = program("openmpi5")
        contestants["mpirun"] = lambda: good(hosts, peer.mpirun_command(openmpi, names, [str(other), *_INIT]))
        times = interleaved(settings, contestants, settings.rounds)
    yield _beside(f"{HOSTS} hosts", times, "mpich5", "Hydra", 0.75)
    yield _beside(f"{HOSTS} hosts", times, "openmpi5", "mpirun", 0.5)
    yield from _here(settings, hydra, path)


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
            settings.rounds,
        )
    yield _beside(f"one host, {_HERE} processes", times, "mpich5", "Hydra", 1.0)


def _beside(what: str, times: dict[str, list[float]], mine: str, other: str, target: float) -> Line:
    ratio = statistics.median(ratios(times[mine], times[other]))
    detail = f"ours {spread(times[mine])} s, {other} {spread(times[other])} s"
    return Line(f"{mine}, {what}, wall / {other}'s", f"{ratio:.2f}; {detail}", f"<= {target:g}", ratio <= target)
