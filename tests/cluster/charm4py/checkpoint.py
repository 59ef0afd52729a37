# SPDX-License-Identifier: Apache-2.0
"""Files as checkpoints: an array relaxes towards the mean, and every element writes its state to FOLDER.

checkpoint.py FOLDER STEPS [STOP]: up to step STEPS, from the last complete checkpoint; status 9 after step STOP. Each
element waits at step 300 while there is a file FOLDER/hold.
"""

import json
import time
from pathlib import Path

from charm4py import Array, Channel, Chare, Reducer, charm, coro

ELEMENTS, EVERY, HOLD = 6, 5, 300  # elements of the ring, steps between checkpoints, the step of FOLDER/hold


class Cell(Chare):
    def __init__(self, folder, step):
        self.file = Path(folder) / f"cell{self.thisIndex[0]}"
        self.step = step
        self.value = json.loads(Path(f"{self.file}.{step}").read_text()) if step else 1 << self.thisIndex[0]

    @coro
    def work(self, until, done):
        me = self.thisIndex[0]
        sides = [Channel(self, remote=self.thisProxy[(me + side) % ELEMENTS]) for side in (-1, 1)]
        while self.step < until:
            for side in sides:
                side.send(self.value)
            self.value = (self.value + sum(side.recv() for side in sides)) / 3
            self.step += 1
            while self.step == HOLD and self.file.with_name("hold").exists():
                time.sleep(0.01)
            if self.step % EVERY == 0:
                Path(f"{self.file}.{self.step}").write_text(json.dumps(self.value))
        self.contribute(self.value, Reducer.gather, done)


def complete(folder):
    """The last step of which every element has written its state; 0: none."""
    steps = [{int(file.suffix[1:]) for file in Path(folder).glob(f"cell{i}.*")} for i in range(ELEMENTS)]
    return max(set.intersection(*steps), default=0)


def main(args):
    folder, until, stop = args[1], int(args[2]), int(args[3]) if len(args) > 3 else 0
    step = complete(folder)
    print("from step", step)
    done = charm.Future()
    Array(Cell, ELEMENTS, args=[folder, step]).work(stop or until, done)
    print("state:", json.dumps(done.get()))
    charm.exit(9 if stop else 0)


charm.start(main)
