# SPDX-License-Identifier: Apache-2.0
"""ccs_server.py FILE: numbers lines and serves requests on all PEs until FILE is there. The handlers are those of a stock
Charm++ program, registered with the runtime itself: `echo` answers its data; `pe` (merged by concatenation) the PE;
`big` as many bytes as its data says; `hang` never, `none` not; `alone` cannot be broadcast; `die` aborts."""

import ctypes
import os
import struct
from pathlib import Path

from charm4py import Chare, Group, charm

MARK = b"DATA:"  # in front of the data, which is found by it: the length of the runtime's own header shows nowhere
HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
MERGE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)


def runtime() -> ctypes.CDLL:
    maps = Path("/proc/self/maps").read_text().splitlines()
    return ctypes.CDLL(next(line.split()[-1] for line in maps if line.endswith("libcharm.so")))


class Server(Chare):
    def __init__(self) -> None:
        self.library = runtime()
        self.kept = []
        self.library.CmiFree.argtypes = [ctypes.c_void_p]
        self.library.CcsSendReply.argtypes = [ctypes.c_int, ctypes.c_char_p]
        for name in ("echo", "pe", "big", "hang", "none", "alone", "die"):
            handler = HANDLER(getattr(self, name))
            self.kept.append(handler)
            self.library.CcsRegisterHandler(name.encode(), handler)
        self.library.CcsSetMergeFn(b"pe", ctypes.cast(self.library.CcsMerge_concat, ctypes.c_void_p))

    @staticmethod
    def data(message: int) -> bytes:
        """MARK, 4 bytes of length, and so many bytes."""
        start = message + ctypes.string_at(message, 256).index(MARK) + len(MARK)
        return ctypes.string_at(start + 4, *struct.unpack(">I", ctypes.string_at(start, 4)))

    def reply(self, message: int, data: bytes) -> None:
        self.library.CcsSendReply(len(data), data)
        self.library.CmiFree(message)

    def echo(self, message: int) -> None:
        self.reply(message, self.data(message))

    def pe(self, message: int) -> None:
        self.reply(message, struct.pack(">I", charm.myPe()))

    def big(self, message: int) -> None:
        self.reply(message, bytes(int(self.data(message))))

    def hang(self, message: int) -> None:
        self.library.CcsDelayReply()
        self.library.CmiFree(message)

    def none(self, message: int) -> None:
        self.library.CcsNoReply()
        self.library.CmiFree(message)

    def alone(self, message: int) -> None:
        self.reply(message, b"alone")

    def die(self, message: int) -> None:
        self.library.CmiAbort(b"asked to")

    def ready(self) -> bool:
        return True


def main(args: list[str]) -> None:
    Group(Server).ready(awaitable=True).get()
    print("serving", flush=True)
    number = 0
    while not os.path.exists(args[1]):
        print("line", number, flush=True)
        number += 1
        charm.sleep(0.05)
    print("last", number, flush=True)
    charm.exit(0)


charm.start(main)
