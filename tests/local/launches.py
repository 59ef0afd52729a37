#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""launches.py BIN [NATIVE STOCK]: so many launches, two at a time, on this machine: no hang, no lost line, no wrong status.

NATIVE (500) launches are of a program of 4 processes that uses the client library, STOCK (50) of a Charm++ client that ends at once.
Statuses and numbers of (virtual) hosts vary. BIN is the folder with charmrun, hello and charm_double. Prints a line for each launch
that was wrong, then one for each kind; the status is 1 if anything was wrong.
"""

import os
import re
import signal
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

AT_A_TIME = 2
PATIENCE_S = 60  # for one launch; beyond it hangs
HOSTS = (1, 1, 2, 4)  # a quarter of the launches on each
PROCESSES = 4
STARTED = re.compile(r"^Charmrun> started all node programs in \d+\.\d+ seconds\.\n", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    trouble: str  # empty: none
    seconds: float


def native(folder: Path, number: int) -> tuple[list[str], list[str], int]:
    """Command, lines of output in any order, and status of a launch."""
    lines = [f"hello from {rank} of {PROCESSES}" for rank in range(PROCESSES)]
    program, status = [str(folder / "hello")], 0
    if number % 5 == 0:  # it ends well for the job, and then not well
        status = number // 5 % 256
        program = ["sh", "-c", f'"$0" && exit $(({status} * (CHARMTREE_PROCESS == {number % PROCESSES})))', *program]
    return program, lines, status


def stock(folder: Path, number: int) -> tuple[list[str], list[str], int]:
    status = number * 7 % 256
    lines = [f"double: ok {PROCESSES} processes", *(f"double {rank}/{PROCESSES}: print 0" for rank in range(PROCESSES))]
    return [str(folder / "charm_double"), "--barriers", "0", "--prints", "1", "--exit", str(status)], lines, status


def launch(folder: Path, kind: str, number: int) -> Outcome:
    program, lines, status = (native if kind == "native" else stock)(folder, number)
    hosts = HOSTS[number % len(HOSTS)]
    argv = [str(folder / "charmrun"), f"+p{PROCESSES}", "++hosts", str(hosts), *program]
    begin = time.monotonic()
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True, text=True, **pipes)
    try:
        out, err = child.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return Outcome("hangs", PATIENCE_S)
    trouble = ""
    if child.returncode != status:
        trouble = f"status {child.returncode} instead of {status}: {err[-300:]}"
    elif sorted(STARTED.sub("", out, count=1).splitlines()) != sorted(lines):
        trouble = f"output {out[-300:]!r}"
    elif bool(err) != (kind == "native" and status != 0):  # a status that is not the program's own word is explained
        trouble = f"says {err[-300:]!r}"
    return Outcome(trouble, time.monotonic() - begin)


def many(folder: Path, kind: str, count: int) -> bool:
    begin = time.monotonic()
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        outcomes = list(threads.map(lambda number: launch(folder, kind, number), range(count)))
    wrong = [(number, outcome.trouble) for number, outcome in enumerate(outcomes) if outcome.trouble]
    for number, trouble in wrong:
        print(f"{kind} launch {number}: {trouble}")
    times = sorted(outcome.seconds * 1000 for outcome in outcomes)
    print(
        f"{count} {kind} launches in {time.monotonic() - begin:.0f} s: {len(wrong)} wrong; "
        f"median {statistics.median(times):.0f} ms, 99 of 100 in {times[len(times) * 99 // 100]:.0f} ms, longest {times[-1]:.0f} ms"
    )
    return not wrong


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    counts = [int(word) for word in sys.argv[2:4]] or [500, 50]
    good = [many(folder, kind, count) for kind, count in zip(("native", "stock"), counts)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
