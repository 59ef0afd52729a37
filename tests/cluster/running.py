# SPDX-License-Identifier: Apache-2.0
"""Jobs on virtual hosts from their start to their end: the programs that they run and what must come out.

$CHARMTREE_CAMPAIGN makes tests run their full matrices and times (`tests/campaign`), not a covering part.
"""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from compiling import compile_newer
from packages import environment, sources
from vc_net import IPV6, NETWORK
from vcluster import REPOSITORY, Cluster, Result

Factory = Callable[..., Cluster]
CAMPAIGN = bool(os.environ.get("CHARMTREE_CAMPAIGN"))
STARTED = "Charmrun> started all node programs in "
PATIENCE_S = 180.0  # for one job: other work may make the machine slow
HELLO = REPOSITORY / "examples/charm4py_hello.py"
NUMBER_AND_HOST = ["sh", "-c", "echo $CHARMTREE_PROCESS $(hostname)"]


def _skip_without_ipv4() -> None:
    if NETWORK is IPV6:
        pytest.skip("Charm++ (netlrts) has no IPv6")


def built(charmrun: Path, name: str) -> Path:
    """A program that was built together with charmrun."""
    if name.startswith("charm"):
        _skip_without_ipv4()
    path = charmrun.parent / name
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is missing: build all targets first", pytrace=False)
    return path


def compiled(charmrun: Path, source: str, *libraries: str) -> Path:
    """A C program of the tests that belongs to no build target; lies beside charmrun."""
    path = charmrun.parent / Path(source).stem
    compile_newer(REPOSITORY / source, path, *libraries)
    return path


def _or_skipped(make: Callable[[str], Path], package: str) -> Path:
    try:
        return make(package)
    except RuntimeError as wrong:
        pytest.skip(str(wrong))


@functools.cache
def packaged(package: str) -> Path:
    """A Python environment that has this package; skips where there is none."""
    return _or_skipped(environment, package)


@functools.cache
def unpacked(package: str) -> Path:
    """The sources of this package, as its makers have packed them; skips where they cannot be had."""
    return _or_skipped(sources, package)


def charm4py() -> Path:
    """The Python of an environment with charm4py."""
    _skip_without_ipv4()
    return packaged("charm4py") / "bin/python"


def command(charmrun: Path, *words: Any) -> list[str]:
    """`charmrun WORDS...`, for those who start it themselves."""
    return [str(charmrun), *map(str, words)]


def run(hosts: Cluster, charmrun: Path, *words: Any, where: int = 0, **options: Any) -> Result:
    """Runs `charmrun WORDS...` on a host of the cluster to its end."""
    options = {"timeout": PATIENCE_S, **options}
    return hosts.run(where, command(charmrun, *words), **options)


def answer(hosts: Cluster, charmrun: Path, *words: Any) -> str:
    """What `charmrun WORDS...` prints, if all is well and nothing else is to be said."""
    done = run(hosts, charmrun, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def gate(hosts: Cluster, name: str) -> tuple[str, Callable[[], None]]:
    """A program that starts another one, as its process 2 only when the gate `name` is opened; and what opens it."""
    script = '#!/bin/sh\n[ $CHARMTREE_PROCESS = 2 ] && read x < $0.pipe\nexec "$@"\n'
    path = hosts.put(0, f"/home/shared/{name}", script, mode=0o755)
    hosts.run(0, ["mkfifo", f"{path}.pipe"], check=True)
    return path, lambda: hosts.run(2, ["sh", "-c", f"echo go > {path}.pipe"], check=True)


def gated(hosts: Cluster, charmrun: Path, name: str) -> tuple[list[Any], Callable[[], None]]:
    """A job on three hosts of which the process on h02 registers when the gate `name` is opened: its command, and
    what opens it."""
    path, opens = gate(hosts, name)
    return [charmrun, "+p3", "++nodelist", hosts.nodelist(3), path, built(charmrun, "charm_double")], opens


def run_bytes(
    hosts: Cluster, charmrun: Path, *words: Any, stdin: bytes = b"", **options: Any
) -> tuple[int, bytes, bytes]:
    """The same with bytes instead of text: status, stdout, stderr."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    child = hosts.popen(0, command(charmrun, *words), text=False, **pipes, **options)
    out, err = child.communicate(stdin, PATIENCE_S)
    return child.returncode, out, err


def program_lines(done: Result) -> list[str]:
    """What the program printed on stdout, sorted; without charmrun's own line (one at most)."""
    lines = done.stdout.splitlines()
    own = [line for line in lines if line.startswith(STARTED)]
    assert len(own) <= 1, own
    return sorted(line for line in lines if line not in own)


def double_lines(processes: int, kind: str = "", count: int = 0) -> list[str]:
    """What charm_double prints when all is right, sorted."""
    lines = [f"double {i}/{processes}: {kind} {k}" for i in range(processes) for k in range(count)]
    return sorted([*lines, f"double: ok {processes} processes"])


def hello_lines(done: Result) -> tuple[list[int], int, list[str]]:
    """Of charm4py_hello.py: the PEs that said hello, how many hosts they were on, and all other lines."""
    lines = program_lines(done)
    hello = [line.split() for line in lines if line.startswith("hello from PE ")]
    other = [line for line in lines if not line.startswith("hello from PE ")]
    return sorted(int(words[3]) for words in hello), len({words[-1] for words in hello}), other


def assert_good(done: Result, lines: Iterable[str], said: str | None = "") -> None:
    """Status 0, exactly these lines of output in any order, and `said` on stderr (None: whatever)."""
    assert done.returncode == 0, (done.args, done.returncode, done.stdout[-2000:], done.stderr[-4000:])
    assert program_lines(done) == sorted(lines), done.args
    if said is not None:
        assert done.stderr == said


def charmrun_lines(done: Result) -> list[str]:
    """What charmrun said on stderr, without its name."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("charmrun: ")]
    return [line.removeprefix("charmrun: ") for line in lines]


def error_line(done: Result, status: int = 125) -> str:
    """The one error line of a job that failed with `status`, without its head."""
    assert done.returncode == status, (done.args, done.returncode, done.stdout, done.stderr)
    errors = [line for line in charmrun_lines(done) if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    return errors[0].removeprefix("error: ")
