# SPDX-License-Identifier: Apache-2.0
"""`charmrun ++view`: others look at a running job."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mpi_programs import session
from running import Factory, command, error_line, run
from test_gdb import Panes
from vc_faults import wait_until
from vc_job import Job, leftovers, patience
from vcluster import Cluster

_SHARED = "/home/shared"
# Each process says when it has begun, prints what it is told to when the file is there, and ends as it should.
_PRINTS = """\
#!/bin/sh
echo begun $CHARMTREE_PROCESS
until [ -e $1 ]; do sleep 0.05; done
[ -z "$2" ] || head -c $2 /dev/zero | tr '\\0' x | fold -w 99
echo printed $CHARMTREE_PROCESS
until [ -e $1.end ]; do sleep 0.05; done
echo late >&2
exit $CHARMTREE_PROCESS
"""


class Printing:
    """A job on h00 and h01, and those who look at it."""

    def __init__(
        self, hosts: Cluster, charmrun: Path, *words: Any, options: Sequence[Any] = (), env: Mapping[str, str] | None = None
    ) -> None:
        self.hosts, self.charmrun = hosts, charmrun
        hosts.run(0, ["rm", "-f", f"{_SHARED}/go", f"{_SHARED}/go.end"], check=True)
        script = hosts.put(0, f"{_SHARED}/prints", _PRINTS, mode=0o755)
        options = ["+p2", "++nodelist", hosts.nodelist(2), "++no-fold", *options]
        self.job = Job(hosts, [0, 1], command(charmrun, *options, script, f"{_SHARED}/go", *words), env=env)
        self.job.until(lambda: self.job.out.count("begun") == 2, "the processes")

    def view(self, *words: Any) -> Job:
        viewer = Job(self.hosts, [0], command(self.charmrun, "++view", *words))
        viewer.until(lambda: viewer.out.count("begun") == 2, "what was printed before")
        return viewer

    def go(self) -> None:
        self.hosts.put(0, f"{_SHARED}/go", "")

    def end(self) -> int:
        self.hosts.put(0, f"{_SHARED}/go.end", "")
        status = self.job.wait()
        assert leftovers([self.job]) == []
        return status


def missed(viewer: Job) -> int:
    """So many bytes, as it has been told."""
    return sum(map(int, re.findall(r"charmrun: \.\.\. (\d+) bytes of output left out for this viewer", viewer.err)))


def test_viewers_see_what_was_what_is_and_how_it_ends(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    shown = Printing(hosts, charmrun)
    plain, labelled = shown.view(), shown.view("++label")
    assert re.match(r"charmrun: job [0-9a-f]{16}: /home/shared/prints ", plain.err)
    assert "charmrun: run: 2 processes on 2 hosts\n" in plain.err and "Ctrl-C closes this view, the job keeps running\n" in plain.err
    shown.go()
    for viewer in (plain, labelled):
        viewer.until(lambda viewer=viewer: viewer.out.count("printed") == 2, "what is printed now")
    plain.signal(signal.SIGINT)
    assert plain.wait() == -signal.SIGINT
    assert sorted(plain.out.splitlines()) == ["begun 0", "begun 1", "printed 0", "printed 1"]
    assert shown.end() == 1
    assert labelled.wait() == 1, labelled.said()
    assert sorted(labelled.out.splitlines()) == ["[0] begun 0", "[0] printed 0", "[1] begun 1", "[1] printed 1"]
    assert sorted(line for line in labelled.err.splitlines() if "late" in line) == ["[0] late", "[1] late"]
    assert "charmrun: error: h01: run: process 1: exited with status 1\n" in labelled.err
    assert labelled.err.endswith("charmrun: the job has ended with status 1\n")


def test_a_viewer_that_does_not_read_holds_up_nobody(cluster: Factory, charmrun: Path) -> None:
    """It learns how much it has missed; so does one that is there all the time, when the job prints more than any reads."""
    hosts = cluster(3)
    shown = Printing(hosts, charmrun, 30_000_000)
    stopped, reading = shown.view(), shown.view()
    stopped.signal(signal.SIGSTOP)
    shown.go()
    shown.job.until(lambda: shown.job.out.count("printed") == 2, "the whole output", 60)
    size = len(shown.job.out)
    assert size > 60_000_000
    stopped.signal(signal.SIGCONT)
    for viewer in (reading, stopped):  # a gap within a line adds a newline
        viewer.until(lambda viewer=viewer: 0 <= len(viewer.out) + missed(viewer) - size <= 64, "what it has missed", 60)
        assert missed(viewer) > 0
    assert len(stopped.out) < 10_000_000
    assert shown.end() == 1
    assert (reading.wait(), stopped.wait()) == (1, 1)


def test_each_process_prints_into_a_window_of_its_own(cluster: Factory, charmrun: Path) -> None:
    """From its first word; and what is in a window stays there for as long as somebody wants to read it."""
    hosts = cluster(3)
    panes = Panes(hosts)
    shown = Printing(hosts, charmrun, options=["++in-xterm"], env=panes.env)
    panes.await_all(shown.job, 2, "begun")
    one = Job(hosts, [0], command(charmrun, "++view", ":1"))
    one.until(lambda: "begun 1" in one.out, "what was printed before")
    shown.go()
    panes.await_all(shown.job, 2, "printed")
    hosts.put(0, f"{_SHARED}/go.end", "")
    assert shown.job.wait() == 1
    assert one.wait() == 1 and one.out == "begun 1\nprinted 1\n", one.said()
    panes.await_all(shown.job, 2, "charmrun: the job has ended with status 1; Enter closes this window")
    for process in range(2):
        said = [line for line in panes.text(process).splitlines() if line and "charmrun" not in line]
        assert said == [f"begun {process}", f"printed {process}", "late"]
    panes.type(2, "")
    wait_until(lambda: panes.tmux("ls") == "", patience(20))
    assert leftovers([shown.job]) == []


def test_a_session_shows_what_runs_there(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    with session(hosts, charmrun) as number:
        viewer = Job(hosts, [0], command(charmrun, "++view", number))
        viewer.until(lambda: "Ctrl-C closes this view" in viewer.err, "the session's status")
        for word in ("first", "second"):
            done = run(hosts, charmrun, "++in", number, "+p2", "echo", word)
            assert (done.returncode, done.stdout) == (0, f"{word}\n{word}\n")
            viewer.until(lambda word=word: viewer.out.count(f"{word}\n") == 2, "what the run prints")
    assert viewer.wait() == 0, viewer.said()


def test_only_its_user_sees_a_job_and_its_loss_is_told(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    assert error_line(run(hosts, charmrun, "++view")).startswith("no job of yours is running on this machine")
    shown = Printing(hosts, charmrun)
    assert "no job of yours is running" in error_line(run(hosts, charmrun, "++view", user="ctother"))
    for words, said in (
        (["nothing"], "no running jobs of yours are called 'nothing'; charmrun ++list shows them"),
        (["++report", "x"], "++report has no meaning with ++view; leave it out"),
    ):
        assert error_line(run(hosts, charmrun, "++view", *words)) == said
    assert error_line(run(hosts, charmrun, "++view", ":7")).startswith("7: no list of processes of a job with 2")
    viewer = shown.view()
    shown.job.root.kill()
    assert viewer.wait() == 125, viewer.said()
    assert viewer.errors == ["the charmrun of the job is gone; charmrun ++list shows what became of a job of ++keep-alive"]
    shown.job.wait()
    assert leftovers([shown.job]) == []
