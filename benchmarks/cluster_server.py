"""The servers of `cluster.py`, in a separate process: the tests' stand-in, and one that only replays answers.

The replaying server speaks REST and gRPC. Over REST it answers known requests from memory and passes new ones to the
stand-in; over gRPC it answers what it was told to. So it takes next to no time, and the measurement in front of it is
the cost of a client. In: lines on stdin, each the path of a file with answers for gRPC. Out: the addresses.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path

import aiohttp
import grpc

from qdrant_wire import qdrant_wire


class Repeater:
    """As little HTTP as possible."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._known: dict[tuple[str, bytes], bytes] = {}
        self._client = aiohttp.ClientSession()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, *fields = head.decode().split("\r\n")
                lengths = [field.split(":")[1] for field in fields if field.lower().startswith("content-length:")]
                body = await reader.readexactly(int(lengths[0])) if lengths else b""
                writer.write(await self._answer(line, body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, line: str, body: bytes) -> bytes:
        if (line, body) not in self._known:
            method, path, _ = line.split()
            headers = {"Content-Type": "application/json"}
            async with self._client.request(method, self._upstream + path, data=body, headers=headers) as response:
                told = await response.read()
            head = f"HTTP/1.1 {response.status} OK\r\nContent-Type: application/json\r\nContent-Length: {len(told)}\r\n"
            self._known[line, body] = head.encode() + b"\r\n" + told
        return self._known[line, body]


async def speak_grpc(answers: dict[str, bytes]) -> tuple[grpc.aio.Server, int]:
    """Chosen by the name of the method."""

    class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
            said = answers.get(details.method)

            async def answer(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
                assert said is not None
                return said

            return None if said is None else grpc.unary_unary_rpc_method_handler(answer)

    server = grpc.aio.server()
    server.add_generic_rpc_handlers((Handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return server, port


async def main() -> None:
    with qdrant_wire() as wire:
        server = await asyncio.start_server(Repeater(wire.url).serve, "127.0.0.1", 0)
        print(wire.url, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        speaking = []
        while line := await asyncio.to_thread(sys.stdin.readline):
            told = json.loads(Path(line.strip()).read_text())
            speaking.append(await speak_grpc({name: base64.b64decode(answer) for name, answer in told.items()}))
            print(speaking[-1][1], flush=True)


if __name__ == "__main__":
    asyncio.run(main())
