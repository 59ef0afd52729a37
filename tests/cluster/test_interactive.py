# SPDX-License-Identifier: Apache-2.0
"""++interactive: process 0 has a terminal, on this host or another, and the user's keys."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from running import PATIENCE_S, Factory, assert_good, built, charm4py, command, double_lines, run
from terminal import Terminal
from vc_faults import wait_until

EACH = 2  # processes on a host

# Says what reaches it; all processes but 0 end at once.
LISTENER = """
import os, signal, sys
if os.environ["CHARMTREE_PROCESS"] != "0":
    sys.exit()
def show_size(*_):
    print("size", *os.get_terminal_size(), flush=True)
for number in (signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, lambda number, _: print("got", signal.Signals(number).name, flush=True))
signal.signal(signal.SIGWINCH, show_size)
print("terminal", *(os.isatty(fd) for fd in range(3)), os.open("/dev/tty", os.O_RDWR) > 2, flush=True)
show_size()
for line in sys.stdin:
    print("line", line.strip(), flush=True)
print("end of input")
"""


def words(charmrun: Path, nodelist: str, n: int, *program: object) -> list[str]:
    return command(charmrun, "++interactive", f"+p{n * EACH}", "++nodelist", nodelist, *program)


@pytest.mark.parametrize("n", [1, 4])
def test_charm4py_answers_what_is_typed(cluster: Factory, charmrun: Path, n: int) -> None:
    """On 4 hosts process 0 is not where the terminal is."""
    hosts = cluster(5)
    nodelist = hosts.nodelist([0] if n == 1 else [1, 2, 3, 0])
    program = [charm4py(), "-m", "charm4py.interactive"] if n > 1 else []  # the same as none
    seat = Terminal(hosts, words(charmrun, nodelist, n, *program), PATH=f"{charm4py().parent}:/usr/bin:/bin")
    seat.expect(">>> ")
    seat.asks("charm.numPes()", str(n * EACH))
    seat.asks("sum(charm.thisProxy.myPe(ret=True).get())", str(n * EACH * (n * EACH - 1) // 2))
    seat.asks("import socket; socket.gethostname()", f"'{hosts.names[0 if n == 1 else 1]}'")
    seat.type("class Cell(Chare):\r    def where(self):\r        return self.thisIndex[0] * 7\r\r")
    seat.expect("Broadcasted Chare definition")
    seat.asks("Array(Cell, 5)[4].where(ret=True).get()", "28")
    seat.asks("Group(Cell) and 1/0", "ZeroDivisionError: division by zero")
    seat.asks("print('o' + 'nce')", "once")
    seat.type("charm.exit(3)\r")
    assert "once" not in seat.end(3)


def test_charm4py_answers_what_comes_through_a_pipe(cluster: Factory, charmrun: Path) -> None:
    """As charm4py's own tests do it: without a terminal it writes to the stdout that it was started with."""
    hosts = cluster(2)
    options = [f"+p{2 * EACH}", "++nodelist", hosts.nodelist(2), "++quiet"]
    done = run(hosts, charmrun, *options, charm4py(), "-m", "charm4py.interactive", stdin="print(6 * 7)\nexit()\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("42\n") == 1 and "exited" not in done.stderr


def test_keys_signals_and_sizes_reach_process_0(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    script = hosts.put(0, "/home/shared/listener.py", LISTENER)
    seat = Terminal(hosts, words(charmrun, hosts.nodelist([1, 0]), 2, "python3", script), 33, 77)
    seat.expect("terminal True True True True\r\nsize 77 33\r\n")
    seat.type("one\r")
    seat.expect("one\r\nline one\r\n")  # its echo comes from there, too
    seat.type("\x03")
    seat.expect("got SIGINT")
    seat.type("\x1c")
    seat.expect("got SIGQUIT")
    seat.resize(50, 120)
    os.killpg(os.tcgetpgrp(seat.master), signal.SIGWINCH)
    seat.expect("size 120 50")
    seat.type("abx\x7fc\r")
    seat.expect("line abc\r\n")
    seat.type("\x04")
    seat.expect("end of input\r+\n")  # our terminal may be ours again by now
    seat.end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL])
def test_the_terminal_is_put_back_whatever_ends_us(
    cluster: Factory, charmrun: Path, number: signal.Signals
) -> None:
    hosts = cluster(2)
    seat = Terminal(hosts, words(charmrun, hosts.nodelist([1, 0]), 2, "sh", "-c", "echo ready; read x"))
    seat.expect("ready")
    assert wait_until(seat.is_raw, PATIENCE_S)
    ours = [one.pid for one in hosts.processes(0) if one.cmdline.startswith(f"{charmrun} ++interactive")]
    os.kill(min(ours), number)  # not the child that keeps the terminal's modes
    seat.end(128 + number)


def test_keys_are_ours_again_when_process_0_has_ended(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    program = "test $CHARMTREE_PROCESS = 0 || exec sleep 100; echo ready; read x"
    seat = Terminal(hosts, words(charmrun, hosts.nodelist([1, 0]), 2, "sh", "-c", program))
    seat.expect("ready")
    assert wait_until(seat.is_raw, PATIENCE_S)
    seat.type("\r")
    assert wait_until(lambda: not seat.is_raw(), PATIENCE_S)
    seat.type("\x03")
    assert "interrupt" in seat.end(130).lower()


def test_a_charm_program_with_a_terminal_prints_once(cluster: Factory, charmrun: Path) -> None:
    """A stock client writes what it prints to its terminal, too."""
    hosts = cluster(4)
    double = built(charmrun, "charm_double")
    counts = {"print": 30, "printf": 30, "printsyn": 3}
    lines = {line for kind, count in counts.items() for line in double_lines(8, kind, count)}
    options = ["--prints", 30, "--printf", 30, "--printsyn", 3]
    seat = Terminal(hosts, words(charmrun, hosts.nodelist([1, 2, 3, 0]), 4, double, *options))
    text = seat.end()
    assert sorted(re.split("\r+\n", text)[1:-1]) == sorted(lines)


def test_without_a_terminal_here(cluster: Factory, charmrun: Path) -> None:
    """There is one for the program all the same: without echo, and its end of input stands where ours does."""
    hosts = cluster(2)
    script = hosts.put(0, "/home/shared/listener.py", LISTENER)
    options = words(charmrun, hosts.nodelist([1, 0]), 2, "python3", script)[1:]
    lines = [f"line {number}" for number in range(3000)]
    done = run(hosts, charmrun, *options, stdin="".join(f"{line}\n" for line in lines) + "last")
    assert done.stdout.splitlines() == [
        "terminal True True True True",
        "size 80 24",
        *[f"line {line}" for line in lines],
        "line last",
        "end of input",
    ]
    assert (done.returncode, done.stderr) == (0, "")


def test_scanf_takes_the_keys_from_the_terminal(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    double = built(charmrun, "charm_double")
    options = ["--scanf", "%d", "--process", 3]
    done = run(hosts, charmrun, *words(charmrun, hosts.nodelist([1, 0]), 2, double, *options)[1:], stdin="12\n")
    assert_good(done, [*double_lines(4), "double 3/4: scanned <12>"])
