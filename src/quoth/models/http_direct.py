"""HTTP/1.1 straight to a server, as a transport of httpx2: a long answer is read as the network brings it.

In: a request of httpx2's client, which keeps everything above the wire: addresses, headers, redirects, proxies (behind
one, its own transport is used). Out: its response, whose stream gives what has arrived since it was last asked, in one
piece: a model's answer is hundreds of tiny chunks, and httpx2's own connection passes each of them through eight layers
(docs/decisions/0025). It waits for a connection as long as the request says, and for bytes for ever: the clock of the
call is its caller's. Errors are httpx2's.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio.staggered import staggered_race
from collections.abc import AsyncIterator
from functools import partial
from typing import cast

import httptools
import httpx2

MOST_UNREAD = 2**20  # bytes, for a caller who is slower than the server
NEXT_ADDRESS = 0.25  # seconds until another address of the same host is tried beside the first
IDLE = 5.0  # seconds that a connection is kept for the next request; many servers close theirs then
MOST_IDLE = 64

Origin = tuple[str, str, int]


class DirectTransport(httpx2.AsyncBaseTransport):
    def __init__(self) -> None:
        self._idle: dict[Origin, list[_Connection]] = {}
        self._ssl: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        origin = (url.scheme, url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80))
        body = await request.aread()
        connection = self._kept(origin) or await self._connected(origin, request.extensions["timeout"]["connect"])
        try:
            await connection.ask(_head(request) + body)
        except BaseException:
            connection.close()
            raise
        return httpx2.Response(
            connection.status,
            headers=connection.headers,
            stream=_Body(connection, partial(self._keep, origin, connection)),
            extensions={"http_version": b"HTTP/1.1"},
        )

    async def aclose(self) -> None:
        for kept in self._idle.values():
            for connection in kept:
                connection.close()
        self._idle.clear()

    def _kept(self, origin: Origin) -> _Connection | None:
        """The one that was used last: the others grow too old."""
        kept = self._idle.get(origin, [])
        while kept:
            connection = kept.pop()
            if connection.is_fresh():
                return connection
            connection.close()
        return None

    def _keep(self, origin: Origin, connection: _Connection) -> None:
        kept = self._idle.setdefault(origin, [])
        kept.append(connection)
        while len(kept) > MOST_IDLE or not kept[0].is_fresh():
            kept.pop(0).close()
            if not kept:
                break

    async def _connected(self, origin: Origin, seconds: float | None) -> _Connection:
        scheme, host, port = origin
        try:
            async with asyncio.timeout(seconds):
                dialled = await _dial(host, port)
                try:
                    secure = self._secured() if scheme == "https" else None
                    _, connection = await asyncio.get_running_loop().create_connection(
                        _Connection, sock=dialled, ssl=secure, server_hostname=host if secure else None
                    )
                except BaseException:
                    dialled.close()
                    raise
                return connection
        except TimeoutError as error:
            raise httpx2.ConnectTimeout(f"no connection within {seconds:g} seconds") from error
        except (OSError, ValueError) as error:  # certificates fail with either
            raise httpx2.ConnectError(str(error)) from error

    def _secured(self) -> ssl.SSLContext:
        if self._ssl is None:  # reading the certificates takes a while
            self._ssl = httpx2.create_ssl_context()
            self._ssl.set_alpn_protocols(["http/1.1"])
        return self._ssl


async def _dial(host: str, port: int) -> socket.socket:
    """The first address of the host that answers; the fast event loop cannot try them side by side itself."""
    loop = asyncio.get_running_loop()

    async def reach(family: int, address: tuple[object, ...]) -> socket.socket:
        one = socket.socket(family, socket.SOCK_STREAM)
        try:
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(one, address)
        except BaseException:
            one.close()
            raise
        return one

    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    reached, _, faults = await staggered_race(
        [partial(reach, family, address) for family, _, _, _, address in found], NEXT_ADDRESS
    )
    if reached is None:
        raise next((fault for fault in faults if fault), OSError(f"no address of {host} answers"))
    return cast(socket.socket, reached)


def _head(request: httpx2.Request) -> bytes:
    lines = [b"%b %b HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)]
    return b"\r\n".join([*lines, *(b"%b: %b" % header for header in request.headers.raw), b"", b""])


class _Body(httpx2.AsyncByteStream):
    def __init__(self, connection: _Connection, keep: partial[None]) -> None:
        self._connection = connection
        self._keep = keep

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while block := await self._connection.read():
            yield block

    async def aclose(self) -> None:
        if self._connection.is_free():
            self._keep()
        else:
            self._connection.close()


class _Connection(asyncio.Protocol):
    """One connection: a request, its response, then the next. The parser calls the methods named `on_…`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None  # of the response that is waited for
        self._waiter: asyncio.Future[None] | None = None
        self._blocks: list[bytes] = []
        self._unread = 0
        self._fault: httpx2.TransportError | None = None
        self._ended = False  # the whole response is here
        self._used_at = 0.0
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []

    async def ask(self, request: bytes) -> None:
        """Until the head of the response is there."""
        if self._transport is None:
            raise httpx2.ReadError("the server closed the connection")
        self._parser = httptools.HttpResponseParser(self)
        self._ended, self.status, self.headers = False, 0, []
        self._transport.write(request)
        while not self.status:
            await self._news()

    async def read(self) -> bytes:
        """What has arrived; nothing at the end."""
        while not self._blocks and not self._ended:
            await self._news()
        arrived = self._blocks[0] if len(self._blocks) == 1 else b"".join(self._blocks)
        self._blocks.clear()
        if self._unread > MOST_UNREAD and self._transport is not None:
            self._transport.resume_reading()
        self._unread = 0
        return arrived

    def is_free(self) -> bool:
        still_open = self._transport is not None and not self._transport.is_closing()
        return still_open and self._ended and self._parser is None

    def is_fresh(self) -> bool:
        return self.is_free() and self._loop.time() - self._used_at < IDLE

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def _news(self) -> None:
        if self._fault is not None:
            raise self._fault
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _tell(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- the network ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._parser is None:  # nobody asked for this
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fault = httpx2.RemoteProtocolError(f"this is not HTTP: {error}")
            self.close()
        self._tell()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._parser is not None and not self._ended and self._fault is None:
            if self.status and error is None and not _has_an_end(self.headers):
                self._ended = True
            elif error is not None:
                self._fault = httpx2.ReadError(str(error))
            else:
                self._fault = httpx2.RemoteProtocolError("the server closed the connection before the answer was whole")
        self._tell()

    # --- the parser ---

    def on_message_begin(self) -> None:
        if self._ended:  # it goes on talking: whose answer would that be?
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
        else:  # a word on the way, the response is still to come
            self.headers = []

    def on_body(self, body: bytes) -> None:
        self._blocks.append(body)
        self._unread += len(body)
        if self._unread > MOST_UNREAD and self._transport is not None:
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self.status and self._parser is not None:
            self._ended, self._used_at = True, self._loop.time()
            if self._parser.should_keep_alive():
                self._parser = None
            else:
                self.close()


def _has_an_end(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether the response says how long it is; one that does not lasts until the connection is closed."""
    return any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in headers)
