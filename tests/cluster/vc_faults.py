# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with virtual hosts, and what runs on them: the part of Cluster for fault tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vc_host import Host, Process, scan_processes
from vc_net import ClusterError, Fabric, filter_packets

Where = int | str  # a host: its number or its name


class Faults:
    """Mixed into Cluster, which provides these."""

    names: list[str]
    hosts: list[Host]
    fabric: Fabric
    frozen: set[int]
    sshds: dict[int, subprocess.Popen[Any]]
    index: Callable[[Where], int]
    start_sshds: Callable[[Iterable[int], Mapping[str, object]], None]
    reap: Callable[[], None]
    save: Callable[[], None]

    # -- faults -------------------------------------------------------------------------------

    def unplug(self, where: Where) -> None:
        """Pulls the cable: the host is gone, without a FIN to anybody."""
        self.fabric.set_cable(self.index(where), False)

    def plug(self, where: Where) -> None:
        self.fabric.set_cable(self.index(where), True)

    def drop(self, where: Where) -> None:
        """Swallows all packets from and to a host: it still answers ARP, so connections hang."""
        chains = (
            'chain in { type filter hook input priority 0; iifname "eth0" drop; }\n'
            'chain out { type filter hook output priority 0; oifname "eth0" drop; }'
        )
        filter_packets(self.hosts[self.index(where)].net, chains)

    def undrop(self, where: Where) -> None:
        filter_packets(self.hosts[self.index(where)].net, "")

    def freeze(self, where: Where) -> None:
        """Stops everything on a host (SIGSTOP). Its kernel still acknowledges packets.

        Who is in the kernel without a break (D) stops before it comes back; for a shell that waits until
        its stopped child has called exec (vfork) that is never, so that it counts as stopped.
        """
        index = self.index(where)
        self.frozen.add(index)
        told: set[int] = set()
        for _ in range(100):
            inhabitants = self._inhabitants(index)
            moving = [one for one in inhabitants if one.state not in "Tt" and not (one.state == "D" and one.pid in told)]
            if not moving:
                return
            signal_all(moving, signal.SIGSTOP)
            told.update(one.pid for one in moving)
            time.sleep(0.005)
        raise ClusterError(f"{self.names[index]} does not stop: {moving}")

    def thaw(self, where: Where) -> None:
        index = self.index(where)
        self.frozen.discard(index)
        signal_all(self._inhabitants(index), signal.SIGCONT)

    def crash(self, where: Where) -> None:
        """Kills everything on a host, sshd included, at once; its address stays. See boot()."""
        index = self.index(where)
        self.hosts[index].kill()
        child = self.sshds.pop(index, None)
        if child is not None:
            child.wait(10)
        wait_until(lambda: not self.processes(index), 5)

    def boot(self, where: Where) -> None:
        """Starts a crashed host again: same files, key and address."""
        index = self.index(where)
        self.crash(index)
        self.reap()
        self.hosts[index].boot()
        self.start_sshds([index], {})
        self.save()

    # -- what runs ----------------------------------------------------------------------------

    def processes(self, where: Where | None = None, mark: str | None = None) -> list[Process]:
        """The live processes on one host or all; with `mark`, those whose environment holds it."""
        chosen = self.hosts if where is None else [self.hosts[self.index(where)]]
        return scan_processes({host.inode: host.index for host in chosen}, mark)

    def _inhabitants(self, where: Where | None = None) -> list[Process]:
        inits = {host.pid for host in self.hosts}
        return [process for process in self.processes(where) if process.pid not in inits]

    def survivors(self, before: Iterable[Process] = ()) -> list[Process]:
        """All that runs on the hosts, but sshd and its sessions, and but `before`."""
        old = {process.pid for process in before}
        running = [one for one in self._inhabitants() if one.command != "sshd"]
        return [process for process in running if process.pid not in old]

    def quiet(self, timeout: float = 5.0, before: Iterable[Process] = ()) -> list[Process]:
        """Waits until nothing survives, thawing what is frozen; returns what is left in the end."""
        for index in sorted(self.frozen):
            self.thaw(index)
        old = list(before)
        wait_until(lambda: not self.survivors(old), timeout)
        return self.survivors(old)

    def kill_survivors(self) -> None:
        signal_all(self.survivors(), signal.SIGKILL)


def wait_until(done: Any, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def signal_all(processes: Iterable[Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
