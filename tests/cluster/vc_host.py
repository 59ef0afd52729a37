# SPDX-License-Identifier: Apache-2.0
"""One virtual host: a set of namespaces kept alive by a sleeping process, the host's init.

The init is process 1 of the host's own pid namespace, so its end is the end of everything on the
host, and it dies with the process that owns the cluster. Seen from outside, every process of a
host has an ordinary pid; /proc of the machine shows them all.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import vc_linux as linux
from vc_net import ClusterError

_ENTER = linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWUTS | linux.CLONE_NEWIPC
DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_SANITIZER_OPTIONS = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")


@dataclass(frozen=True)
class User:
    name: str
    uid: int

    @property
    def home(self) -> str:
        return "/root" if self.uid == 0 else f"/home/{self.name}"


ROOT = User("root", 0)


@dataclass(frozen=True)
class Process:
    """A process on a host, as /proc showed it; `pid` is the machine's number for it."""

    pid: int
    host: int
    uid: int
    command: str
    cmdline: str
    state: str


@dataclass
class Host:
    """What makes host `index` and what it is made of. `net` keeps its network namespace alive."""

    index: int
    name: str
    tag: str  # what its init is called in the machine's process list
    net: int
    own: bool = False
    clock_offset_s: int = 0
    covers: list[tuple[str, Path]] = field(default_factory=list)
    keep: list[Path] = field(default_factory=list)
    cgroup: Path | None = None
    pid: int = 0
    pidfd: int = -1
    _init: subprocess.Popen[Any] | None = None

    @property
    def inode(self) -> int:
        """Identifies the host's network namespace in /proc/PID/ns/net."""
        return os.fstat(self.net).st_ino

    def boot(self) -> None:
        """Starts the init. Call from a thread that lives as long as the cluster."""
        self.halt()
        with linux.child_pid_namespace(None):
            self._init = subprocess.Popen(
                [self.tag, "infinity"],
                executable="/bin/sleep",
                preexec_fn=_told(self._become_host),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        self.pid = self._init.pid
        self.pidfd = os.pidfd_open(self.pid)

    def attach(self, pid: int) -> None:
        """Uses a running init of another process's cluster."""
        self.pid, self.pidfd = pid, os.pidfd_open(pid)

    def kill(self) -> None:
        """SIGKILL for everything on the host, at once; wait with halt()."""
        if self.pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def halt(self) -> None:
        """Kills the host and waits until it is gone (processes we started there must be reaped)."""
        self.kill()
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1
        if self._init is not None:
            self._init.wait(10)
            self._init = None

    def _become_host(self) -> None:
        linux.die_with_parent(signal.SIGKILL)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # survives exec: orphans need no reaping
        os.umask(0o022)
        self._join_cgroup()
        linux.setns(self.net, linux.CLONE_NEWNET)
        linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWUTS | linux.CLONE_NEWIPC)
        socket.sethostname(self.name)
        if self.clock_offset_s:
            linux.enter_new_time_namespace(self.clock_offset_s)
        linux.build_file_system(self.covers, self.keep)
        os.dup2(1, 2)  # from here on nobody listens

    def _join_cgroup(self) -> None:
        if self.cgroup is not None:
            (self.cgroup / "cgroup.procs").write_text("0\n", encoding="ascii")

    def popen(
        self, argv: Sequence[str], user: User, cwd: str | None, env: Mapping[str, str] | None, **options: Any
    ) -> subprocess.Popen[Any]:
        """Runs a program on the host as a child of this process; no wrapper process in between."""
        if self.pidfd < 0:
            raise ClusterError(f"{self.name} is down")
        environment = _environment(user)
        environment.update(env or {})

        def enter() -> None:
            self._join_cgroup()
            clock = linux.CLONE_NEWTIME if self.clock_offset_s else 0
            linux.setns(self.pidfd, _ENTER | clock)
            os.umask(0o022)
            os.setgroups([user.uid])
            os.setgid(user.uid)
            os.setuid(user.uid)
            os.chdir(cwd or user.home)

        try:
            with linux.child_pid_namespace(self.pidfd):
                return subprocess.Popen(list(argv), env=environment, preexec_fn=_told(enter), **options)
        except OSError as error:
            if error.errno in (errno.ESRCH, errno.ENOMEM):  # what a pid namespace without an init says
                raise ClusterError(f"{self.name} is down") from error
            raise


def _environment(user: User) -> dict[str, str]:
    env = {"HOME": user.home, "USER": user.name, "LOGNAME": user.name, "SHELL": "/bin/bash"}
    env |= {"PATH": DEFAULT_PATH if user.uid else f"/usr/local/sbin:/usr/sbin:/sbin:{DEFAULT_PATH}"}
    env |= {"LANG": "C.UTF-8"}
    return env | {name: os.environ[name] for name in _SANITIZER_OPTIONS if name in os.environ}


def _told(work: Callable[[], None]) -> Callable[[], None]:
    """subprocess swallows what goes wrong between fork and exec; this says it on stderr."""

    def run() -> None:
        try:
            work()
        except BaseException as error:
            os.write(2, f"vcluster: {type(error).__name__}: {error}\n".encode())
            raise

    return run


def scan_processes(hosts: Mapping[int, int], mark: str | None = None) -> list[Process]:
    """The live processes in the network namespaces `hosts` (inode to host number), by pid.

    With `mark`, only those whose environment holds it. Zombies have no namespace and are left out.
    """
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                host = hosts.get(os.stat(f"/proc/{entry}/ns/net").st_ino)
                if host is not None and (mark is None or _has_mark(entry, mark)):
                    found.append(_describe(int(entry), host))
    return sorted(found, key=lambda process: process.pid)


def _has_mark(pid: str, mark: str) -> bool:
    return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes()


def _describe(pid: int, host: int) -> Process:
    base = Path(f"/proc/{pid}")
    stat = (base / "stat").read_text(encoding="utf-8", errors="replace")
    name, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :]
    words = (base / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    cmdline = " ".join(word.decode(errors="replace") for word in words)
    return Process(pid, host, base.stat().st_uid, name, cmdline or f"[{name}]", rest[0])
