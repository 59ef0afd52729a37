# SPDX-License-Identifier: Apache-2.0
"""Nothing survives a job: however it ends, 5 s later no process of it runs on any host, and no
socket file is left. Every process of every job here leaves grandchildren that do not want to go.

Jobs run side by side on hosts of their own: two over sshd on 9 hosts each, and a few with virtual
hosts on one machine each.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from vc_job import Job, kill, leftovers, pause
from vcluster import Cluster

from spinning import make_spin

Factory = Callable[..., Cluster]
_SSH_GROUPS = (range(0, 9), range(9, 18))
_LOCAL_HOSTS = range(18, 26)
BROOD, KNOWN_BROOD = "/home/shared/brood", "/home/shared/known-brood"
STAY = "98765"  # seconds that everything here wants to live on

# Children that ignore signals and keep or close their descriptors, in sessions of their own; then the
# program proper. The last child has given up parent, session and environment: only a launcher or its
# guardian can know whose it is, so it stays out of the tests that kill both.
_SCRIPT = f"""#!/bin/sh
trap '' TERM HUP INT QUIT
sleep {STAY}.1 &
sleep {STAY}.2 <&- >&- 2>&- &
setsid sleep {STAY}.3 &
setsid sh -c 'sleep {STAY}.4 <&- >&- 2>&- &'
[ $0 = {BROOD} ] && setsid env -i /bin/sh -c '/bin/sleep {STAY}.5 <&- >&- 2>&- &'
trap - TERM HUP INT QUIT
exec "$@"
"""


@dataclass(frozen=True)
class Way:
    """How a job is brought to its end, its status afterwards, and a word that stderr must hold."""

    name: str
    act: Callable[[Job], None]
    status: int
    word: str


def _nothing(_: Job) -> None:
    return


def _interrupt_twice(job: Job) -> None:
    job.signal(signal.SIGINT)
    pause(0.3)
    job.signal(signal.SIGINT)


def _kill_leaf(job: Job) -> None:
    inner = {one.pid for one in job.inner()}
    kill(next(one for one in reversed(job.launchers()) if one.pid not in inner))


def _kill_inner(job: Job) -> None:
    kill(job.inner()[0])


def _kill_host(job: Job) -> None:
    """All launchers of one host; with virtual hosts that is all but the root."""
    chosen = job.launchers()[-1].host
    for one in job.launchers(chosen):
        kill(one)


def _signal(number: int) -> Callable[[Job], None]:
    return lambda job: job.signal(number)


_LOST = "lost the launcher there"
_WAYS = {
    way.name: way
    for way in (
        Way("normal", _nothing, 0, ""),
        Way("int", _signal(signal.SIGINT), -signal.SIGINT, "Interrupt"),
        Way("int-int", _interrupt_twice, -signal.SIGINT, "Interrupt"),
        Way("term", _signal(signal.SIGTERM), -signal.SIGTERM, "Terminated"),
        Way("hup", _signal(signal.SIGHUP), -signal.SIGHUP, "Hangup"),
        Way("kill-root", _signal(signal.SIGKILL), -signal.SIGKILL, ""),
        Way("kill-leaf", _kill_leaf, 125, _LOST),
        Way("kill-inner", _kill_inner, 125, _LOST),
        Way("kill-host", _kill_host, 125, _LOST),
    )
}


STOPPED_S = 10.0  # so long a launcher may live that is stopped when its link ends


def put_broods(hosts: Cluster) -> None:
    for path in (BROOD, KNOWN_BROOD):
        hosts.put(0, path, _SCRIPT, mode=0o755)


@pytest.fixture
def hosts(cluster: Factory) -> Iterator[Cluster]:
    hosts = cluster(26)
    put_broods(hosts)
    yield hosts


class Starter:
    """Starts jobs of both program kinds on ssh hosts or virtual ones."""

    def __init__(self, hosts: Cluster, charmrun: Path) -> None:
        self.hosts, self.charmrun = hosts, charmrun
        self.double = charmrun.parent / "charm_double"

    def start(self, where: range | int, kind: str, way: Way, launching: bool) -> Job:
        if isinstance(where, int):
            places: range = range(where, where + 1)
            counts = ["+p8", "++hosts", "4", "++branching", "2"]
        else:
            places = where
            listed = [self.hosts.names[one] for one in where]
            if launching:
                listed[4] = "blackhole"
            counts = ["+p18", "++nodelist", self.hosts.nodelist(listed), "++branching", "2", "++levels", "3"]
            counts += ["++start-early"] * launching  # there is more to be ended
        brood = KNOWN_BROOD if way.name == "kill-host" else BROOD
        return Job(self.hosts, places, [self.charmrun, *counts, brood, *self._program(kind, way)])

    def _program(self, kind: str, way: Way) -> list[str | Path]:
        ends = way.name == "normal"
        if kind == "plain":
            return ["true"] if ends else ["sleep", f"{STAY}.9"]
        double = [self.double, "--hang-at-exit", "--fork-grandchild", STAY]
        return double if ends else [*double, "--compute", STAY]


def _wait_until_up(job: Job, kind: str, way: Way, launching: bool) -> None:
    """All processes of the job run, each with its brood (as far as hosts can be reached)."""
    processes = 8 if len(job.hosts) == 1 else 16 if launching else 18
    sleepers = processes * (5 - (way.name == "kill-host") + (kind == "plain"))
    job.until(lambda: len(job.running("sleep")) >= sleepers, f"{sleepers} sleepers")
    if kind == "charm":
        expected = processes if launching else 2 * processes
        job.until(lambda: len(job.running("charm_double")) >= expected, f"{expected} doubles")
    if len(job.hosts) > 1:
        job.until(job.inner, "an inner launcher")


def _finish(job: Job, label: str, way: Way) -> list[str]:
    """Waits for the end; returns what was wrong with it."""
    status = job.wait()
    if status != way.status or way.word not in job.err:
        return [f"{label}: expected status {way.status} and '{way.word}', got {job.said()}"]
    return []


def _run_all(jobs: dict[str, tuple[Job, Way]], launching: bool = False) -> None:
    """Brings all jobs up, then all to their ends. A label begins with the kind of program."""
    wrong: list[str] = []
    for label, (job, way) in jobs.items():
        if way.name != "normal":
            _wait_until_up(job, label.split()[0], way, launching)
    for job, way in jobs.values():
        way.act(job)
    for label, (job, way) in jobs.items():
        wrong += _finish(job, label, way)
    wrong += [f"left: {line}" for line in leftovers(job for job, _ in jobs.values())]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", _WAYS)
def test_over_ssh_on_9_hosts(hosts: Cluster, charmrun: Path, name: str) -> None:
    way, starter = _WAYS[name], Starter(hosts, charmrun)
    kinds = dict(zip(("plain", "charm"), _SSH_GROUPS, strict=True))
    jobs = {kind: (starter.start(where, kind, way, False), way) for kind, where in kinds.items()}
    _run_all(jobs)


@pytest.mark.parametrize("name", [name for name in _WAYS if name != "normal"])
def test_during_the_launch(hosts: Cluster, charmrun: Path, name: str) -> None:
    """One host never answers, so the launch is not over when the end comes."""
    way, starter = _WAYS[name], Starter(hosts, charmrun)
    kinds = dict(zip(("plain", "charm"), _SSH_GROUPS, strict=True))
    jobs = {kind: (starter.start(where, kind, way, True), way) for kind, where in kinds.items()}
    _run_all(jobs, launching=True)


@pytest.mark.parametrize("kind", ["plain", "charm"])
def test_on_virtual_hosts_of_one_machine(hosts: Cluster, charmrun: Path, kind: str) -> None:
    starter = Starter(hosts, charmrun)
    ways = list(_WAYS.values())
    places = [*_LOCAL_HOSTS, *range(len(ways) - len(_LOCAL_HOSTS))]
    jobs = {
        f"{kind} {way.name}": (starter.start(where, kind, way, False), way)
        for way, where in zip(ways, places, strict=True)
    }
    _run_all(jobs)


@pytest.mark.parametrize("name", ["normal", "kill-root", "kill-host"])
def test_only_what_the_job_started_is_signalled(hosts: Cluster, charmrun: Path, name: str) -> None:
    """Another job on the same hosts, and processes that look like those of the job, live on."""
    way, starter, where = _WAYS[name], Starter(hosts, charmrun), _SSH_GROUPS[0]
    asleep = ["sleep", f"{STAY}.9"]
    marks = {"CHARMTREE_PROCESS": "1", "CHARMTREE_JOB": "0123456789abcdef:1"}
    strangers = [hosts.popen(host, asleep, env=env) for host in where for env in ({}, marks)]
    try:
        other = Job(hosts, where, [charmrun, "+p9", "++nodelist", hosts.nodelist(where), *asleep])
        other.until(lambda: len(other.running("sleep")) == 9, "nine sleepers")
        before = {one.pid for one in hosts.survivors()}
        _run_all({"plain": (starter.start(where, "plain", way, False), way)})
        assert before == {one.pid for one in hosts.survivors()}
        other.signal(signal.SIGINT)
        other.signal(signal.SIGINT)
        assert not _finish(other, "other", _WAYS["int-int"]) + leftovers([other])
        assert [one.poll() for one in strangers] == [None] * len(strangers)
    finally:
        for one in strangers:
            one.kill()
            one.wait(10)


def test_a_launcher_that_hangs_does_not_hold_up_the_end(hosts: Cluster, charmrun: Path) -> None:
    """A stopped launcher cannot confirm: the root says so and leaves without it."""
    way = Way("stop", _nothing, -signal.SIGINT, "did not confirm that the job has ended there")
    starter = Starter(hosts, charmrun)
    job = starter.start(_SSH_GROUPS[0], "plain", way, False)
    _wait_until_up(job, "plain", way, False)
    inner = {one.pid for one in job.inner()}
    victim = next(one for one in reversed(job.launchers()) if one.pid not in inner)
    os.kill(victim.pid, signal.SIGSTOP)
    job.signal(signal.SIGINT)
    wrong = _finish(job, "stopped leaf", way)
    os.kill(victim.pid, signal.SIGCONT)
    assert not wrong + leftovers([job]), "\n".join(wrong)


def _stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


@pytest.mark.parametrize(("stopped", "stop"), [("a leaf", _stop), ("a leaf", make_spin), ("an inner launcher", _stop)])
def test_a_launcher_that_does_nothing_does_not_outlive_the_root(
    hosts: Cluster, charmrun: Path, stopped: str, stop: Callable[[int], None]
) -> None:
    """It cannot see that its link has ended: its guardian can."""
    way, starter = _WAYS["kill-root"], Starter(hosts, charmrun)
    kinds = dict(zip(("plain", "charm"), _SSH_GROUPS, strict=True))
    jobs = {kind: starter.start(where, kind, way, False) for kind, where in kinds.items()}
    virtual = starter.start(_LOCAL_HOSTS[0], "plain", way, False)
    for kind, job in (*jobs.items(), ("plain", virtual)):
        _wait_until_up(job, kind, way, False)
    for job in jobs.values():
        inner = {one.pid for one in job.inner()}  # and all guardians
        leaves = {one.host for one in job.launchers() if one.pid not in inner}
        where = [host for host in job.hosts[1:] if (host in leaves) == (stopped == "a leaf")]
        stop(job.launcher(where[0]).pid)
    stop(virtual.launcher(_LOCAL_HOSTS[0]).pid)
    ended = [*jobs.values(), virtual]
    for job in ended:
        way.act(job)
        assert job.wait() == way.status
    assert not leftovers(ended, STOPPED_S)
