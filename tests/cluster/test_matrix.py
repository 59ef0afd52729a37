# SPDX-License-Identifier: Apache-2.0
"""Unmodified Charm++ programs on many numbers of hosts, shapes of the tree and processes per host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from running import (
    CAMPAIGN,
    HELLO,
    Factory,
    assert_good,
    built,
    charm4py,
    double_lines,
    error_line,
    hello_lines,
    run,
)

HOSTS = (1, 2, 3, 4, 5, 9, 16, 17, 26)  # k-1, k, k+1, k^2+1 and more for the branchings below
BRANCHINGS = (2, 4, None)
PER_HOST = (1, 2, 3, 4)
SIZES = ((1, 1), (4, 4), (17, 2), (26, 2))  # hosts and processes on each, of charm4py
MODES = ("default", "shell", "virtual")


def double_cases() -> list[tuple[int, int | None, int]]:
    """All combinations, or every pair of hosts and branching and every pair of branching and processes."""
    if CAMPAIGN:
        return [(n, k, each) for n in HOSTS for k in BRANCHINGS for each in PER_HOST]
    return [(n, k, PER_HOST[(i + j) % 4]) for i, n in enumerate(HOSTS) for j, k in enumerate(BRANCHINGS)]


@pytest.mark.parametrize(("n", "branching", "each"), double_cases())
def test_charm_double(cluster: Factory, charmrun: Path, n: int, branching: int | None, each: int) -> None:
    """The double itself checks table and numbers, and reaches every process from every other one."""
    hosts = cluster(n)
    shape = [] if branching is None else ["++branching", branching]
    words = [f"+p{n * each}", "++nodelist", hosts.nodelist(n), *shape]
    done = run(hosts, charmrun, *words, built(charmrun, "charm_double"), "--prints", 2)
    assert_good(done, double_lines(n * each, "print", 2))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("n", "each"), SIZES)
def test_charm4py(cluster: Factory, charmrun: Path, n: int, each: int, mode: str) -> None:
    hosts = cluster(n)
    options: list[object] = ["++local", "++hosts", n]
    if mode != "virtual":
        options = ["++nodelist", hosts.nodelist(n)]
    if mode == "shell":
        options += ["++branching", 4, "++remote-shell", "ssh"]
    done = run(hosts, charmrun, f"+p{n * each}", *options, charm4py(), HELLO, timeout=400)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    pes, machines, other = hello_lines(done)
    total = n * each * (n * each - 1) // 2
    assert pes == list(range(n * each)) and machines == (1 if mode == "virtual" else n)
    assert other[-1] == f"sum of all PE numbers: {total} (right)"
    assert len(set(other)) == len(other)  # the runtime's own lines, once each
    assert done.stderr == ""


def test_the_exit_code_of_charm4py_is_ours(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    text = "from charm4py import charm\ncharm.start(lambda args: charm.exit(int(args[1])))\n"
    script = hosts.put(0, "/home/shared/exit.py", text)
    for code in (0, 7):
        done = run(hosts, charmrun, "+p4", "++nodelist", hosts.nodelist(2), charm4py(), script, code)
        assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (["--exit", "7"], 7, None),
        (["--abort", "no more"], 1, "h00: run: process 0: aborted: Fatal error on PE 0> no more (status 1)"),
        (
            ["--kill-self", "9", "--process", "5"],
            137,
            "h02: run: process 5: killed by signal 9 (SIGKILL: Killed) (status 137); was it killed for want of memory? "
            "see dmesg there",
        ),
        (
            ["--kill-self", "11", "--process", "8"],
            139,
            "h04: run: process 8: killed by signal 11 (SIGSEGV: Segmentation fault), no core file: its limit there is 0 (ulimit -c) "
            "(status 139)",
        ),
    ],
)
def test_the_end_of_the_double_is_ours(
    cluster: Factory, charmrun: Path, words: list[str], status: int, expected: str | None
) -> None:
    hosts = cluster(5)
    double = built(charmrun, "charm_double")
    done = run(hosts, charmrun, "+p10", "++nodelist", hosts.nodelist(5), double, *words)
    if expected is None:
        assert (done.returncode, done.stderr) == (status, "")
    else:
        assert re.sub(r", core dumped( to \S+)?|; see its core file there", "", error_line(done, status)) == expected
