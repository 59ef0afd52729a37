# SPDX-License-Identifier: Apache-2.0
"""Options of Charm++'s charmrun, where what they do shows on the hosts only. docs/OPTIONS.md lists all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from running import Factory, assert_good, built, charm4py, charmrun_lines, double_lines, error_line, run

# A stock client, as far as its launcher can tell: process 0 says under which addresses the processes are known.
_SHOWS_TABLE = """\
import os, socket, struct, sys
number, host, port = os.environ["NETSTART"].split()[:3]
launcher = socket.create_connection((host, int(port)))
say = lambda kind, text: launcher.sendall(struct.pack(">I12s", len(text) + 1, kind) + text + b"\\0")
initnode = struct.pack(">10I", int(number), 1, 1, 1, 0, 0, 0, 4000, 0, 0)
launcher.sendall(struct.pack(">I12s", len(initnode), b"initnode") + initnode)
(size,) = struct.unpack(">I", launcher.recv(16, socket.MSG_WAITALL)[:4])
table = launcher.recv(size, socket.MSG_WAITALL)
if number == "0":
    say(b"print", b"".join(socket.inet_ntoa(table[at - 4:at]).encode() + b"\\n" for at in range(32, size + 1, 24)))
say(b"ending", b"0")
launcher.recv(1)
sys.exit(1)
"""


def test_the_address_of_this_machine_can_be_chosen(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    script = hosts.put(0, "/home/shared/shows-table.py", _SHOWS_TABLE)
    own, *others = (hosts.address(index) for index in range(3))
    other = hosts.address(4)
    words = ["+p3", "++nodelist", hosts.nodelist([1, 0, 2])]
    for options, env, first in (
        ([], {}, own),
        (["++useip", other], {}, other),
        ([], {"CHARMRUN_IP": other}, other),
        (["++useip", own], {"CHARMRUN_IP": other}, own),
        (["++usehostname"], {"CHARMRUN_IP": other}, own),
    ):
        done = run(hosts, charmrun, *words, *options, "python3", script, env=env)
        assert_good(done, [first, *others], said=None)
        foreign = f"{other} is no address of this machine: can the other hosts reach it there?"
        assert charmrun_lines(done) == ([foreign] if first == other else []), done.stderr


@pytest.mark.parametrize(
    ("options", "env", "said"),
    [
        (["++useip", "h00"], {}, "'h00' (++useip, $CHARMRUN_IP) is no IPv4 address; it looks like 192.0.2.1"),
        ([], {"CHARMRUN_IP": "127.0.0.1"}, "no other host can reach this machine at 127.0.0.1 (++useip, "),
    ],
)
def test_an_address_that_is_none(
    cluster: Factory, charmrun: Path, options: list[str], env: dict[str, str], said: str
) -> None:
    hosts = cluster(5)
    done = run(hosts, charmrun, "+p2", "++nodelist", hosts.nodelist(2), *options, "true", env=env)
    assert error_line(done).startswith(said)


def test_a_python_program_without_execute_permission(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    hosts.put(0, "/home/shared/program.py", "import socket, sys\nprint(socket.gethostname(), sys.argv)\n", mode=0o644)
    words = ["+p3", "++nodelist", hosts.nodelist(3)]
    for name in ("program.py", "./program.py", "/home/shared/program.py"):
        done = run(hosts, charmrun, *words, name, "a b", cwd="/home/shared")
        assert_good(done, [f"h0{index} ['{name}', 'a b']" for index in range(3)])


def test_sizes_of_shared_memory_are_ours_whatever_a_host_says(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    hosts.put(1, ".charmrunrc", "export CmiIpcPoolSize=1 CmiIpcCutoff=2\n")
    script = ["sh", "-c", "echo $(hostname) $CmiIpcPoolSize $CmiIpcCutoff"]
    words = ["+p3", "++nodelist", hosts.nodelist(3)]
    assert_good(run(hosts, charmrun, *words, *script), ["h00", "h01", "h02"])
    done = run(hosts, charmrun, *words, "++ipcpoolsize", 64, "++ipccutoff", 9, *script)
    assert_good(done, [f"h0{index} 64 9" for index in range(3)])


def test_quiet_is_passed_on_and_hides_our_line(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    words = ["+p3", "++nodelist", hosts.nodelist(3), built(charmrun, "charm_double")]
    done = run(hosts, charmrun, *words, "++quiet")
    assert (done.stdout.splitlines(), done.stderr) == (double_lines(3), "")


def test_several_pes_for_a_program_that_turns_out_to_be_no_smp_build(cluster: Factory, charmrun: Path) -> None:
    """It would hang. Its Charm++ is loaded only by python, so that nothing could be known before."""
    hosts = cluster(5)
    script = hosts.put(0, "/home/shared/nothing.py", "from charm4py import charm\ncharm.start(lambda args: exit())\n")
    words = ["++n", 2, "++ppn", 2, "++nodelist", hosts.nodelist(2), charm4py(), script]
    line = error_line(run(hosts, charmrun, *words))
    assert line == (
        "h00: run: process 0: aborted: it runs in non-SMP mode with a node table that gives each process 2 PEs; "
        "leave out ++ppn and ++smp if this is no SMP build of Charm++"
    )
