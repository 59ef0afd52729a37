# SPDX-License-Identifier: Apache-2.0
"""`charmrun ++list`, `++status` and `++kill`: running jobs are asked, and ended."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from running import Factory, answer, command, error_line, gated, run
from vc_job import Job, leftovers, patience


def test_running_jobs_are_listed_asked_and_ended(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    assert run(hosts, charmrun, "++list").stdout == "no job of yours is running on this machine\n"
    first = Job(hosts, [0, 1], [charmrun, "+p4", "++nodelist", hosts.nodelist([0, 1]), "sleep", "98765"])
    first.until(lambda: len(first.running("sleep")) == 4, "the first job's processes")
    assert "run: 4 processes on 2 hosts\n  h[00-01]: processes 0-3, 2 on each\n" in answer(hosts, charmrun, "++status")
    second = Job(hosts, [2], [charmrun, "+p3", "++local", "sleep", "4711"])
    second.until(lambda: len(second.running("sleep")) == 3, "the second job's processes")
    assert len(run(hosts, charmrun, "++list").stdout.splitlines()) == 2  # that of the other host is not here
    third = Job(hosts, [0], [charmrun, "+p1", "++local", "sleep", "4711"])
    third.until(lambda: "sleep 4711" in run(hosts, charmrun, "++list").stdout, "the third job")
    listed = run(hosts, charmrun, "++list").stdout.splitlines()[1:]
    assert sorted(line.split(" run ")[1].strip() for line in listed) == ["sleep 4711", "sleep 98765"]
    several = run(hosts, charmrun, "++status")
    assert "2 jobs of yours are running; charmrun ++status JOB" in several.stderr
    (job,) = (line.split()[0] for line in listed if line.endswith(" 98765"))
    assert f"job {job}: sleep 98765\n" in answer(hosts, charmrun, "++status", job[:12])
    other = run(hosts, charmrun, "++list", user="ctother")
    assert other.stdout == "no job of yours is running on this machine\n"
    found = [json.loads(line) for line in answer(hosts, charmrun, "++list", "++json", "-").splitlines()]
    assert sorted(one["command"] for one in found) == ["sleep 4711", "sleep 98765"]
    told = json.loads(answer(hosts, charmrun, "++status", job, "++json", "-"))
    assert (told["format"], told["job"], told["processes"]) == ("charmtree-status-1", job, 4)
    for words, said in (
        (["++kill"], "++kill needs the job that is to end; charmrun ++kill JOB; charmrun ++list shows them"),
        (["++detach", job], f"job {job} ends with its charmrun; jobs outlive it that are started with ++keep-alive"),
        (["++status", "++label"], "++label has no meaning with ++status; leave it out"),
    ):
        assert error_line(run(hosts, charmrun, *words)) == said
    assert "no running jobs of yours" in error_line(run(hosts, charmrun, "++kill", job, user="ctother"))
    assert first.root.poll() is None
    assert answer(hosts, charmrun, "++kill", job) == ""
    assert first.wait() == -signal.SIGTERM, first.said()
    assert not first.errors and "charmrun: ++kill: ending the job" in first.err, first.said()
    for each in (second, third):
        each.root.send_signal(signal.SIGTERM)
        each.wait()
    none = error_line(run(hosts, charmrun, "++status", job))
    assert none == f"no running jobs of yours are called '{job}'; charmrun ++list shows them"
    assert not leftovers([first, second, third])


def test_a_status_names_who_is_late(cluster: Factory, charmrun: Path) -> None:
    """h02 registers only when it is allowed to."""
    hosts = cluster(4)
    argv, open_gate = gated(hosts, charmrun, "late")
    job = Job(hosts, [0, 1, 2], argv)
    late = "start: 2 of 3 processes have registered; not yet: h02\n"
    job.until(lambda: late in run(hosts, charmrun, "++status").stdout, "two of three registered")
    open_gate()
    assert job.wait() == 0, job.said()


_IDLERS = """
import re, socket, time
name = re.search(r" @(charmtree-control-[0-9]+-[0-9a-f]{16})$", open("/proc/net/unix").read(), re.M)[1]
idle = []
for _ in range(300):
    one = socket.socket(socket.AF_UNIX)
    one.connect("\\0" + name)
    idle.append(one)
print(sum(len(one.recv(1)) for one in idle), flush=True)
"""


@pytest.mark.parametrize("who, answers", [("root", 0), ("ctother", 0), ("ctuser", 300)])
def test_only_its_user_is_answered_and_a_killed_launcher_leaves_nothing(
    cluster: Factory, charmrun: Path, who: str, answers: int
) -> None:
    hosts = cluster(4)
    job = Job(hosts, [0], [charmrun, "+p2", "++local", "sleep", "98765"])
    job.until(lambda: len(job.running("sleep")) == 2, "processes")
    assert hosts.run(0, ["python3", "-c", _IDLERS], user=who, check=True).stdout == f"{answers}\n"
    assert "run: 2 processes on 1 host\n" in answer(hosts, charmrun, "++status")
    job.root.kill()
    job.wait()
    assert run(hosts, charmrun, "++list").stdout == "no job of yours is running on this machine\n"
    assert not leftovers([job])


def test_a_job_whose_charmrun_is_stopped_is_there(cluster: Factory, charmrun: Path) -> None:
    """As under a debugger, which tools then ask about."""
    hosts = cluster(3)
    job = Job(hosts, range(2), command(charmrun, "+p2", "++nodelist", hosts.nodelist(2), "sleep", "98765"))
    job.until(lambda: len(job.running("sleep")) == 2, "the processes")
    (number,) = (line.split()[0] for line in answer(hosts, charmrun, "++list").splitlines()[1:])
    job.signal(signal.SIGSTOP)
    for words in (["++status", number], ["++exec", f"{job.root.pid}:", "true"], ["++kill", number]):
        done = error_line(run(hosts, charmrun, *words, timeout=patience(30)))
        assert done.endswith(f"; {number} does not; is its charmrun suspended, or held by a debugger?"), done
    listed = answer(hosts, charmrun, "++list")
    assert f"job {number} has a charmrun here that does not answer: is it suspended?\n" in listed
    job.signal(signal.SIGCONT)
    assert answer(hosts, charmrun, "++kill", number) == ""
    assert job.wait() == -signal.SIGTERM and not leftovers([job])


_CLUMSY = """
import re, socket
name = re.search(r" @(charmtree-control-[0-9]+-[0-9a-f]{16})$", open("/proc/net/unix").read(), re.M)[1]
hello = bytes([0x15, 0, 0, 0, 1, 0, 1, 0x11]) + b"9.9 (protocol 99)"
other_protocol = hello[:6] + bytes([2]) + hello[7:]
for sent in (b"GET / HTTP/1.1\\r\\n\\r\\n", other_protocol, hello + bytes([5, 0, 0, 0, 1, 1, 2]) + b"go",
             hello + bytes([7, 0, 0, 0, 1, 1, 4]) + b"view", bytes([255, 255, 255, 127, 1, 0])):
    one = socket.socket(socket.AF_UNIX)
    one.connect("\\0" + name)
    one.sendall(sent)
    answer = b""
    try:
        while part := one.recv(4096):
            answer += part
    except ConnectionResetError:
        pass
    print(re.sub(r"[^ -~]", " ", answer.decode(errors="replace")))
"""


def test_clients_that_break_the_protocol_are_refused_and_named(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    job = Job(hosts, [0], [charmrun, "+p2", "++local", "++verbose", "sleep", "98765"])
    job.until(lambda: len(job.running("sleep")) == 2, "processes")
    lines = hosts.run(0, ["python3", "-c", _CLUMSY], check=True).stdout.splitlines()
    reasons = [
        "this connection does not speak the control protocol of charmrun",
        "the charmrun of that job has version 1 of the control protocol, and the client has 2",
        "the charmrun of that job has no service 'go'",
        "the charmrun of that job is of another version",
        "this connection does not speak the control protocol of charmrun",
    ]
    assert len(lines) == len(reasons)
    for line, reason in zip(lines, reasons, strict=True):
        assert reason in line and "use the same" in line, lines
        assert f"control socket: a client is refused: {reason}" in job.err
    assert "run: 2 processes on 1 host\n" in run(hosts, charmrun, "++status").stdout
    (number,) = (line.split()[0] for line in answer(hosts, charmrun, "++list").splitlines()[1:])
    assert answer(hosts, charmrun, "++kill", number) == ""
    job.wait()
    assert not leftovers([job])
