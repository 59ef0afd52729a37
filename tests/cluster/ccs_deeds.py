# SPDX-License-Identifier: Apache-2.0
"""What clients do to a job's CCS port, in time or by design: ccs_deeds.py ADDRESS PORT [DEED]...

The server is charm4py/ccs_server.py with 4 PEs on 2 hosts. After each deed an ordinary request to every PE must be answered;
prints a line for each deed: its name, and what came of it. What a deed leaves open stays so to the end.
"""

from __future__ import annotations

import hashlib
import socket
import struct
import sys
from collections.abc import Callable

PES = 4
PATIENCE_S = 120.0
_LINGER_RST = struct.pack("ii", 1, 0)
opened: list[socket.socket] = []
address, port = "", 0


def connect(keep: bool = False) -> socket.socket:
    one = socket.create_connection((address, port), PATIENCE_S)
    if keep:
        opened.append(one)
    return one


def head(handler: str | bytes, pe: int, size: int) -> bytes:
    name = handler if isinstance(handler, bytes) else handler.encode()
    return struct.pack(">Ii32s", size, pe, name)


def request(handler: str | bytes, pe: int, data: bytes = b"", pes: tuple[int, ...] = ()) -> bytes:
    """With the data as the server wants it."""
    marked = b"DATA:" + struct.pack(">I", len(data)) + data
    return head(handler, pe, len(marked)) + struct.pack(f">{len(pes)}I", *pes) + marked


def everything(one: socket.socket) -> bytes:
    pieces = []
    try:
        while piece := one.recv(1 << 20):
            pieces.append(piece)
    except ConnectionResetError:
        pieces.append(b"RESET")
    return b"".join(pieces)


def answer(*words: object, **more: object) -> bytes | str:
    """Of one request: the reply's data, or what came instead."""
    with connect() as one:
        one.sendall(request(*words, **more))  # type: ignore[arg-type]
        return reply_in(everything(one))


def reply_in(found: bytes) -> bytes | str:
    if len(found) < 4 or len(found) != 4 + struct.unpack(">I", found[:4])[0]:
        return f"no reply, but {len(found)} bytes"
    return found[4:]


def sends(data: bytes) -> str:
    with connect() as one:
        one.sendall(data)
        return everything(one).hex()


def garbage() -> str:
    return sends(b"GET / HTTP/1.0\r\n\r\n")


def idle() -> str:
    for size in (0, 3, 39):
        connect(keep=True).sendall(request("echo", 0)[:size])
    return "open"


def flood() -> str:
    for _ in range(500):
        connect(keep=True)
    return "open"


def too_large() -> str:
    return sends(head("echo", 0, 0x1FFFFFFF))


def unfinished() -> str:
    connect(keep=True).sendall(head("echo", 0, 60 << 20) + bytes(10 << 20))
    return "open"


def wrong_pes() -> str:
    lists = ((100000000, 0), (0, 100000000), (1, 1), (0, 1, 2, 3, 0))
    found = {sends(request("pe", -len(pes), pes=pes)) for pes in lists}
    found |= {sends(head("pe", pe, 0)) for pe in (PES, 1000, -PES - 1, -(2**31), 2**31 - 1)}
    return " ".join(found)


def long_name() -> bytes | str:
    return answer(b"n" * 32, 1)


def gone() -> str:
    for i in range(50):
        one = connect()
        one.sendall(request("echo", i % PES, b"x" * 1000))
        if i % 2:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RST)
        one.close()
    return "gone"


def slow_reader() -> str:
    connect(keep=True).sendall(request("big", 3, b"60000000"))
    return "open"


def never_answered() -> str:
    for i in range(300):
        with connect(keep=i < 5) as one:
            one.sendall(request("hang", i % PES))
    return "gone"


def multicasts() -> str:
    lists = [(0, 3), (3, 0), (1, 2, 3), (0, 1, 2, 3)] * 3
    ones = [connect() for _ in lists]
    for one, pes in zip(ones, lists):
        one.sendall(request("pe", -len(pes), pes=pes))
    found = [sorted(struct.iter_unpack(">I", reply_in(everything(one)))) for one in ones]  # type: ignore[arg-type]
    for one in ones:
        one.close()
    return "right" if found == [sorted((pe,) for pe in pes) for pes in lists] else f"wrong: {found}"


def broadcast() -> str:
    found = answer("pe", -1)
    return "right" if sorted(found[i : i + 4] for i in range(0, len(found), 4)) == [bytes([0, 0, 0, i]) for i in range(PES)] else f"{found!r}"  # type: ignore[comparison-overlap]


def burst() -> str:
    ones = [connect() for _ in range(400)]
    for one in ones:
        one.sendall(request("echo", 2, b"burst"))
    found = {reply_in(everything(one)) for one in ones}
    for one in ones:
        one.close()
    return " ".join(map(str, found))


def large() -> str:
    data = hashlib.shake_256(b"large").digest((64 << 20) - 9)
    return "equal" if answer("echo", 3, data) == data else "different"


def no_reply() -> bytes | str:
    return answer("none", 1)


DEEDS: dict[str, Callable[[], object]] = {
    deed.__name__: deed
    for deed in (garbage, idle, flood, too_large, unfinished, wrong_pes, long_name, gone, slow_reader, never_answered, multicasts, broadcast,
                 burst, large, no_reply)
}  # fmt: skip


def main() -> None:
    global address, port
    address, port = sys.argv[1], int(sys.argv[2])
    for name in sys.argv[3:] or DEEDS:
        found = DEEDS[name]()
        for pe in range(PES):
            assert answer("echo", pe, name.encode()) == name.encode(), f"PE {pe} after {name}"
        print(f"{name}: {found!r}", flush=True)


if __name__ == "__main__":
    main()
