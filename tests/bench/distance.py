# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""An API server that is far away: a forwarder on this machine that delays everything by half of a round trip in each direction.

`python -m …distance HOST PORT MILLISECONDS` prints the port of 127.0.0.1 on which it listens, and runs until its input ends. The connection
itself is delayed by one more round trip, which is what TCP's handshake takes over such a distance.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator

_CHUNK = 65536  # bytes


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float, first: float) -> None:
    """Write what is read, each piece after the given time; the first one later by `first` seconds."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def read() -> None:
        later = first
        while True:
            piece = await reader.read(_CHUNK)
            pieces.put_nowait((loop.time() + seconds + later, piece))
            later = 0.0
            if not piece:
                return

    reading = asyncio.create_task(read())
    try:
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if not piece:
                return
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        return  # one side has gone, so the other is closed
    finally:
        reading.cancel()
        writer.close()


async def _serve(host: str, port: int, seconds: float) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(host, port)
        await asyncio.gather(
            _carry(reader, far_writer, seconds / 2, seconds),
            _carry(far_reader, writer, seconds / 2, 0.0),
            return_exceptions=True,
        )

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextlib.contextmanager
def away(host: str, port: int, milliseconds: float) -> Iterator[int]:
    """A forwarder to host:port with such a round trip; gives its port on 127.0.0.1."""
    command = [sys.executable, "-m", __spec__.name, host, str(port), str(milliseconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1000))
