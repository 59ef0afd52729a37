# SPDX-License-Identifier: Apache-2.0
"""Whatever connects to a launcher's local sockets, a job ends with its normal output and status, and
++verbose tells of it in one line per kind and host."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from vc_job import Job, environment, leftovers, resident_kb
from vcluster import Cluster

Factory = Callable[..., Cluster]
_SHARED = "/home/shared"
_MOST_KB = 64 << 10  # resident, of a launcher

# Arguments: seconds, the TCP port, the socket's path, and a process number of this host. Does all it can
# think of again and again, and prints what it did.
_ATTACKER = r"""
import os, random, resource, socket, struct, sys, time
seconds, port, path, number = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000))
rng = random.Random(number)

def connect(kind):
    if kind == "tcp":
        return socket.create_connection(("127.0.0.1", port), 20)
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(20)
    one.connect(path)
    return one

def header(length, name):
    return struct.pack(">I12s", length, name)

def initnode(process):
    return header(40, b"initnode") + struct.pack(">I", process) + bytes(36)

def flood(kind):
    kept = [connect(kind) for _ in range(2000)]
    time.sleep(0.2)

def send_all(kind, messages):
    kept = []
    for message in messages:
        kept.append(connect(kind))
        try:
            kept[-1].sendall(message)
        except OSError:
            pass
    time.sleep(0.1)

deeds = {
    "garbage": lambda kind: send_all(kind, [rng.randbytes(3000) for _ in range(50)]),
    "idle": lambda kind: send_all(kind, [b""] * 50),
    "closed": lambda kind: [connect(kind).close() for _ in range(200)],
    "half": lambda kind: send_all(kind, [initnode(number)[:size] for size in (1, 4, 15, 16, 17, 55)]),
    "oversized": lambda kind: send_all(kind, [header(n, b"initnode") for n in (2**31, 2**32 - 1, 2**28)]),
    "duplicate": lambda kind: send_all(kind, [initnode(number)] * 5),
    "stranger": lambda kind: send_all(kind, [initnode(one) for one in (99, 2**31, 2**32 - 1)]),
    "wrong type": lambda kind: send_all(kind, [header(0, name) for name in (b"ending", b"abort", b"die")]),
    "flood": flood,
}
done = set()
end = time.monotonic() + seconds
while time.monotonic() < end:
    for kind in ("tcp", "unix"):
        for name, deed in deeds.items():
            try:
                deed(kind)
                done.add(f"{kind} {name}")
            except OSError as error:
                done.add(f"{kind} {type(error).__name__}")
                time.sleep(0.05)
print(*sorted(done), sep=",")
"""


def _sockets(job: Job, command: str) -> dict[int, tuple[str, str, str]]:
    """Port, socket path and a process number of every host of a job, from its processes called `command`."""
    found = {}
    for one in job.running(command):
        given = environment(one.pid)
        if "NETSTART" in given:
            number, _, port = given["NETSTART"].split()[:3]
            found[one.host] = (port, given["CHARMTREE_SOCKET"], number)
    return found


def _start_double(hosts: Cluster, charmrun: Path, seconds: str) -> Job:
    """Six processes on three hosts; the last registers late, then all are busy for a while."""
    hosts.put(
        0, f"{_SHARED}/late", '#!/bin/sh\n[ $CHARMTREE_PROCESS = 5 ] && sleep 3\nexec "$@"\n', mode=0o755
    )
    double = [charmrun.parent / "charm_double", "--compute", seconds, "--prints", "3", "--printf", "3"]
    listed = hosts.nodelist([0, 1, 2])
    argv = [charmrun, "+p6", "++verbose", "++nodelist", listed, f"{_SHARED}/late", *double]
    return Job(hosts, [0, 1, 2], argv)


def _assert_normal(job: Job) -> None:
    assert job.wait() == 0, job.said()
    expected = [
        f"double {n}/6: {kind} {i}" for n in range(6) for kind in ("print", "printf") for i in range(3)
    ]
    lines = job.out.splitlines()
    assert sorted(line for line in lines if line.startswith("double ")) == sorted(expected), job.said()
    assert "double: ok 6 processes" in lines and not job.errors, job.said()


@pytest.mark.parametrize("attacker", ["ctuser", "ctother", "root"])
def test_strangers_on_the_local_sockets_disturb_nobody(
    cluster: Factory, charmrun: Path, attacker: str
) -> None:
    hosts = cluster(26)
    hosts.put(0, f"{_SHARED}/attacker.py", _ATTACKER)
    job = _start_double(hosts, charmrun, "4")
    job.until(lambda: len(_sockets(job, "charm_double")) == 3, "processes on three hosts")
    attackers = [
        hosts.popen(host, ["python3", f"{_SHARED}/attacker.py", "5", *where], user=attacker, stdout=-1)
        for host, where in _sockets(job, "charm_double").items()
    ]
    peak = 0
    while any(one.poll() is None for one in attackers) and job.root.poll() is None:
        peak = max([peak, *(resident_kb(launcher.pid) for launcher in job.launchers())])
    _assert_normal(job)
    deeds = [one.communicate(timeout=120)[0].strip() for one in attackers]
    assert all("tcp flood" in deed and "tcp garbage" in deed for deed in deeds), deeds
    assert all(("unix PermissionError" in deed) == (attacker == "ctother") for deed in deeds), deeds
    _assert_told(hosts, job, attacker)
    assert peak < _MOST_KB, f"{peak} KiB resident"
    assert not leftovers([job])


def _assert_told(hosts: Cluster, job: Job, attacker: str) -> None:
    said = {
        "ctuser": [
            "dropped a connection: ",
            "a connection was closed before it had sent `initnode`",
            "dropped a second connection that claims to be process",
            "dropped a connection that claims to be process",
            "dropped the oldest of ",
        ],
        "ctother": [f"refused a connection of uid {hosts.user('ctother').uid}"],
        "root": ["refused a connection of uid 0 "],
    }
    lines = job.err.splitlines()
    for name in hosts.names[:3]:
        for text in said[attacker]:
            found = [line for line in lines if line.startswith(f"charmrun: {name}: {text}")]
            assert len(found) == 1, f"{name}: {len(found)} times: {text}\n{job.said()}"
        told = [re.sub(r"\d+", "N", line) for line in lines if f" {name}: " in line and "connection" in line]
        assert len(told) == len(set(told)), job.said()
    assert attacker == "root" or "uid 0 " not in job.err, job.said()


# A Charm++ process that registers and waits for the table; what follows comes from $1.
_TRAITOR = r"""#!/usr/bin/python3
import os, socket, struct, sys, time
number, host, port = os.environ["NETSTART"].split()[:3]
link = socket.create_connection((host, int(port)))
fields = (int(number), 2, 2, 1, 0, 0, 0, 9999, 0, 0)
link.sendall(struct.pack(">I12s", 40, b"initnode") + struct.pack(">10I", *fields))
while link.recv(65536) == b"":
    time.sleep(0.1)
if number == "1":
    exec(sys.argv[1])
time.sleep(98765)
"""

_TREASONS = {
    "garbage": ("link.sendall(bytes(range(255, 0, -1)) * 100)", r"h01: run: process 1: .*"),
    "an endless message": (
        "link.sendall(struct.pack('>I12s', 2**32 - 1, b'print'))",
        r"h01: run: process 1: .*",
    ),
    "an unknown message": ("link.sendall(struct.pack('>I12s', 0, b'nonsense'))", r"h01: run: process 1: .*"),
    "hangs up and stays": ("link.close()", r"h01: run: process 1: closed its connection without `ending`.*"),
    "hangs up and goes": (
        "link.close(); sys.exit(3)",
        r"h01: run: process 1: exited with status 3 without the end of its protocol; did it call exit .*",
    ),
}


@pytest.mark.parametrize("treason", _TREASONS)
def test_a_process_that_breaks_its_own_protocol_is_named(
    cluster: Factory, charmrun: Path, treason: str
) -> None:
    hosts = cluster(26)
    traitor = hosts.put(0, f"{_SHARED}/traitor", _TRAITOR, mode=0o755)
    deed, pattern = _TREASONS[treason]
    job = Job(hosts, [0, 1, 2], [charmrun, "+p3", "++nodelist", hosts.nodelist(3), traitor, deed])
    assert job.wait() in range(1, 128), job.said()
    assert len(job.errors) == 1 and re.fullmatch(pattern, job.errors[0]), job.said()
    assert not leftovers([job])


def test_a_job_does_not_depend_on_being_read_to_the_end(cluster: Factory, charmrun: Path) -> None:
    """Nobody ever reads stdout: Ctrl-C still ends the job at once."""
    hosts = cluster(26)
    read_end, write_end = os.pipe()
    try:
        argv = [charmrun, "+p3", "++nodelist", hosts.nodelist(3), "yes"]
        job = Job(hosts, [0, 1, 2], argv, stdout=write_end)
        job.until(lambda: len(job.running("yes")) == 3, "three processes")
        job.signal(2)
        job.until(lambda: not job.running("yes"), "the end of all processes")
        job.signal(2)
        assert job.wait() == -2, job.said()
        assert not leftovers([job])
    finally:
        os.close(read_end)
        os.close(write_end)


# A Charm++ process to the letter, but for how it sends: process 1 in bytes, in lumps, at the largest; the others
# print a line now and then all the while.
_CLUMSY = r"""#!/usr/bin/python3
import os, socket, struct, sys, time
number, host, port = os.environ["NETSTART"].split()[:3]
link = socket.create_connection((host, int(port)))
link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
message = lambda name, payload=b"": struct.pack(">I12s", len(payload), name) + payload
line = lambda text: message(b"print", text + b"\n\0")

def dribble(data):
    for byte in data:
        link.send(bytes((byte,)))
        time.sleep(0.001)

def take():
    length, name = struct.unpack(">I12s", link.recv(16, socket.MSG_WAITALL))
    return name.rstrip(b"\0"), link.recv(length, socket.MSG_WAITALL) if length else b""

fields = (int(number), 2, 2, 1, 0, 0, 0, 9999, 0, 0)
(dribble if number == "1" else link.sendall)(message(b"initnode", struct.pack(">10I", *fields)))
assert take()[0] == b"initnodetab"
link.sendall(message(b"barrier"))
assert take()[0] == b"barrier"
if number == "1":
    for i in range(5):
        dribble(line(b"dribbled %d" % i))
    link.sendall(b"".join(line(b"merged %d" % i) for i in range(500)))
    link.sendall(message(b"print", b"M" * ((1 << 20) - 2) + b"\n\0"))
    link.sendall(line(b"before\0behind"))
    link.sendall(message(b"print") + message(b"print", b"\0") + line(b"last"))
else:
    for i in range(20):
        link.sendall(line(b"%d on time %d" % (int(number), i)))
        time.sleep(0.05)
link.sendall(message(b"barrier"))
assert take()[0] == b"barrier"
link.sendall(message(b"ending"))
while link.recv(65536):
    pass
"""


def test_a_clumsy_client_is_understood_and_delays_nobody(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    clumsy = hosts.put(0, f"{_SHARED}/clumsy", _CLUMSY, mode=0o755)
    job = Job(hosts, [0, 1, 2], [charmrun, "+p3", "++nodelist", hosts.nodelist(3), clumsy])
    assert job.wait() == 0, job.said()[-3000:]
    lines = job.out.splitlines()
    for other in (0, 2):
        assert [line for line in lines if line.startswith(f"{other} ")] == [
            f"{other} on time {i}" for i in range(20)
        ]
    assert [line for line in lines if line.startswith("dribbled")] == [f"dribbled {i}" for i in range(5)]
    assert [line for line in lines if line.startswith("merged")] == [f"merged {i}" for i in range(500)]
    long = [line for line in lines if "M" in line]  # whole, see docs/manual/output.md
    assert [line.count("M") for line in long] == [(1 << 20) - 2]
    assert lines.count("before\0behind") == 1 and lines.count("last") == 1, job.said()[-3000:]
    assert len(lines) - len(long) == 1 + 40 + 5 + 500 + 2 and not job.errors
    assert not leftovers([job])
