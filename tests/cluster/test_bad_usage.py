# SPDX-License-Identifier: Apache-2.0
"""Mistakes on the command line and in nodelists, and a root that has not enough of something: one clear
message, a status that is not 0, nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from vc_job import Job, leftovers, pause, resident_kb
from vcluster import Cluster

Factory = Callable[..., Cluster]
_SHARED = "/home/shared"

_USAGE = {
    "no program": ([], r"no program was given; charmrun \[options\] program \[arguments\]; .*"),
    "unknown option": (
        ["++nodelsit", "x", "true"],
        r"unknown option '\+\+nodelsit'; did you mean \+\+nodelist\? .*",
    ),
    "unknown option without a guess": (
        ["++zzzzzz", "true"],
        r"unknown option '\+\+zzzzzz'; \+\+help lists all; .*",
    ),
    "one dash": (
        ["-nodelist", "x", "true"],
        r"charmrun has no -nodelist; \+\+nodelist FILE names a file of hosts, .*",
    ),
    "value missing": (["true", "++nodelist"], r"'\+\+nodelist' needs a value: \+\+nodelist FILE"),
    "value is an option": (
        ["++nodelist", "++local", "true"],
        r"'\+\+nodelist' needs a value, but '\+\+local' follows: .*",
    ),
    "not a number": (["+p4x", "true"], r"\+\+p cannot be '4x'; it takes a whole number from 1 to \d+"),
    "too large": (
        ["+p99999999999999999999", "true"],
        r"\+\+p cannot be '9+'; it takes a whole number from 1 to \d+",
    ),
    "negative": (["++timeout", "-3", "true"], r"\+\+timeout cannot be '-3'; it takes seconds above 0.*"),
    "twice": (["++n", "2", "++n", "3", "true"], r"'\+\+n' is used more than once; leave one of them out"),
    "control characters": (["++\x1b[31mred", "true"], r"unknown option '\+\+\?\[31mred'; .*"),
    "list and virtual hosts": (
        ["++hosts", "2", "++nodelist", "x", "true"],
        r"\+\+hosts and \+\+nodelist exclude each other; .*",
    ),
    "no such list": (
        ["++nodelist", "/no/such/list", "true"],
        r"cannot read /no/such/list: No such file or directory.*",
    ),
    "list is a directory": (["++nodelist", "/home", "true"], r"cannot read /home: Is a directory.*"),
    "list is secret": (
        ["++nodelist", "/etc/shadow", "true"],
        r"cannot read /etc/shadow: Permission denied.*",
    ),
    "list is a device": (["++nodelist", "/dev/zero", "true"], r"/dev/zero is longer than 64 MiB.*"),
    "list is empty": (["++nodelist", "/dev/null", "true"], r"/dev/null: it names no host; .*"),
    "no such group": (
        ["++nodelist", "{list}", "++nodegroup", "gpu", "true"],
        r".*: group 'gpu' has no host; groups with hosts: main .*",
    ),
    "list of binary": (["++nodelist", "/bin/ls", "true"], r"/bin/ls:1:\d+: .*"),
    "timeline of no format": (["++timeline", "x.gif", "true"], r".*x\.gif.*"),
    "more processes than can be": (
        ["++n", "4000000000", "true"],
        r"\+\+n cannot be '4000000000'; it takes .*",
    ),
}


def test_mistakes_on_the_command_line(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    listed = hosts.nodelist(2)
    wrong = []
    for label, (words, pattern) in _USAGE.items():
        words = [word.format(list=listed) for word in words]
        done = hosts.run(0, [charmrun, *words], timeout=60)
        lines = done.stderr.splitlines()
        if done.returncode != 125 or not lines or not re.fullmatch("charmrun: error: " + pattern, lines[0]):
            wrong.append(f"{label}: status {done.returncode}: {done.stderr}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "where", "caret"),
    [
        ("group main\n  host h00 ++cpus two\n", "2:19: cpus needs a whole number", "host h00 ++cpus two"),
        ("group main\n# fine\n\n host h00\n host h[1-\n", "5:11: the range has no upper end", "host h[1-"),
        ("group main\n host 'h00\n", "2:7: this quote is not closed", "host 'h00"),
        (
            "group main\n host -oProxyCommand=evil\n",
            "2:7: a host name cannot begin with '-'",
            "host -oProxyCommand=evil",
        ),
    ],
)
def test_a_mistake_in_a_nodelist_is_shown_in_its_line(
    cluster: Factory, charmrun: Path, text: str, where: str, caret: str
) -> None:
    hosts = cluster(26)
    path = hosts.put(0, f"{_SHARED}/bad-nodes", text)
    done = hosts.run(0, [charmrun, "+p2", "++nodelist", path, "true"])
    lines = done.stderr.splitlines()
    assert done.returncode == 125, done.stderr
    assert lines[0].startswith(f"charmrun: error: {path}:{where}"), done.stderr
    column = int(where.split(":")[1])
    assert lines[1].strip() == caret and lines[2].strip() == "^", done.stderr
    shown = lines[1].index(caret)
    assert lines[2].index("^") - shown == column - 1 - text.splitlines()[int(where[0]) - 1].index(caret)


# -- a machine that has not enough of something -----------------------------------------------------


_SCARCE = {
    "descriptors of the root": (
        "ulimit -n 30",
        ["++hosts", "40", "++branching", "40", "+p40", "true"],
        r".*out of file descriptors.*; raise ulimit -n.*",
    ),
    "no descriptors": (
        "ulimit -n 8",
        ["++local", "+p2", "true"],
        r".*(Too many open files|out of file descriptors).*; .*ulimit.*",
    ),
    "processes": (
        "ulimit -u 1",
        ["++local", "+p2", "true"],
        r"Resource temporarily unavailable; see ulimit -a",
    ),
    "a small stack": (
        "ulimit -s 256",
        ["++local", "+p2", "true"],
        r"the stack may have only 256 KiB \(ulimit -Hs\), charmrun needs 512; raise the limit",
    ),
    "stdout full": (
        "exec >/dev/full",
        ["++local", "+p2", "echo", "hi"],
        r"cannot write to stdout: No space left on device",
    ),
}


@pytest.mark.parametrize("what", _SCARCE)
def test_want_of_resources_is_said(cluster: Factory, charmrun: Path, what: str) -> None:
    limit, words, pattern = _SCARCE[what]
    hosts = cluster(26)
    job = Job(hosts, [2], ["bash", "-c", f'{limit}; exec "$@"', "bash", charmrun, *words])
    status, errors = job.wait(), job.errors
    assert status == 125 and errors and all(re.fullmatch(pattern, line) for line in errors), job.said()
    assert not leftovers([job])


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "</dev/null", "</etc/passwd"])
def test_standard_descriptors_may_be_closed_or_files(cluster: Factory, charmrun: Path, closed: str) -> None:
    hosts = cluster(26)
    for counts in (["++local"], ["++hosts", "3"]):
        script = f'"$@" {closed}'
        job = Job(
            hosts, [2], ["bash", "-c", script, "bash", charmrun, *counts, "+p3", "sh", "-c", "cat; echo done"]
        )
        assert job.wait() == 0, job.said()
        assert job.out.count("done\n") == (0 if ">&-" in closed.replace("2>&-", "") else 3), job.said()
        assert not leftovers([job])


def test_an_output_pipe_that_is_closed_ends_the_job_quietly(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    script = '"$@" | head -1; echo ${PIPESTATUS[0]}'
    listed = hosts.nodelist(3)
    job = Job(hosts, [0, 1, 2], ["bash", "-c", script, "bash", charmrun, "+p3", "++nodelist", listed, "yes"])
    assert job.wait() == 0
    assert job.out == f"y\n{128 + signal.SIGPIPE}\n" and job.err == "", job.said()
    assert not leftovers([job])


@pytest.mark.parametrize(("stream", "end"), [("stdout", "pipe"), ("stdout", "socket"), ("stderr", "pipe")])
def test_a_job_whose_reader_is_gone_ends_without_printing(
    cluster: Factory, charmrun: Path, stream: str, end: str
) -> None:
    """As when the ssh session that runs charmrun is cut. A job under nohup or with ++keep-alive goes on."""
    hosts = cluster(26)
    words: dict[str, list[str | Path]] = {
        "plain": [charmrun],
        "nohup": ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", charmrun],
        "kept": [charmrun, "++keep-alive", "60"],
    }
    jobs, readers = {}, []
    for place, (name, argv) in enumerate(words.items()):
        reader, writer = os.pipe() if end == "pipe" else (one.detach() for one in socket.socketpair())
        listed = hosts.nodelist([2 * place, 2 * place + 1])
        argv = [*argv, "+p2", "++nodelist", listed, "sleep", "98765"]
        jobs[name] = Job(hosts, [2 * place, 2 * place + 1], argv, **{stream: writer})
        os.close(writer)
        readers.append(reader)
    for job in jobs.values():
        job.until(lambda job=job: len(job.running("sleep")) == 2, "its processes")
    for reader in readers:
        os.close(reader)
    assert jobs["plain"].wait(20) == -signal.SIGPIPE, jobs["plain"].said()
    pause(2)
    for name in ("nohup", "kept"):
        assert len(jobs[name].running("sleep")) == 2, name
        jobs[name].signal(signal.SIGTERM)
        jobs[name].wait()
    assert not leftovers(list(jobs.values()))


def test_an_output_reader_that_sleeps_loses_nothing(cluster: Factory, charmrun: Path) -> None:
    """Six processes print 5 MB each while nobody reads for a while; memory stays bounded."""
    hosts = cluster(26)
    script = '"$@" | (sleep 2; wc -lc)'
    count = "for i in $(seq 6); do seq 1000000 1125000; done"
    argv = [
        "bash",
        "-c",
        script,
        "bash",
        charmrun,
        "+p6",
        "++nodelist",
        hosts.nodelist(3),
        "bash",
        "-c",
        count,
    ]
    job = Job(hosts, [0, 1, 2], argv)
    peak = 0
    while job.root.poll() is None:
        peak = max([peak, *(resident_kb(one.pid) for one in job.running("charmrun"))])
    assert job.wait() == 0 and job.out.split() == ["4500036", "36000288"], job.said()
    assert peak < 64 << 10, f"{peak} KiB resident"
    assert not leftovers([job])
