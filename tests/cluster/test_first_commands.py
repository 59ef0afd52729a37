# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/manual/first-commands.md: what people type who come from another launcher."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from running import Factory, charmrun_lines
from vcluster import REPOSITORY, SHARED

PAGE = REPOSITORY / "docs/manual/first-commands.md"
ROWS = re.findall(r"^\| `(charmrun.*)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
NAMES = ["front", "node01", "node02", "node03", "node04"]
COUNTS = re.compile(r"(\d+) process(?:es)? on (\d+) hosts?")


def test_each_launcher_has_its_ten() -> None:
    tables = re.findall(r"^## From (.*)\n\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE)
    assert {name: rows.count("| `charmrun") >= 10 for name, rows in tables} == dict.fromkeys(
        ["mpirun", "srun", "clush", "Charm++'s charmrun"], True
    )


@pytest.mark.parametrize(("command", "outcome"), ROWS, ids=[command for command, _ in ROWS])
def test_a_first_command_does_what_was_meant_or_says_what_does(
    cluster: Factory, charmrun: Path, command: str, outcome: str
) -> None:
    hosts = cluster(len(NAMES), names=NAMES)
    folder = f"{SHARED}/first-commands"
    hosts.put(0, f"{folder}/hosts", "node01 slots=2\nnode02 slots=2\n")
    hosts.put(0, f"{folder}/nodes", "host node[01-04]\ngroup far\nhost node[03-04]\n")
    path = {"PATH": f"{charmrun.parent}:/usr/local/bin:/usr/bin:/bin"}
    done = hosts.run(0, ["bash", "-c", command], cwd=folder, env=path)
    if text := re.fullmatch(r"says: `(.*)`", outcome):
        assert done.returncode == 125
        [line] = charmrun_lines(done)
        assert text[1] in line
    elif text := re.fullmatch(r"shows: `(.*)`", outcome):
        assert done.returncode == 0 and text[1] in done.stdout, done.stderr
    else:
        counts = COUNTS.fullmatch(outcome)
        assert counts and done.returncode == 0, (done.stdout, done.stderr)
        lines = [line.split()[-1] for line in done.stdout.splitlines() if "Charmrun>" not in line]
        want = [0, 0] if command.endswith(" true") else [int(number) for number in counts.groups()]
        assert [len(lines), len(set(lines))] == want, done.stdout
