# SPDX-License-Identifier: Apache-2.0
"""CCS handlers of native programs (client-lib): what is for several processes is spread and merged by the launchers."""

from __future__ import annotations

from pathlib import Path

from running import PATIENCE_S, Factory, built, command
from served import GETINFO, Served
from vcluster import REPOSITORY, Cluster

# Argument: the port.
CLIENT = """
import socket, struct, sys
from charmtree_ccs import ALL, Refused, Session

def ask(*words, pe=ALL):
    try:
        return job.ask(*words, pe=pe)
    except Refused as why:
        return str(why)

with Session("127.0.0.1", int(sys.argv[1])) as job:
    print(ask("echo", b"x", pe=2), ask("echo", b"x"), ask("echo", b"x", pe=[3, 1]))
    print([struct.unpack("=2i", ask("rank", pe=pe)) for pe in (3, ALL, [1, 3], [0, 2, 3])])
    print(struct.unpack("=2d", ask("least") + ask("most")), struct.unpack("=d", ask("least", pe=[1, 0])))
    print(ask("others", b"y", pe=[3, 2, 0]), ask("others"), ask("nosuch", pe=3))
    print(ask("torn"))
    print(ask("uneven"))
    print(socket.inet_ntoa(struct.pack(">I", struct.unpack("=I", ask("from"))[0])))
    large = bytes(range(256)) * (1 << 14)
    print(ask("echo", large) == 4 * large, ask("echo", 4 * large, pe=3) == 4 * large)
    print(job.ask_all([("hold", b"", 1), ("hold", b"", ALL), ("release", b"", ALL), ("rank", b"", ALL)])[:3])
    many = [("echo", b"%d" % i, (ALL, 0, [1, 2])[i % 3]) for i in range(3000)]
    print(job.ask_all(many) == [b"%d" % i * (4, 1, 2)[i % 3] for i in range(3000)])
"""


def steered(hosts: Cluster, charmrun: Path, *options: object) -> Served:
    return Served(hosts, charmrun, "++server", *options, program=[built(charmrun, "steered")], python=())


def test_native_handlers(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    job = steered(hosts, charmrun)
    assert job.ask("ccs_getinfo", 0, "echo", -1) == [GETINFO, ""]
    module = {"PYTHONPATH": str(REPOSITORY / "client-lib/python")}
    done = hosts.run(0, ["/usr/bin/python3", "-c", CLIENT, str(job.port)], env=module, timeout=PATIENCE_S)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[:4] == [
        "b'x' b'xxxx' b'xx'",
        "[(3, 1), (6, 4), (4, 2), (5, 3)]",
        "(7.5, 10.5) (9.5,)",
        "b'yyy' process 1 has no handler 'others' process 3 has no handler 'nosuch'",
    ]
    assert lines[4].endswith("merge the replies in different ways"), lines[4]
    assert lines[5].endswith("bytes: no arrays of one length"), lines[5]
    assert lines[6:] == [
        job.address,
        "True True",
        "[b'late', b'latelatelatelate', b'nownownownow']",
        "True",
    ]
    stop = command(charmrun, "++ccs", f"127.0.0.1:{job.port}", "stop", "all")
    assert hosts.run(0, stop, timeout=PATIENCE_S).returncode == 0
    text = job.rest()
    assert job.child.returncode == 0, text


def test_a_native_process_that_ends_in_a_handler_is_named(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    job = steered(hosts, charmrun)
    gone = command(charmrun, "++ccs", f"127.0.0.1:{job.port}", "gone", 3, 7)
    done = hosts.run(0, gone, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (125, ""), done.stderr
    text = job.rest()
    assert job.child.returncode == 7, text
    assert "process 3 had not answered this CCS request: 'gone' for PE 3, from 127.0.0.1:" in text
