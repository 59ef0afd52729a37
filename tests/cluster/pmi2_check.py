# SPDX-License-Identifier: Apache-2.0
"""A process that speaks PMI-2, by Slurm's library: pmi2_check.py [DEED]. Says what it finds.

DEED: abort: process 1 aborts the job with status 1. spawn: process 0 has two others started, which find its address."""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import byref, c_char_p, c_int, c_void_p, create_string_buffer

MOST = 1024
pmi = ctypes.CDLL("libpmi2.so.0")


class Info(ctypes.Structure):
    """MPID_Info of pmi2.h."""

    _fields_ = [("handle", c_int), ("mutex", c_int), ("count", c_int), ("next", c_void_p), ("key", c_char_p), ("value", c_char_p)]


def must(deed: str, status: int) -> None:
    if status != 0:
        sys.exit(f"{deed}: error {status}")


def get(key: str) -> str | None:
    value, length = create_string_buffer(MOST), c_int()
    status = pmi.PMI2_KVS_Get(None, -1, key.encode(), value, MOST, byref(length))
    return value.value.decode() if status == 0 and length.value >= 0 else None


def attribute(of_job: bool, key: str, waits: bool = False) -> str | None:
    value, found = create_string_buffer(MOST), c_int()
    if of_job:
        must("GetJobAttr", pmi.PMI2_Info_GetJobAttr(key.encode(), value, MOST, byref(found)))
    else:
        must("GetNodeAttr", pmi.PMI2_Info_GetNodeAttr(key.encode(), value, MOST, byref(found), int(waits)))
    return value.value.decode() if found.value else None


def neighbours(value: str) -> tuple[int, str, str]:
    place, count = c_int(), c_int()
    left, right = create_string_buffer(MOST), create_string_buffer(MOST)
    must("Ring", pmi.PMIX_Ring(value.encode(), byref(place), byref(count), left, right, MOST))
    return place.value, left.value.decode(), right.value.decode()


def has_others_started(me: str) -> None:
    argv = (c_char_p * 2)(os.path.abspath(__file__).encode(), b"child")
    job, errors = create_string_buffer(MOST), (c_int * 2)()
    preput = Info(key=b"parent", value=b"address;of parent")
    status = pmi.PMI2_Job_Spawn(1, (c_char_p * 1)(sys.executable.encode()), (c_int * 1)(2), (ctypes.POINTER(c_char_p) * 1)(argv),
                                (c_int * 1)(2), (c_int * 1)(0), None, 1, byref(ctypes.pointer(preput)), job, MOST, errors)
    must("Spawn", status)
    print(f"{me}: {job.value.decode() != ''} {list(errors)}")


def main() -> None:
    deed = sys.argv[1] if len(sys.argv) > 1 else ""
    spawned, size, rank, program = c_int(), c_int(), c_int(), c_int()
    must("Init", pmi.PMI2_Init(byref(spawned), byref(size), byref(rank), byref(program)))
    me = f"{deed or 'process'} {rank.value} of {size.value}"
    if deed == "abort" and rank.value == 1:
        pmi.PMI2_Abort(1, b"enough of it")
    if deed == "child":
        print(f"{me}: {bool(spawned.value)} {get('parent')}")
    if deed == "spawn" and rank.value == 0:
        has_others_started(me)
    if deed == "" and rank.value == 0:
        must("Publish", pmi.PMI2_Nameserv_publish(b"here", None, b"tag#0;x"))
    must("Put", pmi.PMI2_KVS_Put(f"key{rank.value}".encode(), f"value {rank.value}".encode()))
    must("Fence", pmi.PMI2_KVS_Fence())
    values = [get(f"key{other}") for other in range(size.value)]
    assert values == [f"value {other}" for other in range(size.value)], values
    assert get("nothing") is None
    if deed == "":
        port = create_string_buffer(MOST)
        must("Lookup", pmi.PMI2_Nameserv_lookup(b"here", None, port, MOST))
        assert port.value == b"tag#0;x", port.value
        place, left, right = neighbours(f"r{rank.value}")
        leader = int(os.environ["MPI_LOCALRANKID"]) == 0
        if leader:
            must("PutNodeAttr", pmi.PMI2_Info_PutNodeAttr(b"leader", str(rank.value).encode()))
        node = attribute(False, "leader", waits=True)
        print(f"{me}: ring {place} {left} {right}, leader {node}, {attribute(True, 'PMI_process_mapping')}")
    must("Finalize", pmi.PMI2_Finalize())


main()
