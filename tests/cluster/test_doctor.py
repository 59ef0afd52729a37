# SPDX-License-Identifier: Apache-2.0
"""charmrun ++doctor: what is wrong with which host, and what puts it right, in one run that starts nothing."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from vc_job import Job, leftovers, patience
from vcluster import Cluster, Result

from running import Factory, run
from test_forward_agent import _KEY as AGENT_KEY
from test_forward_agent import keyless, run_with_agent
from test_plan import history_file

_HOME = "/home/ctuser"
_SHARED = "/home/shared"
_LIMIT_S = 15.0  # for the whole examination

_SKEWED_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec* now) {
  int (*real)(clockid_t, struct timespec*) = dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(id, now);
  if (id == CLOCK_REALTIME) now->tv_sec += 90;
  return status;
}
"""

# What must be said of each planted defect, {name} being its host. The inner host is the first that is well: h01.
_DEFECTS = {
    "no sshd": r"error: {name}: connect: connection refused; start sshd there: systemctl start ssh",
    "key refused": r"error: {name}: authenticate: .*; ssh-copy-id {name} \(no key yet: ssh-keygen -t ed25519\)",
    "key changed": r"error: {name}: host key: .*has changed.*; if the host was set up anew: ssh-keygen -R {name}",
    "packets dropped": r"error: {name}: connect: no answer within 5 s; is the host up\? ping {name}",
    "launcher missing": (
        r"error: {name}: start launcher: /home/ctuser/copied not found; scp /home/ctuser/copied"
        r" {name}:/home/ctuser/copied, or name it with \+\+launcher PATH"
    ),
    "directory missing": (
        r"error: {name}: spawn: working directory /home/ctuser/place: No such file or directory; ssh {name}"
        r" mkdir -p /home/ctuser/place, or start charmrun in a directory that all hosts have"
    ),
    "program missing": (
        r"error: {name}: spawn: /home/ctuser/linked: no such file; scp /home/ctuser/linked"
        r" {name}:/home/ctuser/linked, or start the job with \+\+stage-program"
    ),
    "library missing": (
        r"error: {name}: start: /home/ctuser/linked: libgone.so not found; install it there, or set"
        r" LD_LIBRARY_PATH in ~/.charmrunrc there; see ldd"
    ),
    "slow shell": (
        r"warning: {name}: remote shell: its start-up files take [23](\.\d)? s of every login; let ~/.bashrc"
        r" there return at once .*"
    ),
    "clock": r"warning: {name}: clock: 90 s ahead of ours; ssh {name} sudo timedatectl set-ntp true .*",
    "few open files": (
        r"warning: {name}: limits: only 64 open files for each process; raise nofile in"
        r" /etc/security/limits.conf there, .*"
    ),
    "other version": (
        r"error: {name}: hello: charmrun there is version 9.9 \(protocol 77\), here .*; scp /home/ctuser/copied"
        r" {name}:/home/ctuser/copied, or name it with \+\+launcher PATH"
    ),
    "no name": (
        r"error: no-such-host: resolve: no such host; correct the nodelist, or make `getent hosts no-such-host`"
        r" find it"
    ),
}
_FIRST = 3  # h00 is the root's, h01 the inner host, h02 is well


def _compile(source: str, *words: str | Path) -> None:
    subprocess.run(["cc", "-xc", "-", *map(str, words)], input=source.encode(), check=True, timeout=60)


class Sick:
    """A cluster with one host for each defect. Its job runs `linked`, by the launcher `copied`, in `place`."""

    def __init__(self, hosts: Cluster, charmrun: Path) -> None:
        self.hosts = hosts
        ways = [way for way in _DEFECTS if way != "no name"]
        self.where = {way: _FIRST + index for index, way in enumerate(ways)}
        self._furnish(charmrun)
        self._plant()

    def _furnish(self, charmrun: Path) -> None:
        hosts = self.hosts
        library = hosts.path(0, f"{_SHARED}/libgone.so")
        _compile("int gone(void) { return 0; }", "-shared", "-fPIC", "-o", library)
        program = hosts.path(0, f"{_SHARED}/linked")
        main = "int gone(void); int main(void) { return gone(); }"
        _compile(main, "-o", program, f"-L{library.parent}", "-lgone", f"-Wl,-rpath,{_HOME}/lib")
        program.chmod(0o755)
        for index in [0, *sorted(hosts.own)]:
            home = hosts.path(index, _HOME)
            hosts.put(index, "place/x", "")
            (home / "copied").symlink_to(charmrun)
            (home / "linked").symlink_to(f"{_SHARED}/linked")
            (home / "lib").symlink_to(_SHARED)

    def _plant(self) -> None:
        hosts, where = self.hosts, self.where
        home = {way: hosts.path(index, _HOME) for way, index in where.items()}
        hosts.no_sshd(where["no sshd"])
        hosts.sshd(where["key refused"], {"AuthorizedKeysFile": "none"})
        hosts.known_hosts(wrong=[where["key changed"]])
        hosts.drop(where["packets dropped"])
        (home["launcher missing"] / "copied").unlink()
        (home["other version"] / "copied").unlink()
        greeting = "@charmtree-launcher 9.9 (protocol 77)"
        fake = f"#!/bin/sh\necho '{greeting}'\nexec cat >/dev/null\n"
        hosts.put(where["other version"], "copied", fake, mode=0o755)
        (home["directory missing"] / "place/x").unlink()
        (home["directory missing"] / "place").rmdir()
        (home["program missing"] / "linked").unlink()
        (home["library missing"] / "lib").unlink()
        hosts.put(where["slow shell"], ".bashrc", "sleep 2\n")
        hosts.put(where["few open files"], ".bashrc", "ulimit -n 64\n")
        _compile(_SKEWED_CLOCK, "-shared", "-fPIC", "-o", hosts.path(0, f"{_SHARED}/skew.so"), "-ldl")
        preload = f"LD_PRELOAD={_SHARED}/skew.so ASAN_OPTIONS=verify_asan_link_order=0"
        hosts.sshd(where["clock"], {"SetEnv": preload})
        for key in hosts.path(1, f"{_HOME}/.ssh").glob("id_*"):  # the inner host has nothing to log in with
            key.unlink()


_HOSTS = _FIRST + len(_DEFECTS) - 1


@pytest.fixture
def sick(charmrun: Path) -> Iterator[Sick]:
    with Cluster(_HOSTS, own=[1, *range(_FIRST, _HOSTS)]) as hosts:
        yield Sick(hosts, charmrun)


def _said(done: Result, severity: str) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith(f"{severity}: ")]


def test_every_planted_defect_is_named_with_its_host_and_remedy(sick: Sick, charmrun: Path) -> None:
    hosts = sick.hosts
    listed = hosts.nodelist([*range(1, _HOSTS), 0, "no-such-host"])
    words = ["++doctor", "++nodelist", listed, "++launcher", f"{_HOME}/copied", "+p17", f"{_HOME}/linked", "x"]
    done = run(hosts, charmrun, *words, cwd=f"{_HOME}/place")
    lines = [*_said(done, "error"), *_said(done, "warning")]
    wrong = []
    for way, pattern in _DEFECTS.items():
        name = hosts.names[sick.where[way]] if way in sick.where else way
        matching = [line for line in lines if re.fullmatch(pattern.replace("{name}", name), line)]
        if len(matching) != 1:
            wrong.append(f"{way} ({name}): {matching}")
        lines = [line for line in lines if line not in matching]
    inner = [line for line in lines if re.fullmatch(r"warning: h\[.*\]: from h01: authenticate: .*", line)]
    if len(inner) != 1 or "; such hosts are started from here instead" not in inner[0]:
        wrong.append(f"no key on the inner host: {inner}")
    wrong += [f"unexpected: {line}" for line in lines if line not in inner and "a launch would" not in line]
    if f"\nerror: a launch would fail on 10 of {_HOSTS + 1} hosts (4 warnings)\n" not in done.stdout:
        wrong.append("no verdict")
    said = f"{done.elapsed:.1f} s, status {done.returncode}\n{done.stdout}{done.stderr}"
    assert not wrong, "\n".join([*wrong, said])
    assert done.returncode == 125, said
    assert done.elapsed < patience(_LIMIT_S), said


def _logins(hosts: Cluster, index: int) -> int:
    return hosts.sshd_log(index).count("Accepted publickey for ctuser")


def test_healthy_hosts_are_logged_in_to_once_from_each_vantage_point(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    before = [_logins(hosts, index) for index in range(9)]
    done = run(hosts, charmrun, "++doctor", "++nodelist", hosts.nodelist(9), "++timeout", "60", "hostname")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert [_logins(hosts, index) - before[index] for index in range(9)] == [0] + 8 * [2], said
    assert not _said(done, "error"), said
    assert not [line for line in _said(done, "warning") if "remote shell" not in line], said
    for line in (
        r"ok: log in from here: 8 of 8 hosts; median .*, slowest .*; 1 is this machine",
        r"ok: log in from h01: 7 of 7 hosts; median .*, slowest .*",
        r"ok: remote shell: quick on .*8 hosts; .*",
        r"ok: launcher: charmrun \S+ runs on 9 hosts",
        r"ok: working directory and set-up: /home/ctuser on 9 hosts",
        r"ok: program: hostname and its libraries found on 9 hosts",
        r"ok: clocks: \d+ ms apart at most, on 9 hosts",
        r"ok: limits: .* on 9 hosts",
        r"ok: addresses: 9 hosts can be told to the others, the same from here and from h01",
        r"ok: a launch would work on 9 hosts.*",
    ):
        assert re.search(f"^{line}$", done.stdout, re.MULTILINE), f"{line}\n{said}"


def test_nothing_is_started_and_every_host_is_looked_at(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    mark = hosts.path(0, f"{_SHARED}/started")
    hosts.put(0, f"{_SHARED}/starts", f"#!/bin/sh\ntouch {_SHARED}/started\n", mode=0o755)
    job = Job(hosts, range(6), [charmrun, "++doctor", "++nodelist", hosts.nodelist(6), f"{_SHARED}/starts"])
    assert job.wait() == 0, job.said()
    assert "found on 6 hosts" in job.out, job.said()
    assert not mark.exists()
    assert not leftovers([job])


def test_rules_for_hosts_that_fail_do_not_count(cluster: Factory, charmrun: Path) -> None:
    """Spares are examined like all others, nothing is left out or waited for, and no history is written."""
    hosts = cluster(26)
    nodelist = hosts.nodelist([1, 2, "no-such-host", 3, 4])
    history_file(hosts).unlink(missing_ok=True)
    words = ["++on-host-failure", "spare", "++spare-hosts", 2, "++wait-hosts", 60, "++host-patience", 0.001]
    done = run(hosts, charmrun, "++doctor", "++nodelist", nodelist, *words, "+p3", "hostname")
    said = done.stdout + done.stderr
    assert done.returncode == 125, said
    assert "\nok: launcher: " in done.stdout and " runs on 4 of 5 hosts\n" in done.stdout, said
    assert len(_said(done, "error")) == 2 and "error: no-such-host: resolve: " in done.stdout, said
    assert "left out" not in said
    assert done.elapsed < patience(_LIMIT_S), said
    assert not history_file(hosts).exists()


def test_hosts_without_keys_are_well_where_the_root_signs(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(15)
    keyless(hosts)
    words = ["++doctor", "++nodelist", hosts.nodelist(range(1, 5)), "++timeout", 60]
    for more, well in ((["++forward-agent"], True), ([], False)):
        keep = hosts.path(0, AGENT_KEY).read_text()
        done = run_with_agent(hosts, charmrun, *words, *more, "hostname")
        hosts.put(0, AGENT_KEY, keep, mode=0o600)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        assert ("\nok: log in from h01: 3 of 3 hosts" in done.stdout) == well, said
        assert ("warning: h[02-04]: from h01: " in done.stdout) != well, said


@pytest.mark.parametrize(("program", "status"), [(None, 0), ("true", 0), ("no-such-program", 125)])
def test_this_machine_alone(cluster: Factory, charmrun: Path, program: str | None, status: int) -> None:
    done = run(cluster(26), charmrun, "++doctor", "++local", *([program] if program else []))
    assert done.returncode == status, done.stdout + done.stderr
    if status:
        assert "error: h00: spawn: no-such-program: not found in PATH" in done.stdout
