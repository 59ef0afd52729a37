# SPDX-License-Identifier: Apache-2.0
"""`charmrun ++list` and `charmrun ++status`: asking running jobs."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from running import Factory, error_line, run
from vc_job import Job, leftovers
from vcluster import Cluster

_SHARED = "/home/shared"


def folder(hosts: Cluster) -> Path:
    """Where jobs of the user can be asked."""
    return hosts.path(0, f"/tmp/charmtree-{hosts.user('ctuser').uid}")


def status(hosts: Cluster, charmrun: Path, *words: object) -> str:
    done = run(hosts, charmrun, "++status", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_running_jobs_are_listed_and_asked(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    assert run(hosts, charmrun, "++list").stdout == "no job of yours is running on this machine\n"
    first = Job(hosts, [0, 1], [charmrun, "+p4", "++nodelist", hosts.nodelist([0, 1]), "sleep", "98765"])
    first.until(lambda: len(first.running("sleep")) == 4, "the first job's processes")
    assert "run: 4 processes on 2 hosts\n  h[00-01]: processes 0-3, 2 on each\n" in status(hosts, charmrun)
    second = Job(hosts, [2], [charmrun, "+p3", "++local", "sleep", "4711"])
    second.until(lambda: len(second.running("sleep")) == 3, "the second job's processes")
    listed = run(hosts, charmrun, "++list").stdout.splitlines()[1:]  # hosts share the folder here
    assert sorted(line.split(" run ")[1].strip() for line in listed) == ["sleep 4711", "sleep 98765"]
    several = run(hosts, charmrun, "++status")
    assert "2 jobs of yours are running; charmrun ++status JOB" in several.stderr
    (job,) = (line.split()[0] for line in listed if line.endswith(" 98765"))
    assert f"job {job}: sleep 98765\n" in status(hosts, charmrun, job[:12])
    other = run(hosts, charmrun, "++list", user="ctother")
    assert other.stdout == "no job of yours is running on this machine\n"
    for each in (first, second):
        each.root.send_signal(signal.SIGTERM)
        each.wait()
    assert not list(folder(hosts).glob("*.job"))
    none = error_line(run(hosts, charmrun, "++status", job))
    assert none == f"no running jobs of yours are called '{job}'; charmrun ++list shows them"
    assert not leftovers([first, second])


def test_a_status_names_who_is_late(cluster: Factory, charmrun: Path) -> None:
    """h02 registers only when it is allowed to."""
    hosts = cluster(4)
    gate = hosts.put(0, f"{_SHARED}/late", '#!/bin/sh\n[ $CHARMTREE_PROCESS = 2 ] && read x < $0.fifo\nexec "$@"\n', mode=0o755)
    hosts.run(0, ["mkfifo", f"{gate}.fifo"], check=True)
    double = charmrun.parent / "charm_double"
    job = Job(hosts, [0, 1, 2], [charmrun, "+p3", "++nodelist", hosts.nodelist(3), gate, double])
    late = "start: 2 of 3 processes have registered; not yet: h02\n"
    job.until(lambda: late in run(hosts, charmrun, "++status").stdout, "two of three registered")
    hosts.run(2, ["sh", "-c", f"echo go > {gate}.fifo"], check=True)
    assert job.wait() == 0, job.said()


def test_strangers_and_idlers_at_the_socket_disturb_nobody(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    job = Job(hosts, [0], [charmrun, "+p2", "++local", "sleep", "98765"])
    job.until(lambda: len(job.running("sleep")) == 2, "processes")
    (door,) = folder(hosts).glob("*.job")
    idlers = []
    for _ in range(200):  # as root, who is not the job's user
        idlers.append(socket.socket(socket.AF_UNIX))
        idlers[-1].connect(os.fspath(door))
    assert all(one.recv(1) == b"" for one in idlers)
    assert "run: 2 processes on 1 host\n" in status(hosts, charmrun)
    job.root.kill()  # its socket stays, and is found to be dead
    job.wait()
    assert door.exists()
    assert run(hosts, charmrun, "++list").stdout == "no job of yours is running on this machine\n"
    assert not door.exists()
    for one in idlers:
        one.close()
