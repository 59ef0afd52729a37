# SPDX-License-Identifier: Apache-2.0
"""A small virtual machine with a device for RDMA: a Debian kernel in QEMU, which emulates its processor, with soft-RoCE over an interface
that leads nowhere. It has no disk and no network; it runs one script from memory, and ends. Times in it mean nothing; counts do."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vcluster import REPOSITORY

_FOLDER = REPOSITORY / "build/rdma"
_INSTALL_S, _BOOT_S = 300, 60
_MODULES = ("udp_tunnel", "ip6_udp_tunnel", "ib_core", "ib_uverbs", "crc32_generic", "rdma_rxe", "dummy")  # in this order
_LIBRARIES = "/usr/lib/x86_64-linux-gnu/libibverbs"
_PROVIDERS = "/etc/libibverbs.d/rxe.driver"
_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 cgroup /sys/fs/cgroup
mkdir -p /dev/shm && mount -t tmpfs shm /dev/shm
for module in {modules}; do insmod /modules/$module.ko; done
hostname machine
ip link set lo up
ip link add dm0 type dummy
ip addr add 10.9.0.1/24 dev dm0
ip link set dm0 up
rdma link add rxe0 type rxe netdev dm0
run() {{
  sh -c "$2" </dev/null >/tmp/out 2>&1
  status=$?
  sed "s/^/=$1 /" /tmp/out
  echo "==$1 $status"
}}
echo
. /commands
echo == all
poweroff -f
"""


class NoMachine(Exception):
    """It cannot be had here; why."""


@dataclass(frozen=True)
class Result:
    status: int
    output: str


class Machine:
    """What it starts with: these programs, each under its name in /bin, with their libraries."""

    def __init__(self, *programs: Path) -> None:
        kernel = _kernel()
        self._vmlinuz = _one(kernel, "boot/vmlinuz-*")
        files = {Path("/bin/busybox"): Path("/bin/busybox"), Path(_PROVIDERS): Path(_PROVIDERS)}
        for tool in ("ip", "rdma"):
            files[Path("/bin") / tool] = _found(tool)
        self._folder = tempfile.TemporaryDirectory(dir=_FOLDER)  # until the object goes
        for program in programs:
            files[Path("/bin") / program.name] = _stripped(program, Path(self._folder.name))
        for provider in Path(_LIBRARIES).glob("librxe*"):
            files[provider] = provider
        for binary in list(files.values()):
            files |= {library: library for library in _libraries(binary)}
        for module in _MODULES:
            files[Path("/modules") / f"{module}.ko"] = _one(kernel, f"lib/modules/*/kernel/**/{module}.ko")
        self._files = files

    def run(self, *commands: str, memory_mb: int = 1024, seconds: int = 360) -> list[Result]:
        """What each command for its shell said, one after the other, on one machine; RuntimeError if it did not come to its end."""
        lines = [f"run {number} {_quoted(command)}" for number, command in enumerate(commands)]
        archive = _Archive()
        for folder in ("proc", "sys", "dev", "tmp", "root"):
            archive.add_folder(Path(folder))
        for place, source in self._files.items():
            archive.add(place.relative_to("/"), source.read_bytes())
        archive.add(Path("init"), _INIT.format(modules=" ".join(_MODULES)).encode())
        archive.add(Path("commands"), "\n".join([*lines, ""]).encode())
        initrd = Path(self._folder.name) / "initrd"
        initrd.write_bytes(archive.packed())
        argv = ["qemu-system-x86_64", "-accel", "tcg", "-smp", "2", "-m", str(memory_mb), "-nic", "none", "-nographic", "-no-reboot"]
        argv += ["-kernel", str(self._vmlinuz), "-initrd", str(initrd), "-append", "console=ttyS0 quiet loglevel=0 panic=1"]
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_BOOT_S + seconds, check=False)
            console = done.stdout.decode(errors="replace").replace("\r", "")
        except subprocess.TimeoutExpired as late:
            console = (late.stdout or b"").decode(errors="replace")
        return _results(console, len(commands))


def _results(console: str, count: int) -> list[Result]:
    if "\n== all\n" not in console:
        raise RuntimeError(f"the virtual machine did not come to its end:\n{console[-3000:]}")
    found = []
    for number in range(count):
        ended = re.search(rf"^=={number} (\d+)$", console, re.MULTILINE)
        assert ended, console
        output = "\n".join(re.findall(rf"^={number} (.*)$", console, re.MULTILINE))
        found.append(Result(int(ended[1]), output))
    return found


def _quoted(command: str) -> str:
    return "'" + command.replace("'", "'\\''") + "'"


# ---- what it is made of


def _kernel() -> Path:
    """What Debian's present kernel package has, in build/."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    _said(str(REPOSITORY / "cmake/install-packages"), "rdma")
    shown = _said("apt-cache", "depends", "linux-image-amd64")
    named = re.search(r"Depends: (linux-image-\S+)", shown)
    if not named:
        raise NoMachine(f"no kernel to be found: {shown[-200:]}")
    folder = _FOLDER / named[1]
    if not folder.exists():
        fresh = _FOLDER / f"kernel.{os.getpid()}"
        fresh.mkdir()
        _said("apt-get", "download", named[1], cwd=fresh)
        _said("dpkg", "-x", str(next(fresh.glob("*.deb"))), str(fresh / "unpacked"))
        (fresh / "unpacked").rename(folder)
        shutil.rmtree(fresh)
    return folder


def _said(*argv: str, cwd: Path | None = None) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=_INSTALL_S, check=True, cwd=cwd).stdout
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired, FileNotFoundError) as wrong:
        raise NoMachine(f"{' '.join(argv)}: {wrong}: {getattr(wrong, 'stderr', '')}") from wrong


def _one(kernel: Path, pattern: str) -> Path:
    for path in kernel.glob(pattern):
        return path
    raise NoMachine(f"{kernel.name} has no {pattern}")


def _found(tool: str) -> Path:
    path = shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if path is None:
        raise NoMachine(f"no {tool} to be found")
    return Path(path)


def _stripped(program: Path, folder: Path) -> Path:
    if not program.exists():
        raise NoMachine(f"{program.name} is not built: libibverbs-dev is missing")
    _said("strip", "-o", str(folder / program.name), str(program))
    return folder / program.name


def _libraries(binary: Path) -> Sequence[Path]:
    """A static one has none, of which ldd complains."""
    said = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False, timeout=_BOOT_S).stdout
    return [Path(path) for path in re.findall(r"(/\S+)", said)]


class _Archive:
    """As the kernel takes it (cpio, "newc"): Documentation/driver-api/early-userspace/buffer-format.rst."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._there: set[Path] = set()

    def add_folder(self, path: Path) -> None:
        for folder in (*reversed(path.parents), path):
            if folder not in self._there and folder != Path("."):
                self._put(folder, stat.S_IFDIR | 0o755, b"")

    def add(self, path: Path, content: bytes) -> None:
        self.add_folder(path.parent)
        self._put(path, stat.S_IFREG | 0o755, content)

    def packed(self) -> bytes:
        self._put(Path("TRAILER!!!"), 0, b"")
        return gzip.compress(b"".join(self._parts), compresslevel=1)

    def _put(self, path: Path, mode: int, content: bytes) -> None:
        self._there.add(path)
        name = str(path).encode() + b"\0"
        numbers = [len(self._there), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
        head = b"070701" + b"".join(b"%08x" % number for number in numbers) + name
        self._parts += [head, bytes(-len(head) % 4), content, bytes(-len(content) % 4)]
