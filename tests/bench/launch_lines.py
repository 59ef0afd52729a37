# SPDX-License-Identifier: Apache-2.0
"""What tests/bench/launch measures, one function per group of lines; each brings up and clears its own hosts."""

from __future__ import annotations

import contextlib
import re
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import peers as peer
from launch_runs import Failed, Line, Reported, floor, good, in_turns, reported, spread, started, timed
from vc_faults import wait_until
from vc_ssh import known_hosts_line
from vcluster import SHARED, Cluster

HOSTS = 64  # besides the one where the launcher is started
SHARE = 1 / 40  # of a core, for a dilated host
_DEAD = (5, 26, 47)  # 5 %
_TIMEOUT_S = 10  # ++timeout where hosts are dead
_PATIENCE_S = 2.0  # ++host-patience
_ALIASES = 8  # names of one machine
_TOUCHY = {"MaxStartups": "2:50:5"}
_SETTLE_S = 5.0  # for what charmrun's processes have to tell
_USAGE = f"{SHARED}/usage"
_CPU_RUNS = 5
_STARTS = 100  # of `++version`, whose time is counted in hundredths of a second


@dataclass(frozen=True)
class Settings:
    charmrun: Path
    rounds: int  # of what is interleaved
    dilated_rounds: int
    launches: int  # with touchy hosts
    say: Callable[[str], None]  # a sign of life


@contextlib.contextmanager
def up(count: int, cpu_share: float | None = None) -> Iterator[tuple[Cluster, list[str]]]:
    """Hosts, and the names of all but the first."""
    with Cluster(count + 1, cpu_share=cpu_share) as hosts:
        yield hosts, hosts.names[1:]


def our_command(settings: Settings, hosts: Cluster, names: list[str], program: str | Path) -> list[str]:
    words = [settings.charmrun, f"+p{len(names)}", "++nodelist", hosts.nodelist(names), program]
    return [str(word) for word in words]


# -- wall: beside the floor and beside Hydra -----------------------------------------------------------


def wall(settings: Settings) -> Iterator[Line]:
    program = peer.make_floor(settings.charmrun)
    most = 1.05 if peer.own_libraries(settings.charmrun) else 1.15
    with up(HOSTS) as (hosts, names):
        ours = our_command(settings, hosts, names, peer.TRUE)
        contestants: dict[str, Callable[[], float]] = {
            "floor": lambda: floor(hosts, program, names),
            "charmrun": lambda: good(hosts, ours),
            "early": lambda: good(hosts, [ours[0], "++start-early", *ours[1:]]),
        }
        missing = ""
        try:
            hydra = peer.hydra_command(peer.make_hydra(), names, [peer.TRUE])
            contestants["Hydra"] = lambda: good(hosts, hydra)
        except peer.NoPeer as error:
            missing = str(error)
        times = interleaved(settings, contestants, settings.rounds)
    ratio = statistics.median(ratios(times["charmrun"], times["floor"]))
    detail = f"charmrun {spread(times['charmrun'])} s, floor {spread(times['floor'])} s"
    yield Line(f"{HOSTS} hosts, wall / floor", f"{ratio:.2f}; {detail}", f"<= {most:g}", ratio <= most)
    ratio = statistics.median(ratios(times["charmrun"], times["early"]))
    what = f"{HOSTS} hosts, none starts before all have answered, wall / ++start-early"
    yield Line(what, f"{ratio:.2f}; early {spread(times['early'])} s", "<= 1.05", ratio <= 1.05)
    what = f"{HOSTS} hosts, wall / Hydra's, every pair"
    if missing:
        yield Line(what, missing, "<= 1", None)
        return
    worst = max(ratios(times["charmrun"], times["Hydra"]))
    yield Line(what, f"{worst:.2f} at most; Hydra {spread(times['Hydra'])} s", "<= 1", worst <= 1)


def interleaved(settings: Settings, contestants: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """With a sign of life after each run."""
    return in_turns(contestants, rounds, lambda number, name, took: settings.say(f"round {number + 1} of {rounds}: {name} {took:.3f} s"))


def ratios(mine: list[float], others: list[float]) -> list[float]:
    return [a / b for a, b in zip(mine, others, strict=True)]


# -- cpu: what the launchers use -----------------------------------------------------------------------


def cpu(settings: Settings) -> Iterator[Line]:
    """Per process of charmrun (a host has two, the launcher and its guardian): what it has used from main, or
    from its fork, until its exit; and once for each host what comes before main, for which the whole of
    `charmrun ++version` is taken."""
    most = 2.5 if peer.own_libraries(settings.charmrun) else 5
    with up(HOSTS) as (hosts, names):
        runs = [used(hosts, our_command(settings, hosts, names, peer.TRUE)) for _ in range(_CPU_RUNS + 1)][1:]
        start = statistics.median(_start(settings, hosts) for _ in range(_CPU_RUNS))
    ms = statistics.median(sum(map(sum, run.values())) / HOSTS for run in runs) + start
    each = [sum(used) for run in runs for host, used in run.items() if host != hosts.names[0]]
    root = statistics.median(sum(run[hosts.names[0]]) for run in runs)
    detail = f"the root {root:.1f}, the median launcher {statistics.median(each):.2f}, ++version {start:.2f}"
    yield Line(f"{HOSTS} hosts, CPU of all launchers per host", f"{ms:.2f} ms; {detail}", f"<= {most:g} ms", ms <= most)


# -- keys: what a login costs by the kind of the user's key ----------------------------------------------


def keys(settings: Settings) -> Iterator[Line]:
    """All hosts are the root's own: what it uses for each, its share of everything else included."""
    library = peer.make_usage()
    with up(HOSTS) as (hosts, names):
        for kind in ("ed25519", "ecdsa", "rsa"):
            hosts.user_keys([kind])
            words = [settings.charmrun, "++branching", str(HOSTS), *our_command(settings, hosts, names, peer.TRUE)[1:]]
            around = ["env", f"LAUNCHER_USAGE={_USAGE}", f"LD_PRELOAD={library}"]
            file = hosts.path(0, hosts.put(0, _USAGE, "", mode=0o666))
            used = []
            for _ in range(_CPU_RUNS):
                file.write_text("")
                good(hosts, [*around, *words])
                used.append(sum(_by_host(file)[hosts.names[0]]) / HOSTS)
            ms = statistics.median(used)
            counts = kind == "rsa" and peer.own_libraries(settings.charmrun) is not None
            yield Line(f"{HOSTS} logins by an {kind} key, CPU of the root for each", f"{ms:.2f} ms", "<= 4 ms" if counts else "none", not counts or ms <= 4)


def used(hosts: Cluster, words: list[str]) -> dict[str, list[float]]:
    """Milliseconds by host, of each of its launcher's processes, of this command over 64 hosts and the first."""
    script = f"#!/bin/sh\nLAUNCHER_USAGE={_USAGE} LD_PRELOAD={peer.make_usage()} exec {words[0]} \"$@\"\n"
    launcher = hosts.put(0, f"{SHARED}/launcher", script, mode=0o755)
    file = hosts.path(0, hosts.put(0, _USAGE, "", mode=0o666))
    good(hosts, [launcher, "++launcher", launcher, *words[1:]])
    wait_until(lambda: file.read_text().count("\n") == 2 * HOSTS + 1, _SETTLE_S)
    used = _by_host(file)
    if sum(map(len, used.values())) != 2 * HOSTS + 1:
        raise Failed(f"not all launchers told what they used: {used}")
    return used


def _by_host(file: Path) -> dict[str, list[float]]:
    """What launcher_usage.c has written there, in milliseconds."""
    used: dict[str, list[float]] = {}
    for line in file.read_text().splitlines():
        host, _, _, microseconds = line.split()
        used.setdefault(host, []).append(int(microseconds) / 1e3)
    return used


def _start(settings: Settings, hosts: Cluster) -> float:
    """Milliseconds of CPU of `charmrun ++version`, the start of the program included."""
    shell = f'i=0; while [ $((i += 1)) -le {_STARTS} ]; do "{settings.charmrun}" ++version; done >/dev/null; times'
    said = hosts.run(0, ["sh", "-c", shell], check=True).stdout
    minutes, seconds = zip(*re.findall(r"(\d+)m([\d.]+)s", said.splitlines()[-1]), strict=True)
    return (60 * sum(map(int, minutes)) + sum(map(float, seconds))) * 1e3 / _STARTS


# -- dead: hosts that swallow all packets --------------------------------------------------------------


def dead(settings: Settings) -> Iterator[Line]:
    drops = "++on-host-failure" in _help(settings)
    with up(HOSTS) as (hosts, names):
        gone = [hosts.names[index] for index in _DEAD]
        living = [name for name in names if name not in gone]
        words = [f"+p{HOSTS}", "++nodelist", hosts.nodelist(names), "++timeout", _TIMEOUT_S]
        drop = ["++on-host-failure", "drop", "++host-patience", f"{_PATIENCE_S:g}"] if drops else []
        runs: dict[str, list[Reported]] = {"all": [], "abort": [], "drop": []}
        reported(hosts, settings.charmrun, *words, peer.TRUE)
        for number in range(settings.rounds):
            runs["all"].append(reported(hosts, settings.charmrun, *words, peer.TRUE))
            for name in gone:
                hosts.drop(name)
            runs["abort"].append(reported(hosts, settings.charmrun, *words, peer.TRUE))
            if drop:
                runs["drop"].append(reported(hosts, settings.charmrun, *words, *drop, peer.TRUE))
            for name in gone:
                hosts.undrop(name)
            settings.say(f"round {number + 1} of {settings.rounds}")
    whole = statistics.median(run.last("hello", living) for run in runs["all"])
    others = [run.last("hello", living) for run in runs["abort"]]
    ratio = statistics.median(others) / whole
    what = f"{len(_DEAD)} of {HOSTS} hosts dead"
    detail = f"{spread(others)} s, without dead {whole:.3g} s"
    yield Line(f"{what}, the others up / without dead", f"{ratio:.2f}; {detail}", "<= 1.2", ratio <= 1.2)
    yield _listed(f"{what}, listed exactly", runs["abort"], set(gone), failing=True)
    started = statistics.median(run.last("spawned", living) for run in runs["all"])
    yield from _dropped(what, runs["drop"], (living, set(gone)), started)


def _dropped(
    what: str, runs: list[Reported], hosts: tuple[list[str], set[str]], whole: float
) -> Iterator[Line]:
    """The same where the job goes on without the dead; `whole`: when it starts if nobody is dead."""
    living, gone = hosts
    limit = _PATIENCE_S + 1.2 * whole
    target = f"<= {limit:.2f} s"
    if not runs:
        yield Line(f"{what} and dropped, start of the job", "no ++on-host-failure", "", None)
        return
    start = [run.last("spawned", living) for run in runs]
    time = statistics.median(start)
    yield Line(f"{what} and dropped, start of the job", f"{spread(start)} s", target, time <= limit)
    yield _listed(f"{what} and dropped, listed exactly", runs, gone, failing=False)


def _listed(what: str, runs: list[Reported], gone: set[str], failing: bool) -> Line:
    right = [run for run in runs if run.accused() == gone and (run.status != 0) == failing]
    return Line(what, f"in {len(right)} of {len(runs)} runs", "in all", len(right) == len(runs))


def _help(settings: Settings) -> str:
    with Cluster(1) as hosts:
        return hosts.run(0, [settings.charmrun, "++help"], check=True).stdout


# -- touchy: sshds that admit few at a time ------------------------------------------------------------


def touchy(settings: Settings) -> Iterator[Line]:
    with up(HOSTS - _ALIASES + 1) as (hosts, names):
        machine, others = names[-1], names[:-1]
        names = [*_make_aliases(hosts, machine), *others]
        for host in hosts.names[1:]:
            hosts.sshd(host, _TOUCHY)
        words = our_command(settings, hosts, names, peer.TRUE)
        bad, times = 0, []
        for number in range(settings.launches):
            done = timed(hosts, words)
            times.append(done.elapsed)
            bad += done.returncode != 0
            said = f": {done.stderr.strip()[-300:]}" if done.returncode != 0 else ""
            settings.say(f"launch {number + 1} of {settings.launches}: {done.elapsed:.3f} s{said}")
    what = f"{HOSTS} names, MaxStartups {_TOUCHY['MaxStartups']}, {_ALIASES} names are one machine"
    yield Line(what, f"{bad} of {len(times)} launches failed; {spread(times)} s", "none", bad == 0)


def _make_aliases(hosts: Cluster, machine: str) -> list[str]:
    """More names of a host, in all name services and known to all users."""
    names = [f"alias{number}" for number in range(_ALIASES)]
    with (hosts.base / "etc/hosts").open("a", encoding="ascii") as file:
        file.writelines(f"{hosts.address(machine)} {name}\n" for name in names)
    key = hosts.files.host_keys.public(hosts.key_name(hosts.index(machine)))
    text = hosts.known_hosts_text() + known_hosts_line(names, key, hashed=False)
    hosts.put_everywhere(".ssh/known_hosts", text, mode=0o600)
    return names


# -- dilated: slow, independent hosts ------------------------------------------------------------------


def dilated(settings: Settings) -> Iterator[Line]:
    """Jobs of nothing, start to end; beside Charm++'s charmrun, both say when all of a Charm++ program's
    processes are started: its own initialisation takes 10 s here, whoever starts it."""
    targets = {"Hydra": 11.0, "Charm++'s charmrun": 14.0, "the flat loop": 1.6}
    try:
        peers = peer.make_peers(settings.charmrun)
    except peer.NoPeer as error:
        for name in targets:
            yield Line(f"{HOSTS} dilated hosts, {name}'s time / ours", str(error), "", None)
        return
    with up(HOSTS, cpu_share=SHARE) as (hosts, names):
        plain = our_command(settings, hosts, names, peer.TRUE)
        charm = our_command(settings, hosts, names, peers.charm_exit)
        theirs = [str(peers.charm_charmrun), *charm[1:]]
        hydra = peer.hydra_command(peers.hydra, names, [peer.TRUE])
        contestants: dict[str, Callable[[], float]] = {
            "charmrun": lambda: good(hosts, plain),
            "the flat loop": lambda: floor(hosts, peers.floor, names),
            "charmrun, Charm++ program": lambda: started(hosts, charm),
            "Hydra": lambda: good(hosts, hydra),
            "Charm++'s charmrun": lambda: started(hosts, theirs),
        }
        times = interleaved(settings, contestants, settings.dilated_rounds)
    for name, target in targets.items():
        ours = times["charmrun, Charm++ program" if name == "Charm++'s charmrun" else "charmrun"]
        ratio = statistics.median(times[name]) / statistics.median(ours)
        detail = f"{spread(times[name])} s, ours {spread(ours)} s"
        what = f"{HOSTS} dilated hosts, {name}'s time / ours"
        yield Line(what, f"{ratio:.1f}; {detail}", f">= {target:g}", ratio >= target)
