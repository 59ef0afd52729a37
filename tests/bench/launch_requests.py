# SPDX-License-Identifier: Apache-2.0
"""What MPI_Init asks of PMI and sends over the tree, counted by the launchers (`++report`): the three ways of Raffenetti et al.
(Locality-Aware PMI Usage for Efficient MPI Startup, 2018). Every rank puts its address and gets all others (MPICH told to take each
process for a node of its own); those of a node share the gets by shared memory (MPICH 4.0); one process of each node puts and gets, the
rest goes over MPI (MPICH 5.0). Counts, so that the machine's speed does not matter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from launch_lines import Settings, up
from launch_runs import Failed, Line, timed
from mpi_programs import program
from vcluster import SHARED, Cluster

_REPORT = f"{SHARED}/requests.json"
_EVERY_RANK = ["++env", "MPIR_CVAR_NOLOCAL=1"]
_WAYS = {"every rank": ("mpich5", _EVERY_RANK), "shared memory": ("mpich4", []), "node roots": ("mpich5", [])}
_ATTEMPTS = 10  # MPICH 4.0 waits in MPI_Finalize for ever, one time in six


@dataclass(frozen=True)
class _Counts:
    requests: int  # of all processes
    fences: int
    link: int  # bytes down each link between launchers, all fences together


def requests(settings: Settings) -> Iterator[Line]:
    counts: dict[tuple[str, int, int], _Counts] = {}
    with up(8) as (hosts, names):
        for nodes, each in [(2, 1), (4, 1), (8, 1), (2, 4), (4, 4), (8, 4)]:
            for way, (family, words) in _WAYS.items():
                command = [settings.charmrun, f"+p{nodes * each}", "++nodelist", hosts.nodelist(names[:nodes]), *words]
                counts[way, nodes, each] = _count(hosts, [str(word) for word in command], program(family)[1])
                one = counts[way, nodes, each]
                yield Line(
                    f"{way}, {nodes} hosts, {each} processes on each",
                    f"{one.requests / (nodes * each):.1f} requests of a process, {one.fences} fences, {one.link} bytes over each link",
                    "counted",
                    True,
                )
    yield _shown("node roots instead of every rank, 8 hosts, 4 processes on each: bytes", counts, 4, 8)
    yield _shown("node roots instead of every rank, 8 hosts, 1 process on each: bytes", counts, 1, 8)


def _shown(what: str, counts: dict[tuple[str, int, int], _Counts], each: int, nodes: int) -> Line:
    ratio = counts["node roots", nodes, each].link / counts["every rank", nodes, each].link
    return Line(what, f"{ratio:.3f}", f"1 / {each}", abs(ratio * each - 1) < 0.2)


def _count(hosts: Cluster, command: list[str], path: Path) -> _Counts:
    for _ in range(_ATTEMPTS):
        done = timed(hosts, [*command, "++timelimit", "20", "++report", _REPORT, str(path), "init", "0"])
        if done.returncode == 0:
            fences = json.loads(hosts.path(0, _REPORT).read_text())["fences"]
            return _Counts(sum(each["requests"] for each in fences), len(fences), sum(each["bytes"] for each in fences))
        if done.returncode != 124:
            break
    raise Failed(f"{path.name}: status {done.returncode}: {re.sub(chr(10), ' ', done.stderr[-500:])}")
