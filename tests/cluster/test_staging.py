# SPDX-License-Identifier: Apache-2.0
"""Hosts on which charmrun is not installed: they get it over the session that starts their launcher, and keep it."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from running import Factory, answer, assert_good, built, charmrun_lines, error_line, run
from vc_job import Job, leftovers
from vcluster import Cluster

_HOSTS = 6
_OTHERS = range(1, _HOSTS)
_BARE = "/tmp/bare/charmrun"  # on h00 alone
_CACHE = "/home/ctuser/.cache/charmtree"
_FALLBACK = "/tmp/charmtree-cache-{uid}"
_SENT = "charmrun was sent there"


@pytest.fixture(scope="module")
def stripped(charmrun: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As it is installed: without what debuggers read."""
    path = tmp_path_factory.mktemp("stripped") / "charmrun"
    subprocess.run(["strip", "-o", path, charmrun], check=True)
    return path


@pytest.fixture
def bare(fresh_cluster: Factory, stripped: Path) -> Iterator[tuple[Cluster, Path]]:
    """Hosts with file systems of their own; charmrun is on h00 only."""
    hosts = fresh_cluster(_HOSTS, own=_OTHERS)
    put_program(hosts, 0, _BARE, stripped)
    yield hosts, Path(_BARE)


def put_program(hosts: Cluster, where: int, name: str, program: Path) -> None:
    there = hosts.path(where, hosts.put(where, name, "", mode=0o755))
    shutil.copyfile(program, there)


def launch(hosts: Cluster, charmrun: Path, *words: object) -> subprocess.CompletedProcess[str]:
    options = ["+p5", "++nodelist", hosts.nodelist(_OTHERS), "++verbose", *words]
    return run(hosts, charmrun, *options, "hostname")


def sent_to(done: subprocess.CompletedProcess[str]) -> list[str]:
    return sorted(re.findall(rf"^charmrun: (\w+): {_SENT}", done.stderr, re.MULTILINE))


def assert_ran_on(names: list[str], done: subprocess.CompletedProcess[str], hosts: Cluster) -> None:
    lines = sorted(line for line in done.stdout.splitlines() if line in hosts.names)
    assert (done.returncode, lines) == (0, names), done.stderr


def cached(hosts: Cluster, index: int, folder: str = _CACHE) -> list[str]:
    there = hosts.path(index, folder)
    return sorted(os.listdir(there)) if there.is_dir() else []


@pytest.mark.parametrize("transport", ["built-in ssh", "ssh command", "starter"])
def test_they_get_it_once(bare: tuple[Cluster, Path], transport: str) -> None:
    """Inner launchers pass it on: in a binary tree h03 to h05 get it from h01 and h02. The second job finds it."""
    hosts, charmrun = bare
    words = {
        "built-in ssh": [],
        "ssh command": ["++remote-shell", "ssh"],
        "starter": ["++remote-shell", "ssh -o BatchMode=yes %h"],
    }[transport]
    first = launch(hosts, charmrun, "++branching", 2, *words)
    assert_ran_on(hosts.names[1:], first, hosts)
    assert sent_to(first) == hosts.names[1:], first.stderr
    for index in _OTHERS:
        (program,) = cached(hosts, index)
        folder = hosts.path(index, _CACHE)
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / program).read_bytes() == hosts.path(0, str(charmrun)).read_bytes()
    second = launch(hosts, charmrun, "++branching", 2, *words)
    assert_ran_on(hosts.names[1:], second, hosts)
    assert sent_to(second) == [], second.stderr


def test_not_if_the_user_does_not_want_it(bare: tuple[Cluster, Path]) -> None:
    hosts, charmrun = bare
    for words in (["++no-stage"], ["++launcher", _BARE]):
        line = error_line(run(hosts, charmrun, "+p1", "++nodelist", hosts.nodelist([2]), *words, "hostname"))
        assert line.startswith(f"h02: start launcher: {_BARE} not found; install charmrun there or name it"), line
        assert cached(hosts, 2) == []


def test_another_version_is_left_alone_and_replaced(bare: tuple[Cluster, Path]) -> None:
    hosts, charmrun = bare
    other = "#!/bin/sh\necho '@charmtree-launcher 9.8.7 (protocol 99)'\nexec cat >/dev/null\n"
    hosts.put(2, _BARE, other, mode=0o755)
    hosts.put(3, _BARE, "\x7fELF of another machine", mode=0o755)
    done = run(hosts, charmrun, "+p5", "++nodelist", hosts.nodelist(_OTHERS), "hostname")
    assert_good(done, hosts.names[1:], said=None)
    (line,) = charmrun_lines(done)
    assert line.endswith("; such hosts get ours"), line
    assert hosts.path(2, _BARE).read_text() == other


def test_only_a_folder_of_the_users_own_is_used(bare: tuple[Cluster, Path]) -> None:
    """Another user of the host has been quicker, with a folder or a link in /tmp: the cache has another name there."""
    hosts, charmrun = bare
    user = hosts.user("ctuser")
    fallback = _FALLBACK.format(uid=user.uid)
    for index in _OTHERS:
        hosts.run(index, ["sh", "-c", "mkdir ~/.cache && chmod 555 ~/.cache"], check=True)
    for index, command in {
        2: f"mkdir {fallback}",
        3: f"mkdir /tmp/theirs && chmod 777 /tmp/theirs && ln -s /tmp/theirs {fallback}",
        4: f"ln -s {user.home} {fallback}",
    }.items():
        hosts.run(index, ["sh", "-c", f"{command}; mkdir -m 777 {fallback}-theirs"], user="ctother", check=True)
    for sent in (hosts.names[1:], []):
        done = launch(hosts, charmrun)
        assert_ran_on(hosts.names[1:], done, hosts)
        assert sent_to(done) == sent, done.stderr
    for index in _OTHERS:
        (folder,) = (one for one in hosts.path(index, "/tmp").glob(f"{Path(fallback).name}*") if is_of(one, user.uid))
        assert len(os.listdir(folder)) == 1 and folder.stat().st_mode & 0o777 == 0o700
        assert (folder.name == Path(fallback).name) == (index in (1, 5))


def is_of(folder: Path, uid: int) -> bool:
    about = folder.lstat()
    return about.st_uid == uid and stat.S_ISDIR(about.st_mode)


def test_what_was_cut_off_is_sent_again_and_old_ones_go(bare: tuple[Cluster, Path]) -> None:
    hosts, charmrun = bare
    nodelist = hosts.nodelist([1])
    assert_good(run(hosts, charmrun, "+p1", "++nodelist", nodelist, "hostname"), ["h01"])
    (program,) = cached(hosts, 1)
    folder = hosts.path(1, _CACHE)
    for number in range(12):
        hosts.put(1, f"{_CACHE}/old{number}", "x")
        if number < 3:
            os.utime(folder / f"old{number}", (1e9 + number, 1e9 + number))
    hosts.put(1, f"{_CACHE}/.new.abcdef", "begun")
    os.utime(folder / ".new.abcdef", (1e9, 1e9))
    whole = (folder / program).read_bytes()
    (folder / program).unlink()  # one that still ends runs from it
    hosts.put(1, f"{_CACHE}/{program}", "", mode=0o755)
    (folder / program).write_bytes(whole[:5_000_000])
    done = run(hosts, charmrun, "+p1", "++nodelist", nodelist, "++verbose", "hostname")
    assert done.returncode == 0 and sent_to(done) == ["h01"], done.stderr
    left = cached(hosts, 1)
    assert program in left and len(left) == 7, left  # it was one of the 7 that were kept
    assert (folder / program).read_bytes() == whole
    assert not {"old0", "old1", "old2", ".new.abcdef"} & set(left), left


def test_a_full_disk_is_named(bare: tuple[Cluster, Path]) -> None:
    hosts, charmrun = bare
    script = "mkdir -p /home/ctuser/.cache && mount -t tmpfs -o size=1m,mode=777 none /home/ctuser/.cache"
    hosts.run(1, ["sh", "-c", script], user="root", check=True)
    line = error_line(run(hosts, charmrun, "+p1", "++nodelist", hosts.nodelist([1]), "hostname"))
    assert line.startswith(f"h01: start launcher: {_BARE} not found, and it cannot be sent there: no room in {_CACHE}"), line
    hosts.run(1, ["mount", "-o", "remount,noexec,size=99m", "/home/ctuser/.cache"], user="root", check=True)
    done = run(hosts, charmrun, "+p1", "++nodelist", hosts.nodelist([1]), "++verbose", "hostname")
    assert done.returncode == 0 and sent_to(done) == ["h01"], done.stderr  # into /tmp
    hosts.run(1, ["umount", "/home/ctuser/.cache"], user="root", check=True)


@pytest.mark.parametrize(
    ("says", "want"),
    [
        ("@charmtree-stage ask'; read script; echo '@charmtree-stage send riscv64", "not found, and ours is for x86_64, not for riscv64; install charmrun there"),
        ("@charmtree-stage send x86_64", "a shell there asked for charmrun out of turn; "),
    ],
)
def test_a_host_that_asks_for_what_it_cannot_have(bare: tuple[Cluster, Path], says: str, want: str) -> None:
    hosts, charmrun = bare
    hosts.put(0, "/tmp/got", "", mode=0o666)  # the shell may be ended before it makes it
    shell = hosts.put(0, "/tmp/shell", f"#!/bin/sh\necho '{says}'\nexec cat >/tmp/got\n", mode=0o755)
    words = ["+p1", "++nodelist", hosts.nodelist([1]), "++remote-shell", shell]
    line = error_line(run(hosts, charmrun, *words, "hostname"))
    assert line.startswith("h01: start launcher: ") and want in line, line
    assert hosts.path(0, "/tmp/got").stat().st_size == 0


def test_helpers_run_from_the_cache(bare: tuple[Cluster, Path], charmrun: Path) -> None:
    """What launchers start is themselves, from where they are: here whoever looks at stacks."""
    hosts, bare_charmrun = bare
    double = built(charmrun, "charm_double")
    job = Job(hosts, range(_HOSTS), [bare_charmrun, "+p5", "++nodelist", hosts.nodelist(_OTHERS), double, "--compute", "98765"])
    job.until(lambda: len(job.running("charm_double")) == 5, "five processes")
    trees = answer(hosts, bare_charmrun, "++stack-trees")
    job.signal(2)
    assert job.wait() == -2 and not leftovers([job])
    assert "5 processes" in trees and "main" in trees, trees
