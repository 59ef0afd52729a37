# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` puts where, and that it is of use there: the launcher, the library, the manual page, completions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from running import charm4py
from vcluster import REPOSITORY

_HELLO = REPOSITORY / "examples/hello.c"


def told(*argv: str | Path, **options: object) -> str:
    done = subprocess.run([str(word) for word in argv], check=False, capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, (argv, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def prefix(charmrun: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("usr")
    told("cmake", "--install", charmrun.parents[1], "--prefix", prefix)
    return prefix


def runs(prefix: Path, program: Path) -> None:
    out = told(prefix / "bin/charmrun", "+p2", "++local", program, env={"PATH": os.environ["PATH"], "HOME": str(prefix)})
    assert sorted(line for line in out.splitlines() if line.startswith("hello")) == ["hello from 0 of 2", "hello from 1 of 2"], out


def test_all_is_where_it_belongs(prefix: Path) -> None:
    there = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
    library = next(path for path in there if path.endswith("/libcharmtree.a")).removesuffix("/libcharmtree.a")
    want = ["bin/charmrun", "include/charmtree.h", "libexec/charmtree/mpi/mpiexec", "share/man/man1/charmrun.1"]
    want += [f"{library}/{name}" for name in ("libcharmtree.so", "pkgconfig/charmtree.pc", "cmake/charmtree/charmtree-config.cmake")]
    want += [f"{library}/charmtree/lib{name}" for name in ("pmi.so", "pmi.so.0", "pmi2.so", "pmi2.so.0")]
    want += ["include/charmtree/pmi.h", "include/charmtree/pmi2.h", "share/bash-completion/completions/charmrun", "share/zsh/site-functions/_charmrun"]
    want += ["share/fish/vendor_completions.d/charmrun.fish", "share/charmtree/python/charmtree_ccs.py"]
    assert set(want) <= there, sorted(set(want) - there)
    assert told(prefix / "libexec/charmtree/mpi/mpiexec", "--version").startswith("charmrun (charmtree) ")


def test_what_quickstart_builds_is_all_that_is_installed(charmrun: Path) -> None:
    build = charmrun.parents[1]
    scripts = [each.read_text() for each in build.rglob("cmake_install.cmake")]
    files = {Path(path).name for text in scripts for path in re.findall(rf'"{re.escape(str(build))}/(\S+\.(?:a|so[.0-9]*)|bin/\S+)"', text)}
    assert {"charmrun", "libcharmtree.a", "libpmi.so.0.0.0"} <= files, files
    made = told("ninja", "-C", build, "-t", "commands", "installed")
    assert {name for name in files if name not in made} == set()


def test_the_version_says_what_is_inside(prefix: Path) -> None:
    lines = told(prefix / "bin/charmrun", "++version").splitlines()
    assert re.fullmatch(r"charmrun \(charmtree\) \d+\.\d+\.\d+", lines[0])
    assert re.fullmatch(r"protocol \d+", lines[1])
    assert re.fullmatch(r"build [0-9a-f]{40}", lines[2])
    assert re.fullmatch(r"libssh2 1\.\S+, OpenSSL 3\.\S+.*, hwloc 2\.\d+", lines[3])


def built_by_pkg_config(prefix: Path, source: Path, package: str, program: Path) -> Path:
    (pages,) = prefix.rglob("pkgconfig")
    flags = told("pkg-config", "--cflags", "--libs", package, env=os.environ | {"PKG_CONFIG_PATH": str(pages)}).split()
    told("cc", "-o", program, source, *flags, f"-Wl,-rpath,{pages.parent}")
    return program


def test_a_program_is_built_by_pkg_config(prefix: Path, tmp_path: Path) -> None:
    runs(prefix, built_by_pkg_config(prefix, _HELLO, "charmtree", tmp_path / "hello"))


def built_by_cmake(prefix: Path, source: Path, target: str, folder: Path) -> Path:
    for each in (source, *source.parent.glob("*.h")):
        shutil.copy(each, folder)
    lines = ["cmake_minimum_required(VERSION 3.16)", "project(built C)", "find_package(charmtree 0.1 REQUIRED)"]
    lines += [f"add_executable({source.stem} {source.name})", f"target_link_libraries({source.stem} PRIVATE {target})"]
    (folder / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
    told("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    told("cmake", "--build", folder / "build")
    return folder / "build" / source.stem


@pytest.mark.parametrize("by", ["pkg-config", "cmake"])
def test_a_program_of_queue_pairs_is_built(prefix: Path, tmp_path: Path, by: str) -> None:
    source = REPOSITORY / "examples/verbs_alltoall.c"
    if by == "cmake":
        program = built_by_cmake(prefix, source, "charmtree::verbs", tmp_path)
    else:
        program = built_by_pkg_config(prefix, source, "charmtree_verbs", tmp_path / "verbs")
    done = subprocess.run([prefix / "bin/charmrun", "+p1", "++local", program], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "a job of one process has nobody to connect with" in done.stderr, done


@pytest.mark.parametrize("target", ["charmtree::charmtree", "charmtree::static"])
def test_a_program_is_built_by_cmake(prefix: Path, tmp_path: Path, target: str) -> None:
    runs(prefix, built_by_cmake(prefix, _HELLO, target, tmp_path))


@pytest.mark.parametrize("version", ["pmi", "pmi2"])
def test_a_program_of_pmi_is_built(prefix: Path, tmp_path: Path, version: str) -> None:
    (library,) = prefix.rglob(f"lib{version}.so")
    double = tmp_path / "double"
    told("cc", "-o", double, f"-I{REPOSITORY}", REPOSITORY / f"tests/doubles/{version}_double.c", f"-L{library.parent}", f"-l{version}")
    environment = {"PATH": os.environ["PATH"], "HOME": str(prefix), "LD_LIBRARY_PATH": str(library.parent)}
    out = told(prefix / "bin/charmrun", "+p2", "++local", double, "2", env=environment)
    assert sorted(out.splitlines())[1:] == [f"process {rank} of 2: all values are there" for rank in range(2)], out


def test_the_manual_page_can_be_read(prefix: Path) -> None:
    page = prefix / "share/man/man1/charmrun.1"
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    assert "++nodelist FILE" in text and "++stack-trees" in text and "Exit status" in text, text[:2000]


def test_words_are_completed(prefix: Path) -> None:
    bash = prefix / "share/bash-completion/completions/charmrun"
    ask = 'source "$0"; COMP_WORDS=(charmrun "$@"); COMP_CWORD=$#; _charmrun; printf "%s\\n" "${COMPREPLY[@]}"'
    assert told("bash", "-c", ask, bash, "++nodel").split() == ["++nodelist"]
    assert told("bash", "-c", ask, bash, "++no-forward-e").split() == ["++no-forward-env"]
    assert told("bash", "-c", ask, bash, "++grace", "++").strip() == ""  # a number belongs there
    fish = prefix / "share/fish/vendor_completions.d/charmrun.fish"
    found = told("fish", "--no-config", "-c", f'source {fish}; complete -C "charmrun ++nodel"', env=os.environ | {"HOME": str(prefix)})
    assert found.startswith("++nodelist\t"), found
    zsh = prefix / "share/zsh/site-functions"
    script = f"fpath=({zsh} $fpath); autoload -U compinit && compinit -u -D && print -r -- ${{_comps[charmrun]}} && zsh -n {zsh}/_charmrun"
    assert told("zsh", "-fc", script, env=os.environ | {"HOME": str(prefix)}).strip() == "_charmrun"


# -- Python -------------------------------------------------------------------------------------------

_RING = """
import sys
sys.path.insert(0, sys.argv[1])
import charmtree

with charmtree.Job() as job:
    job.register(b"from %d" % job.rank)
    left = job.lookup((job.rank - 1) % job.size)
    job.print(f"{job.rank} of {job.size}: {left.tuple.decode()}\\n")
    job.barrier()
    try:
        job.register(b"again")
    except charmtree.JobError as error:
        job.print(f"{error.error} at {job.barriers}\\n")
    if sys.argv[2:] == ["fail"] and job.rank == 1:
        raise ValueError("no water")
    if sys.argv[2:] == ["quit"]:
        if job.rank == 1:
            sys.exit("no water")
        job.barrier()
    if sys.argv[2:] == ["leave"]:
        sys.exit()
"""


_EXCHANGE = """
import asyncio
import sys
sys.path.insert(0, sys.argv[1])
import charmtree

async def go_on(job, seen):
    for _ in range(3):
        seen.append(await job.allgather_start(b"own %d" % job.rank))

async def both(job):
    seen = []
    pair = [job.rank, job.rank ^ 1]
    await asyncio.gather(go_on(job, seen), go_on(job, seen), job.fence_start(pair))
    return seen

async def ring(job):
    return await job.ring_start(b"%d" % job.rank)

with charmtree.Job() as job:
    job.put(f"of {job.rank}", b"\\0%d" % job.rank)
    try:
        job.get("of 0")
    except KeyError as missing:
        job.print(f"not yet: {missing}\\n")
    job.fence()
    all = {rank: b"own %d" % rank for rank in range(job.size)}
    seen = asyncio.run(both(job))
    got = [job.get(f"of {rank}") for rank in range(job.size)]
    good = got == [b"\\0%d" % rank for rank in range(job.size)] and seen == [all] * 6
    pairs = job.allgather(b"x", [job.rank ^ 1, job.rank])
    beside = asyncio.run(ring(job))
    good = good and beside == {rank: b"%d" % rank for rank in ((job.rank + 3) % 4, (job.rank + 1) % 4)}
    job.print(f"{job.rank}: {good and sorted(pairs) == sorted([job.rank, job.rank ^ 1])}\\n")
"""


def test_a_python_program_exchanges_values(prefix: Path) -> None:
    modules = prefix / "share/charmtree/python"
    out = told(prefix / "bin/charmrun", "+p4", "++local", "/usr/bin/python3", "-c", _EXCHANGE, modules)
    assert sorted(out.splitlines()) == [*(f"{rank}: True" for rank in range(4)), *["not yet: 'of 0'"] * 4]


_ASKS = """
import asyncio
import sys
sys.path.insert(0, sys.argv[1])
import charmtree

async def ask(job, rank, key="name"):
    return (await job.ask_start(rank, key))[rank]

with charmtree.Job() as job:
    places = (job.hosts, job.host(job.size - 1), job.local_peers())
    job.offer("name", b"process %d" % job.rank)
    job.on_ask("who", lambda rank, key: job.answer(rank, key, b"%d to %d" % (job.rank, rank)))
    other = (job.rank + 1) % job.size
    names = {asyncio.run(ask(job, other)), job.ask(other, "name"), job.ask(job.rank, "name")}
    try:
        job.ask(job.rank, "address")
    except KeyError as missing:
        job.print(f"{missing}\\n")
    ways = (charmtree.TABLE, charmtree.NODE_ROOTS, charmtree.SHARED, charmtree.SIMPLE)
    alike = {tuple(job.exchange_start(b"%d" % job.rank, way).wait().items()) for way in ways}
    answer = asyncio.run(ask(job, other, "who"))
    job.progress()
    good = answer == b"%d to %d" % (other, job.rank) and names == {b"process %d" % job.rank, b"process %d" % other} and len(alike) == 1 and "<topology" in job.topology()
    job.barrier()  # others may ask yet
    job.print(f"{places} {good} {job.peers}\\n")
"""


def test_a_python_program_asks_others_one_by_one(prefix: Path) -> None:
    out = told(prefix / "bin/charmrun", "+p3", "++local", "/usr/bin/python3", "-c", _ASKS, prefix / "share/charmtree/python")
    assert sorted(out.splitlines()) == sorted(["'address'", "(1, 0, [0, 1, 2]) True 2"] * 3)


_HANDLERS = """
import sys
sys.path.insert(0, sys.argv[1])
import charmtree

def told(request):
    return b"%s to %d" % (request.data, job.rank)

def raises(request):
    raise LookupError("no such step")

stopped = []
with charmtree.Job() as job:
    job.handle("told", told)
    job.handle("rank", lambda request: job.rank.to_bytes(8, sys.byteorder), merge="sum int64")
    job.handle("raises", raises)
    job.handle("stop", lambda request: stopped.append(True) or b"")
    while not stopped:
        try:
            job.serve()
        except LookupError as raised:
            job.print(f"{job.rank}: {raised}\\n")
"""


def test_a_python_program_answers_requests(prefix: Path) -> None:
    charmrun, modules = prefix / "bin/charmrun", prefix / "share/charmtree/python"
    argv = [charmrun, "+p3", "++local", "++server", "++timelimit", "60", "/usr/bin/python3", "-c", _HANDLERS, modules]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        ports = (re.search(r"Server port = (\d+)", line) for line in job.stdout)
        port = next(found[1] for found in ports if found)

        def ask(*words: str) -> list[str | Path]:
            return [charmrun, "++ccs", f"127.0.0.1:{port}", *words]

        assert told(*ask("told", "1", "hello")).strip() == "hello to 1"
        assert told(*ask("told", "all", "x")).strip() == "x to 0x to 1x to 2"
        assert told(*ask("rank", "all")).encode().startswith((3).to_bytes(8, "little"))
        with subprocess.Popen(ask("raises", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as raises:
            assert job.stdout.readline() == "1: no such step\n"
            told(*ask("stop", "all"))
            assert job.wait(60) == 0
            out, error = raises.communicate(timeout=60)
        assert (raises.returncode != 0 and out == "" and error.startswith("charmrun: error: ")), (out, error)


_PORTS = """
import socket
import sys
sys.path.insert(0, sys.argv[1])
import charmtree

with charmtree.Job() as job:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        own = job.port(kind)
        ports = job.allgather(b"%d" % own.getsockname()[1])
        job.print(f"{own.type.name} {[int(ports[rank]) - int(ports[0]) for rank in range(job.size)]}\\n")
    try:
        job.port()
    except charmtree.JobError as error:
        job.print(f"{error}\\n")
"""


def test_a_python_program_gets_its_ports_once(prefix: Path) -> None:
    out = told(prefix / "bin/charmrun", "+p3", "++local", "/usr/bin/python3", "-c", _PORTS, prefix / "share/charmtree/python")
    want = ["SOCK_DGRAM [0, 1, 2]", "SOCK_STREAM [0, 1, 2]", "called out of order"]
    assert sorted(out.splitlines()) == sorted(want * 3)


def test_the_example_in_python_sends_to_each(prefix: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(prefix / "share/charmtree/python")}
    out = told(prefix / "bin/charmrun", "+p4", "++local", REPOSITORY / "examples/alltoall.py", env=environment)
    assert sorted(out.splitlines()) == [f"process {rank} heard 4 lines, the last: 3 to {rank}" for rank in range(4)]


@pytest.mark.parametrize("end", [[], ["leave"]])
def test_a_python_program_joins(prefix: Path, end: list[str]) -> None:
    modules = prefix / "share/charmtree/python"
    out = told(prefix / "bin/charmrun", "+p3", "++local", "/usr/bin/python3", "-c", _RING, modules, *end)
    want = ["-10 at 1"] * 3 + ["0 of 3: from 2", "1 of 3: from 0", "2 of 3: from 1"]
    assert sorted(out.splitlines()) == want


@pytest.mark.parametrize(("end", "what"), [("fail", "ValueError"), ("quit", "SystemExit")])
def test_what_a_python_program_raises_ends_the_job_and_is_said(prefix: Path, end: str, what: str) -> None:
    argv = [prefix / "bin/charmrun", "+p3", "++local", "/usr/bin/python3", "-c", _RING, prefix / "share/charmtree/python", end]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert re.search(rf"process 1 \(pid \d+\): {what}: no water", done.stderr), done.stderr


def test_charm4py_gets_this_charmrun_and_its_own_back(prefix: Path, tmp_path: Path) -> None:
    python = charm4py()
    (package,) = python.parents[1].glob("lib/python3*/site-packages/charmrun")
    there = tmp_path / "venv" / package.relative_to(python.parents[1])
    shutil.copytree(package, there)
    (there.parent / "charm4py").symlink_to(package.parent / "charm4py")
    own = (there / "charmrun").read_bytes()
    charmrun = prefix / "bin/charmrun"

    def started() -> str:
        """As charm4py's command starts a program."""
        start = "import sys, charmrun.start as s; sys.argv[0] = 'charmrun'; s.start()"
        argv = [python, "-c", start, "+p2", "++label", REPOSITORY / "examples/charm4py_hello.py"]
        return told(*argv, env=os.environ | {"PYTHONPATH": str(there.parent), "PATH": f"{python.parent}:{os.environ['PATH']}"})

    for _ in range(2):  # a second time changes nothing
        told(charmrun, "++replace-charm4py", tmp_path / "venv")
        assert (there / "charmrun").readlink() == charmrun
        assert told(there / "charmrun", "++version").startswith("charmrun (charmtree)")
    assert re.search(r"^\[1\] hello from PE 1 of 2", started(), re.MULTILINE)
    (there / "charmrun").unlink()  # pip has installed charm4py once more
    shutil.copy2(package / "charmrun", there)
    told(charmrun, "++replace-charm4py", tmp_path / "venv")
    told(charmrun, "++restore-charm4py", tmp_path / "venv")
    told(charmrun, "++restore-charm4py", tmp_path / "venv")
    assert sorted(path.name for path in there.iterdir() if path.name.startswith("charmrun")) == ["charmrun"]
    assert (there / "charmrun").read_bytes() == own and os.access(there / "charmrun", os.X_OK)


def test_where_there_is_no_charm4py_that_is_said(prefix: Path, tmp_path: Path) -> None:
    for words in (["++replace-charm4py"], ["++restore-charm4py", tmp_path]):
        done = subprocess.run([prefix / "bin/charmrun", *words], check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 125
        assert done.stderr.startswith("charmrun: error: there is no charm4py in ") and done.stderr.count("\n") == 1, done.stderr
