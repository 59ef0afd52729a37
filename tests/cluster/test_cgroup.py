# SPDX-License-Identifier: Apache-2.0
"""Where the launcher's control group (v2) is writable, the job's processes live in a group of their own that goes with the job."""

import os
import subprocess

import pytest

SCRIPT = r"""
set -e
mount -t tmpfs none /mnt; mkdir /mnt/cg
mount -t cgroup2 none /mnt/cg
trap 'echo $$ > /mnt/cg/cgroup.procs; sleep 0.1; rmdir /mnt/cg/charmtree-test-$$ 2>/dev/null || true' EXIT
mkdir /mnt/cg/charmtree-test-$$; echo $$ > /mnt/cg/charmtree-test-$$/cgroup.procs
"$1" ++quiet ++local +p2 sh -c 'grep 0:: /proc/self/cgroup; (env -i setsid setsid sleep 7777 </dev/null >/dev/null 2>&1 &); sleep 0.2'
echo "status $?"
ls /mnt/cg/charmtree-test-$$ | grep -c charmtree- || true
"""


def test_processes_have_a_group_of_their_own_that_is_removed(charmrun):
    if os.geteuid() != 0:
        pytest.skip("making a control group hierarchy needs root")
    done = subprocess.run(["unshare", "-m", "bash", "-c", SCRIPT, "x", str(charmrun)], capture_output=True, text=True, timeout=60)
    lines = done.stdout.split()
    groups = [line for line in lines if line.startswith("0::")]
    assert len(groups) == 2 and all(group.rsplit("/", 1)[1].startswith("charmtree-") for group in groups), done
    assert lines[-3:] == ["status", "0", "0"], done
    assert subprocess.run(["pgrep", "-f", "sleep 7777"], capture_output=True, check=False).returncode != 0
