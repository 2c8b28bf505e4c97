"""The connection to a model's server over real sockets: reuse, TLS, proxies, faults, what errors must not reveal."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from quoth.domain import Message, ModelText
from quoth.errors import BadConfiguration, ModelRejected, ModelUnavailable
from quoth.models import endpoint
from quoth.models.openai import ModelOptions, OpenAIChat
from quoth.testing.model_server import DONE, ModelServer, Reply, chunk, fails, says

ASK = [Message("user", "How many?")]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
TWO = chunk({"content": "two"}) + chunk({}, finish="stop") + DONE


async def no_pause(seconds: float) -> None:
    return


async def said(model: OpenAIChat) -> str:
    return "".join([event.text async for event in model.reply(ASK) if isinstance(event, ModelText)])


@asynccontextmanager
async def model_at(url: str, **options: Any) -> AsyncIterator[OpenAIChat]:
    model = OpenAIChat(ModelOptions(url, "scripted", **options), sleep=no_pause)
    try:
        yield model
    finally:
        await model.close()


class Wire:
    """A server that sends exactly these bytes, one answer for each request; it counts its connections."""

    def __init__(self, *answers: bytes, close: bool = False) -> None:
        self._answers = list(answers)
        self._close = close
        self.requests: list[bytes] = []
        self.connections = 0
        self.writer: asyncio.StreamWriter | None = None
        self._serving: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def at(self, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        try:
            yield f"{'https' if tls else 'http'}://127.0.0.1:{port}/v1"
        finally:
            server.close()
            await asyncio.gather(*self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.append(task)
        self.connections += 1
        self.writer = writer
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                self.requests.append(head + await reader.readexactly(length))
                writer.write(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])
                await writer.drain()
                if self._close:
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


def whole(body: bytes = TWO, *headers: bytes) -> bytes:
    return HEAD + b"".join(header + b"\r\n" for header in headers) + b"content-length: %d\r\n\r\n" % len(body) + body


async def test_a_connection_is_used_again_once_its_answer_was_read() -> None:
    async with ModelServer(says("two")) as server, model_at(server.url) as model:
        for _ in range(3):
            assert await said(model) == "two"
        assert len(server.bodies) == 3
        assert server.connections == 1


async def test_one_that_the_server_has_closed_meanwhile_is_not_used() -> None:
    wire = Wire(whole())
    async with wire.at() as url, model_at(url) as model:
        assert await said(model) == "two"
        assert wire.writer is not None
        wire.writer.close()
        await wire.writer.wait_closed()
        assert await said(model) == "two"
    assert (wire.connections, len(wire.requests)) == (2, 2)


@pytest.mark.parametrize("answer", [whole(TWO, b"connection: close"), HEAD + b"\r\n" + TWO])
async def test_an_answer_may_end_with_its_connection(answer: bytes) -> None:
    wire = Wire(answer, close=True)
    async with wire.at() as url, model_at(url) as model:
        assert [await said(model), await said(model)] == ["two", "two"]
    assert wire.connections == 2


async def test_a_word_on_the_way_is_not_the_answer() -> None:
    async with (
        Wire(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + whole()).at() as url,
        model_at(url) as model,
    ):
        assert await said(model) == "two"


async def test_64_readers_are_answered_at_the_same_time() -> None:
    """Each holds its connection until all have arrived: with fewer connections none would be answered."""

    class Crowd(ModelServer):
        def reply_to(self, body: Mapping[str, Any]) -> Reply:
            if len(self.bodies) == 64:
                everybody.set()
            return Reply((everybody.wait, *says("two").steps))

    everybody = asyncio.Event()
    async with Crowd() as server, model_at(server.url) as model:
        assert await asyncio.gather(*(said(model) for _ in range(64))) == ["two"] * 64
        assert server.connections == 64


async def test_a_reader_slower_than_the_server_gets_everything() -> None:
    words = [f"word{number} " for number in range(5_000)]
    async with ModelServer(says(*words)) as server, model_at(server.url) as model:
        read = ""
        async for event in model.reply(ASK):
            read += event.text if isinstance(event, ModelText) else ""
            await asyncio.sleep(0)
    assert read == "".join(words)


async def test_a_reader_who_is_cancelled_stops_the_model() -> None:
    frames = Reply((chunk({"content": "half"}), -1.0))
    async with ModelServer(frames) as server, model_at(server.url) as model:
        reading = asyncio.create_task(said(model))
        while not server.bodies:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await server.someone_left.wait()


# --- what breaks ---


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"transfer-encoding: chunked\r\n\r\n" + b"%x\r\n" % len(TWO) + TWO[:20],
        HEAD + b"content-length: 99999\r\n\r\n" + chunk({"role": "assistant"}),
    ],
)
async def test_an_answer_that_is_cut_off_before_its_first_word_is_tried_again(answer: bytes) -> None:
    wire = Wire(answer, close=True)
    async with wire.at() as url, model_at(url) as model:
        with pytest.raises(ModelUnavailable, match="broke"):
            await said(model)
    assert len(wire.requests) == 3


@pytest.mark.parametrize(
    ("answer", "said_of_it"),
    [
        (b"", "the connection to .* broke"),
        (b"220 mail.example.com ESMTP\r\n", "does not speak HTTP"),
        (HEAD + b"content-length: x\r\n\r\n", "does not speak HTTP"),
        (HEAD + b"x: " + b"y" * 100_000 + b"\r\n\r\n", "does not speak HTTP"),
    ],
)
async def test_a_server_that_does_not_speak_http_is_named(answer: bytes, said_of_it: str) -> None:
    async with Wire(answer, close=True).at() as url, model_at(url) as model:
        with pytest.raises(ModelUnavailable, match=said_of_it):
            await said(model)


async def test_a_web_page_in_place_of_an_answer_points_at_the_address() -> None:
    page = Reply((b"<html>Welcome</html>",), content_type="text/html")
    async with ModelServer(page) as server, model_at(server.url) as model:
        with pytest.raises(ModelUnavailable, match="answered with a web page") as caught:
            await said(model)
    assert "/v1" in caught.value.hint


async def test_a_redirect_is_not_followed_and_no_cookie_is_kept() -> None:
    moved = Reply((), status=307, headers={"location": "http://127.0.0.1:9/", "set-cookie": "id=1"})
    async with ModelServer(moved, says("two")) as server, model_at(server.url, api_key="sk-1") as model:
        with pytest.raises(ModelRejected, match="answered 307"):
            await said(model)
        assert await said(model) == "two"
        assert "cookie" not in server.headers[1]


async def test_a_server_that_is_not_there_is_named_with_the_next_step() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}/v1", "http://no-such-host.invalid/v1"):
        async with model_at(url) as model:
            with pytest.raises(ModelUnavailable, match="no connection to") as caught:
                await said(model)
            assert "Is the server running?" in caught.value.hint
            assert await model.fault() is not None


async def test_a_server_that_does_not_pick_up_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*arguments: object, **more: object) -> object:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(aiohttp.TCPConnector, "_create_connection", never)
    monkeypatch.setattr(endpoint, "CONNECT_SECONDS", 0.05)
    async with model_at("http://model.example/v1") as model:
        with pytest.raises(ModelUnavailable, match=r"no connection to .* within 0\.05 seconds"):
            await said(model)


async def test_a_second_address_is_tried_when_the_first_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ModelServer(says("two")) as server:
        port = int(server.url.rpartition(":")[2].partition("/")[0])

        async def two_addresses(self: object, host: str, *rest: object, **more: object) -> list[dict[str, Any]]:
            place = {"hostname": host, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
            return [{**place, "host": "127.0.0.2"}, {**place, "host": "127.0.0.1"}]

        monkeypatch.setattr(aiohttp.TCPConnector, "_resolve_host", two_addresses)
        async with model_at(f"http://two.example:{port}/v1") as model:
            assert await said(model) == "two"


# --- addresses, keys and proxies ---


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://model.example", "http://", "http://[::1", "http://a:99999"])
def test_an_address_that_is_not_one_is_a_configuration_error(url: str) -> None:
    with pytest.raises(BadConfiguration, match="OPENAI_BASE_URL"):
        OpenAIChat(ModelOptions(url, "scripted"))


async def test_the_path_and_the_query_of_the_address_are_kept() -> None:
    wire = Wire(whole())
    async with wire.at() as url, model_at(f"{url}/deployments/x/?api-version=1") as model:
        assert await said(model) == "two"
    assert wire.requests[0].startswith(b"POST /v1/deployments/x/chat/completions?api-version=1 HTTP/1.1\r\n")


async def test_a_password_in_the_address_is_sent_and_never_shown() -> None:
    async with ModelServer(says("two"), fails(500)) as server:
        url = server.url.replace("//", "//me:hunter2@")
        async with model_at(url) as model:
            assert "hunter2" not in await model.check()
            assert server.headers[0]["authorization"] == "basic bwu6ahvudgvymg=="  # the server reads in lower case
            with pytest.raises(ModelUnavailable) as caught:
                await said(model)
        async with model_at(url, api_key="sk-1") as model:
            with pytest.raises(ModelUnavailable):
                await said(model)
            assert server.headers[-1]["authorization"] == "bearer sk-1"
    async with model_at(url) as model:
        with pytest.raises(ModelUnavailable) as gone:
            await said(model)
    assert "hunter2" not in f"{caught.value} {gone.value}"


@pytest.mark.parametrize("status", [401, 500])
async def test_a_key_that_the_server_repeats_is_not_shown(status: int) -> None:
    async with (
        ModelServer(fails(status, "Incorrect API key: sk-secret-1")) as server,
        model_at(server.url, api_key="sk-secret-1") as model,
    ):
        with pytest.raises(ModelUnavailable, match="Incorrect API key: …") as caught:
            await said(model)
    assert "sk-secret" not in f"{caught.value} {model._options}"


async def test_a_key_that_http_cannot_send_is_refused_and_not_shown() -> None:
    async with ModelServer(says("two")) as server, model_at(server.url, api_key="sk-\r\nx: y") as model:
        with pytest.raises(ModelRejected, match="cannot be sent") as caught:
            await said(model)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY", "http_proxy"])
async def test_a_proxy_of_the_environment_is_asked_in_its_place(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    async with ModelServer(says("two")) as server:
        proxy = server.url.removesuffix("/v1")
        monkeypatch.setenv(name, proxy.replace("//", "//me:hunter2@"))
        async with model_at("http://model.invalid/v1") as model:
            assert await said(model) == "two"
            assert await model.fault() is None
        assert server.headers[0]["host"] == "model.invalid"
        assert server.headers[0]["proxy-authorization"].startswith("basic ")
        monkeypatch.setenv(name, proxy.removeprefix("http://"))
        async with model_at("http://model.invalid/v1") as model:
            assert await said(model) == "two"


async def test_a_host_that_needs_no_proxy_is_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with ModelServer(says("two")) as server, model_at(server.url) as model:
        assert await said(model) == "two"


async def test_a_proxy_that_refuses_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = Wire(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", close=True)
    async with refusing.at() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.removesuffix("/v1").replace("//", "//me:hunter2@"))
        async with model_at("https://model.invalid/v1") as model:
            with pytest.raises(ModelUnavailable, match="the proxy answered 407") as caught:
                await said(model)
    assert refusing.requests[0].startswith(b"CONNECT model.invalid:443 ")
    assert "hunter2" not in f"{caught.value}"


def test_a_proxy_of_another_kind_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5h://me:hunter2@127.0.0.1:1080")
    with pytest.raises(BadConfiguration, match="socks5h") as caught:
        OpenAIChat(ModelOptions("http://model.invalid/v1", "scripted"))
    assert "hunter2" not in str(caught.value)


# --- TLS ---


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For 127.0.0.1, signed by itself, with its key in one file."""
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
    wire = Wire(whole())
    async with wire.at(tls=server_side(certificate)) as url, model_at(url) as model:
        assert [await said(model), await said(model)] == ["two", "two"]
    assert wire.connections == 1


async def test_one_with_an_unknown_certificate_is_not(certificate: Path) -> None:
    wire = Wire(whole())
    async with wire.at(tls=server_side(certificate)) as url, model_at(url) as model:
        with pytest.raises(ModelUnavailable, match="is not trusted") as caught:
            await said(model)
    assert "SSL_CERT_FILE" in caught.value.hint
    assert wire.requests == []
