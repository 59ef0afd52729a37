# SPDX-License-Identifier: Apache-2.0
"""What tests/bench/launch measures of the places where people run: hosts on which nothing is installed, and Slurm's allocations."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator

import peers as peer
from launch_lines import HOSTS, Settings, interleaved, our_command, ratios, up
from launch_runs import Failed, Line, good, spread
from slurm import Slurm, slurm
from vcluster import Cluster

_BARE = "/tmp/bare/charmrun"  # on the first host alone
_CACHE = "/home/ctuser/.cache/charmtree"
_FILES = "/home/ctuser/.cache/charmtree-files"
_LARGE, _LARGE_BYTES = "/tmp/large", 200_000_000
_LINK = 150e6 / 8  # bytes per second
_MINUTES = 3600.0  # of patience, in seconds
_SLOW_LINK = ["tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "150mbit", "burst", "256k", "latency", "100ms"]


def staging(settings: Settings) -> Iterator[Line]:
    """All hosts have file systems of their own; the charmrun that they have is another path's."""
    with Cluster(HOSTS + 1, own=range(1, HOSTS + 1)) as hosts:
        names = hosts.names[1:]
        shutil.copyfile(settings.charmrun, hosts.path(0, hosts.put(0, _BARE, "", mode=0o755)))
        installed = our_command(settings, hosts, names, peer.TRUE)
        bare = [_BARE, *installed[1:]]

        def first() -> float:
            for index in range(1, HOSTS + 1):
                shutil.rmtree(hosts.path(index, _CACHE), ignore_errors=True)
            return good(hosts, bare)

        contestants: dict[str, Callable[[], float]] = {
            "installed": lambda: good(hosts, installed),
            "first": first,
            "second": lambda: good(hosts, bare),  # behind a first one or another second one
        }
        times = interleaved(settings, contestants, settings.rounds)
    ratio = statistics.median(ratios(times["second"], times["installed"]))
    detail = f"{spread(times['second'])} s, installed {spread(times['installed'])} s"
    yield Line(f"{HOSTS} hosts, second launch with nothing installed / installed", f"{ratio:.2f}; {detail}", "<= 1.1", ratio <= 1.1)
    size = settings.charmrun.stat().st_size / 1e6
    took = f"{spread(times['first'])} s, {size:.1f} MB to each"
    yield Line(f"{HOSTS} hosts, first launch with nothing installed", took, "none", statistics.median(times["first"]) < 60)


def files(settings: Settings) -> Iterator[Line]:
    """A large executable for hosts whose links carry 150 Mbit/s, by ++stage-program and by scp from the root to each (all at
    once). Once: it is minutes of copying, and two processors do the work of 65."""
    with Cluster(HOSTS + 1, own=range(1, HOSTS + 1)) as hosts:
        for index in range(HOSTS + 1):
            hosts.exec_root(index, _SLOW_LINK, check=True)
        names = hosts.names[1:]
        program = hosts.put(0, _LARGE, "", mode=0o755)
        there = hosts.path(0, program)
        shutil.copyfile(shutil.which(peer.TRUE) or peer.TRUE, there)
        with there.open("ab") as file:
            file.write(os.urandom(_LARGE_BYTES - there.stat().st_size))
        words = our_command(settings, hosts, names, program)
        staged = [words[0], "++stage-program", "++wdir", "/", *words[1:]]
        each = f"scp -O -q -o BatchMode=yes {program} $name:{program}"
        copies = f"for name in {' '.join(names)}; do {each} & all=\"$all $!\"; done; for one in $all; do wait $one || exit 1; done"

        def emptied(run: Callable[[], float]) -> float:
            for index in range(1, HOSTS + 1):
                shutil.rmtree(hosts.path(index, _FILES), ignore_errors=True)
                hosts.path(index, program).unlink(missing_ok=True)
            os.sync()
            return run()

        ours = emptied(lambda: good(hosts, staged, _MINUTES))
        again = good(hosts, staged)
        theirs = emptied(lambda: good(hosts, ["sh", "-c", copies], _MINUTES))
    ratio = theirs / ours
    size = _LARGE_BYTES / 1e6
    what = f"{size:.0f} MB to {HOSTS} hosts, scp from the root to each / ++stage-program"
    once = _LARGE_BYTES / _LINK
    detail = f"{theirs:.0f} s / {ours:.0f} s; a link carries it in {once:.1f} s"
    yield Line(what, f"{ratio:.1f}; {detail}", ">= 5", ratio >= 5)
    yield Line(f"the same program again on {HOSTS} hosts", f"{again:.2f} s", "none", again < once)


def by_srun(settings: Settings) -> Iterator[Line]:
    """In one allocation, so that only what each starts counts."""
    if shutil.which("slurmctld") is None:
        yield Line(f"{HOSTS} hosts by srun", "needs slurmctld, slurmd, slurm-client and munge", "<= 1.8", None)
        return
    with up(HOSTS) as (hosts, names), slurm(hosts, HOSTS) as manager:
        allocation = Allocation(hosts, manager)
        by_hand = " ".join(f"srun -Q --overlap -N1 -n1 -w {name} hostname &" for name in names)
        contestants: dict[str, Callable[[], float]] = {
            "srun": lambda: allocation.run("srun hostname"),
            "charmrun": lambda: allocation.run(f"{settings.charmrun} hostname"),
            "by hand": lambda: allocation.run(f"{by_hand} wait"),
        }
        times = interleaved(settings, contestants, settings.rounds)
        allocation.end()
    ratio = statistics.median(ratios(times["charmrun"], times["srun"]))
    detail = ", ".join(f"{name} {spread(took)} s" for name, took in times.items())
    hand = statistics.median(ratios(times["by hand"], times["srun"]))
    yield Line(f"{HOSTS} hosts by srun, wall / one srun's", f"{ratio:.2f}; {detail}; {HOSTS} sruns by hand {hand:.2f}", "<= 1.8", ratio <= 1.8)


class Allocation:
    """A shell in an allocation of all nodes."""

    _LOOP = 'echo ready; while IFS= read -r line; do sh -c "$line" >/tmp/said 2>&1; echo $?; done'

    def __init__(self, hosts: Cluster, manager: Slurm) -> None:
        words = ["salloc", "-Q", f"-N{HOSTS}", "sh", "-c", self._LOOP]
        self._hosts = hosts
        self._shell = hosts.popen(0, words, env=manager.variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self._shell.stdout.readline() != "ready\n":
            raise Failed("no allocation")

    def run(self, command: str) -> float:
        begin = time.monotonic()
        self._shell.stdin.write(command + "\n")
        self._shell.stdin.flush()
        status = self._shell.stdout.readline()
        took = time.monotonic() - begin
        said = self._hosts.path(0, "/tmp/said").read_text()
        if status != "0\n" or sum(line in self._hosts.names for line in said.splitlines()) != HOSTS:
            raise Failed(f"status {status.strip()}: {command[:80]}\n{said[-2000:]}")
        return took

    def end(self) -> None:
        self._shell.stdin.close()
        self._shell.wait(60)
