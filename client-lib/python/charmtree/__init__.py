# SPDX-License-Identifier: Apache-2.0
"""What a parallel program in Python needs from its launcher: libcharmtree (charmtree.h), by ctypes.

    import charmtree

    with charmtree.Job() as job:                  # alone, without charmrun: a job of one
        job.register(f"{host}:{port}".encode())   # what the others must know
        other = job.lookup((job.rank + 1) % job.size)
        print(job.rank, job.size, other.tuple)
        job.put(f"colour of {job.rank}", b"red")
        job.fence()                               # behind it all get what each has put
        print(job.get(f"colour of {other.rank}"))
        ranks = job.allgather_start(b"any bytes") # meanwhile this goes on; or: await it
        print(ranks.wait()[other.rank])

Python 3.9 or later, nothing else. charmtree.h says what each call does and when it waits; a call that fails raises
JobError, whose `error` is one of its CT_E... numbers. The with statement ends the job for this process: with status 0,
or, after an exception, by telling charmrun of it, which ends the whole job. A job is for one thread at a time.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import traceback
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

__all__ = ["FOREVER", "NODE_ROOTS", "SHARED", "SIMPLE", "TABLE", "Fence", "Job", "JobError", "Peer", "Request", "version"]

FOREVER = -1
TABLE, NODE_ROOTS, SHARED, SIMPLE = range(4)
_TIMEDOUT, _ENDED, _ORDER, _FORK, _NO_KEY = -6, -9, -10, -11, -13
_MAX_PRINT = 262144
_PORT_KINDS = {socket.SOCK_STREAM: 1, socket.SOCK_DGRAM: 2}
_STREAMS = {"stdout": 1, "stderr": 2}
_MERGES = {"": 0, "sum": 1, "min": 2, "max": 3, "int32": 16, "int64": 32, "double": 48}


class JobError(Exception):
    """`error` is one of CT_E... of charmtree.h."""

    def __init__(self, error: int) -> None:
        super().__init__(_library.ct_strerror(error).decode())
        self.error = error


class Peer(NamedTuple):
    """A process as the table has it; `address`: what reaches it from here, numeric, or an empty text."""

    rank: int
    host: int
    address: str
    tuple: bytes


class Request(NamedTuple):
    """What a CCS client asks; `address` and `port` are the client's."""

    handler: str
    data: bytes
    address: str
    port: int


class _Request(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.c_uint32),
        ("handler", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("ipv4", ctypes.c_uint32),
        ("port", ctypes.c_uint16),
    ]


class _Peer(ctypes.Structure):
    _fields_ = [
        ("rank", ctypes.c_int),
        ("host", ctypes.c_int),
        ("address", ctypes.c_char * 46),
        ("tuple", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
    ]


_JobPointer = ctypes.c_void_p
_Ranks = ctypes.POINTER(ctypes.c_int)
_Found = [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)]
_Lost = ctypes.CFUNCTYPE(None, _JobPointer, _Ranks, ctypes.c_int, ctypes.c_void_p)
_Restarted = ctypes.CFUNCTYPE(ctypes.c_int, _JobPointer, _Ranks, ctypes.c_int, ctypes.c_void_p)
_Asked = ctypes.CFUNCTYPE(None, _JobPointer, ctypes.POINTER(_Request), ctypes.c_void_p)
_Listens = ctypes.CFUNCTYPE(None, _JobPointer, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


def _load() -> ctypes.CDLL:
    """The library beside this file (the wheel's), that of the same installation, or the system's."""
    here = Path(__file__).resolve().parent
    prefix = here.parent.parent.parent.parent  # of PREFIX/share/charmtree/python/charmtree
    beside = [here / "libcharmtree.so", *(found for place in ("lib", "lib64", "lib/*") for found in prefix.glob(f"{place}/libcharmtree.so.0"))]
    library = ctypes.CDLL(str(next((path for path in beside if path.exists()), "libcharmtree.so.0")))
    library.ct_strerror.restype = library.ct_version.restype = ctypes.c_char_p
    for name, more in {
        "ct_set_timeout": [ctypes.c_int],
        "ct_port": [ctypes.c_int, ctypes.POINTER(ctypes.c_uint16)],
        "ct_register": [ctypes.c_char_p, ctypes.c_size_t],
        "ct_lookup": [ctypes.c_int, ctypes.POINTER(_Peer)],
        "ct_host": [ctypes.c_int],
        "ct_local_peer": [ctypes.c_int],
        "ct_topology": _Found,
        "ct_offer": [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t],
        "ct_ask": [ctypes.c_int, ctypes.c_char_p, *_Found],
        "ct_ask_start": [ctypes.c_int, ctypes.c_char_p],
        "ct_on_ask": [ctypes.c_char_p, _Listens, ctypes.c_void_p],
        "ct_answer": [ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t],
        "ct_exchange_start": [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t],
        "ct_put": [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t],
        "ct_get": [ctypes.c_char_p, *_Found],
        "ct_fence_start": [_Ranks, ctypes.c_int],
        "ct_allgather_start": [_Ranks, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t],
        "ct_ring_start": [ctypes.c_char_p, ctypes.c_size_t],
        "ct_gathered": [ctypes.c_int, ctypes.c_int, *_Found],
        "ct_test": [ctypes.c_int],
        "ct_wait": [ctypes.c_int],
        "ct_release": [ctypes.c_int],
        "ct_alive": [ctypes.c_int],
        "ct_on_loss": [_Lost, ctypes.c_void_p],
        "ct_on_restart": [_Restarted, ctypes.c_void_p],
        "ct_ccs_register": [ctypes.c_char_p, ctypes.c_int, _Asked, ctypes.c_void_p],
        "ct_ccs_reply": [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t],
        "ct_print": [ctypes.c_int, ctypes.c_char_p],
        "ct_abort": [ctypes.c_int, ctypes.c_char_p],
        "ct_finalize": [ctypes.c_int],
    }.items():
        getattr(library, name).argtypes = [_JobPointer, *more]
    for name in ("rank", "size", "local_rank", "local_size", "epoch", "table", "barrier", "fence", "barriers", "restarts", "descriptor", "hosts", "peers", "progress", "ccs_serve"):
        getattr(library, f"ct_{name}").argtypes = [_JobPointer]
    return library


_library = _load()


def _key(key: str) -> bytes:
    data = key.encode()
    if b"\0" in data:
        raise ValueError("a key without zeros")
    return data


def version() -> str:
    """Of the library."""
    return _library.ct_version().decode()


def _number(function: Callable[[_JobPointer], int]) -> property:
    """What the library says of a job, as an attribute of it."""
    return property(lambda job: job._call(function))


def _ranks(ranks: Sequence[int]) -> tuple[object, int]:
    return ((ctypes.c_int * len(ranks))(*ranks) if ranks else None), len(ranks)


class Fence:
    """One that this process has entered, or a ring, or what it has asked for. Awaited, or by wait(), it gives what ranks have given, if that is what it is for; once."""

    def __init__(self, job: Job, request: int, givers: Iterable[int] = ()) -> None:
        self._job, self._request, self._givers = job, request, givers

    def test(self) -> bool:
        """Whether it is over. Never waits."""
        return self._job._call(_library.ct_test, self._request) == 1

    def _is_over(self) -> bool:
        """The same where all that await something look: none of them wakes the others by it. Meanwhile others may ask this process."""
        self._job._check(_library.ct_progress(self._job._job))
        return self._job._check(_library.ct_test(self._job._job, self._request)) == 1

    def wait(self) -> dict[int, bytes]:
        try:
            self._job._call(_library.ct_wait, self._request)
        except JobError as error:
            if error.error != _TIMEDOUT:
                _library.ct_release(self._job._job, self._request)
            raise
        found = {rank: self._job._found(_library.ct_gathered, self._request, rank) for rank in self._givers}
        self._job._call(_library.ct_release, self._request)
        return found

    def __await__(self) -> Generator[object, None, dict[int, bytes]]:
        while not self._is_over():
            yield from self._job._readable().__await__()
        return self.wait()


class Job:
    """This process's place in the job of the charmrun that started it. Making it may wait, a minute at most."""

    def __init__(self) -> None:
        self._job = _JobPointer()
        self._kept: list[object] = []  # what the library holds, or held, a pointer to
        self._raised: BaseException | None = None  # in a function that the library called
        self._awaiting: list[asyncio.Future[None]] = []  # that the launcher says something
        self._check(_library.ct_init(ctypes.byref(self._job)))

    def _call(self, function: Callable[..., int], *arguments: object) -> int:
        result = function(self._job, *arguments)
        self._wake()  # it may have heard what is awaited
        return self._check(result)

    def _check(self, result: int) -> int:
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        if result < 0:
            raise JobError(result)
        return result

    rank = _number(_library.ct_rank)
    size = _number(_library.ct_size)
    local_rank = _number(_library.ct_local_rank)
    local_size = _number(_library.ct_local_size)
    epoch = _number(_library.ct_epoch)
    barriers = _number(_library.ct_barriers)
    restarts = _number(_library.ct_restarts)
    hosts = _number(_library.ct_hosts)
    peers = _number(_library.ct_peers)

    def set_timeout(self, milliseconds: int) -> None:
        self._call(_library.ct_set_timeout, milliseconds)

    def port(self, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
        """A socket bound to a port of the launcher's choice, once for SOCK_STREAM and once for SOCK_DGRAM. Of AF_INET6 it takes IPv4, too."""
        number = ctypes.c_uint16()
        return socket.socket(fileno=self._call(_library.ct_port, _PORT_KINDS[kind], ctypes.byref(number)))

    def register(self, tuple_: bytes) -> None:
        self._call(_library.ct_register, tuple_, len(tuple_))

    def table(self) -> None:
        self._call(_library.ct_table)

    def lookup(self, rank: int) -> Peer:
        peer = _Peer()
        self._call(_library.ct_lookup, rank, ctypes.byref(peer))
        return Peer(peer.rank, peer.host, peer.address.decode(), ctypes.string_at(peer.tuple, peer.size) if peer.size else b"")

    def host(self, rank: int) -> int:
        """The number of the host on which it was started; known before there is a table."""
        return self._call(_library.ct_host, rank)

    def local_peers(self) -> list[int]:
        """The ranks of this host, in the order of their local ranks."""
        return [self._call(_library.ct_local_peer, local_rank) for local_rank in range(self.local_size)]

    def topology(self) -> str:
        """What this host consists of, as XML of hwloc. LookupError: it is not known."""
        try:
            return self._found(_library.ct_topology).rstrip(b"\0").decode()
        except JobError as error:
            if error.error == _NO_KEY:
                raise LookupError("no topology") from None
            raise

    def barrier(self) -> None:
        self._call(_library.ct_barrier)

    def put(self, key: str, value: bytes) -> None:
        self._call(_library.ct_put, _key(key), value, len(value))

    def get(self, key: str) -> bytes:
        """KeyError: no fence that is over has brought it."""
        try:
            return self._found(_library.ct_get, _key(key))
        except JobError as error:
            if error.error == _NO_KEY:
                raise KeyError(key) from None
            raise

    def offer(self, key: str, value: bytes) -> None:
        """For those that ask this process for it."""
        self._call(_library.ct_offer, _key(key), value, len(value))

    def ask(self, rank: int, key: str) -> bytes:
        """What that process offers; known from then on. KeyError: it is this one, and offers no such."""
        try:
            return self._found(_library.ct_ask, rank, _key(key))
        except JobError as error:
            if error.error == _NO_KEY:
                raise KeyError(key) from None
            raise

    def ask_start(self, rank: int, key: str) -> Fence:
        """The same, to be awaited."""
        return Fence(self, self._call(_library.ct_ask_start, rank, _key(key)), [rank])

    def on_ask(self, prefix: str, function: Callable[[int, str], None]) -> None:
        """The function is told who asks for which key, of those that begin so and are not offered; answer() answers. What it raises is
        raised by the call in which it was called. It is also called while this process is in the job's end, until all are there; then it
        may only answer or offer."""

        def call(_job: int, rank: int, key: bytes, _argument: object) -> None:
            self._run(lambda: function(rank, key.decode()))

        self._kept.append(_Listens(call))
        self._call(_library.ct_on_ask, _key(prefix), self._kept[-1], None)

    def answer(self, rank: int, key: str, value: bytes) -> None:
        """To that process alone, for what it has asked for."""
        self._call(_library.ct_answer, rank, _key(key), value, len(value))

    def progress(self) -> None:
        """Takes note of what the launcher has said, and tells on_loss, on_restart and on_ask; never waits."""
        self._call(_library.ct_progress)

    def fence(self) -> None:
        self._call(_library.ct_fence)

    def fence_start(self, ranks: Sequence[int] = ()) -> Fence:
        """Of the job, or of these ranks, this one among them."""
        return Fence(self, self._call(_library.ct_fence_start, *_ranks(ranks)))

    def allgather_start(self, value: bytes, ranks: Sequence[int] = ()) -> Fence:
        return Fence(self, self._call(_library.ct_allgather_start, *_ranks(ranks), value, len(value)), ranks or range(self.size))

    def allgather(self, value: bytes, ranks: Sequence[int] = ()) -> dict[int, bytes]:
        return self.allgather_start(value, ranks).wait()

    def exchange_start(self, value: bytes, strategy: int = TABLE) -> Fence:
        """Of the job, all values of one size: how they get to all is TABLE, NODE_ROOTS, SHARED or SIMPLE, there to be compared."""
        return Fence(self, self._call(_library.ct_exchange_start, strategy, value, len(value)), range(self.size))

    def ring_start(self, value: bytes) -> Fence:
        """What the next lower and the next higher rank give for it, where the first and the last one are neighbours."""
        beside = {(self.rank + self.size - 1) % self.size, (self.rank + 1) % self.size}
        return Fence(self, self._call(_library.ct_ring_start, value, len(value)), beside)

    def _found(self, function: Callable[..., int], *arguments: object) -> bytes:
        value, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._call(function, *arguments, ctypes.byref(value), ctypes.byref(size))
        return ctypes.string_at(value, size.value) if size.value else b""

    async def _readable(self) -> None:
        """Until the launcher has said something, or another call may have heard it."""
        loop = asyncio.get_running_loop()
        if not self._awaiting:
            loop.add_reader(_library.ct_descriptor(self._job), self._wake)
        self._awaiting.append(loop.create_future())
        await self._awaiting[-1]

    def _wake(self) -> None:
        if not self._awaiting:
            return
        self._awaiting[0].get_loop().remove_reader(_library.ct_descriptor(self._job))
        for each in self._awaiting:
            if not each.done():
                each.set_result(None)
        self._awaiting.clear()

    def alive(self, rank: int) -> bool:
        return self._call(_library.ct_alive, rank) == 1

    def on_loss(self, function: Callable[[Sequence[int]], None]) -> None:
        """What it raises is raised by the call in which it was called."""

        def call(_job: int, ranks: object, count: int, _argument: object) -> None:
            self._run(lambda: function(ranks[:count]))  # type: ignore[index]

        self._kept.append(_Lost(call))
        self._call(_library.ct_on_loss, self._kept[-1], None)

    def on_restart(self, function: Callable[[Sequence[int]], bool]) -> None:
        """True: the call in which it was called is left by a JobError of CT_ERESTARTED. What it raises is raised there."""

        def call(_job: int, ranks: object, count: int, _argument: object) -> int:
            return 1 if self._run(lambda: function(ranks[:count])) else 0  # type: ignore[index]

        self._kept.append(_Restarted(call))
        self._call(_library.ct_on_restart, self._kept[-1], None)

    def handle(self, name: str, function: Callable[[Request], bytes | None], merge: str = "") -> None:
        """From now on the process takes CCS requests of this name, by serve(), and replies with what the function returns, unless
        that is None. `merge`: how the replies of several are merged, such as "sum int64" ("": strung together)."""

        def call(job: int, request: object, _argument: object) -> None:
            asked = request[0]  # type: ignore[index]
            data = ctypes.string_at(asked.data, asked.size) if asked.size else b""
            address = socket.inet_ntoa(asked.ipv4.to_bytes(4, "big"))

            def answer() -> None:
                reply = function(Request(asked.handler.decode(), data, address, asked.port))
                if reply is not None:
                    text = bytes(memoryview(reply))
                    self._check(_library.ct_ccs_reply(job, asked.id, text, len(text)))

            self._run(answer)

        how = sum(_MERGES[word] for word in merge.split(" "))
        self._kept.append(_Asked(call))
        self._call(_library.ct_ccs_register, name.encode(), how, self._kept[-1], None)

    def serve(self) -> int:
        """Waits until requests have come, calls their handlers, and says how many. What a handler raises is raised here; with a
        time-out of 0 so is that a reply was not taken, which then is gone."""
        return self._call(_library.ct_ccs_serve)

    def _run(self, function: Callable[[], object]) -> object:
        """What one has raised is not raised in the next."""
        before, self._raised = self._raised, None
        try:
            result = function()
            self._raised = before
            return result
        except BaseException as raised:  # noqa: BLE001: it goes on where the library returns
            self._raised = raised if before is None else before
            return True

    def print(self, text: str, stream: str = "stdout") -> None:
        """In order with what this process printed so before, and each call's text whole."""
        data = text.encode()
        if len(data) > _MAX_PRINT or b"\0" in data:
            raise ValueError(f"at most {_MAX_PRINT} bytes, without zeros")
        self._call(_library.ct_print, _STREAMS[stream], data)

    def abort(self, status: int, text: str = "") -> None:
        self._call(_library.ct_abort, status, text.encode())

    def finalize(self, status: int = 0) -> None:
        """Afterwards there is no job, unless it raised CT_ETIMEDOUT or CT_EORDER."""
        result = _library.ct_finalize(self._job, status)
        if result not in (_TIMEDOUT, _ORDER):
            self._job = _JobPointer()
        if result != _ENDED:
            self._check(result)

    def __enter__(self) -> Job:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if not self._job:
            return
        _library.ct_set_timeout(self._job, FOREVER)
        failed = value is not None and not (isinstance(value, SystemExit) and value.code in (None, 0))
        if failed:  # the others wait for this process: so that is the end of the job
            status = value.code & 255 if isinstance(value, SystemExit) and isinstance(value.code, int) else 1
            what = "".join(traceback.format_exception_only(kind, value)).strip()
            text = f"process {_library.ct_rank(self._job)} (pid {os.getpid()}): {what}"
            _library.ct_abort(self._job, status or 1, text.encode(errors="backslashreplace"))
        try:
            self.finalize()
        except JobError as error:
            if not failed and error.error != _FORK:
                raise
