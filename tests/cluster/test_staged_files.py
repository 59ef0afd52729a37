# SPDX-License-Identifier: Apache-2.0
"""++stage-program, ++stage, ++make-wdir: hosts get the job's files from the root's, down the tree, and keep them."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from running import HELLO, Factory, assert_good, charm4py, error_line, hello_lines, program_lines, run
from vc_job import Job, leftovers
from vcluster import Cluster

_HOSTS = 6
_OTHERS = range(1, _HOSTS)
_CACHE = "/home/ctuser/.cache/charmtree-files"
_FALLBACK = "/tmp/charmtree-files-{uid}"
_APP = "/tmp/app"  # on h00 alone

_LIBRARY = 'const char* answer(void) { return "42 from its own library"; }\n'
_PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
const char* answer(void);
int main(void) { printf("%s: %s\\n", getenv("CHARMTREE_PROCESS"), answer()); return 0; }
"""


@pytest.fixture
def apart(fresh_cluster: Factory) -> Iterator[Cluster]:
    """Hosts with file systems of their own; the program's folder is on h00 only."""
    hosts = fresh_cluster(_HOSTS, own=_OTHERS)
    hosts.run(0, ["mkdir", _APP], check=True)
    yield hosts


def copied(hosts: Cluster, source: Path, name: str) -> str:
    """A file of this machine, put on h00."""
    inside = hosts.put(0, f"{_APP}/{name}", "", mode=0o755)
    shutil.copyfile(source, hosts.path(0, inside))
    return inside


@pytest.fixture(scope="module")
def with_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program and the library that it needs, which it looks for where h00 has it."""
    folder = tmp_path_factory.mktemp("with_library")
    (folder / "answer.c").write_text(_LIBRARY)
    (folder / "main.c").write_text(_PROGRAM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libanswer.so", folder / "answer.c"], check=True)
    subprocess.run(
        ["cc", "-o", folder / "main", folder / "main.c", f"-L{folder}", "-lanswer", f"-Wl,-rpath,{_APP}"], check=True
    )
    return folder


def contents(hosts: Cluster, index: int, folder: str = _CACHE) -> dict[str, int]:
    """What a host keeps: names, and which files they are."""
    there = hosts.path(index, f"{folder}/contents")
    return {path.name: path.stat().st_ino for path in there.iterdir()} if there.is_dir() else {}


def launch(hosts: Cluster, charmrun: Path, *words: object, **options: object) -> subprocess.CompletedProcess[str]:
    return run(hosts, charmrun, "+p5", "++nodelist", hosts.nodelist(_OTHERS), *words, **options)


@pytest.mark.parametrize("branching", [1, 2, 5])
def test_a_program_with_its_library(apart: Cluster, charmrun: Path, with_library: Path, branching: int) -> None:
    program = copied(apart, with_library / "main", "main")
    copied(apart, with_library / "libanswer.so", "libanswer.so")
    words = ["++branching", branching, "++make-wdir", "++stage-program", program]
    want = [f"{process}: 42 from its own library" for process in range(5)]
    assert_good(launch(apart, charmrun, *words, cwd=_APP), want)
    kept = [contents(apart, index) for index in _OTHERS]
    assert all(len(each) == 2 for each in kept), kept
    assert contents(apart, 0) == {}
    assert_good(launch(apart, charmrun, *words, cwd=_APP), want)
    assert [contents(apart, index) for index in _OTHERS] == kept  # nothing was sent again


def test_quickstarts_program_with_nothing_installed(apart: Cluster, charmrun: Path, tmp_path: Path) -> None:
    """A real Charm++ program: neither its script, nor its folder, nor charmrun is on the hosts."""
    python = charm4py()
    subprocess.run(["strip", "-o", tmp_path / "charmrun", charmrun], check=True)
    bare = copied(apart, tmp_path / "charmrun", "charmrun")
    script = copied(apart, HELLO, "hello.py")
    os.chmod(apart.path(0, script), 0o644)
    words = ["+p5", "++nodelist", apart.nodelist(_OTHERS), "++stage-program", "++make-wdir"]
    for _ in range(2):
        done = apart.run(0, [bare, *words, python, "hello.py"], cwd=_APP, timeout=180)
        assert done.returncode == 0, done.stderr
        pes, places, _other = hello_lines(done)
        assert (pes, places) == (list(range(5)), 5), done.stdout


def test_files_and_folders(apart: Cluster, charmrun: Path) -> None:
    apart.put(0, f"{_APP}/one.dat", "one\n")
    apart.put(0, f"{_APP}/folder/two.dat", "two\n")
    apart.put(0, f"{_APP}/elsewhere/empty", "")
    apart.run(0, ["ln", "-s", "../elsewhere", f"{_APP}/folder/deeper"], check=True)
    apart.run(0, ["sh", "-c", f"head -c 9000000 /dev/urandom >{_APP}/folder/large"], check=True)
    digest = hashlib.sha256(apart.path(0, f"{_APP}/folder/large").read_bytes()).hexdigest()
    tell = "cd $CHARMTREE_STAGED && cat one.dat folder/two.dat && ls folder/deeper && sha256sum <folder/large | cut -c1-64"
    done = launch(apart, charmrun, "++stage", f"{_APP}/one.dat,{_APP}/folder/", "++wdir", "/", "sh", "-c", tell)
    assert_good(done, 5 * ["one", "two", "empty", digest])


def test_what_was_begun_goes_on(apart: Cluster, charmrun: Path) -> None:
    """The file that is whole in the end is the one that was begun, where that was right; where not, it comes anew."""
    text = "".join(f"line {number}\n" for number in range(100_000))
    apart.put(0, f"{_APP}/data", text)
    name = hashlib.sha256(text.encode()).hexdigest()
    dated = int(apart.path(0, f"{_APP}/data").stat().st_mtime)
    begun = {1: text[:500_000], 2: "z" + text[1:500_000], 3: text + "more"}
    for index, left in begun.items():
        apart.run(index, ["mkdir", "-p", "-m", "700", _CACHE, f"{_CACHE}/contents"], check=True)
        apart.put(index, f"{_CACHE}/contents/{name}.part", left)
    parts = {index: contents(apart, index)[f"{name}.part"] for index in begun}
    tell = ["sh", "-c", "sha256sum <$CHARMTREE_STAGED/data | cut -c1-64"]
    done = launch(apart, charmrun, "++branching", 1, "++stage", f"{_APP}/data", "++wdir", "/", *tell)
    assert_good(done, 5 * [name])
    for index, part in parts.items():
        assert contents(apart, index) == {f"{name}-444-{dated}": part}


def test_a_killed_job_leaves_what_had_come(apart: Cluster, charmrun: Path) -> None:
    apart.run(0, ["sh", "-c", f"head -c 400000000 /dev/zero >{_APP}/large"], check=True)
    words = ["+p5", "++nodelist", apart.nodelist(_OTHERS), "++branching", "1", "++wdir", "/"]
    job = Job(apart, range(_HOSTS), [charmrun, *words, "++stage", f"{_APP}/large", "hostname"])
    job.until(lambda: any(name.endswith(".part") for name in contents(apart, 1)), "a file that comes")
    job.signal(signal.SIGINT)
    assert job.wait() == -2 and not leftovers([job])
    apart.put(0, f"{_APP}/large", "short now")
    assert_good(launch(apart, charmrun, *words[3:], "++stage", f"{_APP}/large", "hostname"), apart.names[1:])


def test_what_cannot_be_sent(apart: Cluster, charmrun: Path) -> None:
    plain = apart.put(0, f"{_APP}/plain", "text\n")
    apart.put(0, f"{_APP}/other/plain", "text\n")
    apart.run(0, ["sh", "-c", f"mkdir {_APP}/dangling && ln -s nowhere {_APP}/dangling/link"], check=True)
    locked = apart.put(0, f"{_APP}/locked", "text\n", user="root", mode=0o600)
    for words, want in {
        ("++stage", f"{_APP}/none", "hostname"): f"++stage: {_APP}/none: No such file or directory",
        ("++stage", locked, "hostname"): f"++stage: {locked}: Permission denied",
        ("++stage", f"{_APP}/dangling", "hostname"): f"++stage: {_APP}/dangling/link: No such file or directory",
        ("++stage", "/dev/null", "hostname"): "++stage: /dev/null is no file; pipes and devices cannot be sent",
        ("++stage", f"{plain},{_APP}/other/plain", "hostname"): "++stage: two are called plain; rename one",
        ("++stage", "/", "hostname"): "++stage cannot be '/'; it takes FILE,FOLDER,...",
        ("++stage-program", plain): f"++stage-program: {plain} cannot be executed; chmod +x makes it so",
        ("++stage-program", "no-such"): "++stage-program: there is no program no-such here; say where it is",
        ("++stage-program", "python3", "-c", "0"): "++stage-program: python3 is not told of any script; name a .py file",
    }.items():
        line = error_line(launch(apart, charmrun, *words, cwd=_APP))
        assert line.startswith(want), line


def test_a_host_without_room_is_named(apart: Cluster, charmrun: Path) -> None:
    """The others are not to blame; where the program may not be executed, it is kept in /tmp."""
    apart.run(0, ["sh", "-c", f"head -c 3000000 /dev/urandom >{_APP}/data"], check=True)
    mount = "mkdir -p ~ctuser/.cache && mount -t tmpfs -o size=1m,mode=777 none ~ctuser/.cache"
    apart.exec_root(2, ["sh", "-c", mount], check=True)
    words = ["++stage", f"{_APP}/data", "++wdir", "/"]
    line = error_line(launch(apart, charmrun, *words, "hostname"))
    assert line.startswith(f"h02: spawn: no room for files/data in {_CACHE}/contents: No space left on device; "), line
    done = launch(apart, charmrun, *words, "++on-host-failure", "drop", "++branching", 5, "hostname")
    assert program_lines(done) == ["h01", "h03", "h04", "h05"], done.stderr
    apart.exec_root(2, ["mount", "-o", "remount,noexec,size=99m", "/home/ctuser/.cache"], check=True)
    script = apart.put(0, f"{_APP}/script", "#!/bin/sh\nhostname\n", mode=0o755)
    assert_good(launch(apart, charmrun, *words, "++stage-program", script), apart.names[1:])
    assert len(contents(apart, 2, _FALLBACK.format(uid=apart.user("ctuser").uid))) == 2
    apart.exec_root(2, ["umount", "/home/ctuser/.cache"], check=True)


def test_only_a_folder_of_the_users_own_is_used(apart: Cluster, charmrun: Path) -> None:
    """Another user of the host has been quicker, with a folder or a link in /tmp: the files are in another one there."""
    user = apart.user("ctuser")
    fallback = _FALLBACK.format(uid=user.uid)
    apart.put(0, f"{_APP}/data", "text\n")
    for index in (1, 2):
        apart.run(index, ["sh", "-c", "mkdir ~/.cache && chmod 555 ~/.cache"], check=True)
    apart.run(1, ["mkdir", fallback], user="ctother", check=True)
    apart.run(2, ["ln", "-s", user.home, fallback], user="ctother", check=True)
    words = ["+p2", "++nodelist", apart.nodelist([1, 2]), "++stage", f"{_APP}/data"]
    show = ["sh", "-c", "cat $CHARMTREE_STAGED/data; stat -c %a $CHARMTREE_STAGED/../.."]
    for _ in range(2):
        assert_good(run(apart, charmrun, *words, *show), 2 * ["text", "700"])
    for index in (1, 2):
        names = [one.name for one in apart.path(index, "/tmp").glob(f"{Path(fallback).name}-*")]
        assert len(names) == 1, names
        apart.exec_root(index, ["chmod", "1755", "/tmp"], check=True)
        apart.exec_root(index, ["rm", "-rf", f"/tmp/{names[0]}"], check=True)
        line = error_line(run(apart, charmrun, "+p1", "++nodelist", apart.nodelist([index]), *words[3:], "hostname"))
        apart.exec_root(index, ["chmod", "1777", "/tmp"], check=True)
        want = f"h0{index}: spawn: no folder there takes the job's files (tried {_CACHE} and {fallback}); "
        assert line.startswith(want), line


def test_a_working_directory_is_made_on_request(apart: Cluster, charmrun: Path) -> None:
    line = error_line(launch(apart, charmrun, "pwd", cwd=_APP))
    assert line.startswith("h[01-05]: spawn: working directory /tmp/app: No such file or directory; ++make-wdir"), line
    assert_good(launch(apart, charmrun, "++make-wdir", "++wdir", f"{_APP}/deep/er", "pwd"), 5 * [f"{_APP}/deep/er"])
    done = launch(apart, charmrun, "++make-wdir", "++wdir", "/proc/none/of/it", "pwd")
    assert "working directory /proc/none/of/it: No such file or directory" in error_line(done)


def test_a_checkup_does_not_look_for_what_will_be_sent(apart: Cluster, charmrun: Path) -> None:
    script = apart.put(0, f"{_APP}/script", "#!/bin/sh\n", mode=0o755)
    words = ["++doctor", "++nodelist", apart.nodelist(_OTHERS), script]
    assert run(apart, charmrun, *words, cwd=_APP).returncode == 125
    done = run(apart, charmrun, *words, "++stage-program", "++make-wdir", cwd=_APP)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not apart.path(1, _APP).exists()


def test_in_a_session(apart: Cluster, charmrun: Path) -> None:
    """Each run has its own files, over the tree that there is."""
    script = apart.put(0, f"{_APP}/script", "#!/bin/sh\necho first\n", mode=0o755)
    session = run(apart, charmrun, "++session", "++background", "++nodelist", apart.nodelist(_OTHERS))
    assert session.returncode == 0, session.stderr
    number = session.stdout.split()[-1]
    try:
        words = ["++in", number, "+p5", "++wdir", "/", "++stage-program", script]
        assert_good(run(apart, charmrun, *words), 5 * ["first"])
        apart.put(0, script, "#!/bin/sh\necho second\n", mode=0o755)
        assert_good(run(apart, charmrun, *words), 5 * ["second"])
        assert_good(run(apart, charmrun, "++in", number, "+p5", "++wdir", "/", "hostname"), apart.names[1:])
    finally:
        assert run(apart, charmrun, "++end", number).returncode == 0
