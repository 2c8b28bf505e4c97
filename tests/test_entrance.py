"""The entrance of compose.yaml with the real nginx, on loopback: it streams, keeps the client's address, and loses no
request when a worker restarts. A few lines of Python play Docker's name server."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
import pytest

from commands import quoth
from serving import Served, serving

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/opt/homebrew/bin") or ""
CONFIGURATION = Path(__file__).resolve().parents[1] / "packaging" / "entrance" / "nginx.conf"
WORKERS = ("127.0.0.2", "127.0.0.3")  # all of 127/8 is this machine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NGINX, reason="needs nginx: apt install nginx-light"),
]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def name_server() -> Iterator[int]:
    """Answers every query with the addresses of all workers."""
    asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asked.bind(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            query, sender = asked.recvfrom(512)
            if not query:
                return
            end = query.index(b"\0", 12) + 5
            records = [b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(worker) for worker in WORKERS]
            head = query[:2] + b"\x81\x80\0\1" + len(records).to_bytes(2, "big") + b"\0\0\0\0"
            asked.sendto(head + query[12:end] + b"".join(records), sender)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield int(asked.getsockname()[1])
    finally:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as goodbye:
            goodbye.sendto(b"", asked.getsockname())
        thread.join()
        asked.close()


@contextmanager
def entrance(folder: Path, workers_port: int) -> Iterator[str]:
    """nginx with the file unchanged except for its ports and its folder."""
    port = free_port()
    with name_server() as names:
        text = CONFIGURATION.read_text()
        for before, after in {
            "resolver 127.0.0.11 ": f"resolver 127.0.0.1:{names} ",
            "listen 8080;": f"listen 127.0.0.1:{port};",
            "http://api:8000;": f"http://api:{workers_port};",
            " /tmp/": f" {folder}/",
            "worker_processes auto;": "worker_processes 1; daemon off;",
        }.items():
            assert before in text
            text = text.replace(before, after)
        (folder / "nginx.conf").write_text(text)
        process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")])
        try:
            wait_for(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as knocking:
            if knocking.connect_ex(("127.0.0.1", port)) == 0:
                return
        threading.Event().wait(0.05)
    raise AssertionError("nginx does not start")


# --- with a worker that does what the test wants ----------------------------------------------------------------------

Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def worker(host: str, port: int, answer: Answer) -> AsyncIterator[None]:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if length := re.search(rb"content-length: (\d+)", head, re.I):
            head += await reader.readexactly(int(length[1]))
        await answer(head, writer)
        writer.close()

    server = await asyncio.start_server(accept, host, port)
    async with server:
        yield


async def test_words_come_through_one_by_one(tmp_path: Path) -> None:
    heard = asyncio.Event()

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: one\n\n")
        await heard.wait()  # the second word waits until the first was heard
        writer.write(b"data: two\n\n")
        await writer.drain()

    port = free_port()
    async with worker(WORKERS[0], port, answer), worker(WORKERS[1], port, answer):
        with entrance(tmp_path, port) as at:
            async with httpx2.AsyncClient(timeout=60) as client, client.stream("POST", f"{at}/chat/stream") as response:
                words = response.aiter_text()
                assert "one" in await anext(words)
                heard.set()
                assert "two" in "".join([word async for word in words])


async def test_the_address_is_the_clients_whatever_it_claims(tmp_path: Path) -> None:
    heads: list[bytes] = []

    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        await writer.drain()

    port = free_port()
    async with worker(WORKERS[0], port, answer), worker(WORKERS[1], port, answer):
        with entrance(tmp_path, port) as at:
            async with httpx2.AsyncClient(timeout=60) as client:
                claimed = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "gopher"}
                assert (await client.get(f"{at}/search?q=a%20b", headers=claimed)).text == "ok"
    [head] = heads
    assert head.startswith(b"GET /search?q=a%20b HTTP/1.1\r\n")
    assert b"6.6.6.6" not in head
    assert b"gopher" not in head
    assert re.search(rb"x-forwarded-for: 127\.0\.0\.1\r\n", head, re.I)
    assert re.search(rf"host: {at.removeprefix('http://')}\r\n".encode(), head, re.I)


async def test_a_worker_that_breaks_off_before_it_answers_costs_nothing(tmp_path: Path) -> None:
    async def break_off(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        await writer.drain()

    port = free_port()
    async with worker(WORKERS[0], port, break_off), worker(WORKERS[1], port, answer):
        with entrance(tmp_path, port) as at:
            async with httpx2.AsyncClient(timeout=60) as client:
                found = [await client.post(f"{at}/chat", json={"query": "?"}) for _ in range(6)]
    assert [response.text for response in found] == ["ok"] * 6


# --- with workers of ours ---------------------------------------------------------------------------------------------


@pytest.mark.timeout(400)
async def test_a_restart_of_a_worker_under_load_loses_no_request(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "gripper.md").write_text("# Gripper\n\nA gripper closes with a force of 40 newtons.\n")
    assert quoth("ingest", tmp_path / "book", "--data-dir", tmp_path / "data").returncode == 0
    port = free_port()
    answered: asyncio.Queue[str] = asyncio.Queue()
    stop = asyncio.Event()

    async def ask(client: httpx2.AsyncClient, at: str) -> None:
        while not stop.is_set():
            response = await client.post(f"{at}/chat", json={"query": "With which force does the gripper close?"})
            answered.put_nowait(f"{response.status_code} {'40 newtons' in response.text}")

    def started(host: str) -> AbstractAsyncContextManager[Served]:
        return serving(tmp_path, "--host", host, "--port", str(port), QUOTH_RATE_LIMIT="0")

    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(started(WORKERS[0]))
        await stack.enter_async_context(started(WORKERS[1]))
        with entrance(tmp_path, port) as at:
            async with httpx2.AsyncClient(timeout=60) as client:
                asking = [asyncio.create_task(ask(client, at)) for _ in range(4)]
                found = await ten_of(answered)
                assert await first.stop() == 0
                found += await ten_of(answered)
                await stack.enter_async_context(started(WORKERS[0]))
                found += await ten_of(answered)
                stop.set()
                await asyncio.gather(*asking)
    found += [answered.get_nowait() for _ in range(answered.qsize())]
    assert set(found) == {"200 True"}


async def ten_of(answered: asyncio.Queue[str]) -> list[str]:
    async with asyncio.timeout(100):
        return [await answered.get() for _ in range(10)]
