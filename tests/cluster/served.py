# SPDX-License-Identifier: Apache-2.0
"""Jobs that serve CCS."""

from __future__ import annotations

import os
import re
import select
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from running import PATIENCE_S, charm4py, command
from vcluster import REPOSITORY, Cluster

CLIENT = REPOSITORY / "tests/cluster/ccs_client.py"
SERVER = REPOSITORY / "tests/cluster/charm4py/ccs_server.py"
UNTIL = REPOSITORY / "tests/cluster/charm4py/until.py"
FILE = "/home/shared/over"
GETINFO = struct.pack(">5I", 4, 1, 1, 1, 1).hex()  # 4 processes of 1 PE


class Served:
    """A charm4py program (until.py) with 2 processes on each of 2 hosts and a CCS port, started on host 0; it ends when
    its file is made. Its output is read no further than to the line that names the port. `python`: what runs the program;
    empty: nothing."""

    def __init__(
        self,
        hosts: Cluster,
        charmrun: Path,
        *options: Any,
        program: Sequence[Any] = (UNTIL, FILE),
        python: Sequence[Any] | None = None,
    ) -> None:
        self.hosts = hosts
        self.file = hosts.path(0, FILE)
        self.file.unlink(missing_ok=True)
        python = [charm4py()] if python is None else python
        words = ["+p4", "++nodelist", hosts.nodelist(2), "++branching", 1, *options, *python, *program]
        self.child = hosts.popen(
            0, command(charmrun, *words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0, text=False
        )
        self._unread = b""
        self.head = [self.line()]
        while not self.head[-1].startswith("ccs: S") and len(self.head) < 4:
            self.head.append(self.line())
        match = re.fullmatch(r"ccs: Server IP = ([\d.]+), Server port = (\d+) \$\n", self.head[-1])
        assert match, self.head
        self.address, self.port = match[1], int(match[2])

    def line(self) -> str:
        """The next line that it writes; empty: it has ended."""
        while b"\n" not in self._unread and self._reads():
            pass
        line, newline, self._unread = self._unread.partition(b"\n")
        return (line + newline).decode()

    def rest(self) -> str:
        """All lines up to its end."""
        while self._reads():
            pass
        self.child.wait(PATIENCE_S)
        return self._unread.decode()

    def _reads(self) -> bool:
        assert self.child.stdout
        assert select.select([self.child.stdout], [], [], PATIENCE_S)[0], self._unread
        piece = os.read(self.child.stdout.fileno(), 1 << 16)
        self._unread += piece
        return piece != b""

    def serves(self) -> None:
        """Waits until the program has its handlers."""
        while (line := self.line()) != "serving\n":
            assert line, "the program has ended"

    def ask(self, *requests: Any, where: int = 0, address: str = "127.0.0.1", user: str = "ctuser") -> list[str]:
        argv = ["/usr/bin/python3", str(CLIENT), address, str(self.port), *map(str, requests)]
        return self.hosts.run(where, argv, user, timeout=PATIENCE_S).stdout.splitlines()

    def end(self) -> str:
        self.file.touch()
        text = self.rest()
        assert self.child.returncode == 0, text
        return text
