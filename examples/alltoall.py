# SPDX-License-Identifier: Apache-2.0
"""Each process sends a line to each other one, over TCP: charmrun +p4 examples/alltoall.py"""

import asyncio

import charmtree


async def main(job: charmtree.Job) -> None:
    lines: asyncio.Queue[str] = asyncio.Queue()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.put_nowait((await reader.readline()).decode().strip())
        writer.close()

    server = await asyncio.start_server(take, sock=job.port())  # which is bound
    port = server.sockets[0].getsockname()[1]
    ports = await job.allgather_start(str(port).encode())  # behind it everybody listens

    async def send(rank: int) -> None:
        _, writer = await asyncio.open_connection(job.lookup(rank).address, int(ports[rank]))
        writer.write(f"{job.rank} to {rank}\n".encode())
        await writer.drain()
        writer.close()

    await asyncio.gather(*map(send, range(job.size)))
    heard = sorted([await lines.get() for _ in range(job.size)])
    job.print(f"process {job.rank} heard {len(heard)} lines, the last: {heard[-1]}\n")
    server.close()


with charmtree.Job() as job:
    asyncio.run(main(job))
