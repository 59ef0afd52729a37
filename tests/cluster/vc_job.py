# SPDX-License-Identifier: Apache-2.0
"""Jobs under way on virtual hosts, several at a time, for fault tests.

A Job is one charmrun on the first of its hosts. Jobs that run at the same time must not share a
host: what a job leaves behind is told from the others' processes by the host alone. Its output
goes to files, so that no test can block it by not reading.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from vc_faults import wait_until
from vcluster import Cluster, Process

SETTLE_S = 5.0  # so long after the end of a job nothing of it may run


def overload() -> float:
    """How many times more work there is than this machine has processors; 1 at least."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def patience(seconds: float) -> float:
    """`seconds` of a machine that has nothing else to do, in seconds of this one now."""
    return seconds * overload()


class Job:
    """charmrun with `argv` on hosts[0]; `hosts` are all on which it may have processes. What runs there
    before is not of the job."""

    def __init__(
        self, cluster: Cluster, hosts: Sequence[int], argv: Sequence[str | Path], **options: Any
    ) -> None:
        self.cluster = cluster
        self.hosts = list(hosts)
        self._strangers = cluster.survivors()
        self.strange_sockets = set(sockets(cluster))
        self._out = tempfile.TemporaryFile("w+", errors="replace")
        # What is measured by it must not wait for a disk.
        self._err = tempfile.TemporaryFile("w+", errors="replace", dir="/dev/shm")
        options = {"stdout": self._out, "stderr": self._err, **options}
        self.root = cluster.popen(self.hosts[0], argv, **options)

    # -- what it says ---------------------------------------------------------------------------

    @property
    def out(self) -> str:
        return _content(self._out)

    @property
    def err(self) -> str:
        return _content(self._err)

    @property
    def errors(self) -> list[str]:
        """What charmrun itself says is wrong, without `charmrun: error: `."""
        mark = "charmrun: error: "
        return [line.removeprefix(mark) for line in self.err.splitlines() if line.startswith(mark)]

    def said(self) -> str:
        """All of it, for a failed assertion."""
        return f"status {self.root.poll()}\n--- stdout\n{self.out}--- stderr\n{self.err}"

    # -- what it does ---------------------------------------------------------------------------

    def running(self, command: str) -> list[Process]:
        """Its processes called `command`."""
        return [one for one in self._processes() if one.command == command]

    def launchers(self, host: int | None = None) -> list[Process]:
        found = [one for one in self._processes() if one.cmdline.endswith("charmrun ++launcher")]
        return found if host is None else [one for one in found if one.host == host]

    def launcher(self, host: int) -> Process:
        """The one that works there; its guardian, whose child it is, looks the same."""
        found = self.launchers(host)
        pids = {one.pid for one in found}
        return next(one for one in found if _parent(one.pid) in pids)

    def inner(self) -> list[Process]:
        """The launchers that have started others, by ssh or as children."""
        launchers = self.launchers()
        parents = {_parent(one.pid) for one in launchers}
        logged_in = {host for host in self.hosts[1:] if _logged_in(self.cluster.hosts[host].pid)}
        return [one for one in launchers if one.pid in parents or one.host in logged_in]

    def signal(self, number: int) -> None:
        self.root.send_signal(number)

    def wait(self, seconds: float = 60.0) -> int:
        """Its exit status; -n: it died of signal n."""
        try:
            return self.root.wait(patience(seconds))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs after {seconds:g} s: {self.root.args}\n{self.said()}") from None

    def until(self, condition: Callable[[], object], what: str, seconds: float = 30.0) -> None:
        """Waits for a condition while the job runs."""
        wait_until(lambda: condition() or self.root.poll() is not None, patience(seconds))
        if not condition():
            self.kill()
            raise AssertionError(f"{what} did not come: {self.root.args}\n{self.said()}")

    def survivors(self) -> list[Process]:
        """What is left of it, now."""
        return [one for one in self.cluster.survivors(self._strangers) if one.host in self.hosts]

    def kill(self) -> None:
        if self.root.poll() is None:
            self.root.kill()
            self.root.wait(10)

    def _processes(self) -> list[Process]:
        known = {host.pid for host in self.cluster.hosts} | {one.pid for one in self._strangers}
        every = [one for host in self.hosts for one in self.cluster.processes(host)]
        return [one for one in every if one.state != "Z" and one.pid not in known]


# How long after the ends of jobs their last processes went, in seconds, and how overloaded the machine was.
ends: list[tuple[float, float]] = []


def leftovers(jobs: Iterable[Job], within: float = SETTLE_S) -> list[str]:
    """Waits until nothing is left of jobs that have ended; returns what still is in the end, and
    kills it. Socket files in /tmp are told only by all jobs of the cluster together.

    Only where there is more work than processors may it take longer than `within`; `ends` tells how near
    SETTLE_S, where that is promised, has come.
    """
    jobs, load, begun = list(jobs), overload(), time.monotonic()
    wait_until(lambda: not any(job.survivors() for job in jobs), within * load)
    took = time.monotonic() - begun
    if within <= SETTLE_S:
        ends.append((took, load))
    left = [one for job in jobs for one in job.survivors()]
    for one in left:
        kill(one)
    cluster = jobs[0].cluster
    lines = [f"{cluster.names[one.host]}: {one.pid} {one.cmdline}" for one in left]
    strange = set.intersection(*(job.strange_sockets for job in jobs))
    lines += [f"socket {path}" for path in sockets(cluster) if path not in strange]
    return [*lines, f"(after {took:.1f} s, {load:.1f} times overloaded)"] if lines else []


def sockets(cluster: Cluster) -> list[str]:
    """The launchers' socket files on all hosts."""
    folders = f"charmtree-{cluster.user('ctuser').uid}*"
    places = {place for index in range(cluster.n) for place in cluster.path(index, "/tmp").glob(folders)}
    real = [place for place in places if place.is_dir() and not place.is_symlink()]
    return sorted(str(file) for place in real for file in place.iterdir())


def kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)


def pause(seconds: float) -> None:
    time.sleep(seconds)


def environment(pid: int) -> dict[str, str]:
    """That of a process, as it was started."""
    entries = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def resident_kb(pid: int) -> int:
    """The memory that a process holds; 0: it has gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s*(\d+) kB", status)
    return int(found[1]) if found else 0


def _content(file: Any) -> str:
    file.flush()
    with open(f"/proc/self/fd/{file.fileno()}", encoding="utf-8", errors="replace") as fresh:
        return fresh.read()


def _parent(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return 0
    return int(stat[stat.rindex(")") + 2 :].split()[1])


def _logged_in(pid: int) -> bool:
    """True if there is a connection to another host's sshd from the network of this process."""
    rows = Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return any(row.split()[2].endswith(":0016") and row.split()[3] == "01" for row in rows)
