# SPDX-License-Identifier: Apache-2.0
"""Keys, known_hosts lines and sshd configurations of the virtual hosts. Text and files only."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from vc_net import ClusterError, tool

Options = Mapping[str, object]

_SSHD_DEFAULTS: dict[str, object] = {
    "Port": 22,
    "UsePAM": "no",
    "UseDNS": "no",
    "PidFile": "none",
    "PrintMotd": "no",
    "PrintLastLog": "no",
    "PasswordAuthentication": "no",
    "KbdInteractiveAuthentication": "no",
    "MaxStartups": "100:30:200",
    "MaxSessions": 100,
    "AcceptEnv": "LANG LC_*",
    "AuthorizedKeysFile": ".ssh/authorized_keys",
}

# Debian's own, and the key exchange that costs the ssh program 20 ms of CPU instead of 200.
SSH_CONFIG = """Include /etc/ssh/ssh_config.d/*.conf
Host *
    SendEnv LANG LC_*
    HashKnownHosts yes
    GSSAPIAuthentication yes
    KexAlgorithms curve25519-sha256
"""


class KeyStore:
    """ssh key pairs by name in one directory, made when first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def make(self, names: Iterable[str], kind: str = "ed25519") -> None:
        """Makes the key pairs that do not exist yet, all at the same time."""
        keygen = tool("ssh-keygen", "openssh-client")
        running = []
        for path in (self.folder / self._file(name, kind) for name in sorted(set(names))):
            if not path.exists():
                argv = [keygen, "-q", "-t", kind, "-N", "", "-C", "vcluster", "-f", str(path)]
                running.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL))
        if any([process.wait(60) for process in running]):
            raise ClusterError(f"ssh-keygen failed to make {kind} keys in {self.folder}")

    def private(self, name: str, kind: str = "ed25519") -> Path:
        self.make([name], kind)
        return self.folder / self._file(name, kind)

    def public(self, name: str, kind: str = "ed25519") -> str:
        """The public key as `type base64`, without a comment."""
        text = Path(f"{self.private(name, kind)}.pub").read_text(encoding="ascii")
        return " ".join(text.split()[:2])

    @staticmethod
    def _file(name: str, kind: str) -> str:
        return f"{name}.{kind}"


def known_hosts_styles() -> tuple[str, ...]:
    """Plain or hashed lines in the users' files, no file at all, or plain lines in the system's."""
    return ("plain", "hashed", "none", "system")


def known_hosts_line(names: Sequence[str], key: str, hashed: bool) -> str:
    """One entry for all names, or a hashed entry each, as `HashKnownHosts yes` writes them."""
    if not hashed:
        return f"{','.join(names)} {key}\n"
    return "".join(f"{_hashed(name)} {key}\n" for name in names)


def _hashed(name: str) -> str:
    salt = os.urandom(20)
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return "|1|{}|{}".format(*(base64.b64encode(part).decode() for part in (salt, digest)))


def sshd_config(host_keys: Sequence[str], options: Options) -> str:
    """A configuration in which `options` replace the defaults; a list gives one line per value."""
    merged: dict[str, object] = {"HostKey": list(host_keys), **_SSHD_DEFAULTS}
    spelling = {name.lower(): name for name in merged}
    for name, value in options.items():
        merged[spelling.get(name.lower(), name)] = value
    lines = []
    for name, value in merged.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        lines += [f"{name} {one}" for one in values]
    return "\n".join(lines) + "\n"
