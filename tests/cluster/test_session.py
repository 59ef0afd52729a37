# SPDX-License-Identifier: Apache-2.0
"""`charmrun ++session` and `++in`: programs that follow each other over one tree."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from running import PATIENCE_S, Factory, answer, assert_good, built, command, double_lines, error_line, run
from terminal import Terminal
from vc_faults import wait_until
from vc_job import Job, kill, leftovers, patience
from vcluster import Cluster, Result

HOSTS = 4  # h00 is the root's
READY = "charmrun: the session is ready: charmrun ++in "
NUMBER = ["sh", "-c", "echo $CHARMTREE_PROCESS"]
STAY = ["sleep", "98765"]


class Session(Job):
    """A session on the first hosts of the cluster; its runs are started on host 0, too."""

    def __init__(self, hosts: Cluster, charmrun: Path, *options: Any) -> None:
        names = hosts.nodelist(HOSTS)
        words = command(charmrun, "++session", "++nodelist", names, "++branching", 2, *options)
        super().__init__(hosts, range(HOSTS), words)
        self.charmrun = charmrun
        self.until(lambda: READY in self.err, "the session")
        self.id = self.err.split(READY)[1].split()[0]

    def run(self, *words: Any, **options: Any) -> Result:
        return run(self.cluster, self.charmrun, "++in", self.id, *words, **options)

    def begin(self, *words: Any, **options: Any) -> Job:
        return Job(self.cluster, range(HOSTS), command(self.charmrun, "++in", self.id, *words), **options)

    def status(self) -> str:
        return run(self.cluster, self.charmrun, "++status", self.id).stdout

    def end(self) -> None:
        """Nothing is left then."""
        if self.root.poll() is None:
            done = run(self.cluster, self.charmrun, "++end", self.id)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert self.wait() == 0, self.said()
        assert not leftovers([self])


@pytest.fixture
def session(cluster: Factory, charmrun: Path) -> Iterator[Session]:
    """It is patient with this machine."""
    begun = Session(cluster(HOSTS), charmrun, "++host-patience", 60)
    yield begun
    begun.end()


def up(job: Job, processes: int) -> Job:
    job.until(lambda: len(job.running("sleep")) == processes, "all processes")
    return job


def pids(session: Session) -> set[int]:
    return {one.pid for one in session.launchers()}


def test_programs_follow_each_other_over_one_tree(session: Session) -> None:
    before = pids(session)
    assert "idle: a session, waiting for what to run (0 so far)" in session.status()
    for processes in (4, 7, 2):
        done = session.run(f"+p{processes}", *NUMBER)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert sorted(map(int, done.stdout.split())) == list(range(processes))
    assert len(set(session.run("+p8", "hostname").stdout.split())) == HOSTS
    failed = session.run("+p4", "sh", "-c", "exit 3")
    assert "exited with status 3 (the first of 4" in error_line(failed, 3)
    died = session.run("+p4", "sh", "-c", "kill -9 $$")
    assert died.returncode == 128 + signal.SIGKILL and "killed by signal 9" in died.stderr, died
    missing = session.run("+p4", "./nothing")
    assert missing.returncode == 127 and "nothing: no such file" in missing.stderr, missing
    for processes in (6, 8):
        assert_good(session.run(f"+p{processes}", built(session.charmrun, "charm_double")), double_lines(processes))
    assert pids(session) == before
    listed = run(session.cluster, session.charmrun, "++list").stdout.splitlines()[1]
    assert listed.startswith(session.id) and "idle" in listed and listed.endswith("(session)")


def test_a_run_has_its_users_directory_environment_and_streams(session: Session) -> None:
    hosts = session.cluster
    hosts.run(0, ["mkdir", "-p", "/home/shared/a folder"])
    hosts.put(0, "/home/shared/a folder/show", "#!/bin/sh\necho $PWD $MINE; cat; echo err >&2\n", mode=0o755)
    words = command(session.charmrun, "++in", session.id, "+p2", "++quiet", "./show")
    shell = ["sh", "-c", 'cd "/home/shared/a folder" && export MINE=yes && exec "$@"', "sh", *words]
    done = hosts.run(0, shell, stdin="some input\n", timeout=PATIENCE_S)
    assert done.returncode == 0, done
    assert sorted(done.stdout.splitlines()) == ["/home/shared/a folder yes"] * 2 + ["some input"]
    assert done.stderr == "err\nerr\n"
    files = session.run("+p2", "++output", "/home/shared/out/%r.txt", "++label", *NUMBER)
    assert (files.returncode, files.stdout) == (0, "")
    assert hosts.path(0, "/home/shared/out/1.txt").read_text() == "[1] 1\n"


def test_bytes_pass_through_a_run_unchanged(session: Session) -> None:
    """More than fits into any buffer on the way, in both directions."""
    data = hashlib.shake_256(b"session").digest(5_000_000)
    words = command(session.charmrun, "++in", session.id, "+p1", "++stdin", "0", "cat")
    child = session.cluster.popen(0, words, text=False, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, _ = child.communicate(data, PATIENCE_S)
    assert child.returncode == 0
    assert hashlib.sha256(out).digest() == hashlib.sha256(data).digest()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "killed"])
def test_the_end_of_who_started_a_run_ends_that_alone(session: Session, how: int) -> None:
    before = pids(session)
    job = up(session.begin("+p8", *STAY), 8)
    assert "run: 8 processes on 4 hosts" in session.status()
    job.signal(how)
    assert job.wait() == -how
    assert (how == signal.SIGKILL) or "charmrun: Interrupt: ending the job; once more ends it at once\n" in job.err
    assert session.run("+p4", *NUMBER).returncode == 0
    assert not job.running("sleep") and pids(session) == before


def test_who_comes_meanwhile_waits_in_line(session: Session) -> None:
    first = up(session.begin("+p2", *STAY), 2)
    second = session.begin("+p2", *NUMBER)
    second.until(lambda: "waiting for the run before it" in second.err, "a place in the line")
    third = session.begin("+p2", *NUMBER)
    third.until(lambda: "waiting for 2 runs before it" in third.err, "a place in the line")
    assert "2 more wait to be run" in session.status()
    third.signal(signal.SIGINT)
    assert third.wait() == -signal.SIGINT
    first.signal(signal.SIGTERM)
    assert first.wait() == -signal.SIGTERM
    assert second.wait() == 0 and sorted(second.out.split()) == ["0", "1"], second.said()


def test_a_run_is_suspended_by_itself(session: Session) -> None:
    job = up(session.begin("+p4", *STAY), 4)
    states: Callable[[], set[str]] = lambda: {one.state for one in job.running("sleep")}
    job.signal(signal.SIGTSTP)
    assert wait_until(lambda: states() == {"T"}, patience(10))
    assert wait_until(lambda: _state(job.root.pid) == "T", patience(10))
    assert _state(session.root.pid) != "T"
    job.signal(signal.SIGCONT)
    assert wait_until(lambda: "T" not in states(), patience(10))
    job.signal(signal.SIGTERM)
    assert job.wait() == -signal.SIGTERM


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]


def test_a_lost_launcher_is_started_again_by_the_next_run(session: Session) -> None:
    """Between runs, and in one: h01 has others below it."""
    for one in session.launchers(3):
        kill(one)
    session.until(lambda: "the next run starts a launcher there again" in session.err, "the loss")
    assert len(set(session.run("+p8", "hostname").stdout.split())) == HOSTS
    job = up(session.begin("+p8", *STAY), 8)
    for one in session.launchers(1):
        kill(one)
    assert job.wait() == 125, job.said()
    assert job.errors[0].startswith("h01: run: "), job.said()
    again = session.run("+p8", "hostname")
    assert (again.returncode, len(set(again.stdout.split()))) == (0, HOSTS), again


def test_a_host_that_is_gone_is_left_out(fresh_cluster: Factory, charmrun: Path) -> None:
    session = Session(fresh_cluster(HOSTS), charmrun)
    session.cluster.unplug(2)
    session.until(lambda: "the next run starts a launcher there again" in session.err, "the loss")
    for _ in range(2):  # the second does not wait for it
        done = session.run("+p3", "hostname")
        assert (done.returncode, sorted(done.stdout.split())) == (0, ["h00", "h01", "h03"]), done
        assert "left out: h02: " in done.stderr
    few = session.run("+p4", "hostname")
    assert few.returncode == 125 and "3 of 4 hosts are left, the job needs 4" in few.stderr, few
    session.cluster.plug(2)
    session.end()


def test_mistakes_are_one_line_each(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(HOSTS)
    none = "no session of yours is running on this machine; charmrun ++session starts one"
    assert error_line(run(hosts, charmrun, "++in", "+p2", *NUMBER)) == none
    assert error_line(run(hosts, charmrun, "++end")) == none
    session = Session(hosts, charmrun)
    said = error_line(run(hosts, charmrun, "++in", "123456", "+p2", *NUMBER))
    assert said == f"no sessions of yours are called '123456'; there is: {session.id}"
    assert error_line(session.run("++branching", "2", "true")) == (
        "++branching is for the session as a whole; charmrun ++session ++branching ..."
    )
    assert error_line(session.run("++json", "-", "true")).startswith("++json and sessions exclude each other")
    other = run(hosts, charmrun, "++in", session.id, "true", user="ctother")
    assert error_line(other) == none
    assert run(hosts, charmrun, "++in", "+p2", *NUMBER).returncode == 0  # there is only one
    assert session.run("++timelimit", "0.3", *STAY).returncode == 124
    session.end()


def test_a_session_in_the_background_returns_when_it_is_ready(cluster: Factory, charmrun: Path) -> None:
    """It holds neither the terminal nor a pipe of who has started it."""
    hosts = cluster(HOSTS)
    bad = run(hosts, charmrun, "++session", "++background", "++nodelist", hosts.nodelist(["nobody.invalid"]))
    assert (bad.returncode, bad.stdout) == (125, "") and "no host is left for the session" in bad.stderr, bad
    done = run(hosts, charmrun, "++session", "++background", "++quiet", "++nodelist", hosts.nodelist(2))
    assert (done.returncode, done.stderr) == (0, ""), done
    session = done.stdout.strip()
    assert sorted(answer(hosts, charmrun, "++in", session, "+p2", *NUMBER).split()) == ["0", "1"]
    assert answer(hosts, charmrun, "++kill", session) == ""
    assert run(hosts, charmrun, "++list").stdout == "no job of yours is running on this machine\n"
    alone = error_line(run(hosts, charmrun, "++background", "true"))
    assert alone == "++background is for sessions; charmrun ++session ++background ..."


def test_who_comes_early_waits_for_the_session(cluster: Factory, charmrun: Path) -> None:
    """Which reads its nodelist, until somebody writes that."""
    hosts = cluster(HOSTS)
    nodes = "/home/shared/slow-nodes"
    hosts.run(0, ["mkfifo", nodes], check=True)
    session = Job(hosts, range(2), command(charmrun, "++session", "++nodelist", nodes))
    early = Job(hosts, range(2), command(charmrun, "++in", "+p2", *NUMBER))
    early.until(lambda: "charmrun: waiting for the session that is starting" in early.err, "a wait")
    hosts.run(0, ["cp", hosts.nodelist(2), nodes], check=True)
    assert early.wait() == 0, early.said() + session.said()
    assert sorted(early.out.split()) == ["0", "1"]
    assert answer(hosts, charmrun, "++end") == ""
    assert session.wait() == 0 and not leftovers([session, early])


@pytest.mark.parametrize("how", ["interrupted", "killed"])
def test_the_end_of_a_session_is_that_of_its_run(cluster: Factory, charmrun: Path, how: str) -> None:
    session = Session(cluster(HOSTS), charmrun)
    job = up(session.begin("+p4", *STAY), 4)
    os.kill(session.root.pid, signal.SIGINT if how == "interrupted" else signal.SIGKILL)
    if how == "interrupted":
        assert job.wait() == -signal.SIGINT, job.said()
        assert session.wait() == -signal.SIGINT, session.said()
    else:
        assert job.wait() == 125, job.said()
        assert job.errors == ["the session has ended; see what it has said itself"]
        session.wait()
    assert not leftovers([session])


def test_a_run_has_the_terminal_of_who_started_it(session: Session) -> None:
    """Ctrl-C is for it, and what it does not read is the shell's."""
    shell = Terminal(session.cluster, ["bash", "--norc", "--noprofile", "-i"], PS1="$ ")
    shell.expect(r"\$ ")
    words = " ".join(command(session.charmrun, "++in", session.id, "+p1", "++stdin", "0"))
    shell.hands_over(f"{words} sh -c 'test -t 1 || echo up; read x; echo got $x; sleep 1; echo late'")
    shell.expect(r"up\r\n")
    shell.type("one\r")
    shell.expect(r"got one\r\n")
    shell.type("echo $((1 + 1)) first\recho $((2 + 2)) second\r")
    found = shell.expect(r"late\r\n(.|\n)*\n4 second\r\n")
    assert "\n2 first" not in found[0]  # read when the line before it was
    shell.hands_over(f"{words} sh -c 'echo up; exec sleep 98765'")
    shell.expect(r"\nup\r\n")
    shell.type("\x03")
    shell.expect("charmrun: Interrupt: ending the job; once more ends it at once\r\n")
    shell.expect(r"\$ ")
    shell.asks("echo $?", "130")
    shell.type("exit 0\r")
    shell.end(0)


def test_a_folder_for_sockets_that_is_gone_is_made_again(session: Session) -> None:
    """As systemd-tmpfiles and a logout leave it. Of the client library's programs each process needs its socket."""
    hosts, hello = session.cluster, built(session.charmrun, "hello")
    words, lines = ["+p8", hello], [f"hello from {number} of 8" for number in range(8)]
    assert_good(session.run(*words), lines)
    folder = f"/tmp/charmtree-{hosts.user('ctuser').uid}"
    for instead in ("true", f"touch {folder}"):
        for host in range(HOSTS):  # of which some share a /tmp
            hosts.run(host, ["sh", "-c", f"rm -rf {folder}; {instead}"], check=True)
        assert_good(session.run(*words), lines)
    for host in range(HOSTS):
        hosts.run(host, ["rm", "-rf", folder], check=True)
