#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""repair.py BIN: the launcher of one virtual host of this machine is killed, in a job that goes on. Its process is lost, and nobody below it:
the launcher above adopts those, as it does over ssh. BIN is the folder with charmrun and steps_double.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOSTS = 4  # one below the other
PATIENCE_S = 60
MORE = 20  # steps after the fault


def parents() -> dict[int, int]:
    """Of all processes; those that end meanwhile are left out."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            found[int(entry.name)] = int(stat[stat.rindex(")") + 2 :].split()[1])
    return found


def words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def launchers(root: int) -> list[int]:
    """From the first host down: of each its guardian and then the launcher."""
    tree = parents()
    chain = [root]
    while below := [pid for pid, parent in tree.items() if parent == chain[-1] and words(pid)[1:] == ["++launcher"]]:
        chain.append(below[0])
    return chain[1:]


class Job:
    def __init__(self, folder: Path, stop: Path) -> None:
        self.lines = tempfile.NamedTemporaryFile("r")
        self.errors = tempfile.NamedTemporaryFile("r")
        argv = [folder / "charmrun", f"+p{HOSTS}", "++hosts", str(HOSTS), "++branching", "1", "++on-failure", "continue"]
        with open(self.lines.name, "w") as out, open(self.errors.name, "w") as err:
            self.root = subprocess.Popen([*argv, folder / "steps_double", stop], stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def steps(self) -> list[int]:
        """The last step of each process; -1: none."""
        last = [-1] * HOSTS
        for process, step in re.findall(r"^process (\d+) step (\d+)$", Path(self.lines.name).read_text(), re.MULTILINE):
            last[int(process)] = int(step)
        return last

    def said(self) -> str:
        return f"status {self.root.poll()}, steps {self.steps()}\n{Path(self.errors.name).read_text()}"

    def until(self, condition, what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end or self.root.poll() is not None:
                raise SystemExit(f"no {what}: {self.said()}")
            time.sleep(0.02)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        stop = Path(folder, "steps")
        stop.touch()
        job = Job(Path(sys.argv[1]), stop)
        try:
            job.until(lambda: min(job.steps()) > 3, "steps of all processes")
            chain = launchers(job.root.pid)
            if len(chain) != 2 * HOSTS:
                raise SystemExit(f"{len(chain)} launchers and guardians instead of {2 * HOSTS}: {job.said()}")
            lost = 1  # neither the first nor the last
            os.kill(chain[2 * lost + 1], signal.SIGKILL)
            left = [process for process in range(HOSTS) if process != lost]
            goal = max(job.steps()) + MORE
            job.until(lambda: all(job.steps()[process] > goal for process in left), "further steps of all that are left")
            stop.write_text(f"{max(job.steps()) + MORE}\n")
            status = job.root.wait(PATIENCE_S)
            if status != 0 or f"1 of {HOSTS} processes" not in job.said():
                raise SystemExit(f"it ended in another way: {job.said()}")
            time_out = time.monotonic() + PATIENCE_S
            while alive := [pid for pid in chain if words(pid)[1:] == ["++launcher"]]:
                if time.monotonic() > time_out:
                    raise SystemExit(f"launchers are left: {alive}")
                time.sleep(0.02)
        finally:
            job.root.kill()
            job.root.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
