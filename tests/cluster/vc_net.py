# SPDX-License-Identifier: Apache-2.0
"""The network between virtual hosts: a bridge in a namespace of its own, and a name server.

The fabric has no way out of the machine. Its own address answers DNS and refuses connections
(no sshd there); `blackhole` is an address that answers nothing but ARP.
"""

from __future__ import annotations

import collections
import os
import select
import shutil
import socket
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from vc_linux import network_namespace, new_network_namespace, set_address, set_link

FABRIC_ADDRESS = "198.18.0.1"
BLACKHOLE_ADDRESS = "198.19.255.254"
NETMASK = "255.254.0.0"  # 198.18.0.0/15 is reserved for benchmarks (RFC 2544)
MAX_HOSTS = 1000
_NEIGHBOUR_LIMITS = tuple(Path(f"/proc/sys/net/ipv4/neigh/default/gc_thresh{n}") for n in (1, 2, 3))


class ClusterError(RuntimeError):
    """Something that the virtual cluster needs is missing or failed."""


def host_address(index: int) -> str:
    return f"198.18.{(index + 10) // 250}.{(index + 10) % 250 + 1}"


def tool(name: str, package: str) -> str:
    """The path of a program that must be installed."""
    path = shutil.which(name, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    if path is None:
        raise ClusterError(f"{name} is missing: apt-get install {package}")
    return path


def run_tool(argv: Sequence[str], text: str) -> None:
    done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{' '.join(argv)} failed: {done.stderr.strip()}")


class Fabric:
    """The bridge, one cable per host, and the name server."""

    def __init__(self) -> None:
        self.fd = new_network_namespace()
        self.names: NameServer | None = None

    @classmethod
    def attach(cls, fd: int) -> Fabric:
        """The fabric of another process's cluster."""
        fabric = cls.__new__(cls)
        fabric.fd, fabric.names = fd, None
        return fabric

    def connect(self, host_fds: Sequence[int]) -> None:
        """Builds the bridge and plugs in a host for each network namespace given."""
        lines = ["link add br0 type bridge mcast_snooping 0", "link set br0 up"]
        for index, fd in enumerate(host_fds):
            peer = f"peer name eth0 netns /proc/{os.getpid()}/fd/{fd}"
            lines.append(f"link add ve{index} type veth {peer}")
            lines.append(f"link set ve{index} master br0 up")
        with network_namespace(self.fd):
            run_tool([tool("ip", "iproute2"), "-batch", "-"], "\n".join(lines) + "\n")
            set_link("lo", True)
            set_address("br0", FABRIC_ADDRESS, NETMASK)
            set_address("br0:1", BLACKHOLE_ADDRESS, NETMASK)
        for index, fd in enumerate(host_fds):
            with network_namespace(fd):
                set_link("lo", True)
                set_address("eth0", host_address(index), NETMASK)
                set_link("eth0", True)
        rule = f"ip daddr {BLACKHOLE_ADDRESS} drop"
        filter_packets(self.fd, f"chain in {{ type filter hook input priority 0; {rule}; }}")
        self.names = NameServer(self.fd)

    def set_cable(self, index: int, plugged: bool) -> None:
        """Pulls or plugs a host's cable: nothing is told to either end of its connections."""
        with network_namespace(self.fd):
            set_link(f"ve{index}", plugged)

    def close(self) -> None:
        if self.names is not None:
            self.names.close()
            self.names = None
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def filter_packets(namespace: int, chains: str) -> None:
    """Replaces our packet filter in a network namespace by nft chains; no text removes it."""
    table = f"table inet vcluster {{\n{chains}\n}}\n" if chains else ""
    with network_namespace(namespace):
        nft = tool("nft", "nftables")
        run_tool([nft, "-f", "-"], f"table inet vcluster {{}}\ndelete table inet vcluster\n{table}")


class NameServer:
    """Answers "no such name" at once to everything but names ending in .slow, which it ignores."""

    def __init__(self, namespace: int) -> None:
        self.asked: collections.deque[str] = collections.deque(maxlen=10_000)
        with network_namespace(namespace):
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.bind((FABRIC_ADDRESS, 53))
        self._stop, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._serve, name="names", daemon=True)
        self._thread.start()

    def close(self) -> None:
        os.close(self._wake)
        self._thread.join(5)
        self._socket.close()
        os.close(self._stop)

    def _serve(self) -> None:
        while True:
            ready, _, _ = select.select([self._socket.fileno(), self._stop], [], [])
            if self._stop in ready:
                return
            query, sender = self._socket.recvfrom(512)
            name, end = _question(query)
            self.asked.append(name)
            if end and name != "slow" and not name.endswith(".slow"):
                header = query[:2] + b"\x81\x83\x00\x01\x00\x00\x00\x00\x00\x00"
                self._socket.sendto(header + query[12:end], sender)


def _question(query: bytes) -> tuple[str, int]:
    """The name asked for and where the question section ends; 0 for a malformed query."""
    labels, at = [], 12
    while at < len(query) and query[at] != 0:
        length = query[at]
        labels.append(query[at + 1 : at + 1 + length].decode("latin-1").lower())
        at += 1 + length
    end = at + 5
    return ".".join(labels), end if end <= len(query) else 0


def read_neighbour_limits() -> list[int]:
    return [int(path.read_text()) for path in _NEIGHBOUR_LIMITS]


def write_neighbour_limits(limits: Sequence[int]) -> None:
    """The neighbour table is one for all namespaces: 256 hosts do not fit its default size."""
    for path, limit in sorted(zip(_NEIGHBOUR_LIMITS, limits, strict=True), reverse=True):
        path.write_text(f"{limit}\n")
