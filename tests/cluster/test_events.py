# SPDX-License-Identifier: Apache-2.0
"""++json, and the line of progress on a terminal."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from running import Factory, built, error_line, gated, run
from terminal import Terminal

_SHARED = "/home/shared"


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def of_kind(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in found if each["event"] == kind]


def test_events_on_stdout_carry_the_output(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    double = built(charmrun, "charm_double")
    done = run(hosts, charmrun, "++json", "-", "+p3", "++nodelist", hosts.nodelist(3), double, "--prints", "1", "--exit", "7")
    found = events(done.stdout)
    assert done.returncode == 7
    assert (found[0]["event"], found[0]["format"]) == ("job", "charmtree-events-1")
    assert (found[0]["hosts"], found[0]["processes"], found[0]["command"][1:]) == (3, 3, ["--prints", "1", "--exit", "7"])
    assert sorted(each["host"] for each in of_kind(found, "host_up")) == hosts.names[:3]
    stages = [each["stage"] for each in of_kind(found, "stage")]
    assert stages[0] == "launch" and stages[-2:] == ["run", "end"], stages
    output = "".join(each["text"] for each in of_kind(found, "output"))
    assert sorted(output.splitlines()) == sorted(
        ["double: ok 3 processes", *(f"double {n}/3: print 0" for n in range(3))]
    )
    assert (found[-1]["event"], found[-1]["status"], found[-1]["signal"]) == ("end", 7, 0)
    times = [each["t"] for each in found]
    assert times == sorted(times)
    assert all("at" in each for each in of_kind(found, "output"))


def test_events_in_a_file_and_a_descriptor_leave_the_output_alone(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    bad = hosts.nodelist([0, "nobody.invalid"])
    file = f"{_SHARED}/events.json"
    done = run(hosts, charmrun, "++json", file, "+p2", "++nodelist", bad, "true")
    found = events(hosts.path(0, file).read_text())
    (failed,) = of_kind(found, "host_failed")
    assert (failed["host"], failed["phase"]) == ("nobody.invalid", "resolve")
    assert [each["text"] for each in of_kind(found, "message") if each["tone"] == "error"] == [error_line(done)]
    assert found[-1]["status"] == 125
    shell = f'"$0" "$@" 7> {file}'
    program = ["sh", "-c", "ls /proc/self/fd; echo hi"]
    done = hosts.run(0, ["sh", "-c", shell, charmrun, "++json", "fd:7", "+p2", "++local", *program])
    assert done.stdout.splitlines().count("hi") == 2 and "7" not in done.stdout.split()
    assert events(hosts.path(0, file).read_text())[-1]["status"] == 0


def test_a_full_disk_and_bad_places(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    done = run(hosts, charmrun, "++json", "/dev/full", "+p1", "++local", "echo", "hi")
    assert (done.returncode, done.stdout) == (0, "hi\n")
    assert "++json: cannot write /dev/full: No space left on device; the job goes on without it" in done.stderr
    for place in ("fd:9", "fd:x", "/nowhere/x"):
        assert "++json" in error_line(run(hosts, charmrun, "++json", place, "+p1", "++local", "true"))


def test_a_terminal_shows_progress_and_a_pipe_does_not(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    argv, first = gated(hosts, charmrun, "first")
    piped = hosts.popen(0, argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    argv, second = gated(hosts, charmrun, "second")
    terminal = Terminal(hosts, argv)
    terminal.expect(r"\r\x1b\[Kcharmrun: start: 2 of 3 processes have registered; not yet: h02")
    for open_gate in (first, second):
        open_gate()
    terminal.expect(r"\r\x1b\[K(Charmrun|double)")
    assert "double: ok 3 processes" in terminal.end()
    out, err = piped.communicate(timeout=60)
    assert (piped.returncode, err) == (0, "") and "\x1b" not in out
