# SPDX-License-Identifier: Apache-2.0
"""Unmodified MPI programs find their processes by PMI or PMIx, served on each host: MPICH 4 and 5, Intel MPI, Open MPI 4 and 5."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mpi_programs import FAMILIES, program, session
from running import Factory, assert_good, charmrun_lines, command, compiled, error_line, gate, run
from vc_faults import wait_until
from vc_job import Job, patience
from vcluster import REPOSITORY, Cluster

# Says PMI's words, a line at a time; what it was answered.
SPEAKER = """import os, socket, sys
pmi = socket.socket(fileno=int(os.environ["PMI_FD"]))
for line in sys.argv[1:]:
    pmi.sendall(line.encode() + b"\\n")
    print(os.environ["PMI_RANK"], pmi.recv(9999).decode().strip(), flush=True)
"""
INIT = "cmd=init pmi_version=1 pmi_subversion=1"


GRACE_S = 2.0  # from the last line of a program to the end of its job, or it hangs


def assert_to_its_end(hosts: Cluster, charmrun: Path, family: str, argv: list[Any], lines: list[str]) -> None:
    """MPI_Finalize of MPICH 4.0 often waits for ever where there are several hosts, over UCX and TCP, with its own mpiexec as well: a process
    flushes what another one, which has done so, does not answer any more. Such a job is ended and tried again once; of many processes most
    end so, with all that counts here behind them."""
    if family != "mpich4":
        return assert_good(run(hosts, charmrun, *argv), lines)
    for _ in range(2):
        job = Job(hosts, range(10), command(charmrun, *argv))
        job.until(lambda job=job: job.out.count("\n") >= len(lines), "what counts")
        assert sorted(job.out.splitlines()) == sorted(lines), job.said()
        if wait_until(lambda job=job: job.root.poll() is not None, GRACE_S):
            assert job.wait() == 0, job.said()
            break
        job.signal(signal.SIGTERM)
        job.wait()


def words(hosts: Cluster, count: int, each: int) -> list[Any]:
    return [f"+p{count * each}", "++nodelist", hosts.nodelist(range(1, count + 1)), "++branching", 3]


def good(processes: int) -> list[str]:
    return [f"{rank} of {processes}: good" for rank in range(processes)]


def speaker(hosts: Cluster) -> list[str]:
    return ["python3", hosts.put(0, "/home/shared/mpi-speaker.py", SPEAKER)]


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 9])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_process_reaches_every_other_one(cluster: Factory, charmrun: Path, family: str, count: int, each: int) -> None:
    hosts = cluster(10)
    more, path = program(family)
    assert_to_its_end(hosts, charmrun, family, [*words(hosts, count, each), *more, path], good(count * each))


@pytest.mark.parametrize("count", [1, 4])
def test_a_session_may_follow_another_one(cluster: Factory, charmrun: Path, count: int) -> None:
    """MPICH's library speaks to its launcher anew for each."""
    hosts = cluster(10)
    more, path = program("mpich5", "tests/cluster/mpi_sessions.c")
    lines = [f"{time}: {line}" for time in range(3) for line in good(count * 2)]
    assert_good(run(hosts, charmrun, *words(hosts, count, 2), *more, path), lines)


@pytest.mark.parametrize(("family", "how"), [("mpich5", []), ("mpich5", ["++pmi", "port"]), ("intel", ["++pmi", "port"])])
def test_a_script_may_start_several_mpi_programs(cluster: Factory, charmrun: Path, family: str, how: list[str]) -> None:
    """They inherit one connection, or make one each: Intel's library shuts down the one that it has inherited, so that the next program
    ends by SIGPIPE, under its own mpiexec, too. One that fails behind a good one is found out."""
    hosts = cluster(10)
    more, path = program(family)
    script = hosts.put(0, "/home/shared/mpi-twice", f"#!/bin/sh\n{path} && {path} && exec {path} \"$@\"\n", mode=0o755)
    assert_good(run(hosts, charmrun, *words(hosts, 2, 2), *how, *more, script), sorted(good(4) * 3))
    left = error_line(run(hosts, charmrun, *words(hosts, 2, 1), *how, *more, script, "leave", 1), 1)
    assert "exited with status 0 without the end of its protocol" in left


@pytest.mark.parametrize("family", FAMILIES)
def test_an_abort_by_any_process_gives_its_status(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    for rank in (0, 3):
        done = run(hosts, charmrun, *words(hosts, 2, 2), *more, path, "abort", rank)
        assert error_line(done, 7) == f"h0{1 + rank // 2}: run: process {rank}: aborted: MPI_Abort (status 7)"
        assert f"{rank} gives up\n" in done.stdout, done.stdout
    none = run(hosts, charmrun, *words(hosts, 2, 2), *more, path, "abort-0", 3)
    assert error_line(none, 1) == "h02: run: process 3: aborted: MPI_Abort (code 0, status 1)"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_process_that_dies_is_named_and_ends_the_job(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    done = run(hosts, charmrun, *words(hosts, 2, 2), *more, path, "kill", 2)
    assert error_line(done, 137).startswith("h02: run: process 2: killed by signal 9 (SIGKILL: Killed) (status 137)")
    left = run(hosts, charmrun, *words(hosts, 2, 2), *more, path, "leave", 1)
    assert error_line(left, 1).startswith("h01: run: process 1: exited with status 0 without the end of its protocol (status 1)")
    count = 1 if family == "mpich4" else 2  # see assert_to_its_end
    ended = run(hosts, charmrun, *words(hosts, count, 4 // count), *more, path, "exit", 3)
    assert error_line(ended, 5) == f"h0{count}: run: process 3: exited with status 5"


@pytest.mark.parametrize("family", FAMILIES)
def test_several_programs_make_one_job(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    argv = [*words(hosts, 3, 1), *more, path, "which", ":", "+p3", path, "which"]
    assert_to_its_end(hosts, charmrun, family, argv, [*good(6), *(f"{rank} runs program {int(rank >= 3)}" for rank in range(6))])


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_the_report_says_what_its_fences_cost(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    report = f"/home/shared/mpi-report-{family}.json"
    assert_good(run(hosts, charmrun, *words(hosts, 3, 2), *more, "++report", report, path), good(6))
    written = json.loads(hosts.run(0, ["cat", report], check=True).stdout)
    fences = written["fences"]
    assert 0 < written["init"]["first"] <= written["init"]["all"] <= fences[0]["over"]
    assert len(fences) >= 2
    for fence in fences:
        assert fence["service"] == ("pmi" if family == "mpich5" else "pmix")
        assert fence["processes"] == 6
        assert fence["begun"] <= fence["over"]
    assert fences[0]["bytes"] > 100
    assert family == "openmpi5" or fences[0]["requests"] >= 6 * 5


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_who_does_not_come_to_mpi_init_is_missed(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    done = run(hosts, charmrun, *words(hosts, 3, 1), *more, "++timeout", 2, path, "late", 1)
    said = "[012] of 3 processes called MPI_Init within 2 s; the program needs "  # on a slow machine others are late, too
    assert sum(bool(re.match(said, line)) for line in charmrun_lines(done)) == 1, done.stderr
    assert_good(done, good(3), None)


def test_a_host_that_lacks_one_of_several_programs_says_so(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    there = hosts.put(1, "/tmp/there", "#!/bin/sh\necho there\n", mode=0o755)
    done = run(hosts, charmrun, *words(hosts, 2, 1), "echo", "here", ":", "+p2", there, ":", there)
    assert error_line(done, 127).startswith("h02: spawn: /tmp/there: no such file")


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_processes_that_are_numbered_late_find_each_other(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    assert_good(run(hosts, charmrun, *words(hosts, 4, 2), *more, "++on-host-failure", "drop", path), good(8))


def test_processes_that_are_numbered_late_know_their_hosts(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    mapping = [*speaker(hosts), INIT, "cmd=get kvsname=k key=PMI_process_mapping", "cmd=finalize"]
    lines = run(hosts, charmrun, *words(hosts, 4, 1), "++on-host-failure", "drop", *mapping).stdout.splitlines()
    for rank in range(4):
        assert f"{rank} cmd=get_result rc=0 value=(vector,(0,4,1))" in lines


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_a_program_is_started_again_as_a_whole(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    done = run(hosts, charmrun, *words(hosts, 3, 2), *more, "++on-failure", "restart", "++restart-args", "never 0", path, "kill", 4)
    assert done.returncode == 0, done.stderr
    assert sorted(line for line in done.stdout.splitlines() if "waits" not in line) == good(6)
    assert any("restarting the job (1 of at most 10 times)" in line for line in charmrun_lines(done))


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_programs_of_a_session_follow_each_other(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    with session(hosts, charmrun) as number:
        for _ in range(2):
            assert_good(run(hosts, charmrun, "++in", number, "+p6", *more, path), good(6))


def test_a_job_outlives_its_root(cluster: Factory, charmrun: Path) -> None:
    """The root is killed while two of three processes wait in a barrier, and the third comes when another root is there."""
    hosts = cluster(10)
    late, opens = gate(hosts, "mpi-late")
    shell = ["sh", "-c", 'exec "$@" "cmd=put kvsname=k key=k$PMI_RANK value=v$PMI_RANK" cmd=barrier_in '
             '"cmd=get kvsname=k key=k0" "cmd=get kvsname=k key=k2" cmd=finalize', "sh", *speaker(hosts), INIT]
    job = Job(hosts, range(10), [charmrun, *map(str, words(hosts, 3, 1)), "++keep-alive", "60", late, *shell])
    job.until(lambda: "kept alive: " in job.err and job.out.count("put_result") == 2, "two processes that have put")
    job.root.kill()
    job.wait()
    other = Job(hosts, range(10), command(charmrun, "++attach"))
    other.until(lambda: "this is the root of job" in other.err, "another root")
    opens()
    assert other.wait() == 0, other.said()
    for rank in range(3):
        for key in (0, 2):
            assert f"{rank} cmd=get_result rc=0 value=v{key}" in job.out + other.out


def test_who_speaks_no_pmi_is_told_so_and_ends_the_job(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    for line, why in {"cmd=bogus": "'bogus' is no request that is known", "cmd=put kvsname=k key=a value=" + 16385 * "v": "a value of 16385 bytes: 16384 are allowed"}.items():
        done = run(hosts, charmrun, *words(hosts, 2, 1), "++pmi", "1", *speaker(hosts), INIT, line)
        assert done.returncode == 1
        assert why in charmrun_lines(done)[0]


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
@pytest.mark.parametrize(("leaves", "status"), [("true", 125), ("sh -c 'exit 3'", 3)])
def test_a_process_that_ends_before_mpi_init_ends_the_job(cluster: Factory, charmrun: Path, family: str, leaves: str, status: int) -> None:
    hosts = cluster(10)
    more, path = program(family)
    done = run(hosts, charmrun, *words(hosts, 2, 1), *more, path, ":", "+p1", *shlex.split(leaves))
    line = error_line(done, status)
    assert line.startswith(f"h02: run: process 2: exited with status {status % 125} before MPI_Init, while ")


def test_a_barrier_with_a_lost_process_fails_for_those_who_go_on(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    shell = ["sh", "-c", '[ $PMI_RANK = 1 ] && kill -9 $$; exec python3 "$0" "$@"', speaker(hosts)[1], INIT, "cmd=barrier_in",
             "cmd=get kvsname=k key=PMI_dead_processes", "cmd=finalize"]
    done = run(hosts, charmrun, *words(hosts, 4, 1), "++on-failure", "continue", *shell)
    for rank in (0, 2, 3):
        assert f"{rank} cmd=barrier_out rc=1 tag=0 msg=process_1_is_lost" in done.stdout
        assert f"{rank} cmd=get_result rc=0 value=1" in done.stdout
    assert "1 of 4 processes was lost" in done.stderr


def test_old_libraries_are_told_of_shorter_values(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    asks = [*speaker(hosts), INIT, "cmd=get_maxes", "cmd=finalize"]
    done = run(hosts, charmrun, *words(hosts, 1, 1), "++pmi-vallen", 1024, *asks)
    assert done.returncode == 0 and " vallen_max=1024\n" in done.stdout, done.stderr


def test_those_who_go_on_are_told_by_an_event_who_is_lost(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    include = next(Path("/usr/lib").glob("*/pmix2/include"))
    path = compiled(charmrun, "tests/cluster/pmix_survivor.c", f"-I{include}", "-lpmix", "-lpthread")
    done = run(hosts, charmrun, *words(hosts, 2, 2), "++on-failure", "continue", "++pmi", "pmix", "++timelimit", patience(30), path)
    lines = [f"{rank}: process 1 is lost, told of 1; a fence fails" for rank in (0, 2, 3)]
    assert sorted(done.stdout.splitlines()) == lines, done.stderr
    assert "1 of 4 processes was lost" in done.stderr


@pytest.mark.parametrize(("count", "each"), [(1, 4), (4, 1)])
def test_fault_tolerant_open_mpi_goes_on_without_a_process(cluster: Factory, charmrun: Path, count: int, each: int) -> None:
    hosts = cluster(10)
    more, path = program("openmpi5", "tests/cluster/mpi_survivor.c")
    tolerant = ["++on-failure", "continue", "++env", "OMPI_MCA_mpi_ft_enable=true"]
    done = run(hosts, charmrun, *words(hosts, count, each), *more, *tolerant, path)
    assert sorted(done.stdout.splitlines()) == [f"{rank} of 3: told, 5" for rank in range(3)], done.stderr
    assert "1 of 4 processes was lost" in done.stderr


def test_processes_of_a_host_share_what_it_consists_of(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    reads = "f=$(python3 \"$@\" | sed -n 's/.* value=//p'); grep -c '<topology' $f; ls -l $f"
    asks = ["sh", *speaker(hosts)[1:], INIT, "cmd=get kvsname=k key=PMI_hwloc_xmlfile", "cmd=finalize"]
    done = run(hosts, charmrun, *words(hosts, 1, 2), "++pmi", 1, "sh", "-c", reads, *asks)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count("1") == 2, done.stdout
    (path,) = {line.split()[-1] for line in done.stdout.splitlines() if line.startswith("-rw")}
    assert wait_until(lambda: not hosts.path(1, path).exists(), patience(5))  # its launcher ends behind the job


def test_a_program_finds_pmi_only_where_it_is_served(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    shell = ["sh", "-c", "echo ${PMI_FD:+fd} $PMI_RANK $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS"]
    assert_good(run(hosts, charmrun, *words(hosts, 2, 2), *shell), ["fd 0 4 0 2", "fd 1 4 1 2", "fd 2 4 0 2", "fd 3 4 1 2"])
    assert_good(run(hosts, charmrun, *words(hosts, 1, 1), "++pmi", "none", *shell), [""])
    ompi = ["sh", "-c", "echo ${PMI_FD:+fd} $PMIX_RANK $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK"]
    assert_good(run(hosts, charmrun, *words(hosts, 2, 2), "++pmi", "pmix", *ompi), ["0 0 4 0", "1 1 4 1", "2 2 4 0", "3 3 4 1"])


def helpers_of(hosts: Cluster, host: int) -> list[str]:
    return hosts.run(host, ["pgrep", "-f", "charmrun [+][+]pmix-helper"]).stdout.split()


def left_by_helpers(hosts: Cluster, host: int) -> str:
    return hosts.run(host, ["sh", "-c", "ls -d /tmp/charmtree-*/*.pmix /dev/shm/sm_segment* /dev/shm/vader_segment* 2>/dev/null"]).stdout


@pytest.mark.parametrize("family", ["openmpi4", "openmpi5"])
def test_a_job_that_is_killed_leaves_no_files_of_its_processes(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    done = run(hosts, charmrun, *words(hosts, 2, 2), *more, path, "kill", 2)
    assert done.returncode == 137
    assert [left_by_helpers(hosts, host) for host in (1, 2)] == ["", ""]


@pytest.mark.parametrize("victim", ["helper", "launcher"])
def test_a_lost_pmix_helper_or_launcher_ends_the_job_and_leaves_nothing(cluster: Factory, charmrun: Path, victim: str) -> None:
    hosts = cluster(10)
    more, path = program("openmpi5")
    job = Job(hosts, range(10), [charmrun, *map(str, [*words(hosts, 3, 1), *more, path, "abort", 99])])
    job.until(lambda: job.out.count("waits") == 3, "three processes that wait")
    (helper,) = helpers_of(hosts, 2)
    ended = helper if victim == "helper" else hosts.run(2, ["ps", "-o", "ppid=", "-p", helper]).stdout.strip()
    hosts.run(2, ["kill", "-9", ended])
    assert job.wait() != 0
    said = "its PMIx helper has ended" if victim == "helper" else "h02: run:"
    assert said in job.err, job.said()
    for host in (1, 2, 3):
        job.until(lambda at=host: not helpers_of(hosts, at) and not left_by_helpers(hosts, at), f"nothing left on host {host}")


def test_without_a_pmix_that_can_be_used_the_host_says_so(cluster: Factory, charmrun: Path) -> None:
    """A library of that name which has nothing of it lies where that of the program would."""
    hosts = cluster(10)
    place = REPOSITORY / "build/unusable_pmix"
    for folder in ("bin", "lib"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    app = place / "bin/app"
    app.write_text("#!/bin/sh\necho runs\n")
    app.chmod(0o755)
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", place / "lib/libpmix.so.2"], check=True)
    done = run(hosts, charmrun, *words(hosts, 2, 1), "++pmi", "pmix", app)
    assert "libpmix.so.2 is older than OpenPMIx 4.2" in error_line(done)
    assert not done.stdout
    assert_good(run(hosts, charmrun, *words(hosts, 2, 1), app), ["runs", "runs"])


@pytest.mark.parametrize(("count", "each"), [(1, 4), (4, 1)])
@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_communicators_are_made_of_groups(cluster: Factory, charmrun: Path, family: str, count: int, each: int) -> None:
    hosts = cluster(10)
    more, path = program(family, "tests/cluster/mpi_groups.c")
    done = run(hosts, charmrun, *words(hosts, count, each), *more, path)
    assert_good(done, [*(f"{rank}: of all 6" for rank in range(4)), *(f"{rank}: of the even ones 2, 2" for rank in (0, 2))], None)


@pytest.mark.parametrize("family", ["mpich5", "openmpi4", "openmpi5"])
def test_a_published_name_is_found_by_all(cluster: Factory, charmrun: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    done = run(hosts, charmrun, *words(hosts, 3, 1), *more, path, "publish", 1)
    found = [f"{rank} found port#7, then nothing" for rank in range(3)]
    assert_good(done, [*found, *good(3)], None)
