# SPDX-License-Identifier: Apache-2.0
"""A real Slurm of Debian's packages on virtual hosts: munged and slurmctld on host 0, a slurmd on each other one. All are children of
this process, and end with the `with` block."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from vcluster import Cluster, Result

_FOLDER = "/home/shared/slurm"
_READY_S = 30.0
_END_S = 20.0
_CONFIGURATION = """\
ClusterName=vc
SlurmctldHost={controller}({address})
SlurmctldPidFile={folder}/ctld.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/spool/%n
StateSaveLocation={folder}/state
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=2
UnkillableStepTimeout=10
{nodes}
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
_CPUS = "CPUs=4 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000"


class Slurm:
    """What a user of that cluster does on host 0."""

    def __init__(self, hosts: Cluster, folder: Path) -> None:
        self._hosts, self._folder = hosts, folder
        self.variables = {"SLURM_CONF": f"{_FOLDER}/slurm.conf"}

    def run(self, *words: Any, **options: Any) -> Result:
        """A command of Slurm's, as ctuser."""
        env = {**self.variables, **options.pop("env", {})}
        return self._hosts.run(0, [str(word) for word in words], env=env, timeout=120.0, **options)

    def popen(self, *words: Any) -> subprocess.Popen[Any]:
        """The same in the background, with its output in pipes."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return self._hosts.popen(0, [str(word) for word in words], env=self.variables, **pipes)

    def jobs(self) -> list[str]:
        """The numbers of those that are there."""
        return self.run("squeue", "-h", "-o", "%i", check=True).stdout.split()

    def logs(self) -> str:
        return "".join(f"== {log.name}\n{log.read_text()[-2000:]}" for log in sorted(self._folder.glob("*.log")))


def _daemons(hosts: Cluster, folder: Path, nodes: int) -> Iterator[subprocess.Popen[Any]]:
    munge, configuration = folder / "munge", str(folder / "slurm.conf")
    files = [f"--{name}-file={munge / name}" for name in ("key", "pid", "log", "seed")]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    yield hosts.popen(0, ["munged", "--force", "-F", f"--socket={munge}/socket", *files], user="root", **quiet)
    yield hosts.popen(0, ["slurmctld", "-D", "-c", "-f", configuration], user="root", **quiet)
    for index in range(1, nodes + 1):
        name = hosts.names[index]
        yield hosts.popen(index, ["slurmd", "-D", "-N", name, "-f", configuration], user="root", **quiet)


@contextmanager
def slurm(hosts: Cluster, nodes: int) -> Iterator[Slurm]:
    """Hosts 1 to `nodes` are its nodes, with 4 CPUs each, whatever they have; all are idle."""
    if shutil.which("slurmctld") is None:
        pytest.skip("needs slurmctld, slurmd, slurm-client and munge")
    folder = Path(_FOLDER)  # as hosts see it
    outside = hosts.path(0, _FOLDER)
    shutil.rmtree(outside, ignore_errors=True)
    for name in ("munge", "state", *(f"spool/{hosts.names[i]}" for i in range(1, nodes + 1))):
        (outside / name).mkdir(parents=True)
    (outside / "munge/key").write_bytes(os.urandom(128))
    (outside / "munge/key").chmod(0o400)
    lines = [f"NodeName={hosts.names[i]} NodeAddr={hosts.address(i)} {_CPUS}" for i in range(1, nodes + 1)]
    text = _CONFIGURATION.format(folder=folder, controller=hosts.names[0], address=hosts.address(0), nodes="\n".join(lines))
    (outside / "slurm.conf").write_text(text)
    started: list[subprocess.Popen[Any]] = []
    try:
        for daemon in _daemons(hosts, folder, nodes):
            started.append(daemon)
        cluster = Slurm(hosts, outside)
        until = time.monotonic() + _READY_S
        while len(cluster.run("sinfo", "-h", "-N", "-t", "idle").stdout.splitlines()) < nodes:
            assert time.monotonic() < until, cluster.logs()
            time.sleep(0.1)
        yield cluster
        cluster.run("scancel", "-u", "ctuser")
        until = time.monotonic() + _END_S
        while cluster.jobs() and time.monotonic() < until:
            time.sleep(0.1)
    finally:
        for daemon in reversed(started):
            daemon.terminate()
        for daemon in started:
            try:
                daemon.wait(_END_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
        shutil.rmtree(outside, ignore_errors=True)
