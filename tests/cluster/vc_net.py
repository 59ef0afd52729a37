# SPDX-License-Identifier: Apache-2.0
"""The network between virtual hosts: a bridge in a namespace of its own, and a name server.

The fabric has no way out of the machine. Its own address answers DNS and refuses connections
(no sshd there); `blackhole` is an address that answers nothing but who asks whose it is.
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
from dataclasses import dataclass
from pathlib import Path

from vc_linux import network_namespace, new_network_namespace, set_address, set_link

MAX_HOSTS = 1000
_NEIGHBOUR_LIMITS = tuple(Path(f"/proc/sys/net/ipv4/neigh/default/gc_thresh{n}") for n in (1, 2, 3))


class ClusterError(RuntimeError):
    """Something that the virtual cluster needs is missing or failed."""


@dataclass(frozen=True)
class Network:
    """The addresses of a cluster, all of one family."""

    name: str
    fabric: str
    blackhole: str
    prefix: int
    hosts: str  # ends in the number of the host, from 10
    packets: str  # what nft calls its packets
    family: socket.AddressFamily

    def host(self, index: int) -> str:
        number = index + 10
        if self.family == socket.AF_INET6:
            return f"{self.hosts}{number:x}"
        return f"{self.hosts}{number // 250}.{number % 250 + 1}"


# 198.18.0.0/15 and 2001:2::/48 are reserved for benchmarks (RFC 2544, RFC 5180).
IPV4 = Network("ipv4", "198.18.0.1", "198.19.255.254", 15, "198.18.", "ip", socket.AF_INET)
IPV6 = Network("ipv6", "2001:2::1", "2001:2::f:ffff", 48, "2001:2::1:", "ip6", socket.AF_INET6)
# What clusters have of which a test says nothing.
NETWORK = IPV6 if os.environ.get("CHARMTREE_NETWORK") == IPV6.name else IPV4


def _netmask(prefix: int) -> str:
    return socket.inet_ntoa((0xFFFFFFFF << (32 - prefix) & 0xFFFFFFFF).to_bytes(4, "big"))


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

    def __init__(self, network: Network) -> None:
        self.network = network
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
            self._give("br0", self.network.fabric, self.network.blackhole)
        for index, fd in enumerate(host_fds):
            with network_namespace(fd):
                set_link("lo", True)
                set_link("eth0", True)
                self._give("eth0", self.network.host(index))
        rule = f"{self.network.packets} daddr {self.network.blackhole} drop"
        filter_packets(self.fd, f"chain in {{ type filter hook input priority 0; {rule}; }}")
        self.names = NameServer(self.fd, self.network)

    def _give(self, interface: str, *addresses: str) -> None:
        """Gives an interface of this thread's network namespace its addresses."""
        if self.network.family == socket.AF_INET:
            for number, address in enumerate(addresses):
                set_address(f"{interface}:{number}" if number else interface, address, _netmask(self.network.prefix))
            return
        lines = [f"address add {address}/{self.network.prefix} dev {interface} nodad" for address in addresses]
        run_tool([tool("ip", "iproute2"), "-batch", "-"], "\n".join(lines) + "\n")

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

    def __init__(self, namespace: int, network: Network) -> None:
        self.asked: collections.deque[str] = collections.deque(maxlen=10_000)
        with network_namespace(namespace):
            self._socket = socket.socket(network.family, socket.SOCK_DGRAM)
            self._socket.bind((network.fabric, 53))
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
