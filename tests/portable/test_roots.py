# SPDX-License-Identifier: Apache-2.0
"""The archive, the packages and the wheel, each installed where nothing of ours is, and used: by `tests/campaign portable`, as root."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import ROOT, made, said, wheels
from vcluster import Cluster

Roots = Callable[..., Path]
_MACHINE = "x86_64"
_AS_CTUSER = ["env", "-i", "HOME=/home/ctuser", "USER=ctuser", "PATH=/usr/bin:/bin"]


def inside(root: Path, *words: str | Path) -> str:
    """What a command says in that root, as root, with a network of its own that ends at the machine."""
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
    around = 'hostname localhost && ip link set lo up && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev"'
    script = f'{around} && mount -t tmpfs tmpfs "$1/tmp" && exec chroot "$@"'
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    return said("unshare", "--kill-child", "-mpnuf", "sh", "-c", script, "sh", root, *words, env={"PATH": path, "HOME": "/root"})


# -- the archive --------------------------------------------------------------------------------------


@pytest.fixture
def old_hosts(bare_root: Roots) -> Iterator[tuple[Cluster, Path]]:
    """Five hosts whose logins see Debian 11 (glibc 2.31) with Python, and nothing else."""
    root = bare_root("bullseye", "python3")
    with Cluster(5) as hosts:
        for index in range(5):
            for place in ("dev", "home", "tmp", "etc/hosts", "etc/passwd", "etc/group"):
                (root / place).touch() if place.startswith("etc") else None
                hosts.exec_root(index, ["mount", "--rbind", f"/{place}", root / place], check=True)
            hosts.exec_root(index, ["mount", "-t", "proc", "proc", root / "proc"], check=True)
            hosts.sshd(index, {"ChrootDirectory": str(root)})
        yield hosts, root


def test_the_archive_runs_charm4py_on_four_hosts_of_debian_11(old_hosts: tuple[Cluster, Path], tmp_path: Path) -> None:
    hosts, root = old_hosts
    there = root / "opt"
    said("rm", "-rf", there)
    there.mkdir()
    said("tar", "-xzf", made(_MACHINE, "charmtree-*.tar.gz"), "-C", there)
    (unpacked,) = there.iterdir()
    said("cp", ROOT / "examples/charm4py_hello.py", there)
    packages = wheels(["charm4py"], "3.9", tmp_path)
    for wheel in packages.iterdir():
        said("/usr/bin/python3", "-m", "zipfile", "-e", wheel, there / "python")
    charmrun = f"/opt/{unpacked.name}/bin/charmrun"
    words = [charmrun, "+p8", "++nodelist", hosts.nodelist(range(1, 5)), "++env", "PYTHONPATH=/opt/python"]
    done = hosts.exec_root(0, ["chroot", "--userspec=ctuser:", root, *_AS_CTUSER, *words, "python3", "/opt/charm4py_hello.py"])
    assert done.returncode == 0, (done.stdout, done.stderr)
    said_hello = re.findall(r"^hello from PE (\d) of 8: process \d+ on (\w+)$", done.stdout, re.MULTILINE)
    assert sorted(said_hello) == [(str(pe), f"h0{1 + pe // 2}") for pe in range(8)], done.stdout
    assert "sum of all PE numbers: 28 (right)" in done.stdout
    # and all of it was that release's
    done = hosts.exec_root(0, ["chroot", "--userspec=ctuser:", root, *_AS_CTUSER, *words, "python3", "-c", "import platform; print(platform.libc_ver()[1])"])
    assert done.stdout.split() == ["2.31"] * 8, (done.stdout, done.stderr)


# -- the packages -------------------------------------------------------------------------------------


def test_the_packages_of_debian_12(bare_root: Roots, tmp_path: Path) -> None:
    build = ROOT / "build"
    if not (build / "CMakeCache.txt").exists():
        said("cmake", "--preset", "release", cwd=ROOT)
    subprocess.run(["cmake", "--build", "build", "--target", "installed"], cwd=ROOT, check=True, capture_output=True, timeout=1800)
    said("cpack", "-G", "DEB", "-B", tmp_path, cwd=build)
    packages = sorted(tmp_path.glob("*.deb"))
    assert [path.name.split("_")[0] for path in packages] == ["charmtree", "libcharmtree-dev", "libcharmtree-verbs0", "libcharmtree0"]
    root = bare_root("bookworm", "gcc", "libc6-dev", "pkgconf", "libibverbs1")
    there = root / "opt/packages"
    said("rm", "-rf", there)
    there.mkdir(parents=True)
    said("cp", *packages, there)
    said("cp", ROOT / "examples/hello.c", there)
    try:
        inside(root, "sh", "-c", "dpkg -i /opt/packages/*.deb")
        assert inside(root, "charmrun", "++version").startswith("charmrun (charmtree) ")
        assert sorted(inside(root, "charmrun", "+p4", "++hosts", "2", "sh", "-c", "echo $CHARMTREE_PROCESS").split()) == list("0123")
        inside(root, "sh", "-c", "cc -o /opt/packages/hello /opt/packages/hello.c $(pkg-config --cflags --libs charmtree)")
        assert "hello from 1 of 2" in inside(root, "charmrun", "+p2", "++local", "/opt/packages/hello")
        pages = inside(root, "dpkg", "-L", "charmtree")
        assert "MPIR_PROCDESC" in said("readelf", "--debug-dump=info", root / "usr/bin/charmrun"), "the types that debuggers want"
        for package in ("charmtree", "libcharmtree0", "libcharmtree-verbs0", "libcharmtree-dev"):
            assert "Apache License" in inside(root, "cat", f"/usr/share/doc/{package}/copyright")
        assert "======== libssl-dev" in inside(root, "cat", "/usr/share/doc/charmtree/copyright")
        assert "/usr/share/man/man1/charmrun.1" in pages and "/usr/libexec/charmtree/mpi/mpiexec" in pages
    finally:
        inside(root, "dpkg", "--purge", "charmtree", "libcharmtree-dev", "libcharmtree-verbs0", "libcharmtree0")
    assert not list(root.glob("usr/**/*charmtree*")), "what dpkg leaves"


# -- the wheel ----------------------------------------------------------------------------------------

_JOINS = "import charmtree\nwith charmtree.Job() as job:\n    job.barrier()\n    job.print(f'{job.rank}/{job.size}\\n')"


def test_the_wheel_beside_charm4py(bare_root: Roots, tmp_path: Path) -> None:
    root = bare_root("bookworm", "python3-venv")
    there = root / "opt/wheels"
    said("rm", "-rf", there, root / "opt/venv")
    there.mkdir(parents=True)
    wheels([str(made(_MACHINE, "*.whl")), "charm4py"], "3.11", there)
    said("cp", ROOT / "examples/charm4py_hello.py", root / "opt")
    venv = Path("/opt/venv/bin")
    inside(root, "python3", "-m", "venv", "/opt/venv")

    def pip(*words: str) -> None:
        inside(root, venv / "pip", "-q", *words)

    def hello() -> str:
        """By charm4py's own command."""
        return inside(root, "env", f"PATH={venv}:/usr/bin:/bin", venv / "charmrun", "+p2", "/opt/charm4py_hello.py")

    for first, second in (("charmtree", "charm4py"), ("charm4py", "charmtree")):  # whichever comes later, both commands are there
        for name in (first, second):
            pip("install", "--no-index", "--find-links=/opt/wheels", name)
        assert inside(root, venv / "charmtree-run", "++version").startswith("charmrun (charmtree) ")
        assert sorted(inside(root, venv / "charmtree-run", "+p2", "++hosts", "2", venv / "python", "-c", _JOINS).split()) == ["0/2", "1/2"]
        inside(root, venv / "python", "-c", "from charmtree_ccs import Session")
        assert "sum of all PE numbers: 1 (right)" in hello()
        inside(root, venv / "charmtree-run", "++replace-charm4py")
        (package,) = (root / "opt/venv").glob("lib/python3*/site-packages/charmrun")
        launcher = package / "charmrun"
        assert str(launcher.readlink()) == str(venv / "charmtree-run")
        assert "sum of all PE numbers: 1 (right)" in hello()
        inside(root, venv / "charmtree-run", "++restore-charm4py")
        assert not launcher.is_symlink() and "sum of all PE numbers: 1 (right)" in hello()
        pip("uninstall", "-y", "charmtree", "charm4py")
        assert not (root / "opt/venv/bin/charmtree-run").exists()
