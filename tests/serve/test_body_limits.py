"""How large and how slow a request may be, and how slowly its answer may be read: no client holds a place for answers
by sending half a question or by not reading."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from doors import ASKED, Doors, check_problem, opened, served
from quoth import domain
from quoth.domain import ModelEvent, ModelText, Tool
from quoth.errors import QuothError
from quoth.serve import bodies
from quoth.serve.bodies import MAX_BODY, TransferLimits
from quoth.serve.doorway import Doorway
from quoth.serve.problems import problem_response

JSON = {"content-type": "application/json"}


async def pieces(size: int, piece: int = 1000) -> AsyncIterator[bytes]:
    for start in range(0, size, piece):
        yield b"x" * min(piece, size - start)


async def counting(scope: Scope, receive: Receive, send: Send) -> None:
    """A door that says how long the body is."""
    response: Response
    try:
        response = PlainTextResponse(str(len(await Request(scope, receive).body())))
    except QuothError as error:
        response = problem_response(error, Request(scope))
    await response(scope, receive, send)


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    app = Doorway(TransferLimits(counting, largest=10_000, larger={"/large": 20_000}))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as client:
        yield client


# --- size ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "most"), [("/", 10_000), ("/large", 20_000)])
async def test_a_body_may_be_as_large_as_its_path_allows_and_no_byte_more(
    client: httpx2.AsyncClient, path: str, most: int
) -> None:
    for content in (b"x" * most, pieces(most)):
        response = await client.post(path, content=content)
        assert (response.status_code, response.text) == (200, str(most))
    for content in (b"x" * (most + 1), pieces(most + 1)):
        problem = check_problem(await client.post(path, content=content), 413, "BODY_TOO_LARGE")
        assert f"{most:,}" in problem["message"]


async def test_what_is_declared_too_large_is_not_read_at_all() -> None:
    received = 0

    async def receive() -> dict[str, object]:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": b"", "more_body": True}

    sent: list[dict[str, object]] = []

    async def send(message: object) -> None:
        assert isinstance(message, dict)
        sent.append(message)

    scope = {
        **{"type": "http", "method": "POST", "path": "/chat", "query_string": b"", "state": {"request_id": "1"}},
        **{"headers": [(b"content-length", b"10001")], "server": ("localhost", 80), "scheme": "http"},
    }
    await TransferLimits(counting, largest=10_000)(scope, receive, send)
    assert (received, sent[0]["status"]) == (0, 413)


# --- time ------------------------------------------------------------------------------------------------------------


async def endless(first: bytes) -> AsyncIterator[bytes]:
    yield first
    await asyncio.Event().wait()


async def test_a_body_that_does_not_come_to_an_end_is_answered(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BODY_TIMEOUT", 0.05)
    response = await client.post("/", content=endless(b"half"))
    check_problem(response, 408, "REQUEST_TIMEOUT")
    assert response.headers["connection"] == "close"


async def test_a_body_that_drips_has_no_more_time_than_one_that_stops(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BODY_TIMEOUT", 0.2)

    async def dripping() -> AsyncIterator[bytes]:
        while True:
            yield b"x"
            await asyncio.sleep(0.01)

    check_problem(await client.post("/", content=dripping()), 408, "REQUEST_TIMEOUT")


async def test_an_answer_may_take_longer_than_its_question_took(
    client: httpx2.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit ends with the body: after that, a door only listens for the client to disconnect."""
    monkeypatch.setattr(bodies, "BODY_TIMEOUT", 0.05)
    async with opened(tmp_path, model=Slow(0.3)) as doors:
        assert (await doors.client.post("/chat", json={"query": ASKED})).status_code == 200


class Slow:
    """A model that thinks before it quotes the first passage."""

    name = "slow"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def reply(self, messages: Sequence[domain.Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        await asyncio.sleep(self._seconds)
        yield ModelText("Transient local durability keeps the last message for late subscribers [1].")
        yield domain.ModelTurn(tokens=7, model=self.name)

    async def fault(self) -> None:
        return None

    async def check(self) -> str:
        return "here"

    async def close(self) -> None:
        return


class Chatterbox(Slow):
    """A model that never stops."""

    async def reply(self, messages: Sequence[domain.Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        while True:
            yield ModelText("Transient local durability keeps the last message for late subscribers [1]. " * 20)
            await asyncio.sleep(0)


# --- places ----------------------------------------------------------------------------------------------------------


def free_places(doors: Doors) -> int:
    found: int = doors.app.state.guard.places._free
    return found


@pytest.mark.parametrize("path", ["/chat", "/chat/stream", "/chat/run", "/v1/chat/completions", "/mcp"])
async def test_half_a_question_takes_no_place(tmp_path: Path, path: str) -> None:
    async with opened(tmp_path, settings={"max_answers": 1}) as doors:
        half = asyncio.create_task(doors.client.post(path, content=endless(b'{"query": "'), headers=JSON))
        await asyncio.sleep(0.05)
        assert free_places(doors) == 1
        assert (await doors.client.post("/chat", json={"query": ASKED})).status_code == 200
        half.cancel()


@pytest.mark.parametrize("path", ["/chat/stream", "/v1/chat/completions"])
async def test_a_reader_who_stops_reading_loses_the_answer_and_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bodies, "WRITE_TIMEOUT", 0.1)
    body = b'{"query": "%s"}' % ASKED.encode()
    if path.startswith("/v1"):
        body = b'{"model": "quoth", "stream": true, "messages": [{"role": "user", "content": "%s"}]}' % ASKED.encode()
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if unread:
            return unread.pop()
        await asyncio.Event().wait()
        raise AssertionError

    reads = asyncio.Event()

    async def full(message: Message) -> None:
        if message["type"] == "http.response.body":
            await reads.wait()  # as a server waits for a client that does not read

    async with opened(tmp_path, settings={"max_answers": 1}, model=Chatterbox(0)) as doors:
        scope = {
            **{"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""},
            **{"headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "scheme": "http"},
            **{"server": ("localhost", 80), "client": ("127.0.0.1", 1), "root_path": "", "http_version": "1.1"},
        }
        asking = asyncio.create_task(doors.app(scope, receive, full))
        ended, _ = await asyncio.wait([asking], timeout=20)
        reads.set()
        asking.cancel()
        await asyncio.wait([asking])
        assert ended
        assert free_places(doors) == 1
        assert "stopped reading" in caplog.text


# --- over real connections -------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_over_a_real_connection_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors, served(doors.quoth) as address:
        async with httpx2.AsyncClient(base_url=address) as client:
            response = await client.post("/chat", content=pieces(MAX_BODY + 1), headers=JSON)
            check_problem(response, 413, "BODY_TOO_LARGE")
            assert (await client.post("/chat", json={"query": ASKED})).status_code == 200
        reader, writer = await connect(address)
        writer.write(head("/chat", 99_999_999))
        assert (await reader.readline()).startswith(b"HTTP/1.1 413")  # before a byte of it was sent
        writer.close()


async def connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = address.removeprefix("http://").partition(":")
    return await asyncio.open_connection(host, int(port))


def head(path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    ).encode()


@pytest.mark.slow
async def test_many_half_sent_questions_keep_no_reader_waiting_and_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, settings={"max_answers": 4}) as doors, served(doors.quoth) as address:
        halves = [await connect(address) for _ in range(20)]
        for _, writer in halves:
            writer.write(head("/chat/stream", 100) + b'{"query": ')
            await writer.drain()
        async with httpx2.AsyncClient(base_url=address, timeout=60) as client:
            assert (await client.post("/chat", json={"query": ASKED})).status_code == 200
            monkeypatch.setattr(bodies, "BODY_TIMEOUT", 0.1)
            late, writer = await connect(address)
            writer.write(head("/chat/stream", 100) + b'{"query": ')
            assert (await late.read()).startswith(b"HTTP/1.1 408")  # and the connection was closed
            writer.close()
        for _, writer in halves:
            writer.close()


@pytest.mark.slow
async def test_a_client_that_never_reads_its_stream_holds_nothing_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "WRITE_TIMEOUT", 0.5)
    async with (
        opened(tmp_path, settings={"max_answers": 1}, model=Chatterbox(0)) as doors,
        served(doors.quoth, send_buffer=4096) as address,
        httpx2.AsyncClient(base_url=address, timeout=60) as client,
    ):
        loop, body = asyncio.get_running_loop(), b'{"query": "%s"}' % ASKED.encode()
        host, _, port = address.removeprefix("http://").partition(":")
        with socket.socket() as silent:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            silent.setblocking(False)
            await loop.sock_connect(silent, (host, int(port)))
            await loop.sock_sendall(silent, head("/chat/stream", len(body)) + body)

            async def status() -> int:
                await asyncio.sleep(0.02)
                return (await client.post("/chat", json={})).status_code

            async with asyncio.timeout(60):
                while await status() != 429:  # until the silent client has taken the place
                    pass
                while (last := await status()) == 429:  # until it has lost it again
                    pass
            assert last == 400  # there was a place, and the question was empty


@pytest.mark.slow
async def test_a_client_cannot_choose_its_own_address_on_a_real_connection(tmp_path: Path) -> None:
    """uvicorn trusts X-Forwarded-For from loopback unless told not to."""
    async with (
        opened(tmp_path, settings={"rate_limit": 1}) as doors,
        served(doors.quoth) as address,
        httpx2.AsyncClient(base_url=address) as client,
    ):
        status = [
            (await client.get("/books", headers={"x-forwarded-for": f"192.0.2.{number}"})).status_code
            for number in range(2)
        ]
        assert status == [200, 429]
