# SPDX-License-Identifier: Apache-2.0
"""Single launches on virtual hosts, timed: the clock runs from the moment at which a shell on the first host
starts the launcher until that has ended. Entering the host is not counted."""

from __future__ import annotations

import json
import math
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vcluster import SHARED, Cluster, Result

# A shell that waits for its turn; what it runs is its child.
_GATE = ["sh", "-c", 'echo ready; read go; "$@"; exit $?', "sh"]
_PATIENCE_S = 300.0
_REPORT = f"{SHARED}/launch.json"
_Value = TypeVar("_Value")


class Failed(RuntimeError):
    """A launch that should have succeeded did not."""


@dataclass(frozen=True)
class Line:
    """One line of the result; met None: could not be measured."""

    what: str
    measured: str
    target: str
    met: bool | None


def timed(hosts: Cluster, argv: Sequence[str | Path], patience: float = _PATIENCE_S) -> Result:
    """Runs a launcher on the first host to its end, whatever that is."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    child = hosts.popen(0, [*_GATE, *argv], **pipes)
    child.stdout.readline()
    begin = time.monotonic()
    try:
        out, err = child.communicate("go\n", patience)
    except subprocess.TimeoutExpired:
        child.kill()
        raise Failed(f"no end after {patience:g} s: {_shown(argv)}") from None
    return Result(argv, child.returncode, out, err, time.monotonic() - begin)


def good(hosts: Cluster, argv: Sequence[str | Path], patience: float = _PATIENCE_S) -> float:
    """The seconds of a launch that must succeed."""
    done = timed(hosts, argv, patience)
    if done.returncode != 0:
        raise Failed(f"status {done.returncode}: {_shown(argv)}\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.elapsed


def started(hosts: Cluster, argv: Sequence[str | Path]) -> float:
    """The seconds until a charmrun, ours or Charm++'s, says that all node programs are started, connected to
    it and to each other. The job must succeed, but what it does after that is not counted."""
    done = timed(hosts, argv)
    found = re.search(r"^Charmrun> started all node programs in ([0-9.]+) seconds", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not found:
        raise Failed(f"status {done.returncode}: {_shown(argv)}\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return float(found[1])


def floor(hosts: Cluster, program: Path, names: Iterable[str]) -> float:
    """The seconds until the last of all bare logins has given its first byte."""
    done = timed(hosts, [program, *names])
    if done.returncode != 0:
        raise Failed(f"ssh_floor: {done.stderr[-2000:]}")
    return float(done.stdout.split(" hosts ")[1].split()[0])


@dataclass(frozen=True)
class Reported:
    """A launch that was asked for a report; marks are seconds since its start."""

    status: int
    said: str
    launchers: list[dict[str, Any]]

    def last(self, mark: str, names: Iterable[str]) -> float:
        """When the last of these hosts' launchers reached `mark`; infinite if one never did."""
        marks = {one["name"]: one["marks"].get(mark, math.inf) for one in self.launchers}
        return max(marks.get(name, math.inf) for name in names)

    def accused(self) -> set[str]:
        """The hosts that stand in its lines: `charmrun: error: h[05,26]: connect: ...`, or `left out`."""
        heads = re.findall(r"^charmrun: (?:error|left out): ([^ :]+(?:, [^ :]+)*): ", self.said, re.MULTILINE)
        return {name for head in heads for name in unfolded(head)}


def reported(hosts: Cluster, charmrun: Path, *words: Any) -> Reported:
    file = hosts.path(0, _REPORT)
    file.unlink(missing_ok=True)
    done = timed(hosts, [charmrun, "++report", _REPORT, *map(str, words)])
    if not file.exists():
        raise Failed(f"status {done.returncode}, no report: {done.stderr[-2000:]}")
    return Reported(done.returncode, done.stderr, json.loads(file.read_text())["launchers"])


def unfolded(names: str) -> list[str]:
    """h[05,07-08], x -> h05, h07, h08, x"""
    found = []
    for word in re.findall(r"[^\s,\[\]]+(?:\[[^\]]*\])?", names):
        stem, _, inside = word.rstrip("]").partition("[")
        for part in inside.split(","):
            first, _, last = part.partition("-")
            numbers = range(int(first), int(last or first) + 1) if first else []
            found += [f"{stem}{number:0{len(first)}}" for number in numbers] or [stem]
    return found


def in_turns(
    contestants: Mapping[str, Callable[[], _Value]], rounds: int, done: Callable[[int, str, _Value], None] = lambda *_: None
) -> dict[str, list[_Value]]:
    """One run of each to warm up, then rounds of one run each, every second one backwards. `done` hears of each: its round, from 0
    on, its name, and what it gave."""
    values: dict[str, list[_Value]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    for number in range(rounds):
        names = list(contestants)
        for name in names if number % 2 == 0 else reversed(names):
            values[name].append(contestants[name]())
            done(number, name, values[name][-1])
    return values


def spread(values: Sequence[float]) -> str:
    """The median, and from where to where."""
    return f"{statistics.median(values):.3g} ({min(values):.3g} ... {max(values):.3g})"


def _shown(argv: Sequence[str | Path]) -> str:
    text = " ".join(str(word).rsplit("/", 1)[-1] for word in argv)
    return text if len(text) < 120 else text[:117] + "..."
