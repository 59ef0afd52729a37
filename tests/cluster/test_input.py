# SPDX-License-Identifier: Apache-2.0
"""scanf and printsyn of many processes at once, and what happens to them at the end of the input."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import select
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from running import (
    CAMPAIGN,
    PATIENCE_S,
    Factory,
    assert_good,
    built,
    command,
    double_lines,
    program_lines,
    run,
    run_bytes,
)
from vc_job import Job
from vcluster import Cluster

EACH = 2  # processes on each of 4 hosts


def words(hosts: Cluster, charmrun: Path, *options: object) -> list[Any]:
    head = [f"+p{4 * EACH}", "++nodelist", hosts.nodelist(4), "++branching", 2]
    return [*head, built(charmrun, "charm_double"), *options]


def scanned(lines: list[str]) -> list[tuple[int, str]]:
    """Which process got what, in the order in which it was shown."""
    found = [re.fullmatch(r"double (\d+)/8: scanned <(.*)>", line) for line in lines]
    return [(int(one[1]), one[2]) for one in found if one]


def test_many_processes_read_all_lines_between_them(cluster: Factory, charmrun: Path) -> None:
    """Each line once, each process its share; what a process reads later stands later in the input."""
    hosts, each = cluster(4), 200
    text = "".join(f"{number} word{number}\n" for number in range(4 * EACH * each))
    done = run(hosts, charmrun, *words(hosts, charmrun, "--scanf", "%d %s", "--scans", each), stdin=text)
    got = scanned(done.stdout.splitlines())
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(program_lines(done)) == sorted(
        [*double_lines(8), *[f"double {process}/8: scanned <{answer}>" for process, answer in got]]
    )
    numbers = [(process, [int(word) for word in re.findall(r"\d+", answer)]) for process, answer in got]
    assert sorted(pair for _, pair in numbers) == [[number, number] for number in range(4 * EACH * each)]
    assert Counter(process for process, _ in numbers) == dict.fromkeys(range(8), each)
    for process in range(8):
        own = [pair[0] for which, pair in numbers if which == process]
        assert own == sorted(own)


@pytest.mark.parametrize("text", ["", "7\n8\n9"])
def test_at_the_end_of_the_input_every_scanf_is_answered(cluster: Factory, charmrun: Path, text: str) -> None:
    """What is left is handed out; after that, nothing, of which a client's sscanf makes EOF."""
    hosts = cluster(4)
    done = run(hosts, charmrun, *words(hosts, charmrun, "--scanf", "%d", "--scans", 3), stdin=text)
    answers = [answer.strip() for _, answer in scanned(done.stdout.splitlines())]
    assert sorted(answers) == sorted([*text.split(), *[""] * (3 * 8 - len(text.split()))])
    assert (done.returncode, done.stderr) == (0, "")


def test_a_word_without_end_is_cut(cluster: Factory, charmrun: Path) -> None:
    """A scanf is answered after 1 MiB at the latest; the double shows the first 900 bytes."""
    hosts = cluster(4)
    options = words(hosts, charmrun, "--scanf", "%s")
    done = run(hosts, charmrun, *options, stdin="x" * (3 << 20))
    assert_good(done, [*double_lines(8), f"double 0/8: scanned <{'x' * 900}>"])


def test_a_receipt_comes_when_the_line_is_out(cluster: Factory, charmrun: Path) -> None:
    """Nobody reads stdout: its pipe takes so many lines, and no more than these get their receipts."""
    hosts, each = cluster(4), 200
    argv = command(charmrun, *words(hosts, charmrun, "--printsyn", each, "--receipts"))
    reader, writer = os.pipe()
    room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    child = hosts.popen(0, argv, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=False)
    os.close(writer)
    assert child.stderr is not None
    err = b""
    while select.select([child.stderr], [], [], 1 if err else PATIENCE_S)[0]:  # until it stands still
        err += os.read(child.stderr.fileno(), 1 << 16)
    waiting = len(err.splitlines())
    assert 50 < waiting <= room / len("double 0/8: printsyn 0\n")
    with open(reader) as out:
        lines = out.read().splitlines()
    err += child.stderr.read()
    assert child.wait(PATIENCE_S) == 0
    assert sorted(line for line in lines if not line.startswith("Charmrun> ")) == double_lines(8, "printsyn", each)
    told = [line.decode() for line in err.splitlines()]
    assert sorted(told) == sorted(f"double {i}/8: receipt {k}" for i in range(8) for k in range(each))


def peak_kb(pid: int) -> int:
    """The most memory that a process has held."""
    return int(re.findall(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))[0])


def test_much_input_goes_down_the_tree_in_little_memory(cluster: Factory, charmrun: Path) -> None:
    """To the last host of a chain, which reads slowly at first."""
    hosts, pieces, most_kb = cluster(3), 1000 if CAMPAIGN else 64, 32 << 10
    piece, whole = os.urandom(1 << 20), hashlib.sha256()
    script = "test $CHARMTREE_PROCESS = 2 && sleep 0.3 && sha256sum; exec sleep 1000"
    options = ["+p3", "++nodelist", hosts.nodelist(3), "++branching", "1", "++stdin", "2"]
    job = Job(hosts, range(3), [charmrun, *options, "sh", "-c", script], stdin=subprocess.PIPE, text=False)
    assert job.root.stdin is not None
    for _ in range(pieces):
        job.root.stdin.write(piece)
        whole.update(piece)
    job.root.stdin.close()
    job.until(lambda: f"{whole.hexdigest()}  -" in job.out, "the sum of all that was sent", PATIENCE_S)
    pids = [job.root.pid, *(one.pid for one in job.launchers())]
    assert max(map(peak_kb, pids)) < most_kb
    job.signal(signal.SIGINT)
    job.wait()


def test_every_process_gets_a_copy(cluster: Factory, charmrun: Path) -> None:
    hosts, data = cluster(3), os.urandom(4 << 20)
    script = "test $CHARMTREE_PROCESS = 3 && exec true; sleep 0.$CHARMTREE_PROCESS; sha256sum"
    options = ["+p6", "++nodelist", hosts.nodelist(3), "++branching", "1", "++stdin", "all"]
    status, out, _ = run_bytes(hosts, charmrun, *options, "sh", "-c", script, stdin=data)
    assert (status, out.decode().splitlines()) == (0, [f"{hashlib.sha256(data).hexdigest()}  -"] * 5)


def test_a_loop_keeps_its_input(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    options = command(charmrun, "+p1", "++nodelist", hosts.nodelist(1), "++stdin", "none")
    job = " ".join([*options, "sh", "-c", "'cat; echo run '$x"])
    done = hosts.run(0, ["sh", "-c", f"while read x; do {job}; done"], stdin="1\n2\n3\n", timeout=PATIENCE_S)
    assert [line for line in done.stdout.splitlines() if line.startswith("run")] == ["run 1", "run 2", "run 3"]


def test_a_process_that_does_not_exist_gets_no_input(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    done = run(hosts, charmrun, "+p2", "++nodelist", hosts.nodelist(1), "++stdin", 2, "true")
    assert done.returncode == 125 and "there is no process 2 for the input: the job has 2" in done.stderr
