# SPDX-License-Identifier: Apache-2.0
"""Resource managers whose starters are not srun. None of them can be had here: stand-ins do what the manuals and
sources of theirs say, over ssh. (Flux was tried by hand, 0.88.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from running import NUMBER_AND_HOST, Factory, assert_good, charmrun_lines, error_line, program_lines, run
from vc_faults import wait_until
from vc_job import patience
from vcluster import Cluster

SHARED = "/home/shared"
FOLDER = f"{SHARED}/starters"
PLACED = ["0 h00", "1 h01", "2 h01", "3 h02"]

# A task has neither our standard streams, nor our folder and variables; the status is 0 whatever theirs are, and is
# told on stdout. OpenPBS's tasks have a number of their own, with bits of the host; Torque's are counted besides.
PBSDSH = f"""#!/bin/sh
[ "$1" = -- ] || exit 64
shift
i=0
while read -r host; do
  case $TASKS in
    openpbs) number="PBS_TASKNUM=$(printf %8.8X $((0x40000000 * i + i + 10)))" ;;
    torque) number="PBS_TASKNUM=$((i + 2)) PBS_VNODENUM=$i" ;;
  esac
  ssh -n "$host" cd "&&" exec env -i HOME=/home/ctuser PBS_JOBID=42.h00 PBS_NODENUM=7 $number "$@" >>{FOLDER}/spool 2>&1 &
  i=$((i + 1))
done <$PBS_NODEFILE
wait
echo "pbsdsh: task 0x00000001 exit status 0"
"""

BLAUNCH = """#!/bin/sh
host=$1
shift
echo "$host" >>$USED
exec ssh "$host" "$@"
"""

FLUX = f"""#!/bin/sh
case "$*" in
  "getattr hostlist") echo "h[00-02]" ;;
  "getattr jobid") echo f42 ;;
  "kvs get resource.R") cat {FOLDER}/resources ;;
  "job timeleft") echo 4000 ;;
  "getattr security.owner") id -u ;;
  "run -n "*)
    i=0
    for host in h00 h01 h01 h02; do
      [ $i -lt $3 ] || break
      ssh -n $host FLUX_TASK_RANK=$i FLUX_JOB_SIZE=$3 $4 &
      i=$((i + 1))
    done
    wait ;;
  *) exit 64 ;;
esac
"""
RESOURCES = (
    '{"version":1,"execution":{"R_lite":[{"rank":"0,2","children":{"core":"0"}},'
    '{"rank":"1","children":{"core":"0-1"}}],"nslots":4,"nodelist":["h[00-02]"]}}'
)


@pytest.fixture
def hosts(cluster: Factory) -> Cluster:
    """Three, with the stand-ins in $PATH of the first."""
    made: Cluster = cluster(3)
    made.run(0, ["mkdir", "-p", f"{FOLDER}/bin"], check=True)
    for name, text in (("pbsdsh", PBSDSH), ("blaunch", BLAUNCH), ("flux", FLUX)):
        made.put(0, f"{FOLDER}/bin/{name}", text, mode=0o755)
    made.put(0, f"{FOLDER}/resources", RESOURCES)
    made.put(0, f"{FOLDER}/nodes", "h00\nh01\nh01\nh02\n")
    return made


def batch(**variables: str) -> dict[str, object]:
    """As in the script of a job."""
    return {"env": {"PATH": f"{FOLDER}/bin:/usr/bin:/bin", **variables}, "cwd": FOLDER}


def ends(hosts: Cluster) -> bool:
    """No launcher stays."""
    return wait_until(lambda: not any("charmrun" in one.cmdline for host in range(3) for one in hosts.processes(host)), patience(5))


def pbs(tasks: str) -> dict[str, object]:
    return batch(TASKS=tasks, PBS_JOBID="42.h00", PBS_NODEFILE=f"{FOLDER}/nodes")


@pytest.mark.parametrize("tasks", ["openpbs", "torque"])
def test_pbsdsh_starts_launchers_that_connect_back(hosts: Cluster, charmrun: Path, tasks: str) -> None:
    done = run(hosts, charmrun, "++transport", "pbsdsh", *NUMBER_AND_HOST, **pbs(tasks))
    assert (done.returncode, program_lines(done)) == (0, PLACED), done
    assert charmrun_lines(done) == ["PBS job 42.h00 gives 4 slots"]
    assert not hosts.path(0, f"{FOLDER}/spool").read_text(), "what a launcher said"
    assert not list(hosts.path(0, FOLDER).glob("charmrun.*"))
    assert ends(hosts)


def test_pbsdsh_starts_one_process_for_each_slot(hosts: Cluster, charmrun: Path) -> None:
    words = ["++transport", "pbsdsh", "+p3", *NUMBER_AND_HOST]
    said = error_line(run(hosts, charmrun, *words, **pbs("torque")))
    assert "pbsdsh starts a process for each of the 4 slots, not 3; leave +p and ++n out" in said
    said = error_line(run(hosts, charmrun, "++plan", "++transport", "pbsdsh", "true", **pbs("torque")))
    assert said == "++transport pbsdsh and ++plan exclude each other; pbsdsh chooses the hosts and starts a launcher on each"


@pytest.mark.parametrize("more", [[], ["++no-stage"]], ids=["stage", "no-stage"])
def test_blaunch_is_called_for_each_host(hosts: Cluster, charmrun: Path, more: list[str]) -> None:
    used = hosts.put(0, f"{FOLDER}/used", "", mode=0o666)
    lsf = batch(USED=used, LSB_JOBID="42", LSB_MCPU_HOSTS="h00 1 h01 2 h02 1")
    done = run(hosts, charmrun, "++transport", "blaunch", *more, *NUMBER_AND_HOST, **lsf)
    assert (done.returncode, program_lines(done)) == (0, PLACED), done
    assert sorted(hosts.path(0, used).read_text().split()) == ["h01", "h02"]


def test_in_an_instance_of_flux(hosts: Cluster, charmrun: Path) -> None:
    flux = batch(FLUX_URI="local:///run/flux")
    done = run(hosts, charmrun, *NUMBER_AND_HOST, **flux)
    assert (done.returncode, program_lines(done)) == (0, PLACED), done
    said = "Flux job f42, which ends in 1 h 6 min, names the hosts, by flux getattr hostlist (++rm none: look for no allocation)"
    assert charmrun_lines(done) == [said]
    done = run(hosts, charmrun, "++transport", "flux", *NUMBER_AND_HOST, **flux)
    assert (done.returncode, program_lines(done)) == (0, PLACED), done
    assert charmrun_lines(done) == ["Flux job f42, which ends in 1 h 6 min, gives 4 slots"]
    assert_good(run(hosts, charmrun, "++transport", "flux", "++quiet", "+p2", *NUMBER_AND_HOST, **flux), PLACED[:2])
    assert ends(hosts)
