# SPDX-License-Identifier: Apache-2.0
"""The few Linux calls that the virtual cluster needs and that Python 3.11 lacks.

Namespaces are entered per *thread*: a `with` block below moves only the calling thread, and
whatever it forks, into another network or pid namespace, and moves it back at the end.
Nothing here knows about hosts or clusters.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

CLONE_NEWTIME = 0x00000080
CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 0x2, 0x4, 0x8
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_PR_SET_PDEATHSIG = 1
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_SIOCSIFADDR, _SIOCSIFNETMASK = 0x8916, 0x891C
_IFF_UP = 0x1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (ctypes.c_char_p,) * 3 + (ctypes.c_ulong, ctypes.c_char_p)


def _check(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def setns(fd: int, flags: int) -> None:
    """Moves this thread into the namespaces `flags` of `fd` (a namespace file or a pidfd)."""
    _check(_libc.setns(fd, flags), f"setns({flags:#x})")


def die_with_parent(signal_number: int) -> None:
    """Asks for a signal when the *thread* that forked us ends; survives exec."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    args = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _check(_libc.mount(args[0], args[1], args[2], flags, args[3]), f"mount {source} on {target}")


def has_time_namespaces() -> bool:
    return os.path.exists("/proc/self/ns/time_for_children")


def enter_new_time_namespace(offset_s: int) -> None:
    """Gives this (single-threaded) process a monotonic and boot clock that is `offset_s` ahead."""
    unshare(CLONE_NEWTIME)
    with open("/proc/self/timens_offsets", "w", encoding="ascii") as file:
        file.write(f"monotonic {offset_s} 0\nboottime {offset_s} 0\n")
    fd = os.open("/proc/self/ns/time_for_children", os.O_RDONLY)
    setns(fd, CLONE_NEWTIME)
    os.close(fd)


@contextlib.contextmanager
def network_namespace(fd: int) -> Iterator[None]:
    """Within it this thread, its new sockets and its children use the network namespace `fd`."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        setns(fd, CLONE_NEWNET)
        yield
    finally:
        setns(own, CLONE_NEWNET)
        os.close(own)


@contextlib.contextmanager
def child_pid_namespace(pidfd: int | None) -> Iterator[None]:
    """Within it children of this thread are born in the pid namespace of `pidfd`, or a new one.

    They are still children of this process, with a pid that it can wait for and signal. No thread
    may be started inside the block.
    """
    own = os.open("/proc/thread-self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if pidfd is None:
            unshare(CLONE_NEWPID)
        else:
            setns(pidfd, CLONE_NEWPID)
        yield
    finally:
        setns(own, CLONE_NEWPID)
        os.close(own)


def new_network_namespace() -> int:
    """A descriptor that keeps a new, empty network namespace alive."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        unshare(CLONE_NEWNET)
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        setns(own, CLONE_NEWNET)
        os.close(own)


def _interface_request(name: str, payload: bytes) -> bytes:
    return struct.pack("16s24s", name.encode(), payload)


def set_link(name: str, up: bool) -> None:
    """Sets an interface of this thread's network namespace up or down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        answer = fcntl.ioctl(sock, _SIOCGIFFLAGS, _interface_request(name, b""))
        flags = struct.unpack_from("h", answer, 16)[0]
        flags = flags | _IFF_UP if up else flags & ~_IFF_UP
        fcntl.ioctl(sock, _SIOCSIFFLAGS, _interface_request(name, struct.pack("h", flags)))


def set_address(name: str, address: str, netmask: str) -> None:
    """Gives an interface of this thread's network namespace its IPv4 address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for request, value in ((_SIOCSIFADDR, address), (_SIOCSIFNETMASK, netmask)):
            sockaddr = struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(value))
            fcntl.ioctl(sock, request, _interface_request(name, sockaddr))


def build_file_system(covers: Sequence[tuple[str, Path]], keep: Sequence[Path]) -> None:
    """Makes this process's file system that of a host of its own (in a new mount namespace).

    Each pair of `covers` puts a directory over an existing one; what lay below is gone, except the
    directories `keep`, which stay visible at their path. /proc, /sys and /dev/shm are the host's.
    Sources are opened first, so that it does not matter which of them a later cover hides.
    """
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    flags = os.O_PATH | os.O_DIRECTORY
    sources = [(target, os.open(source, flags)) for target, source in covers]
    hidden = [path for path in keep if any(path.is_relative_to(target) for target, _ in covers)]
    kept = [(path, os.open(path, flags)) for path in hidden]
    control = os.open("/sys/fs/cgroup", flags) if os.path.isdir("/sys/fs/cgroup") else None
    for target, fd in sources:
        _mount(f"/proc/self/fd/{fd}", target, None, _MS_BIND | _MS_REC)
    for path, fd in kept:
        os.makedirs(path, exist_ok=True)
        _mount(f"/proc/self/fd/{fd}", str(path), None, _MS_BIND | _MS_REC)
    safe = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _mount("sysfs", "/sys", "sysfs", safe)
    if control is not None:
        _mount(f"/proc/self/fd/{control}", "/sys/fs/cgroup", None, _MS_BIND | _MS_REC)
    _mount("tmpfs", "/dev/shm", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777")
    _mount("proc", "/proc", "proc", safe)
