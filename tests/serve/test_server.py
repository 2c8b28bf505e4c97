from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from doors import ASKED, Doors, frames, opened, served
from quoth.errors import BadConfiguration
from quoth.serve import bodies
from quoth.serve.server import address_of, listen


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


async def test_a_stream_over_a_real_port_is_the_stream_in_process(doors: Doors) -> None:
    async with served(doors.quoth) as address, httpx2.AsyncClient(base_url=address) as client:
        response = await client.post("/chat/stream", json={"query": ASKED})
        events = frames(response.text)
        assert response.headers["transfer-encoding"] == "chunked"
        assert "server" not in response.headers
        assert [name for name, _ in events] == [name for name, _ in await doors.stream()]


async def test_many_streams_at_once_lose_nothing(doors: Doors) -> None:
    async with served(doors.quoth) as address, httpx2.AsyncClient(base_url=address, timeout=60) as client:
        asked = [client.post("/chat/stream", json={"query": ASKED}) for _ in range(30)]
        answers = [frames(response.text) for response in await asyncio.gather(*asked)]
    texts = {"".join(data["delta"] for name, data in events if name == "delta") for events in answers}
    assert len(texts) == 1
    assert {events[-1][0] for events in answers} == {"done"}


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's option is Linux'")
def test_the_kernel_ends_connections_whose_client_does_not_read() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) > 1000 * bodies.WRITE_TIMEOUT


def test_a_taken_port_is_one_clear_line() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadConfiguration, match=f"Port {port} on 127.0.0.1 is already in use") as told:
            listen("127.0.0.1", port)
    assert "--port" in told.value.hint


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_address_that_is_not_ours_is_one_clear_line(host: str) -> None:
    with pytest.raises(BadConfiguration, match="Cannot listen on"):
        listen(host, 0)


def test_an_address_is_printed_so_that_it_can_be_opened() -> None:
    with listen("127.0.0.1", 0) as here:
        assert address_of(here) == f"http://127.0.0.1:{here.getsockname()[1]}/"


@pytest.mark.slow
def test_a_server_starts_without_the_parsers_of_books() -> None:
    """They take a fifth of the time to import everything, in every worker, and only ingestion needs them."""
    program = "import sys, quoth.serve.server; print([name for name in sys.modules if 'quoth.sources' in name])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_the_server_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "quoth", "serve", "--port", str(port), "--data-dir", str(tmp_path / "data")),
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env=dict(os.environ),
    )
    assert process.stderr
    try:
        line = await asyncio.wait_for(process.stderr.readline(), timeout=60)
        assert line.decode() == f"Quoth is at http://127.0.0.1:{port}/ (Ctrl-C stops it)\n"
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            assert (await client.get("/healthz")).status_code == 200
        process.send_signal(number)
        rest = await asyncio.wait_for(process.stderr.read(), timeout=30)
        assert (await process.wait(), b"Traceback" in rest) == (0, False)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
