# SPDX-License-Identifier: Apache-2.0
"""The last resort: whatever is open when this process ends is closed, unless it ends by SIGKILL."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

Close = Callable[[], None]

_open: list[Close] = []
_guarded_by = 0  # the process that has our exit handlers: a fork of it must not use them


def guard(close: Close) -> None:
    """Calls `close` at exit and on SIGTERM and SIGHUP, until release()."""
    global _guarded_by
    _open.append(close)
    if _guarded_by == os.getpid():
        return
    _guarded_by = os.getpid()
    atexit.register(_close_all)
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, _die_tidily)


def release(close: Close) -> None:
    if close in _open:
        _open.remove(close)


def _close_all() -> None:
    while _guarded_by == os.getpid() and _open:
        try:
            _open.pop()()
        except Exception as error:  # pylint: disable=broad-except  # the next one must be closed
            print(f"vcluster: while closing: {error}", file=sys.stderr)


def _die_tidily(number: int, _frame: FrameType | None) -> None:
    _close_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
