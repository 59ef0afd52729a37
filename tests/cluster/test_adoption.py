# SPDX-License-Identifier: Apache-2.0
"""A tree of launchers is repaired while the job goes on: inner launchers are killed with everything on their
hosts, hosts are unplugged and links are cut, at random moments, in one job. Nobody is lost but with his host, every
line of the others is there once and in order, and they are served: each request is answered or refused."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from vc_job import Job, environment, kill, leftovers, patience, pause
from vc_net import filter_packets
from vcluster import REPOSITORY, Cluster, Process

from running import CAMPAIGN, Factory, built

MORE = 50  # steps after the last fault
OPTIONS = ["++on-failure", "continue", "++heartbeat", "0.1", "++detect-within", "0.5", "++orphan-after", "4"]

# Arguments: port and number of processes. Asks one process after the other for its step, all the time; for a line of
# numbers it asks these, and prints the answers. In the end: how many answers and refusals, and the longest wait.
ASKER = """
import random, select, sys, time
from charmtree_ccs import Refused, Session

def ask(process):
    try:
        return int(job.ask("step", pe=process))
    except Refused:
        return -1

answers, waits = [], []
with Session("127.0.0.1", int(sys.argv[1]), timeout=None) as job:
    while True:
        while not select.select([sys.stdin], [], [], 0.005)[0]:
            begun = time.monotonic()
            answers.append(ask(random.randrange(int(sys.argv[2]))))
            waits.append(time.monotonic() - begun)
        line = sys.stdin.readline()
        if not line:
            break
        print(*map(ask, map(int, line.split())), flush=True)
print(sum(one >= 0 for one in answers), answers.count(-1), max(waits))
"""


class Asker:
    """A client of the job on its root's host."""

    def __init__(self, hosts: Cluster, port: int, processes: int) -> None:
        module = {"PYTHONPATH": str(REPOSITORY / "client-lib/python")}
        words = ["/usr/bin/python3", "-c", ASKER, str(port), str(processes)]
        self.child = hosts.popen(0, words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=module)

    def ask(self, processes: list[int]) -> list[int]:
        """At which step each is; -1: the request was refused."""
        assert self.child.stdin and self.child.stdout
        self.child.stdin.write(" ".join(map(str, processes)) + "\n")
        self.child.stdin.flush()
        return [int(word) for word in self.child.stdout.readline().split()]

    def end(self) -> tuple[int, int, float]:
        answered, refused, longest = self.child.communicate(timeout=patience(10))[0].split()
        return int(answered), int(refused), float(longest)


class Tree:
    """A job of one process on each host but the first, from which it is started."""

    def __init__(self, hosts: Cluster, charmrun: Path, branching: int) -> None:
        names = [hosts.names[index] for index in range(1, hosts.n)]
        hosts.put(0, "/home/shared/steps", "")
        program = [built(charmrun, "steps_double"), "/home/shared/steps"]
        options = [*OPTIONS, "++server", "++branching", str(branching), f"+p{len(names)}"]
        self.hosts = hosts
        self.job = Job(hosts, range(hosts.n), [charmrun, *options, "++nodelist", hosts.nodelist(names), *program])
        self.gone: set[int] = set()  # hosts
        self.cuts = 0
        self.job.until(lambda: len(self.steps()) == len(names), "a line of every process")
        port = re.search(r"Server port = (\d+)", self.job.out + self.job.err)
        assert port, self.job.said()
        self.asker = Asker(hosts, int(port[1]), len(names))

    def steps(self) -> dict[int, list[int]]:
        """The numbers of the lines of each process, as they came."""
        found: dict[int, list[int]] = {}
        for process, step in re.findall(r"^process (\d+) step (\d+)$", self.job.out, re.MULTILINE):
            found.setdefault(int(process), []).append(int(step))
        return found

    def victim(self, dice: random.Random) -> Process:
        """An inner launcher, not a guardian."""
        launchers = {one.host for one in self.job.inner() if one.host != 0 and one.host not in self.gone}
        return self.job.launcher(dice.choice(sorted(launchers)))

    def kill(self, launcher: Process) -> None:
        """With everything on its host."""
        self.gone.add(launcher.host)
        for one in (*self.job.launchers(launcher.host), *self.job.running("steps_double")):
            if one.host == launcher.host:
                kill(one)

    def unplug(self, launcher: Process) -> None:
        self.gone.add(launcher.host)
        self.hosts.unplug(launcher.host)

    def link(self, host: int) -> tuple[int, str]:
        """The session that carries it now, of the launcher itself or of who relays to it, and its port."""
        for one in sorted(self.job.launchers(host), key=lambda one: -one.pid):  # earlier ones may not have ended
            session = _parent(_parent(one.pid))
            if _name(session).startswith("sshd"):
                return session, environment(one.pid)["SSH_CONNECTION"].split()[1]
        raise AssertionError(f"no link to {self.hosts.names[host]}")

    def cut(self, launcher: Process) -> None:
        """Both ends see it."""
        self.cuts += 1
        os.kill(self.link(launcher.host)[0], signal.SIGKILL)

    def drop(self, launcher: Process) -> None:
        """The packets of its link; other connections between the two work."""
        self.cuts += 1
        port = self.link(launcher.host)[1]
        chains = (
            f"chain in {{ type filter hook input priority 0; tcp dport 22 tcp sport {port} drop; }}\n"
            f"chain out {{ type filter hook output priority 0; tcp sport 22 tcp dport {port} drop; }}"
        )
        filter_packets(self.hosts.hosts[launcher.host].net, chains)

    def until_repaired(self) -> None:
        """Everybody who is left takes further steps, and says so."""
        left = [index - 1 for index in range(1, self.hosts.n) if index not in self.gone]
        counts = {process: len(lines) for process, lines in self.steps().items()}
        self.job.until(
            lambda: all(len(self.steps()[one]) > counts[one] + 20 for one in left), "further steps of all that are left"
        )
        now = self.asker.ask(left)
        assert all(step > counts[one] for one, step in zip(left, now, strict=True)), (now, self.job.said())

    def check_end(self) -> None:
        answered, refused, longest = self.asker.end()
        assert answered > refused
        assert longest < patience(10), (answered, refused, longest, self.job.said())
        last = max(lines[-1] for lines in self.steps().values()) + MORE
        self.hosts.put(0, "/home/shared/steps", f"{last}\n")
        assert self.job.wait() == 0, self.job.said()
        lost = sorted(index - 1 for index in self.gone)
        found = self.steps()
        for process in range(self.hosts.n - 1):
            assert found[process] == list(range(len(found[process]))), (process, found[process])
            if process not in lost:
                assert len(found[process]) == last, (process, self.job.err)
        if lost:
            end = f"{len(lost)} of {self.hosts.n - 1} process"
            assert any(line.startswith(end) for line in self.job.errors), self.job.said()
        assert self.job.err.count("is reached again") >= self.cuts, self.job.said()
        assert not leftovers([self.job])


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat[stat.rindex(")") + 2 :].split()[1])


@pytest.mark.parametrize("seed", range(20) if CAMPAIGN else [1, 2])
def test_a_tree_loses_launchers_hosts_and_links(fresh_cluster: Factory, charmrun: Path, seed: int) -> None:
    """Five times in each job."""
    dice = random.Random(seed)
    tree = Tree(fresh_cluster(26), charmrun, dice.choice([3, 5]))
    faults: list[Callable[[Process], None]] = [tree.kill, tree.cut, tree.drop, tree.unplug, tree.cut]
    dice.shuffle(faults)
    for fault in faults:
        pause(dice.uniform(0.0, 0.5))
        fault(tree.victim(dice))
        tree.until_repaired()
    tree.check_end()


def test_an_adopted_launcher_may_be_stopped(fresh_cluster: Factory, charmrun: Path) -> None:
    """The link that it was started with has ended; its guardian does not take that for the end of its parent."""
    tree = Tree(fresh_cluster(4), charmrun, 1)
    tree.cut(tree.job.launcher(2))
    tree.until_repaired()
    launcher = tree.job.launcher(2).pid
    os.kill(launcher, signal.SIGSTOP)
    pause(8.0)
    os.kill(launcher, signal.SIGCONT)
    tree.until_repaired()
    tree.check_end()
