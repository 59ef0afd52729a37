# SPDX-License-Identifier: Apache-2.0
"""Each option that looks into a running job, on each kind of job: launched, run in a session, kept alive with its charmrun, without it,
and with another one."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from running import Factory, Result, command, compiled, error_line, run
from test_exec import ADAPTER, editor_of
from test_gdb import COUNTING, counting, is_free
from test_keep_alive import STATE, Kept
from test_session import Session
from test_stack_trees import end_well
from vc_job import Job, patience
from vcluster import Cluster


class Looks:
    """What each inspector says of a job of `total` processes, on as many hosts, that runs counting.c."""

    def __init__(self, hosts: Cluster, charmrun: Path, job: str, total: int, env: Mapping[str, str] | None = None) -> None:
        self.hosts, self.charmrun, self.job, self.total = hosts, charmrun, job, total
        self.env = dict(env or {})

    def run(self, *words: Any, **options: Any) -> Result:
        return run(self.hosts, self.charmrun, *words, env=self.env, **{"timeout": patience(60), **options})

    def good(self, *words: Any, **options: Any) -> str:
        done = self.run(*words, **options)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def view(self) -> None:
        pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        child = self.hosts.popen(0, command(self.charmrun, "++view", self.job), env=self.env, **pipes)
        first = child.stderr.readline()  # type: ignore[union-attr]
        assert first.startswith(f"charmrun: job {self.job}: "), first
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=patience(30))
        assert child.returncode == -signal.SIGINT

    def dap(self) -> None:
        assert shutil.which(ADAPTER), f"no {ADAPTER}: cmake/install-packages test"
        editor = editor_of(self.hosts, self.charmrun, f"{self.job}:1", "++debugger", ADAPTER)
        editor.ask("initialize", adapterID="charmtree")
        editor.child.kill()
        editor.child.communicate()

    def all(self) -> None:
        last = self.total - 1
        assert f"job {self.job}: " in (status := self.good("++status", self.job)), status
        assert f"run: {self.total} processes on {self.total} hosts" in status
        assert self.job in self.good("++list")
        assert self.good("++stack-trees", self.job).startswith(f"what {self.total} processes of job {self.job} do")
        self.view()
        told = self.good("++exec", f"{self.job}:", "sh", "-c", "echo $CHARMTREE_NUMBERS")
        assert sorted(line.split(": ")[1] for line in told.splitlines()) == [str(number) for number in range(self.total)], told
        assert self.good("++exec", f"{self.job}:{last}", "cat", stdin="in\n") == "in\n"
        self.dap()
        told = self.good("++gdb", self.job, stdin="print rank\n")
        assert {f"[{number}] = {number}" for number in range(self.total)} <= set(told.splitlines()), told

    def none(self, said: str, *without: str) -> None:
        """Each is refused by one line that contains this, at once."""
        refused = [("++stack-trees", self.job), ("++view", self.job), ("++gdb", self.job), ("++dap", f"{self.job}:0"),
                   ("++exec", f"{self.job}:", "true"), ("++status", self.job), ("++kill", self.job), ("++detach", self.job)]
        for words in refused:
            words = tuple(word for word in words if word)
            if words[0] not in without:
                done = self.run(*words, stdin="", timeout=patience(20))
                assert said in error_line(done), (words, done)


def test_on_a_job_that_was_launched(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = counting(hosts, charmrun, 3, 3)
    Looks(hosts, charmrun, listed(hosts, charmrun), 3).all()
    job.until(lambda: is_free(job), "the end of the debuggers")
    end_well(job)


def listed(hosts: Cluster, charmrun: Path) -> str:
    """The only job."""
    return run(hosts, charmrun, "++list").stdout.splitlines()[1].split()[0]


def test_on_a_run_of_a_session(cluster: Factory, charmrun: Path) -> None:
    session = Session(cluster(4), charmrun)
    looks = Looks(session.cluster, charmrun, session.id, 4)
    looks.none(f"no program runs in session {session.id} now", "++status", "++kill", "++detach", "++view")
    for _ in range(2):  # the second run is not taken for the first
        job = session.begin("+p4", compiled(charmrun, COUNTING, "-g", "-O0"))
        job.until(lambda job=job: job.out.count("begun") == 4, "the processes")
        looks.all()
        job.until(lambda job=job: is_free(job), "the end of the debuggers")
        job.signal(signal.SIGUSR1)
        assert job.wait() == 0, job.said()
    assert "a session ends with its charmrun" in error_line(looks.run("++detach", session.id))
    session.end()
    looks.none("no running jobs of yours are called ")


@pytest.fixture
def kept(fresh_cluster: Factory, charmrun: Path) -> Kept:
    return Kept(fresh_cluster(3), charmrun, [compiled(charmrun, COUNTING, "-g", "-O0")])


def test_on_a_job_that_is_kept_alive(kept: Kept) -> None:
    """With its first charmrun, without one, and with the next."""
    def end(job: Job) -> None:
        job.until(lambda: is_free(job), "the end of the debuggers")

    looks = Looks(kept.hosts, kept.charmrun, kept.id, kept.processes, STATE)
    looks.all()
    end(kept.job)
    kept.lose_root()
    looks.none(f"job {kept.id} runs without a charmrun and ends within ")
    looks.job = ""  # it is the only one
    looks.none(f"job {kept.id} runs without a charmrun and ends within ", "++kill", "++detach")
    looks.job = kept.id
    kept.attach("++verbose")
    kept.job.until(lambda: "this is the root of job" in kept.job.err, "the other root")
    looks.all()
    end(kept.job)
    kept.job.signal(signal.SIGUSR1)
    assert kept.job.wait() == 0, kept.job.said()
    assert not kept.leftovers()
