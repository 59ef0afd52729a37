# SPDX-License-Identifier: Apache-2.0
"""What anybody on a host can read of a job's start: command lines and environments of launchers, shells
and sshd are constant and hold nothing of the user's."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from vc_job import Job, environment, leftovers
from vcluster import Cluster

from running import built

Factory = Callable[..., Cluster]
_SHARED = "/home/shared"
_MARK = "hush-7391-hush"
# All that sshd, a login shell and ssh's SendEnv may put into a launcher's environment.
_KNOWN = {
    "HOME",
    "LANG",
    "LOGNAME",
    "MAIL",
    "MOTD_SHOWN",
    "OLDPWD",
    "PATH",
    "PWD",
    "SHELL",
    "SHLVL",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "USER",
    "_",
}
_SANITIZERS = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"}


def _command(charmrun: Path) -> str:
    """The whole remote command line: what is installed, what is in the cache, else what the parent says over the link."""
    size = charmrun.stat().st_size
    notes = subprocess.run(["readelf", "-n", charmrun], check=True, capture_output=True, text=True).stdout
    cached = f"~/.cache/charmtree/{notes.split('Build ID: ')[1].split()[0]}-{size}"
    ask = 'echo @charmtree-stage ask; IFS= read -r script && eval "$script"'
    start = " ".join(f"test -x {path} && exec {path} ++launcher;" for path in (charmrun, cached))
    return f"{start} exec /bin/sh -c '{ask}'"


def _job_id(job: Job) -> str:
    sleeper = job.running("sleep")[0]
    return environment(sleeper.pid)["CHARMTREE_JOB"].split(":")[0]


def _start(hosts: Cluster, charmrun: Path, options: list[str], mark: str) -> Job:
    program = ["sh", "-c", "sleep 98765; :", mark, f"--password={mark}"]
    argv = [charmrun, "+p9", "++nodelist", hosts.nodelist(9), "++branching", "2", *options, *program]
    env = {"PASSWORD": mark, mark.replace("-", "_"): "x"}
    return Job(hosts, range(9), argv, env=env)


def _finish(job: Job) -> None:
    job.signal(2)
    job.signal(2)
    assert job.wait() == -2, job.said()
    assert not leftovers([job])


@pytest.mark.parametrize("transport", ["built-in ssh", "ssh command", "logged"])
def test_nothing_of_the_job_can_be_seen_on_the_hosts(
    cluster: Factory, charmrun: Path, transport: str
) -> None:
    hosts = cluster(26)
    script = f'#!/bin/sh\nprintf "%s\\n" "$*" >>{_SHARED}/log\nexec ssh -x -T -o BatchMode=yes "$@"\n'
    hosts.put(0, f"{_SHARED}/log", "", mode=0o666)
    logger = hosts.put(0, f"{_SHARED}/logging-ssh", script, mode=0o755)
    options = {
        "built-in ssh": [],
        "ssh command": ["++remote-shell", "ssh"],
        "logged": ["++remote-shell", logger],
    }
    job = _start(hosts, charmrun, options[transport], _MARK)
    job.until(lambda: len(job.running("sleep")) == 9, "nine processes")

    programs = {"sleep", "sh"}
    remote = [one for host in range(1, 9) for one in hosts.processes(host) if one.command not in programs]
    launchers = [one for one in remote if one.command == "charmrun"]
    assert {one.host for one in launchers} == set(range(1, 9))
    assert {one.cmdline for one in launchers} == {f"{charmrun} ++launcher"}
    secrets = [_MARK, _MARK.replace("-", "_"), _job_id(job)]
    for process in remote:
        given = environment(process.pid)
        seen = process.cmdline + "".join(f"\0{name}={value}" for name, value in given.items())
        assert not [secret for secret in secrets if secret in seen], (process, seen)
    for process in launchers:
        given = environment(process.pid)
        assert set(given) <= _KNOWN | _SANITIZERS, given
    for one in hosts.processes(0):  # the ssh commands that the root has started
        if one.command == "ssh":
            assert one.cmdline.endswith(_command(charmrun)) and _MARK not in one.cmdline, one
    _finish(job)


def _listening(process: int) -> list[tuple[str, int]]:
    """Addresses and ports on which anything in the network of a process takes connections."""
    tables = [Path(f"/proc/{process}/net/{name}").read_text(encoding="ascii") for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    places = [row[1].split(":") for row in rows if row[3] == "0A"]
    return [(address, int(port, 16)) for address, port in places]


@pytest.mark.parametrize("program", ["charm", "plain"])
def test_no_launcher_listens_on_a_network_interface(cluster: Factory, charmrun: Path, program: str) -> None:
    """For its own host's processes each listens on 127.0.0.1; sshd is the only one that others reach."""
    hosts = cluster(26)
    command = {"charm": "charm_double", "plain": "sleep"}[program]
    program_words = [built(charmrun, command), "--compute", "98765"] if program == "charm" else [command, "98765"]
    words = ["++branching", "2", *program_words]
    job = Job(hosts, range(9), [charmrun, "+p9", "++nodelist", hosts.nodelist(9), *words])
    job.until(lambda: {one.host for one in job.running(command)} == set(range(9)), "nine processes")
    places = [_listening(hosts.hosts[index].pid) for index in range(9)]
    _finish(job)
    loopback = {"0100007F", "00000000000000000000000001000000"}
    for index, listening in enumerate(places):
        own = [port for address, port in listening if address in loopback]
        others = {port for address, port in listening if address not in loopback}
        assert own and others <= {22}, (hosts.names[index], listening)


def test_the_remote_command_line_is_the_same_for_every_job(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    script = f'#!/bin/sh\necho "$*" >>{_SHARED}/log.$2\nexec ssh -x -T -o BatchMode=yes "$@"\n'
    logged = []
    for mark, extra in ((_MARK, []), ("another", ["++timeout", "50", "++batch", "2", "++verbose"])):
        log = hosts.put(0, f"{_SHARED}/log", "", mode=0o666)
        logger = hosts.put(0, f"{_SHARED}/logging-ssh", script.replace(f"{_SHARED}/log.$2", log), mode=0o755)
        job = _start(hosts, charmrun, ["++remote-shell", logger, *extra], mark)
        job.until(lambda job=job: len(job.running("sleep")) == 9, "nine processes")
        _finish(job)
        logged.append(sorted(hosts.path(0, log).read_text().splitlines()))
    assert logged[0] == logged[1]
    assert logged[0] == [f"{name} {_command(charmrun)}" for name in hosts.names[1:9]]  # h00 needs none


def test_a_launcher_of_a_strange_path_is_quoted(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    folder = hosts.path(0, f"{_SHARED}/it's $(here) & *")
    folder.mkdir(exist_ok=True)
    link = folder / "charm run"
    link.unlink(missing_ok=True)
    link.symlink_to(charmrun)
    inside = f"{_SHARED}/it's $(here) & */charm run"
    for options in ([], ["++remote-shell", "ssh"]):
        done = hosts.run(0, [inside, "+p3", "++nodelist", hosts.nodelist(3), *options, "hostname"])
        assert sorted(done.stdout.split()) == hosts.names[:3], done
