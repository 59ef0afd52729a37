# SPDX-License-Identifier: Apache-2.0
"""Random deaths: `python3 tests/cluster/kill_campaign.py [COUNT [SEED]]`, as root (see tests/campaign).

Each of COUNT jobs, over sshd or on virtual hosts, with plain or Charm++ programs that leave grandchildren, is
struck once at a random moment, in the launch or after it: signals to the root, SIGKILL or SIGTERM of a random
launcher or its guardian, SIGKILL of a random program, and combinations; a host loses its power or its cable.
Afterwards status and message must fit, and 5 s later nothing may be left, 10 s after the cable was pulled.
A root that does not catch its signal yet, in its first milliseconds, dies of it like any program: without a word, and before
it has started anything.
Prints a line per kind of death; the status is 1 if anything was wrong.
"""

from __future__ import annotations

import collections
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from test_survivors import BROOD, STAY, put_broods
from vc_job import SETTLE_S, Job, leftovers, patience
from vcluster import REPOSITORY, Cluster, Process

_GROUPS: list[range] = [range(0, 9), range(9, 18), *(range(n, n + 1) for n in range(18, 26))]
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
_ROUND_OF = len(_GROUPS)
ORPHAN_S = 10.0  # ++orphan-after


class Strike:
    """What happens to one job, and which statuses may follow."""

    def __init__(self, rng: random.Random, on_hosts: bool) -> None:
        """`on_hosts`: of their own, by ssh."""
        self.kind = rng.choice(("plain", "charm"))
        ways = ["signal", "two signals", "launcher", "launcher and root", "program"]
        self.way = rng.choice(ways + 2 * ["power", "cable"] if on_hosts else ways)
        self.host: int | None = None  # that lost it
        self.at = 0.0
        self.number = rng.choice(_SIGNALS)
        self.delay = rng.choice((0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 4.0)) * rng.uniform(0.5, 1.5)
        self.pick = rng.random()
        self.struck: set[int] = set()  # the statuses that may follow
        self.early = False  # the root did not catch the signal yet, and died of it without a word
        self.started_early: list[Process] = []  # what there was of its job all the same

    def __str__(self) -> str:
        how = "" if self.way in ("power", "cable") else f", {signal.Signals(self.number).name}"
        return f"{self.kind}, {self.way}{how}"

    def strike(self, job: Job) -> None:
        """There may be no launcher or program yet: then the root gets the signal."""
        self.at = time.monotonic()
        if self.way in ("power", "cable"):
            return self._strike_host(job)
        targets = {"program": job.running("sleep"), "launcher": job.launchers()}
        chosen = targets.get(self.way.split()[0], [])
        if chosen:
            victim = chosen[int(self.pick * len(chosen))]
            number = self.number if self.way != "program" else signal.SIGKILL
            try:
                os.kill(victim.pid, number)
            except ProcessLookupError:
                chosen = []
            self.struck |= {125, 128 + number, 0} if self.way == "program" else {125}
        if not chosen or self.way == "launcher and root":
            self._signal_root(job, self.number)
        if self.way == "two signals":
            time.sleep(self.pick)
            self._signal_root(job, signal.SIGINT)
        if self.way == "program":  # that may have been a grandchild, which nobody misses
            time.sleep(0.3)
            self._signal_root(job, signal.SIGINT)

    def _strike_host(self, job: Job) -> None:
        """The root's own one may lose its cable only: without power there is nobody to be asked."""
        candidates = job.hosts[1:] if self.way == "power" else job.hosts
        self.host = candidates[int(self.pick * len(candidates))]
        self.struck.add(125)
        if self.way == "cable":
            job.cluster.unplug(self.host)
        else:
            job.cluster.crash(self.host)

    def mend(self, job: Job) -> None:
        """Nothing of the job may be on a host without its cable by then, either. Files in /tmp go when a host boots."""
        if self.host is None:
            return
        if self.way == "cable":
            time.sleep(max(0.0, self.at + ORPHAN_S - SETTLE_S - time.monotonic()))
            return
        folder = job.cluster.path(self.host, f"/tmp/charmtree-{job.cluster.user('ctuser').uid}")
        for file in folder.iterdir() if folder.is_dir() else ():
            file.unlink()
        job.cluster.boot(self.host)

    def plug(self, job: Job) -> None:
        if self.way == "cable" and self.host is not None:
            job.cluster.plug(self.host)

    def _signal_root(self, job: Job, number: int) -> None:
        self.struck.add(-number)
        if job.root.poll() is not None:
            return
        caught = _catches(job.root.pid, number)
        job.signal(number)
        if not caught and number != signal.SIGKILL:
            self._look_for_early_death(job, number)

    def _look_for_early_death(self, job: Job, number: int) -> None:
        """At once: later it could have been cleaned up. A root that has begun to catch the signal after we looked lives on."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if job.root.wait(0.1) == -number and not job.err:
                self.early = True
                self.started_early = job.survivors()

    def faults(self, job: Job, status: int) -> list[str]:
        """What is wrong with the status and the message."""
        if self.early:
            return [f"{self}: it did not catch the signal yet, but had started {one}" for one in self.started_early]
        expected = [one for one in self.struck if one < 0 or one == 125]
        wrong = []
        if status not in self.struck or (status != -signal.SIGKILL and "charmrun: " not in job.err):
            wrong.append(f"{self}: expected one of {expected}, got {job.said()}")
        name = "" if self.host is None else job.cluster.names[self.host]
        if self.host not in (None, job.hosts[0]) and name not in "".join(job.errors[:1]):
            wrong.append(f"{self}: not named as the first cause: {name}, but {job.said()}")
        return wrong


def _catches(pid: int, number: int) -> bool:
    """Whether this process has a handler for the signal."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def _start(hosts: Cluster, charmrun: Path, where: range, strike: Strike) -> Job:
    if len(where) == 1:
        counts = ["+p8", "++hosts", "4", "++branching", "2"]
    else:
        names = [hosts.names[one] for one in where]
        counts = ["+p18", "++nodelist", hosts.nodelist(names), "++branching", "2", "++levels", "3"]
    double = [charmrun.parent / "charm_double", "--hang-at-exit", "--fork-grandchild", STAY, "--compute", STAY]
    program = ["sleep", f"{STAY}.9"] if strike.kind == "plain" else double
    return Job(hosts, where, [charmrun, *counts, BROOD, *program])


def _round(hosts: Cluster, charmrun: Path, strikes: list[Strike]) -> list[str]:
    """One job on each group of hosts, all struck at their own moments."""
    begin = time.monotonic()
    jobs = [_start(hosts, charmrun, where, strike) for where, strike in zip(_GROUPS, strikes, strict=False)]
    for strike, job in sorted(zip(strikes, jobs, strict=True), key=lambda pair: pair[0].delay):
        time.sleep(max(0.0, begin + strike.delay - time.monotonic()))
        strike.strike(job)
    wrong = []
    for strike, job in zip(strikes, jobs, strict=True):
        status = job.wait(patience(30 if strike.host is None else 90))  # it may be logging in there
        wrong += strike.faults(job, status)
    for strike, job in zip(strikes, jobs, strict=True):
        strike.mend(job)
    left = leftovers(jobs)
    for strike, job in zip(strikes, jobs, strict=True):
        strike.plug(job)
    return wrong + [f"left by {[str(one) for one in strikes]}: {line}" for line in left]


def main(count: int, seed: int) -> int:
    build = Path(os.environ.get("CHARMTREE_BUILD") or REPOSITORY / "build").resolve()
    rng = random.Random(seed)
    print(f"kills: {count} jobs, seed {seed}")
    tally: collections.Counter[str] = collections.Counter()
    bad = 0
    with Cluster(26) as hosts:
        put_broods(hosts)
        for done in range(0, count, _ROUND_OF):
            groups = _GROUPS[: count - done]
            strikes = [Strike(rng, len(group) > 1) for group in groups]
            wrong = _round(hosts, build / "bin/charmrun", strikes)
            tally.update(f"{one}, before it is caught" if one.early else str(one) for one in strikes)
            bad += len(wrong)
            for line in wrong:
                print(f"WRONG after {done} jobs: {line}", flush=True)
    for what, times in sorted(tally.items()):
        print(f"{times:6} {what}")
    print(f"{count} jobs, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:]]
    sys.exit(main(words[0] if words else 100, words[1] if len(words) > 1 else time.time_ns() % 1_000_000))
