# SPDX-License-Identifier: Apache-2.0
"""Every command that README.md and docs/manual show does what they say: run as it stands there, on hosts named as there."""

from __future__ import annotations

import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mpi_programs
import page_commands
from page_commands import Block, Command, blocks
from running import Factory, built
from vcluster import REPOSITORY, SHARED, Cluster

FRONT, *NODES = NAMES = ["front", "node01", "node02", "node03", "node04"]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs/manual").glob("*.md"))]
COMMAND_S = 20.0
LANGUAGES = {"sh", "console", "json", "c", "python", "lua", ""}
# The programs of the pages: scripts, and what is built.
SCRIPTS = {
    "app": "echo hello from process $CHARMTREE_PROCESS of $(hostname)",
    "solver": "echo solving; sleep 2; echo solved",
    "wrap": 'exec "$@"',
    "smp": 'exec "${0%/*}/charm" --smp 16',
}
PROGRAMS = {"hello": "hello", "steer": "steer", "charm": "charm_double"}


def name_of(page: Path) -> str:
    return "-".join(page.relative_to(REPOSITORY).with_suffix("").parts)


class Shell:
    """A bash on the front host, as a user has one who follows a page."""

    def __init__(self, hosts: Cluster, folder: str, path: str) -> None:
        self._hosts, self._folder = hosts, folder
        self._number = 0
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        environment = {"PATH": path, "PYTHONPATH": str(REPOSITORY / "client-lib/python")}
        self._bash = hosts.popen(FRONT, ["bash"], cwd=folder, env=environment, text=False, bufsize=0, **pipes)

    def run(self, text: str) -> tuple[int, Path]:
        """Its status, and where what it prints is, or will be; AssertionError if it does not end."""
        self._number += 1
        out = f"{self._folder}/.out{self._number}"
        self._bash.stdin.write(f"{{ {text}\n}} >{out} 2>&1 </dev/null\necho $?\n".encode())
        ready, _, _ = select.select([self._bash.stdout], [], [], COMMAND_S)
        path = self._hosts.path(FRONT, out)
        assert ready, f"not done after {COMMAND_S:g} s: {text}\n{path.read_text()}"
        return int(self._bash.stdout.readline()), path

    def close(self) -> None:
        self._bash.stdin.close()
        self._bash.wait(10)


def try_command(shell: Shell, command: Command) -> list[str]:
    """What is wrong with it."""
    status, path = shell.run(command.text)

    def wrong() -> list[str]:
        printed = path.read_text(errors="replace").splitlines()
        return [] if command.shown is None else page_commands.missing(command.shown, printed)

    if command.in_background:
        deadline = time.monotonic() + COMMAND_S
        while wrong() and time.monotonic() < deadline:
            time.sleep(0.02)
    found = wrong() + ([] if status == command.status else [f"status {status}, not {command.status}"])
    return [*found, "it printed:", *path.read_text(errors="replace").splitlines()] if found else []


def run_block(hosts: Cluster, block: Block, folder: str, path: str) -> Iterator[str]:
    shell = Shell(hosts, folder, path)
    try:
        for command in block.commands():
            wrong = try_command(shell, command)
            if wrong:
                yield "\n    ".join([f"line {command.line}: {command.text}", *wrong])
        shell.run("wait")
    finally:
        shell.close()


def prepare(hosts: Cluster, charmrun: Path, folder: str) -> None:
    """The files that pages take for granted."""
    hosts.put(FRONT, f"{folder}/nodes", "".join(f"host {name}\n" for name in NODES))
    for name, text in SCRIPTS.items():
        hosts.put(FRONT, f"{folder}/{name}", f"#!/bin/sh\n{text}\n", mode=0o755)
    for name, program in PROGRAMS.items():
        hosts.path(FRONT, f"{folder}/{name}").symlink_to(built(charmrun, program))
    if folder.endswith("-mpi"):
        hosts.path(FRONT, f"{folder}/mpi_app").symlink_to(mpi_programs.program("mpich5")[1])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_of_a_page(cluster: Factory, charmrun: Path, page: Path) -> None:
    hosts = cluster(len(NAMES), names=NAMES)
    folder = f"{SHARED}/{name_of(page)}"
    prepare(hosts, charmrun, folder)
    path = f"{charmrun.parent}:/usr/local/bin:/usr/bin:/bin"
    wrong: list[str] = []
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{page.name}:{block.line}: ```{block.language} is not known here"
        if block.mark == "file":
            hosts.put(FRONT, f"{folder}/{block.value}", block.text)
        elif block.mark != "not run" and block.language in ("sh", "console"):
            wrong += run_block(hosts, block, folder, path)
    assert not wrong, f"{page.name}\n" + "\n".join(wrong)


def page(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_commands_are_found_with_what_they_print(tmp_path: Path) -> None:
    text = "# Page\n```sh\n# why\na \\\n  b   # status 3\nc &\n```\n<!-- file: nodes -->\n```\nhost a\n```\n```console\n$ d\ne\nf\n$ g\n```\n"
    first, file, last = blocks(page(tmp_path, text))
    assert [(one.line, one.text, one.status, one.in_background, one.shown) for one in first.commands()] == [
        (4, "a \\\n  b   # status 3", 3, False, None),
        (6, "c &", 0, True, None),
    ]
    assert (file.mark, file.value, file.text) == ("file", "nodes", "host a\n")
    assert [(one.text, one.shown) for one in last.commands()] == [("d", ["e", "f"]), ("g", [])]


def test_what_is_shown_and_what_is_printed_must_agree() -> None:
    assert page_commands.missing(["b", "a…c"], ["a b c", "b"]) == []
    assert page_commands.missing(["b"], ["a", "b"]) == ["not shown: a"]
    assert page_commands.missing(["b", "…"], ["a", "b"]) == []
    assert page_commands.missing(["b", "b"], ["b"]) == ["not printed: b"]


def test_a_command_that_is_wrong_is_found(cluster: Factory, charmrun: Path, tmp_path: Path) -> None:
    hosts = cluster(len(NAMES), names=NAMES)
    folder = f"{SHARED}/wrong"
    prepare(hosts, charmrun, folder)
    text = "```console\n$ charmrun +p1 ++local ++labell true\n$ echo a\nb\n$ false\n$ true\n```\n"
    (block,) = blocks(page(tmp_path, text))
    wrong = list(run_block(hosts, block, folder, f"{charmrun.parent}:/usr/bin:/bin"))
    assert [one.split(":")[0] for one in wrong] == ["line 2", "line 3", "line 5"]
    assert "status 125, not 0" in wrong[0] and "not printed: b" in wrong[1]
