# SPDX-License-Identifier: Apache-2.0
"""CCS sessions: charmrun ++ccs and the Python module, with a program of an unmodified Charm++ runtime."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

from running import PATIENCE_S, Factory, command
from served import FILE, GETINFO, SERVER, Served
from vc_job import resident_kb
from vcluster import REPOSITORY, Cluster

KEY = "38205960174893726150482937162849"
PATH = "/home/shared/keys"
MODULE = REPOSITORY / "client-lib/python"
FIRST, MANY = 10_000, 100_000  # requests
GROWTH_KB = 8192  # of a launcher meanwhile, at most

# Arguments: port, key, how many requests.
CLIENT = """
import struct, sys
from charmtree_ccs import ALL, Refused, Session
def data(text):
    return b"DATA:" + struct.pack(">I", len(text)) + text
with Session("127.0.0.1", int(sys.argv[1]), sys.argv[2]) as job:
    print(job.ask("ccs_getinfo", pe=3).hex())
    many = range(int(sys.argv[3]))
    print(job.ask_all(("echo", data(b"%d" % i), i % 4) for i in many) == [b"%d" % i for i in many])
    print(sorted(struct.iter_unpack(">I", job.ask("pe", pe=ALL))), sorted(struct.iter_unpack(">I", job.ask("pe", pe=[3, 1]))))
    print(len(job.ask("big", data(b"5000000"), 2)), job.ask("none"), job.ask("pe", pe=[2]))
    try:
        job.ask("pe", pe=4)
    except Refused as why:
        print(why)
try:
    Session("127.0.0.1", int(sys.argv[1]), "00" * 16)
except Refused as why:
    print(why)
"""


def asks(hosts: Cluster, charmrun: Path, *words: object) -> tuple[int, str, str]:
    done = hosts.run(0, command(charmrun, "++ccs", *words), timeout=PATIENCE_S)
    return done.returncode, done.stdout, done.stderr


def test_sessions(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    hosts.put(0, PATH, f"0 {KEY}\n", mode=0o600)
    job = Served(hosts, charmrun, "++server-auth", PATH, program=(SERVER, FILE))
    job.serves()
    launchers = [one.pid for host in range(2) for one in hosts.processes(host) if str(charmrun) in one.cmdline]
    resident = []
    for many in (FIRST, MANY):
        argv = ["/usr/bin/python3", "-c", CLIENT, str(job.port), KEY, str(many)]
        done = hosts.run(0, argv, env={"PYTHONPATH": str(MODULE)}, timeout=PATIENCE_S)
        assert done.stderr == ""
        assert done.stdout.splitlines() == [
            GETINFO,
            "True",
            "[(0,), (1,), (2,), (3,)] [(1,), (3,)]",
            r"5000000 None b'\x00\x00\x00\x02'",
            "asked for PE 4; the job has 4",
            "the job has another key",
        ]
        resident.append([resident_kb(one) for one in launchers])
    assert all(after - before < GROWTH_KB for before, after in zip(*resident)), resident
    place = f"127.0.0.1:{job.port}"
    asked = command(charmrun, "++ccs", place, "echo", 3, "-", "++server-auth", PATH)
    echo = b"DATA:" + struct.pack(">I", 6) + b"through"
    child = hosts.popen(0, asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False)
    assert child.communicate(echo, PATIENCE_S)[0] == b"throug"
    assert asks(hosts, charmrun, "++server-auth", PATH, place, "alone", 1) == (0, "alone", "")
    status, said, why = asks(hosts, charmrun, "++server-auth", PATH, place, "pe", "0,9")
    assert (status, said) == (125, "") and "asked for PE 9; the job has 4" in why
    assert "the job wants a key; ++server-auth" in asks(hosts, charmrun, place, "pe")[2]
    job.end()
    assert "Connection refused" in asks(hosts, charmrun, place, "pe")[2]
    for words in ((place,), ("nowhere", "x"), (place, "x", "1,y"), (place, "n" * 32), (place, "x", 0, "", "more")):
        status, said, why = asks(hosts, charmrun, *words)
        assert (status, said) == (125, "") and why.count("\n") == 1 and "; " in why, words


# Somebody who has no key, and says that none is wanted.
IMPOSTOR = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
for _ in range(2):
    connection = listener.accept()[0]
    connection.sendall(b"\\xc3CCS\\x01\\0\\0\\0" + bytes(16))
    heard = b""
    while piece := connection.recv(4096):
        heard += piece
    print(len(heard), flush=True)
"""
ASKER = """
import sys
from charmtree_ccs import Refused, Session
try:
    Session("127.0.0.1", int(sys.argv[1]), sys.argv[2])
except Refused as why:
    print(why)
"""


def test_a_client_with_a_key_asks_nobody_who_has_none(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    hosts.put(0, PATH, f"0 {KEY}\n", mode=0o600)
    impostor = hosts.popen(0, ["/usr/bin/python3", "-c", IMPOSTOR], stdout=subprocess.PIPE, text=True)
    assert impostor.stdout
    port = impostor.stdout.readline().strip()
    status, said, why = asks(hosts, charmrun, "++server-auth", PATH, f"127.0.0.1:{port}", "pe")
    assert (status, said) == (125, "") and "the job has no key of level 0; " in why
    argv = ["/usr/bin/python3", "-c", ASKER, port, KEY]
    done = hosts.run(0, argv, env={"PYTHONPATH": str(MODULE)}, timeout=PATIENCE_S)
    assert (done.stdout, done.stderr) == ("the job has no key of level 0\n", "")
    assert impostor.communicate(timeout=PATIENCE_S)[0] == "24\n24\n"  # their hellos, and nothing else
