# SPDX-License-Identifier: Apache-2.0
"""flood.py FILE LINES: the last PE prints LINES lines of 1000 bytes through the runtime, then makes FILE.done; all serve
requests until FILE is there."""

import ctypes
import os
from pathlib import Path

from charm4py import Chare, charm


def runtime() -> ctypes.CDLL:
    maps = Path("/proc/self/maps").read_text().splitlines()
    return ctypes.CDLL(next(line.split()[-1] for line in maps if line.endswith("libcharm.so")))


class Printer(Chare):
    def print_all(self, file: str, lines: int) -> None:
        library = runtime()
        for i in range(lines):
            library.CmiPrintf(b"%s\n", f"flood {i} ".ljust(999, "x").encode())
        Path(f"{file}.done").touch()


def main(args: list[str]) -> None:
    print("serving", flush=True)
    Chare(Printer, onPE=charm.numPes() - 1).print_all(args[1], int(args[2]))
    while not os.path.exists(args[1]):
        charm.sleep(0.02)
    charm.exit(0)


charm.start(main)
