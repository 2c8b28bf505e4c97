"""HTTP/1.1 to one server, over real connections: what arrives, what is kept, what fails and how."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from quoth.models import http_direct
from quoth.models.http_direct import DirectTransport

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
TWO = HEAD + b"content-length: 3\r\n\r\ntwo"

Ask = Callable[[], AbstractAsyncContextManager[httpx2.Response]]


class Wire:
    """A server that says what it is told, one answer a request; it counts who came and who left."""

    def __init__(self, *answers: bytes, close: bool = False) -> None:
        self._answers = list(answers)
        self._close = close
        self.requests: list[bytes] = []
        self.connections = 0
        self.left = asyncio.Event()
        self.writer: asyncio.StreamWriter | None = None
        self.serving: list[asyncio.Task[None]] = []
        self.transport = DirectTransport()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writer = writer
        task = asyncio.current_task()
        assert task is not None
        self.serving.append(task)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                writer.write(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])
                await writer.drain()
                if self._close:
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            writer.close()


@asynccontextmanager
async def asking(wire: Wire, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Ask]:
    server = await asyncio.start_server(wire.serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/v1/ask?a=b"
    try:
        async with httpx2.AsyncClient(transport=wire.transport, timeout=httpx2.Timeout(None, connect=5.0)) as client:
            yield lambda: client.stream("POST", url, content=b"How many?")
    finally:
        server.close()
        await asyncio.gather(*wire.serving)  # whoever asked has left
        await server.wait_closed()


async def test_a_request_goes_out_whole_and_its_answer_comes_back() -> None:
    wire = Wire(TWO)
    async with asking(wire) as ask, ask() as response:
        assert (response.status_code, response.headers["content-type"]) == (200, "text/plain")
        assert await response.aread() == b"two"
    [request] = wire.requests
    assert request.startswith(b"POST /v1/ask?a=b HTTP/1.1\r\n")
    assert b"content-length: 9\r\n" in request.lower()
    assert request.endswith(b"\r\n\r\nHow many?")


async def test_a_connection_is_used_again_once_its_answer_was_read() -> None:
    wire = Wire(TWO)
    async with asking(wire) as ask:
        for _ in range(3):
            async with ask() as response:
                await response.aread()
    assert (len(wire.requests), wire.connections) == (3, 1)


@pytest.mark.parametrize("answer", [HEAD + b"connection: close\r\ncontent-length: 3\r\n\r\ntwo", TWO + b"HTTP/1.1 2"])
async def test_a_connection_that_the_server_ends_or_goes_on_talking_on_is_not(answer: bytes) -> None:
    wire = Wire(answer)
    async with asking(wire) as ask:
        for _ in range(2):
            async with ask() as response:
                assert await response.aread() == b"two"
    assert wire.connections == 2


async def test_one_that_was_closed_while_nobody_used_it_is_not_used_either() -> None:
    wire = Wire(TWO)
    async with asking(wire) as ask:
        async with ask() as response:
            await response.aread()
        assert wire.writer is not None
        wire.writer.close()
        [[kept]] = wire.transport._idle.values()
        while kept.is_free():  # noqa: ASYNC110 - the transport tells nobody
            await asyncio.sleep(0)
        async with ask() as response:
            assert await response.aread() == b"two"
    assert wire.connections == 2


async def test_one_that_was_kept_too_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_direct, "IDLE", 0.0)
    wire = Wire(TWO)
    async with asking(wire) as ask:
        for _ in range(2):
            async with ask() as response:
                await response.aread()
        await wire.left.wait()
    assert wire.connections == 2


async def test_an_answer_that_nobody_reads_to_its_end_closes_the_connection() -> None:
    wire = Wire(HEAD + b"content-length: 300\r\n\r\ntwo")
    async with asking(wire) as ask:
        async with ask() as response:
            assert await anext(response.aiter_raw()) == b"two"
        await asyncio.wait_for(wire.left.wait(), 5)


async def test_chunks_that_arrive_together_are_read_together() -> None:
    wire = Wire(HEAD + b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
    async with asking(wire) as ask, ask() as response:
        assert [block async for block in response.aiter_raw()] == [b"onetwo"]


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async with asking(Wire(HEAD + b"\r\ntwo", close=True)) as ask, ask() as response:
        assert await response.aread() == b"two"


async def test_a_word_on_the_way_is_not_the_answer() -> None:
    async with asking(Wire(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + TWO)) as ask, ask() as response:
        assert (response.status_code, "link" in response.headers) == (200, False)
        assert await response.aread() == b"two"


@pytest.mark.parametrize(
    "answer", [HEAD + b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n3\r\nt", HEAD + b"content-length: 9\r\n\r\none"]
)
async def test_an_answer_that_is_cut_off_gives_what_there_is_and_fails(answer: bytes) -> None:
    async with asking(Wire(answer, close=True)) as ask, ask() as response:
        blocks = response.aiter_raw()
        assert (await anext(blocks)).startswith(b"one")
        with pytest.raises(httpx2.RemoteProtocolError, match="before the answer was whole"):
            await anext(blocks)


@pytest.mark.parametrize("answer", [b"", b"220 mail.example.com ESMTP\r\n", HEAD + b"content-length: x\r\n\r\n"])
async def test_who_does_not_speak_http_is_told_so(answer: bytes) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        async with asking(Wire(answer, close=True)) as ask, ask():
            pass


async def test_a_reader_slower_than_the_server_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_direct, "MOST_UNREAD", 1000)
    body = b"0123456789" * 100_000
    wire = Wire(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
    read = b""
    async with asking(wire) as ask, ask() as response:
        async for block in response.aiter_raw():
            read += block
            await asyncio.sleep(0)
    assert read == body


async def test_nobody_there_is_a_connect_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with httpx2.AsyncClient(transport=DirectTransport()) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.post(f"http://127.0.0.1:{port}/")
        with pytest.raises(httpx2.ConnectError):
            await client.post("http://no-such-host.invalid/")


async def test_who_does_not_pick_up_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def for_ever(host: str, port: int) -> socket.socket:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(http_direct, "_dial", for_ever)
    async with httpx2.AsyncClient(transport=DirectTransport(), timeout=0.05) as client:
        with pytest.raises(httpx2.ConnectTimeout):
            await client.post("http://127.0.0.1:9/")


async def test_a_second_address_is_tried_while_the_first_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    connect, look_up = loop.sock_connect, loop.getaddrinfo

    async def first_hangs(one: socket.socket, address: tuple[str, int]) -> None:
        if address[1] == 9:
            await asyncio.Event().wait()
        await connect(one, address)

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        async def two_addresses(host: str, wanted: int, **more: Any) -> Sequence[tuple[object, ...]]:
            if host == "127.0.0.1":  # what the event loop itself asks
                return await look_up(host, wanted, **more)
            return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", at)) for at in (9, port)]

        monkeypatch.setattr(http_direct, "NEXT_ADDRESS", 0.01)
        monkeypatch.setattr(loop, "getaddrinfo", two_addresses)
        monkeypatch.setattr(loop, "sock_connect", first_hangs)
        reached = await asyncio.wait_for(http_direct._dial("two.example.com", port), 5)
        assert reached.getpeername() == ("127.0.0.1", port)
        reached.close()


# --- TLS -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 127.0.0.1, signed by nobody, with its key in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(pem)
    return path


def server_side(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_a_server_whose_certificate_is_known_is_asked(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    wire = Wire(TWO)
    async with asking(wire, tls=server_side(certificate)) as ask:
        for _ in range(2):
            async with ask() as response:
                assert await response.aread() == b"two"
    assert wire.connections == 1


async def test_one_that_nobody_vouches_for_is_not(certificate: Path) -> None:
    wire = Wire(TWO)
    with pytest.raises(httpx2.ConnectError, match=r"(?i)certificate"):
        async with asking(wire, tls=server_side(certificate)) as ask, ask():
            pass
    assert wire.requests == []
