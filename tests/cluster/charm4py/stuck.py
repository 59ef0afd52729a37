# SPDX-License-Identifier: Apache-2.0
"""stuck.py: the last PE computes until SIGUSR1, all others have nothing to do; then the program ends."""

import signal

from charm4py import Chare, charm

over: list[int] = []


class Worker(Chare):
    def is_there(self) -> bool:
        signal.signal(signal.SIGUSR1, lambda number, _: over.append(number))
        return True

    def compute_for_ever(self) -> bool:
        print("begun", flush=True)
        while not over:
            pass
        return True


def main(_: list[str]) -> None:
    worker = Chare(Worker, onPE=charm.numPes() - 1)
    worker.is_there(ret=True).get()
    worker.compute_for_ever(ret=True).get()
    charm.exit(0)


charm.start(main)
