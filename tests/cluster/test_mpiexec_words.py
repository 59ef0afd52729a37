# SPDX-License-Identifier: Apache-2.0
"""charmrun under the name mpiexec: its words, its files of hosts, its ways to place processes, over real hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mpi_programs import program
from running import Factory, assert_good, error_line, run
from vcluster import Cluster, Result

WHERE = ["sh", "-c", 'echo "$CHARMTREE_PROCESS $(uname -n) $COLOUR $PWD"']


def placed(done: Result) -> list[list[str]]:
    assert done.returncode == 0, done.stderr
    return sorted(line.split() for line in done.stdout.splitlines())


def by_words(hosts: Cluster, mpiexec: Path, *words: Any) -> list[list[str]]:
    return placed(run(hosts, mpiexec, *words))


@pytest.mark.parametrize("text", ["h01:2\nh02:2\nh03:2\n", "h01 slots=2\nh02 slots=2 max_slots=4\nh03 2\n", "h[01-03]:2 # three\n"])
def test_processes_fill_the_slots_of_a_file_of_hosts(cluster: Factory, mpiexec: Path, text: str) -> None:
    hosts = cluster(10)
    path = hosts.put(0, "/home/shared/mpiexec-hosts", text)
    words = ["-f", path, "-genv", "COLOUR", "red", "-wdir", "/tmp"]
    assert by_words(hosts, mpiexec, "-n", 3, *words, *WHERE) == [[str(i), f"h0{1 + i // 2}", "red", "/tmp"] for i in range(3)]
    assert [line[1] for line in by_words(hosts, mpiexec, *words, *WHERE)] == ["h01", "h01", "h02", "h02", "h03", "h03"]
    assert [line[1] for line in by_words(hosts, mpiexec, "-n", 8, *words, *WHERE)] == ["h01"] * 4 + ["h02"] * 2 + ["h03"] * 2
    assert [line[1] for line in by_words(hosts, mpiexec, "-ppn", 1, *words, *WHERE)] == ["h01", "h02", "h03"]


def test_a_list_of_hosts_needs_no_file(cluster: Factory, mpiexec: Path) -> None:
    hosts = cluster(10)
    assert [line[1] for line in by_words(hosts, mpiexec, "-hosts", "h02,h04:2", *WHERE)] == ["h02", "h04", "h04"]
    lines = by_words(hosts, mpiexec, "--host", "h02,h03", "-np", 1, *WHERE, ":", "-np", 2, "-env", "COLOUR", "blue", *WHERE)
    assert [line[1] for line in lines] == ["h02", "h02", "h03"]
    assert [line[2] for line in lines[1:]] == ["blue", "blue"]


@pytest.mark.parametrize("family", ["mpich5", "openmpi5"])
def test_an_mpi_program_runs_by_the_words_of_its_own_launcher(cluster: Factory, mpiexec: Path, family: str) -> None:
    hosts = cluster(10)
    more, path = program(family)
    variables = [word for name in more if name != "++env" for word in ("-x", name)]
    done = run(hosts, mpiexec, "-n", 4, "-hosts", "h01:2,h02:2", *variables, path)
    assert_good(done, [f"{rank} of 4: good" for rank in range(4)])


def test_what_is_wrong_with_a_file_of_hosts_is_one_line(cluster: Factory, mpiexec: Path) -> None:
    hosts = cluster(10)
    path = hosts.put(0, "/home/shared/mpiexec-wrong", "h01\nh02:many\n")
    done = run(hosts, mpiexec, "-f", path, "true")
    assert error_line(done).startswith(f"{path}:2:5: a number of slots belongs behind the ':'")
    assert error_line(run(hosts, mpiexec, "-hosts", "h77", "true")).startswith("h77: resolve: no such host")


_UNIVERSE = """#!/bin/bash
ask() { printf "$1\\\\n" >&$PMI_FD; read -r line <&$PMI_FD; }
ask "cmd=init pmi_version=1 pmi_subversion=1"
ask cmd=get_universe_size; echo "${line##*=}"
ask cmd=finalize
"""


def test_the_universe_has_the_slots_of_the_hosts_or_what_the_user_says(cluster: Factory, mpiexec: Path, charmrun: Path) -> None:
    hosts = cluster(10)
    script = hosts.put(0, "/home/shared/universe", _UNIVERSE, mode=0o755)
    for slots, size in (["-hosts", "h01:2,h02:4"], "6"), (["-hosts", "h01:2,h02:4", "-usize", 9], "9"), (["-hosts", "h01"], "1"):
        assert_good(run(hosts, mpiexec, "-n", 1, *slots, script), [size])
    words = ["++nodelist", hosts.nodelist([1, 2, 3])]
    assert_good(run(hosts, charmrun, "+p1", *words, script), ["3"])
    assert_good(run(hosts, charmrun, "+p1", *words, "++universe-size", 5, script), ["5"])
    assert_good(run(hosts, charmrun, "+p4", *words, script), ["4"] * 4)
    assert "it takes a number from 1 to" in error_line(run(hosts, mpiexec, "-usize", "many", script))


def test_settings_of_other_launchers_have_an_effect_and_one_line(fresh_cluster: Factory, mpiexec: Path) -> None:
    hosts = fresh_cluster(2)
    hosts.sshd(1, {"Port": 2222})
    words = ["-H", "h01", "--mca", "plm_rsh_args", "-p 2222", "--mca", "orte_base_help_aggregate", "0"]
    done = run(hosts, mpiexec, *words, "++accept-new-host-keys", "-n", 1, "sh", "-c", "echo ${SSH_CONNECTION##* }")
    assert_good(done, ["2222"])
    done = run(hosts, mpiexec, "-n", 1, "sleep", 60, env={"MPIEXEC_TIMEOUT": "1", "HYDRA_NEW": "1"})
    assert done.returncode == 124, done
    assert "charmrun: taken from the environment: MPIEXEC_TIMEOUT (++timelimit 1)" in done.stderr.splitlines(), done
    assert "charmrun: without effect here, though the environment has it: HYDRA_NEW" in done.stderr.splitlines(), done
