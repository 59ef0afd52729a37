# SPDX-License-Identifier: Apache-2.0
"""silent.py FILE SECONDS: the last PE computes for so long without looking at anything else; all serve until FILE is there."""

import os
import signal
import time

from charm4py import Chare, charm


class Worker(Chare):
    def is_there(self) -> bool:
        return True

    def compute(self, seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)  # by which this build pings every 10 s, whatever it does
        time.sleep(seconds)


def main(args: list[str]) -> None:
    worker = Chare(Worker, onPE=charm.numPes() - 1)
    worker.is_there(ret=True).get()
    worker.compute(float(args[2]))
    charm.sleep(0.1)
    print("serving", flush=True)
    while not os.path.exists(args[1]):
        charm.sleep(0.02)
    charm.exit(0)


charm.start(main)
