# SPDX-License-Identifier: Apache-2.0
"""PMI over a connection that each process makes itself, for wrappers that close what a program would inherit."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpi_programs import program
from running import Factory, assert_good, command, gate, run
from vc_job import Job
from vcluster import Cluster

# Python's subprocess closes all descriptors but the first three.
WRAPPER = ["/usr/bin/python3", "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]

# Says each line over a connection of its own to the port $1; what is answered.
SPEAKER = """import socket, sys
host, port = sys.argv[1].split(":")
with socket.create_connection((host, int(port)), timeout=60) as pmi:
    said = []
    for line in sys.argv[2:]:
        try:
            pmi.sendall(line.encode() + b"\\n")
            said.append(pmi.recv(9999).decode())
        except OSError:
            said.append("")
    print(said)
"""


def words(hosts: Cluster, count: int, each: int) -> list[object]:
    return [f"+p{count * each}", "++nodelist", hosts.nodelist(range(1, count + 1)), "++pmi", "port"]


@pytest.mark.parametrize(("count", "each"), [(1, 3), (9, 1)])
@pytest.mark.parametrize("family", ["mpich5", "intel"])
def test_a_wrapper_may_close_what_a_program_would_inherit(
    cluster: Factory, charmrun: Path, family: str, count: int, each: int
) -> None:
    hosts = cluster(10)
    more, path = program(family)
    total = count * each
    done = run(hosts, charmrun, *words(hosts, count, each), *more, *WRAPPER, path)
    assert_good(done, [f"{rank} of {total}: good" for rank in range(total)])


def test_without_a_port_such_a_program_cannot_start(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    more, path = program("mpich5")
    done = run(hosts, charmrun, "+p2", "++nodelist", hosts.nodelist([1, 2]), "++pmi", "1", *more, *WRAPPER, path)
    assert done.returncode != 0 and "good" not in done.stdout


def test_those_that_are_started_later_connect_themselves_too(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    more, path = program("mpich5", "tests/cluster/mpi_spawn.c")
    done = run(hosts, charmrun, *words(hosts, 3, 1), *more, "++env", "UCX_LOG_LEVEL=error", path, 2)
    said = [*(f"parent {rank}: {rank} of 5: good" for rank in range(3)), *(f"child {rank}: {3 + rank} of 5: good" for rank in range(2))]
    assert set(said) <= set(done.stdout.splitlines()), done.stderr
    assert done.returncode == 0, done.stderr


def test_a_program_is_started_again_as_a_whole(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    more, path = program("mpich5")
    again = ["++on-failure", "restart", "++restart-args", "never 0"]
    done = run(hosts, charmrun, *words(hosts, 2, 2), *more, *again, *WRAPPER, path, "kill", 2)
    assert done.returncode == 0, done.stderr
    assert sorted(line for line in done.stdout.splitlines() if "waits" not in line) == [f"{rank} of 4: good" for rank in range(4)]


def test_another_user_cannot_be_a_process_nor_can_who_is_not_awaited(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    more, path = program("mpich5")
    late, opens = gate(hosts, "mpi-port-late")
    says = ["python3", hosts.put(0, "/home/shared/mpi-port-speaker.py", SPEAKER)]
    shell = ["sh", "-c", 'echo "$PMI_ID at $PMI_PORT"; exec "$@"', "sh", late, path]
    job = Job(hosts, range(10), command(charmrun, *words(hosts, 3, 1), "++verbose", *more, *shell))
    job.until(lambda: "2 at 127.0.0.1:" in job.out, "the port of a process that waits")
    port = next(line.split()[-1] for line in job.out.splitlines() if line.startswith("2 at "))
    for user, claims in {"ctother": 2, "ctuser": 0}.items():
        lines = [f"cmd=initack pmiid={claims}", "cmd=init pmi_version=1 pmi_subversion=1"]
        assert hosts.run(3, [*says, port, *lines], user=user, check=True).stdout == "['', '']\n"
    opens()
    assert job.wait() == 0, job.said()
    assert sorted(line for line in job.out.splitlines() if line.endswith("good")) == [f"{rank} of 3: good" for rank in range(3)]
    assert f"h03: refused a connection of uid {hosts.user('ctother').uid} to a local socket" in job.err, job.said()
    assert "h03: dropped a connection for PMI: no process 0 is awaited" in job.err, job.said()
