# SPDX-License-Identifier: Apache-2.0
"""Mistakes that other launchers were seen to make, replayed. Each test names the launcher, what was done and what came of it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from vc_job import Job, leftovers

from running import Factory, assert_good, built, error_line, run

_BOTH_FAIL = "exit $((CHARMTREE_PROCESS + 1))"


def test_lines_written_in_two_parts_are_not_torn(cluster: Factory, charmrun: Path) -> None:
    """MPICH 5.0.2: `[0] AB[1] AB[1] CD`, then `[0] CD`."""
    hosts = cluster(3)
    program = ["++label", "sh", "-c", "printf AB; sleep 0.5; echo CD"]
    done = run(hosts, charmrun, "+p2", "++nodelist", hosts.nodelist([1, 2]), *program)
    assert_good(done, ["[0] ABCD", "[1] ABCD"])


def test_a_file_of_output_has_no_old_end(cluster: Factory, charmrun: Path) -> None:
    """MPICH 5.0.2: of a longer output of an earlier run the end stayed in the file."""
    hosts = cluster(3)
    words = ["+p2", "++nodelist", hosts.nodelist([1, 2]), "++output", "/home/shared/old/%r.out", "echo"]
    for text in ("0123456789", "hi"):
        assert_good(run(hosts, charmrun, *words, text), [])
        for process in (0, 1):
            assert hosts.path(0, f"/home/shared/old/{process}.out").read_text() == f"{text}\n"


def test_two_statuses_are_not_mixed(cluster: Factory, charmrun: Path) -> None:
    """MPICH 5.0.2: processes that exit with 1 and 2 gave 3. Open MPI 5.0.11: message and $? named different ones."""
    hosts = cluster(3)
    for _ in range(3):
        done = run(hosts, charmrun, "+p2", "++nodelist", hosts.nodelist([1, 2]), "sh", "-c", _BOTH_FAIL)
        assert done.returncode in (1, 2), done.stderr
        first = done.returncode - 1
        line = f"{hosts.names[1 + first]}: run: process {first}: exited with status {done.returncode} "
        assert error_line(done, done.returncode) == line + "(the first of 2 that failed)"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_is_no_exit_status(cluster: Factory, charmrun: Path, number: signal.Signals) -> None:
    """MPICH 5.0.2: `kill -9` and `kill -SEGV` gave 9 and 11, as `exit 9` does."""
    hosts = cluster(2)
    done = run(hosts, charmrun, "+p1", "++nodelist", hosts.nodelist([1]), "sh", "-c", f"kill -{number.value} $$")
    assert f"({number.name}: " in error_line(done, 128 + number)


def test_nothing_outlives_a_launcher_that_is_killed(cluster: Factory, charmrun: Path) -> None:
    """Open MPI 5.0.11: `sleep` on the launcher's own host was alive 6 s later; Charm++ 8: a process that only
    computes was alive after 15 s."""
    hosts = cluster(2)
    double = [built(charmrun, "charm_double"), "--compute", "98765"]
    jobs = [
        Job(hosts, [0], [charmrun, "++local", "+p2", "sleep", "98765"]),
        Job(hosts, [1], [charmrun, "++local", "+p2", *double]),
    ]
    for job, command in zip(jobs, ("sleep", "charm_double"), strict=True):
        job.until(lambda job=job, command=command: len(job.running(command)) == 2, "two processes")  # type: ignore[misc]
    for job in jobs:
        job.signal(signal.SIGKILL)
        assert job.wait() == -signal.SIGKILL
    assert not leftovers(jobs)


def test_a_host_without_address_is_named_in_full_with_that_cause_alone(cluster: Factory, charmrun: Path) -> None:
    """Open MPI 5.0.11: the name without its domain, and a text about executable, libraries and firewall."""
    hosts = cluster(2)
    nodelist = hosts.put(0, "/home/shared/nix", "host nosuchhost.invalid\n")
    done = run(hosts, charmrun, "+p1", "++nodelist", nodelist, "true")
    fix = "check the name, /etc/hosts and DNS"
    assert error_line(done) == f"nosuchhost.invalid: resolve: no such host; {fix}"


def test_a_pattern_names_hosts(cluster: Factory, charmrun: Path) -> None:
    """Charm++ 8: `Cannot obtain IP address of node[01-02]`."""
    hosts = cluster(3)
    nodelist = hosts.put(0, "/home/shared/pattern", "host h[01-02]\n")
    assert_good(run(hosts, charmrun, "+p2", "++nodelist", nodelist, "hostname"), ["h01", "h02"])
