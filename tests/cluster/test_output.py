# SPDX-License-Identifier: Apache-2.0
"""Output of many processes at once: every line once and whole. And reports of hosts whose clocks differ."""

from __future__ import annotations

import json
import xml.etree.ElementTree
from pathlib import Path

import pytest

from running import (
    Factory,
    assert_good,
    built,
    charm4py,
    command,
    double_lines,
    error_line,
    program_lines,
    run,
)


@pytest.mark.parametrize("kind", ["prints", "printf", "printsyn"])
def test_lines_of_a_charm_program_come_once_and_whole(cluster: Factory, charmrun: Path, kind: str) -> None:
    hosts = cluster(9)
    each, count = 3, {"prints": 200, "printf": 200, "printsyn": 20}[kind]
    words = [
        f"+p{9 * each}",
        "++nodelist",
        hosts.nodelist(9),
        "++branching",
        2,
        built(charmrun, "charm_double"),
    ]
    done = run(hosts, charmrun, *words, f"--{kind}", count)
    assert_good(done, double_lines(9 * each, kind.removesuffix("s"), count))


def test_what_comes_before_the_table_is_kept(cluster: Factory, charmrun: Path) -> None:
    """Raw output counts until the table; from then on only messages, which a process repeats there."""
    hosts = cluster(9)
    words = ["+p18", "++nodelist", hosts.nodelist(9), built(charmrun, "charm_double")]
    done = run(hosts, charmrun, *words, "--write-before-table", "early", "--prints", 3, "--printf", 3)
    lines = [f"double {i}/18: printf {k}" for i in range(18) for k in range(3)]
    assert_good(done, [*double_lines(18, "print", 3), *lines, *["early"] * 18])


PIECES = """
import os, sys, time
me = os.environ["CHARMTREE_PROCESS"]
for line in range(20):
    for piece in (f"<{me} ", str(line), " " + "x" * 5000 + ">", chr(10)):
        os.write(1 + line % 2, piece.encode())
        time.sleep(0.001)
"""


def test_lines_written_in_pieces_are_not_torn(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(9)
    script = hosts.put(0, "/home/shared/pieces.py", PIECES)
    done = run(hosts, charmrun, "+p18", "++nodelist", hosts.nodelist(9), "++branching", 2, "python3", script)
    for stream, text in enumerate((done.stdout, done.stderr)):
        want = [f"<{me} {line} {'x' * 5000}>" for me in range(18) for line in range(stream, 20, 2)]
        assert sorted(text.splitlines()) == sorted(want)
    assert done.returncode == 0


LAST_WORDS = """
import os, sys
print("last words" if sys.stdout.isatty() else "kept back")
sys.stdin.read()
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_has_printed_is_not_lost(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = ["+p1", "++host", "h01", "env", "-u", "PYTHONUNBUFFERED", "python3", "-c", LAST_WORDS]
    done = run(hosts, charmrun, "++line-buffered", *job)
    assert (done.returncode, done.stdout) == (137, "last words\n"), done
    assert run(hosts, charmrun, "++no-line-buffered", *job).stdout == ""


def test_a_terminal_for_stdout_carries_bytes_unchanged(cluster: Factory, charmrun: Path) -> None:
    """More than a terminal holds, with the bytes that one edits; and the input is no terminal."""
    hosts = cluster(3)
    text = "".join(f"{i} \t\x03\x04\x11\x13\x1a\x7f é\r\n" for i in range(20000))
    path = hosts.put(0, "/home/shared/bytes", text)
    script = f"cat {path}; test -t 1 && ! test -t 0 && ! test -t 2"
    job = command(charmrun, "++line-buffered", "+p1", "++host", "h01", "sh", "-c", script)
    done = hosts.run(0, ["sh", "-c", 'exec "$@" > /home/shared/taken', "sh", *job], timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert hosts.path(0, "/home/shared/taken").read_bytes() == text.encode()


PRINTS = """
from charm4py import charm, Chare, Group
class Talker(Chare):
    def talk(self, done):
        for line in range(100):
            print(f"PE {charm.myPe()} line {line} " + "y" * 100)
        self.contribute(None, None, done)
def main(args):
    done = charm.Future()
    Group(Talker).talk(done)
    done.get()
    charm.exit()
charm.start(main)
"""


def test_prints_of_charm4py_come_once_and_whole(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    script = hosts.put(0, "/home/shared/prints.py", PRINTS)
    done = run(hosts, charmrun, "+p8", "++nodelist", hosts.nodelist(4), charm4py(), script)
    lines = [line for line in program_lines(done) if line.startswith("PE ")]
    assert lines == sorted(f"PE {pe} line {line} {'y' * 100}" for pe in range(8) for line in range(100))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_slow_reader_loses_nothing(cluster: Factory, charmrun: Path) -> None:
    """30 MB through a pipe that is read only after a while: launchers hold back instead of growing."""
    hosts = cluster(5)
    script = 'seq -f "$CHARMTREE_PROCESS %0100.0f" 60000'
    job = '"$0" "$@" | (sleep 2; cat) | sort | sha256sum'
    words = command(charmrun, "+p5", "++nodelist", hosts.nodelist(5), "sh", "-c", script)
    done = hosts.run(0, ["bash", "-o", "pipefail", "-c", job, *words], timeout=300)
    same = f"for i in 0 1 2 3 4; do CHARMTREE_PROCESS=$i; {script}; done | sort | sha256sum"
    assert done.stdout == hosts.run(0, ["sh", "-c", same], timeout=120).stdout
    assert (done.returncode, done.stderr) == (0, "")


# -- reports --------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["charm", "plain"])
def test_reports_of_hosts_with_other_clocks(cluster: Factory, charmrun: Path, program: str) -> None:
    """Every fourth host's monotonic clock is 1000 s ahead or behind; all times are the root's."""
    hosts = cluster(17)
    report, picture, trace = (f"/home/shared/report.{end}" for end in ("json", "svg", "trace.json"))
    words = ["+p34", "++nodelist", hosts.nodelist(17), "++branching", 2, "++report", report]
    words += ["++timeline", picture if program == "charm" else trace]
    what = [built(charmrun, "charm_double")] if program == "charm" else ["true"]
    done = run(hosts, charmrun, *words, *what)
    assert_good(done, double_lines(34) if program == "charm" else [])
    data = json.loads(hosts.path(0, report).read_text())
    assert (data["hosts"], data["processes"], data["failed"], data["wall"] < done.elapsed) == (
        17,
        34,
        0,
        True,
    )
    assert 0 < data["startup"] <= data["wall"]
    launchers = {one["host"]: one for one in data["launchers"]}
    assert set(launchers) == set(range(-1, 17))
    assert (launchers[-1]["parent"], launchers[-1]["level"]) == (None, 0)
    order = ["begun", "resolved", "connected", "handshaken", "authenticated", "executed", "hello"]
    order += ["spawned", "registered"]
    for host, one in launchers.items():
        marks = one["marks"]
        assert all(0 <= time <= data["wall"] for time in marks.values()), one
        assert all(0 <= time <= data["wall"] for time in one["parts"].values()), one
        times = [marks[mark] for mark in order if mark in marks]
        assert times == sorted(times), one
        if host >= 0:
            last = "table" if program == "charm" else "spawned"
            assert {"begun", "hello", last} <= set(marks), one
    if program == "charm":
        assert xml.etree.ElementTree.fromstring(hosts.path(0, picture).read_text()).tag.endswith("svg")
    else:
        events = json.loads(hosts.path(0, trace).read_text())["traceEvents"]
        spans = [one for one in events if one["ph"] == "X"]
        assert {one["pid"] for one in spans} >= set(range(1, 18))
        assert all(0 <= one["ts"] <= one["ts"] + one["dur"] <= data["wall"] * 1e6 + 1 for one in spans)


@pytest.mark.parametrize("place", [0, 4])  # a child of the root, and of another launcher
def test_a_host_that_failed_is_in_the_report(cluster: Factory, charmrun: Path, place: int) -> None:
    hosts = cluster(4)
    listed: list[int | str] = ["localhost", 1, 2, 3]
    listed.insert(place, "no-such-host")
    report, trace = ("/home/shared/failed.json", "/home/shared/failed.trace.json")
    words = ["+p5", "++nodelist", hosts.nodelist(listed), "++branching", 2]
    done = run(hosts, charmrun, *words, "++report", report, "++timeline", trace, "true")
    assert error_line(done).startswith("no-such-host: resolve: "), done.stderr
    data = json.loads(hosts.path(0, report).read_text())
    launchers = {one["host"]: one for one in data["launchers"]}
    assert (data["hosts"], data["failed"], set(launchers)) == (5, 1, {-1, 0, 1, 2, 3, 4})
    bad = launchers.pop(place)
    assert bad["name"] == "no-such-host"
    assert f"no-such-host: {bad['error']}" == error_line(done)
    assert 0 < bad["marks"]["failed"] <= data["startup"] <= data["wall"]
    assert not any("error" in one or "failed" in one["marks"] for one in launchers.values())
    assert data["parts"]["launcher"]["launchers"] == 4
    assert max(part["max"] for part in data["parts"].values()) <= data["startup"]
    events = json.loads(hosts.path(0, trace).read_text())["traceEvents"]
    failures = [(one["pid"], one["args"]["error"]) for one in events if one["name"] == "failed"]
    assert failures == [(place + 1, bad["error"])]


def test_the_table_of_the_start_up_is_shown_on_request(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    done = run(hosts, charmrun, "+p5", "++nodelist", hosts.nodelist(5), "++verbose", "true")
    assert_good(done, [], said=None)
    assert "Start-up of 5 hosts, 5 processes" in done.stderr
