# SPDX-License-Identifier: Apache-2.0
"""Plants a fault in a running process: it spins, as by an endless loop of its own, and handles nothing any more."""

from __future__ import annotations

import ctypes
import os
import platform

_ATTACH, _POKE_TEXT, _DETACH, _GET_REGISTERS = 16, 4, 17, 0x4204
_GENERAL_REGISTERS = 1  # NT_PRSTATUS
# Of each machine: the place of the program counter among the registers, and an instruction that jumps to itself.
_LOOPS = {"x86_64": (16, b"\xeb\xfe"), "aarch64": (32, b"\x00\x00\x00\x14")}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class _Span(ctypes.Structure):
    """struct iovec"""

    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def _ptrace(request: int, pid: int, address: int, data: int) -> None:
    if _libc.ptrace(request, pid, address, data) == -1:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")


def make_spin(pid: int) -> None:
    """Writes a jump to itself where the process is. One that waits in a system call spins when that returns."""
    counter, loop = _LOOPS[platform.machine()]
    _ptrace(_ATTACH, pid, 0, 0)
    os.waitpid(pid, 0x40000000)  # __WALL
    registers = (ctypes.c_uint64 * 64)()
    span = _Span(ctypes.addressof(registers), ctypes.sizeof(registers))
    _ptrace(_GET_REGISTERS, pid, _GENERAL_REGISTERS, ctypes.addressof(span))
    _ptrace(_POKE_TEXT, pid, registers[counter], int.from_bytes(loop.ljust(8, b"\xcc"), "little"))
    _ptrace(_DETACH, pid, 0, 0)
