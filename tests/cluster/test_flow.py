# SPDX-License-Identifier: Apache-2.0
"""Output that is not read for a while: nothing else waits, memory stays small, and all of it comes in the end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from running import CAMPAIGN, PATIENCE_S, Factory, built, double_lines, error_line, program_lines
from served import FILE, GETINFO, Served
from vc_faults import wait_until
from vc_job import Job, leftovers, pause, resident_kb
from vcluster import REPOSITORY, Cluster, Result

_MIB = 1024  # in KiB
_ROOT_MIB, _LAUNCHER_MIB = 64, 64


@contextlib.contextmanager
def unread(cluster: Cluster, argv: list[str | Path | int], count: int) -> Iterator[tuple[Job, IO[bytes]]]:
    """A job on the first `count` hosts whose stdout is a pipe that nobody reads yet."""
    read_end, write_end = os.pipe()
    job = Job(cluster, range(count), [str(word) for word in argv], stdout=write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        yield job, pipe


def read_all(job: Job, pipe: IO[bytes]) -> Result:
    started = time.monotonic()
    out = pipe.read().decode()
    return Result(job.root.args, job.wait(), out, job.err, time.monotonic() - started)


def memory_is_bounded(job: Job) -> None:
    most = max(resident_kb(one.pid) for one in job.launchers())
    assert most < _LAUNCHER_MIB * _MIB, f"a launcher has {most} KiB"
    root = resident_kb(job.root.pid)
    assert root < _ROOT_MIB * _MIB, f"the root has {root} KiB"


def spooled(job: Job) -> int:
    """Bytes in files without a name that launchers have open."""
    total = 0
    for one in job.launchers():
        links: list[Path] = []
        with contextlib.suppress(OSError):  # it is gone meanwhile, or one of its files
            links = list(Path(f"/proc/{one.pid}/fd").iterdir())
        for link in links:
            with contextlib.suppress(OSError):
                total += link.stat().st_size if "(deleted)" in os.readlink(link) else 0
    return total


def test_a_reader_that_stops_holds_up_no_barrier_and_misses_no_line(cluster: Factory, charmrun: Path) -> None:
    """30 MB of one process wait on its host while all barriers are passed and the program comes to its end."""
    hosts, flood = cluster(9), 30000
    argv = [charmrun, "+p9", "++nodelist", hosts.nodelist(9), "++branching", 2]
    argv += [built(charmrun, "charm_double"), "--process", 8, "--flood", flood, "--prints", 100]
    with unread(hosts, argv, 9) as (job, pipe):
        job.until(lambda: len(job.running("charm_double")) == 9, "nine processes")
        # They are let go when all have passed their barriers and said that they are done.
        job.until(lambda: not job.running("charm_double"), "the end of the program", 60)
        memory_is_bounded(job)
        assert spooled(job) > 20 << 20
        done = read_all(job, pipe)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    much = [line for line in lines if ": flood " in line]
    head = "double 8/9: flood "
    assert all(len(line) == 999 for line in much)
    assert [line.rstrip("x") for line in much] == [f"{head}{i} " for i in range(flood)]
    rest = program_lines(Result(done.args, 0, "\n".join(set(lines) - set(much)), "", 0))
    # Who has an option of its own is not process 0, which says that all is well.
    assert rest == double_lines(9, "print", 100)
    assert done.stderr == ""
    assert not leftovers([job])


def test_a_reader_that_stops_holds_up_no_client_of_the_job(cluster: Factory, charmrun: Path) -> None:
    """What a Charm++ program prints waits on its host, and CCS is served on all PEs."""
    hosts, flood, stop = cluster(3), 200_000 if CAMPAIGN else 30_000, 30.0 if CAMPAIGN else 0.0
    begun = time.monotonic()
    done = hosts.path(0, f"{FILE}.done")
    done.unlink(missing_ok=True)
    program = [REPOSITORY / "tests/cluster/charm4py/flood.py", FILE, flood]
    served = Served(hosts, charmrun, "++server", program=program)
    assert wait_until(done.exists, PATIENCE_S)  # it is not held up either
    asked = [word for pe in range(4) for word in ("ccs_getinfo", pe)]
    assert served.ask(*asked) == [GETINFO] * 4
    while time.monotonic() < begun + stop:
        assert served.ask(*asked) == [GETINFO] * 4
        assert resident_kb(served.child.pid) < _ROOT_MIB * _MIB
        pause(0.2)
    assert resident_kb(served.child.pid) < _ROOT_MIB * _MIB
    lines = [line for line in served.end().splitlines() if line.startswith("flood ")]
    assert [line.rstrip("x") for line in lines] == [f"flood {i} " for i in range(flood)]


def test_plain_processes_wait_for_a_reader_that_stops(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(9)
    script = 'seq -f "$CHARMTREE_PROCESS %0100.0f" 60000'
    argv = [charmrun, "+p6", "++nodelist", hosts.nodelist(3), "++branching", 1, "sh", "-c", script]
    with unread(hosts, argv, 3) as (job, pipe):
        job.until(lambda: len(job.running("seq")) == 6, "six processes")
        written = lambda: [_written(one.pid) for one in job.running("seq")]  # noqa: E731
        before: list[int] = []
        while before != (before := written()):  # until all are held up
            time.sleep(0.3)
        assert len(before) == 6, "a process did not wait"
        memory_is_bounded(job)
        assert spooled(job) < 20 << 20
        done = read_all(job, pipe)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for process in range(6):
        mine = [line for line in lines if line.startswith(f"{process} ")]
        assert mine == [f"{process} {i:0100d}" for i in range(1, 60001)]
    assert not leftovers([job])


def _written(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines():
            if line.startswith("wchar:"):
                return int(line.split()[1])
    return -1


def test_a_full_spool_is_told_and_loses_nothing(cluster: Factory, charmrun: Path) -> None:
    hosts, flood = cluster(9), 16000
    argv = [charmrun, "+p2", "++nodelist", hosts.nodelist(2), "++spool", "4M"]
    argv += [built(charmrun, "charm_double"), "--process", 1, "--flood", flood]
    with unread(hosts, argv, 2) as (job, pipe):
        job.until(lambda: "its spool is full" in job.err, "a word about the spool")
        memory_is_bounded(job)
        assert spooled(job) <= 4 << 20
        assert len(job.running("charm_double")) == 2
        done = read_all(job, pipe)
    assert done.returncode == 0, done.stderr
    much = [line for line in done.stdout.splitlines() if ": flood " in line]
    assert [line.rstrip("x") for line in much] == [f"double 1/2: flood {i} " for i in range(flood)]
    said = "its spool is full (4 MiB, ++spool): processes that print wait there until their output is read"
    assert done.stderr.splitlines() == [f"charmrun: {hosts.hosts[1].name}: {said}"]
    assert not leftovers([job])


def test_a_limit_on_files_ends_no_launcher(cluster: Factory, charmrun: Path) -> None:
    """A launcher that may write no more says so, and waits for the reader where it can. Programs have the limit's usual
    signal."""
    hosts, flood = cluster(1), 16000
    argv = ["prlimit", f"--fsize={1 << 20}", charmrun, "++local", "+p2", built(charmrun, "charm_double"), "--process", 1, "--flood", flood]
    with unread(hosts, argv, 1) as (job, pipe):
        job.until(lambda: "its spool cannot be written" in job.err, "a word about the spool")
        done = read_all(job, pipe)
    assert done.returncode == 0, done.stderr
    assert sum(": flood " in line for line in done.stdout.splitlines()) == flood
    assert "(/tmp: larger than files may be (ulimit -f))" in done.stderr, done.stderr
    assert not leftovers([job])
    limited = ["prlimit", "--fsize=16", charmrun, "++local", "+p2"]
    shared = hosts.run(0, [*limited, "++verbose", built(charmrun, "alltoall")], timeout=PATIENCE_S)
    assert "that processes could share for the node table: larger than files may be (ulimit -f)" in shared.stderr, shared
    assert "lost the launcher" not in shared.stderr, shared
    writer = hosts.run(0, [*limited, "sh", "-c", "exec head -c 99 /dev/zero > /tmp/large"], timeout=PATIENCE_S)
    assert f"killed by signal {int(signal.SIGXFSZ)} " in error_line(writer, 128 + signal.SIGXFSZ), writer
    hosts.run(0, ["rm", "/tmp/large"], check=True)
