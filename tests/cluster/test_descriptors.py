# SPDX-License-Identifier: Apache-2.0
"""What programs and setup shells inherit, and hosts that die without a word."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from vc_job import Job, leftovers, patience

from running import PATIENCE_S, Factory, built, command, run

_CHAIN = ["+p4", "++branching", "1"]
_LIST = ["sh", "-c", "exec ls /proc/self/fd"]


@pytest.mark.parametrize("options", [[], ["++remote-shell", "ssh"]])
def test_no_program_inherits_a_descriptor(cluster: Factory, charmrun: Path, options: list[str]) -> None:
    hosts = cluster(26)
    chain = [*_CHAIN, "++nodelist", hosts.nodelist(hosts.names[:4]), *options]
    done = run(hosts, charmrun, *chain, "++pmi", "none", *_LIST)
    assert done.returncode == 0, done
    assert sorted(done.stdout.split()) == sorted("0123" * 4), done  # 3 is the folder that ls reads
    done = run(hosts, charmrun, *chain, built(charmrun, "charm_double"), "--strict-fds")
    assert done.returncode == 0, done


@pytest.mark.parametrize("transport", [[], ["++remote-shell", "ssh"]], ids=["built-in ssh", "ssh command"])
def test_few_descriptors_make_a_deeper_tree(cluster: Factory, charmrun: Path, transport: list[str]) -> None:
    """25 hosts, and links to 8 of them; nothing fails, and a line says why."""
    hosts = cluster(26)
    report = "/home/shared/few.json"
    words = ["+p25", "++nodelist", hosts.nodelist(range(1, 26)), *transport, "++report", report, "hostname"]
    done = hosts.run(0, ["prlimit", "--nofile=64", *command(charmrun, *words)], timeout=PATIENCE_S)
    assert (done.returncode, sorted(done.stdout.split())) == (0, hosts.names[1:26]), (done.stdout, done.stderr)
    assert "charmrun may open 64 files (ulimit -Hn), enough to link to 8 of the hosts" in done.stderr, done.stderr
    launchers = json.loads(hosts.path(0, report).read_text())["launchers"]
    assert 1 <= sum(one["parent"] == -1 for one in launchers) <= 8, launchers


def test_a_setup_may_leave_a_process_behind(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    stay = "( while sleep 98765; do :; done ) &\n"
    hosts.put_everywhere(".charmrunrc", f"exec 3>/dev/null\n{stay}export FROM_RC=yes\n")
    try:
        words = ["+p2", "++nodelist", hosts.nodelist(hosts.names[1:3]), "++timeout", "20"]
        begin = time.monotonic()
        done = run(hosts, charmrun, *words, "sh", "-c", "echo rc $FROM_RC")
    finally:
        for index in [0, *sorted(hosts.own)]:
            (hosts.path(index, hosts.user("ctuser").home) / ".charmrunrc").unlink()
    assert done.returncode == 0, done
    assert done.stdout.splitlines() == ["rc yes"] * 2, done
    assert time.monotonic() - begin < patience(15)


def test_a_host_that_dies_without_a_word_ends_the_job(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(3)
    silent = hosts.names[2]
    job = Job(hosts, range(3), [charmrun, "+p2", "++nodelist", hosts.nodelist(hosts.names[1:]), "sleep", "98765"])
    job.until(lambda: len(job.running("sleep")) == 2, "two processes")
    hosts.drop(2)
    begin = time.monotonic()
    assert job.wait(40) == 125, job.said()
    assert time.monotonic() - begin < patience(30)
    assert any(silent in line for line in job.errors), job.said()
    hosts.crash(2)  # its sshd would learn of the end hours later; a crash leaves the socket file there
    hosts.undrop(2)
    assert not [line for line in leftovers([job]) if not line.startswith(("socket", "(after"))]
