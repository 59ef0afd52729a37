# SPDX-License-Identifier: Apache-2.0
"""Hosts that cannot be reached or used, each in its own way: one run names them all, with cause and remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from vc_job import Job, leftovers
from vcluster import Cluster

from running import built

_LISTENER = """
import socket, sys, time
server = socket.create_server(("", 22), family=socket.AF_INET6, dualstack_ipv6=True)
kept = []
while True:
    kept.append(server.accept()[0])
    if sys.argv[1] == "http":
        kept[-1].sendall(b"HTTP/1.1 400 Bad Request\\r\\n\\r\\n")
    if sys.argv[1] != "silent":
        kept.pop().close()
"""


class Broken:
    """A cluster whose hosts from h03 on are all broken, each in its own way: `ways` says which by name."""

    def __init__(self, hosts: Cluster) -> None:
        self.hosts = hosts
        self.ways: dict[str, str] = {}
        self._next = 3
        self._break()

    def _name(self, way: str) -> int:
        index, self._next = self._next, self._next + 1
        self.ways[way] = self.hosts.names[index]
        return index

    def _break(self) -> None:
        hosts = self.hosts
        hosts.no_sshd(self._name("no sshd"))
        hosts.sshd(self._name("key refused"), {"AuthorizedKeysFile": "none"})
        changed = self._name("key changed")
        hosts.known_hosts(wrong=[changed], without=[self._name("key unknown")])
        for kind in ("silent", "http", "close"):
            listener = self._name(f"port 22 {kind}")
            hosts.no_sshd(listener)
            hosts.popen(listener, ["python3", "-c", _LISTENER, kind], user="root")
        commands = {
            "nologin": "echo This account is not available; exit 1",
            "flood": "yes",
            "few descriptors": "ulimit -n 7; eval $SSH_ORIGINAL_COMMAND",
            "shell dies": "kill -9 $$",
        }
        for way, command in commands.items():
            hosts.sshd(self._name(way), {"ForceCommand": command})
        hosts.sshd(self._name("no commands"), {"PermitTTY": "no", "MaxSessions": 0})
        self._break_own()

    def _break_own(self) -> None:
        """Hosts with a home and /tmp of their own."""
        hosts = self.hosts
        hosts.put(self._name("shell hangs"), ".bashrc", "exec sleep 98765\n")
        folder = f"/tmp/charmtree-{hosts.user('ctuser').uid}"
        stolen = self._name("folder of another user")
        hosts.exec_root(stolen, ["install", "-d", "-o", "ctother", "-m", "0777", folder], check=True)
        linked = self._name("folder is a link")
        hosts.exec_root(linked, ["ln", "-s", "/tmp", folder], check=True)
        full = self._name("full /tmp")
        hosts.exec_root(full, ["mkdir", folder], check=True)
        options = f"size=4k,nr_inodes=1,mode=700,uid={hosts.user('ctuser').uid}"
        hosts.exec_root(full, ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
        hosts.exec_root(self._name("unwritable /tmp"), ["chmod", "555", "/tmp"], check=True)


_BROKEN_HOSTS = 20
_TMP = "/tmp/charmtree-[0-9]+"
_REASONS = {
    "no sshd": r"connect: connection refused.*; is sshd running there.*",
    "key refused": r"authenticate: .*; set up a key \(ssh-copy-id\) .*",
    "key changed": r"host key: .*; .*ssh-keygen -R.*",
    "key unknown": r"host key: .*; .*accept-new-host-keys.*",
    "port 22 silent": r"(handshake: no answer within 6 s|connect: timed out); is the host .*",
    "port 22 http": r"handshake: (this is not an ssh server.*; check the port|sshd closed the connection.*)",
    "port 22 close": r"handshake: .*MaxStartups.*",
    "nologin": r"start launcher: .*: This account is not available; does .*",
    "flood": r"hello: more than \d+ KiB of other output before .*; silence the shell's start-up files there",
    "few descriptors": r"start launcher: .*Too many open files; .*",
    "shell dies": r"start launcher: .*(killed by signal KILL|status 255).*; does `ssh HOST true` work\?",
    "no commands": r"start launcher: .*; (see MaxSessions in its sshd_config|does .*)",
    "shell hangs": r"hello: no answer from the launcher within (6|12) s; is its login shell .*",
    "unwritable /tmp": rf"spawn: {_TMP}: Permission denied; .*",
}


# Names that belong to nobody in particular are taken there; a launcher finds others.
_FINE = ("folder of another user", "folder is a link", "full /tmp")


@pytest.fixture(scope="module")
def broken() -> Iterator[Broken]:
    with Cluster(_BROKEN_HOSTS + 5, own=range(15, _BROKEN_HOSTS)) as hosts:
        yield Broken(hosts)


def _line_of(errors: list[str], name: str) -> list[str]:
    """What was said about a host, folded lines included."""
    number = int(name[1:])

    def holds(names: str) -> bool:
        inside = re.fullmatch(r"h\[(.*)\]", names)
        parts = inside[1].split(",") if inside else [names[1:]] if re.fullmatch(r"h\d+", names) else []
        ranges = [[int(end) for end in part.split("-")] for part in parts]
        return any(ends[0] <= number <= ends[-1] for ends in ranges)

    return [
        line
        for line in errors
        if any(holds(names) for names in re.split(r", (?=[a-z])", line.split(": ")[0]))
    ]


@pytest.mark.parametrize("transport", ["built-in ssh", "ssh command"])
def test_all_bad_hosts_are_listed_in_one_run(broken: Broken, charmrun: Path, transport: str) -> None:
    hosts = broken.hosts
    listed = [*range(_BROKEN_HOSTS), "no-such-host", "blackhole"]
    options = ["++timeout", "6", *(["++remote-shell", "ssh"] if transport == "ssh command" else [])]
    job = Job(
        hosts, [0, 1, 2], [charmrun, "+p22", *options, "++nodelist", hosts.nodelist(listed), "sleep", "98765"]
    )
    assert job.wait(90) == 125, job.said()
    wrong = []
    for way, reason in _REASONS.items():
        lines = _line_of(job.errors, broken.ways[way])
        if len(lines) != 1 or not re.fullmatch(rf"[^:]*: {reason}( \(\d+ hosts\))?", lines[0]):
            wrong.append(f"{way} ({broken.ways[way]}): {lines}")
    wrong += [f"{way}: {_line_of(job.errors, broken.ways[way])}" for way in _FINE if _line_of(job.errors, broken.ways[way])]
    for name, reason in (
        ("no-such-host", "resolve: .*; check .*"),
        ("blackhole", "connect: .*; is the host up.*"),
    ):
        if not [line for line in job.errors if re.fullmatch(rf"([^:]*, )?{name}: {reason}", line)]:
            wrong.append(f"{name}: not reported")
    wrong += leftovers([job])
    assert not wrong, "\n".join([*wrong, job.said()])


def test_a_folder_that_somebody_else_has_stops_no_job(broken: Broken, charmrun: Path) -> None:
    hosts = broken.hosts
    taken = [int(broken.ways[way][1:]) for way in _FINE]
    job = Job(hosts, [0, *taken], [charmrun, "+p6", "++nodelist", hosts.nodelist(taken), built(charmrun, "hello")])
    assert job.wait() == 0, job.said()
    greetings = sorted(line for line in job.out.splitlines() if line.startswith("hello"))
    assert greetings == [f"hello from {rank} of 6" for rank in range(6)], job.said()
    assert not leftovers([job])
