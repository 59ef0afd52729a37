# SPDX-License-Identifier: Apache-2.0
"""The directory that holds all files of one cluster, and what the hosts see of it.

/etc, /home, /run and /tmp of every host are directories in here: a copy of the machine's /etc with
our users, names and ssh keys, and empty ones. So nothing outside of this directory is ever written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from vc_host import ROOT, User
from vc_net import ClusterError, Network
from vc_ssh import SSH_CONFIG, KeyStore
from vc_state import workplace

SHARED = "/home/shared"  # the one directory that all hosts have in common, like a file server's
USERS = ("ctuser", "ctother")
_FIRST_UID = 7001
_PRIVATE = ("home", "run", "tmp")


class Files:
    """Makes the directory on construction, removes it by close()."""

    def __init__(
        self, names: Sequence[str], own: Sequence[int], visible: Sequence[Path], network: Network
    ) -> None:
        self.base = Path(tempfile.mkdtemp(prefix=f"ct{os.getpid()}-", dir=workplace()))
        self.visible = [path.resolve(strict=True) for path in visible]
        self._names, self._own, self._network = names, frozenset(own), network
        try:
            self.users = {"root": ROOT, **{user.name: user for user in self._make_etc()}}
            self.host_keys = KeyStore(self.base / "etc/vcluster")
            self.user_keys = KeyStore(self.base / "keys")
            self._make_roots()
            (self.base / "log").mkdir()
        except BaseException:
            self.close()
            raise

    @classmethod
    def attach(cls, base: Path, names: Sequence[str], own: Sequence[int]) -> Files:
        """The directory of another process's cluster."""
        files = cls.__new__(cls)
        files.base, files.visible = base, []
        files._names, files._own = names, frozenset(own)
        lines = (base / "etc/passwd").read_text(encoding="utf-8").splitlines()
        uids = {line.split(":")[0]: int(line.split(":")[2]) for line in lines if line.count(":") == 6}
        files.users = {"root": ROOT, **{name: User(name, uids[name]) for name in USERS}}
        files.host_keys, files.user_keys = KeyStore(base / "etc/vcluster"), KeyStore(base / "keys")
        return files

    def close(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)
        if self.base.exists():
            raise ClusterError(f"cannot remove {self.base}")

    def covers(self, index: int) -> list[tuple[str, Path]]:
        """What host `index` sees instead of the machine's directories."""
        pairs = [("/etc", self.base / "etc")]
        pairs += [(f"/{name}", self._root(index) / name) for name in _PRIVATE]
        pairs.append((SHARED, self.base / "shared"))
        return pairs + self._closed_ancestors()

    def path(self, index: int, inside: str) -> Path:
        """Where a file of host `index` lies on the machine."""
        path = Path(inside)
        if path.is_relative_to(SHARED):
            return self.base / "shared" / path.relative_to(SHARED)
        top = path.parts[1] if len(path.parts) > 1 else ""
        if top == "etc":
            return self.base / inside.lstrip("/")
        return self._root(index) / inside.lstrip("/") if top in _PRIVATE else path

    def put(self, path: Path, text: str, user: User, mode: int = 0o644) -> None:
        """Writes a file (and missing directories) that belongs to `user`; `path` is the machine's."""
        missing = [folder for folder in path.parents if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o755)
            os.chown(folder, user.uid, user.uid)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        os.chown(path, user.uid, user.uid)

    def homes(self, hosts: Sequence[int], user: User) -> list[Path]:
        """The distinct home directories of `user` on some hosts."""
        return sorted({self.path(index, user.home) for index in hosts})

    def fill_home(self, home: Path, user: User) -> None:
        """A home that holds nothing but an empty .bashrc and .ssh with the key and its own login."""
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(mode=0o755)
        os.chown(home, user.uid, user.uid)
        self.put(home / ".bashrc", "", user)
        self.put_keys(home, user, ["ed25519"])

    def put_keys(self, home: Path, user: User, kinds: Sequence[str]) -> None:
        """Makes `kinds` the only keys in ~/.ssh, and the only ones that may log in."""
        folder = home / ".ssh"
        for old in [*folder.glob("id_*"), *folder.glob("authorized_keys")]:
            old.unlink()
        for kind in kinds:
            secret = self.user_keys.private(user.name, kind).read_text(encoding="ascii")
            self.put(folder / f"id_{kind}", secret, user, 0o600)
            self.put(folder / f"id_{kind}.pub", self.user_keys.public(user.name, kind) + "\n", user)
        lines = "".join(self.user_keys.public(user.name, kind) + "\n" for kind in kinds)
        self.put(folder / "authorized_keys", lines, user, 0o600)
        folder.chmod(0o700)

    def _root(self, index: int) -> Path:
        return self.base / "own" / self._names[index] if index in self._own else self.base

    def _make_roots(self) -> None:
        (self.base / "shared").mkdir()
        (self.base / "shared").chmod(0o1777)
        for root in {self._root(index) for index in range(len(self._names))}:
            for name, mode in (("home", 0o755), ("run", 0o755), ("tmp", 0o1777)):
                (root / name).mkdir(parents=True)
                (root / name).chmod(mode)
            (root / "run/sshd").mkdir(mode=0o755)
            (root / "run/lock").mkdir()
            (root / "run/lock").chmod(0o1777)
            (root / "home/shared").mkdir()

    def _make_etc(self) -> list[User]:
        etc = self.base / "etc"
        subprocess.run(["cp", "-a", "/etc", str(etc)], check=True, timeout=60)
        users = self._add_users(etc)
        for key in (etc / "ssh").glob("ssh_host_*"):
            key.unlink()
        (etc / "ssh").mkdir(exist_ok=True)
        (etc / "ssh/ssh_config").write_text(SSH_CONFIG, encoding="ascii")
        (etc / "ssh/ssh_known_hosts").unlink(missing_ok=True)
        lines = [f"{self._network.host(index)} {name}" for index, name in enumerate(self._names)]
        lines += ["127.0.0.1 localhost", f"{self._network.fabric} fabric", f"{self._network.blackhole} blackhole"]
        replace = {
            "hosts": "\n".join([*lines, "::1 localhost ip6-localhost"]) + "\n",
            "resolv.conf": f"nameserver {self._network.fabric}\n",
            "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
            "protocols: files\nservices: files\n",
        }
        for name, text in replace.items():
            (etc / name).unlink(missing_ok=True)
            (etc / name).write_text(text, encoding="ascii")
        return users

    def _add_users(self, etc: Path) -> list[User]:
        others = [
            line
            for line in (etc / "passwd").read_text(encoding="utf-8").splitlines()
            if line.count(":") == 6 and line.split(":")[0] not in USERS
        ]
        taken = {int(line.split(":")[2]) for line in others}
        free = (uid for uid in range(_FIRST_UID, 60_000) if uid not in taken)
        users = [User(name, next(free)) for name in USERS]
        lines = [f"{user.name}:x:{user.uid}:{user.uid}::{user.home}:/bin/bash" for user in users]
        (etc / "passwd").write_text("\n".join([*others, *lines]) + "\n", encoding="utf-8")
        with (etc / "group").open("a", encoding="utf-8") as file:
            file.writelines(f"{user.name}:x:{user.uid}:\n" for user in users)
        # Nobody has a password here: `*` admits keys alone, and no secret of the machine is copied.
        names = [line.split(":")[0] for line in [*others, *lines]]
        (etc / "shadow").write_text("".join(f"{name}:*:19000:0:99999:7:::\n" for name in names))
        return users

    def _closed_ancestors(self) -> list[tuple[str, Path]]:
        """Covers for directories that would keep ordinary users from what must be visible."""
        covered = {f"/{name}" for name in _PRIVATE}
        pairs: list[tuple[str, Path]] = []
        for path in self.visible:
            for folder in reversed(path.parents):
                if any(folder.is_relative_to(target) for target in covered):
                    break
                if not folder.stat().st_mode & 0o001:
                    empty = self.base / "closed" / str(len(pairs))
                    empty.mkdir(mode=0o755, parents=True, exist_ok=True)
                    pairs.append((str(folder), empty))
                    covered.add(str(folder))
                    break
        return pairs
