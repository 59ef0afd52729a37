# SPDX-License-Identifier: Apache-2.0
"""Jobs in a terminal, as a user has one."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from running import PATIENCE_S
from vc_faults import wait_until
from vcluster import Cluster

# The shell of the terminal: without job control, it leaves the modes alone. Ctrl-C is for its child. It ends
# with a last line, which it waits for only if its input still blocks.
_SHELL = 'trap : INT; "$@"; echo "<$?>"; read end'
_KEEPER_S = 5.0  # what puts the modes back when charmrun is killed is another process


class Terminal:
    """`argv` in a shell on host 0, which then says its status."""

    def __init__(
        self,
        hosts: Cluster,
        argv: Sequence[str | Path],
        rows: int = 40,
        columns: int = 100,
        **environment: str,
    ) -> None:
        self.master, slave = pty.openpty()
        self.text = ""
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.master)
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
        shell = ["setsid", "-c", "sh", "-c", _SHELL, "sh", *argv]
        environment = {"TERM": "dumb", "PYTHONUNBUFFERED": "1", **environment}
        self.child = hosts.popen(0, shell, env=environment, start_new_session=False, text=False, **streams)
        os.close(slave)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def expect(self, pattern: str, patience: float = PATIENCE_S) -> re.Match[str]:
        """Waits until it stands there; what comes up to its end is not looked at again."""
        deadline = time.monotonic() + patience
        while (found := re.search(pattern, self.text)) is None:
            ready = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))[0]
            assert ready, f"no {pattern!r} in {self.text!r}"
            try:
                self.text += os.read(self.master, 1 << 16).decode(errors="replace")
            except OSError as gone:  # nobody has the terminal any more
                raise AssertionError(f"no {pattern!r} in {self.text!r}") from gone
        self.text = self.text[found.end() :]
        return found

    def is_raw(self) -> bool:
        """Whether every key goes to whoever reads it."""
        return not termios.tcgetattr(self.master)[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def hands_over(self, keys: str) -> None:
        """Types a line that starts or resumes a job; only then what is typed is in lines, and the job's."""
        shell = os.tcgetpgrp(self.master)
        self.type(keys + "\r")
        assert wait_until(lambda: os.tcgetpgrp(self.master) != shell, PATIENCE_S), self.text

    def asks(self, keys: str, answer: str) -> None:
        """Types a line and waits for a line that is the answer."""
        self.type(keys + "\r")
        self.expect(rf"\n{answer}\r\n")

    def end(self, status: int = 0) -> str:
        """Waits for the end, with the terminal as it was; what was shown before it."""
        found = self.expect(r"<(\d+)>\r*\n")
        assert wait_until(lambda: termios.tcgetattr(self.master) == self.before, _KEEPER_S)
        assert self.child.poll() is None
        self.type("\r")
        self.child.wait(PATIENCE_S)
        os.close(self.master)
        assert found[1] == str(status), found.string
        return found.string[: found.start()]
