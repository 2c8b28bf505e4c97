"""Which addresses may be reached, and what one request may cost."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from quoth.domain import Fetched
from quoth.errors import Unreadable
from quoth.models.web import FetchOptions, open_fetcher, refusal_of, system_resolver
from quoth.retrying import Retries
from websites import Reply, Website, website

pytestmark = pytest.mark.slow

ONCE = Retries(attempts=1, backoff=0.0, longest_wait=0.0)
OURS = FetchOptions(allow_private=True, retries=Retries(attempts=4, backoff=0.0, longest_wait=60.0))


@pytest.fixture
def site() -> Iterator[Website]:
    with website() as running:
        yield running


class Sleeper:
    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


class Names:
    """A name server whose answers for a name may change from one query to the next."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def get(url: str, options: FetchOptions = OURS, *, limit: int = 1_000_000, types: Sequence[str] = ()) -> Fetched:
    async with open_fetcher(options, sleep=Sleeper()) as fetcher:
        return await fetcher.get(url, limit=limit, types=types)


# --- addresses ---


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "192.0.0.8",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:a9fe:a9fe",
        "64:ff9b::7f00:1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:db8::1",
        "3fff::1",
        "fc00::1",
        "fd00::1",
        "fd12:3456:789a::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "100::1",
        "4000::1",
        "localhost",
        "",
    ],
)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert refusal_of(address) != ""


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.215.14", "172.32.0.1", "2606:4700:4700::1111", "64:ff9b::101:101", "::ffff:8.8.8.8"]
)
def test_public_addresses_are_let_through(address: str) -> None:
    assert refusal_of(address) == ""


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "169.254.169.254",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[fd00::1]",
        "[::]",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "017700000001",
        "127.1",
        "0",
        "localhost",
        "LOCALHOST",
    ],
)
async def test_no_spelling_of_a_private_address_is_reached(host: str) -> None:
    with pytest.raises(Unreadable, match="only public sites are read") as refused:
        await get(f"http://{host}/", FetchOptions(retries=ONCE))
    assert "--allow-private" in refused.value.hint


@pytest.mark.parametrize(
    "answers", [["10.0.0.7"], ["::1"], ["93.184.215.14", "192.168.0.1"], ["::ffff:169.254.169.254"]]
)
async def test_a_name_is_judged_by_every_address_it_has(answers: list[str]) -> None:
    async with open_fetcher(FetchOptions(), resolve=Names(answers)) as fetcher:
        with pytest.raises(Unreadable, match=r"docs\.example\.com"):
            await fetcher.get("http://docs.example.com/", limit=1_000)


async def test_a_name_that_changes_its_mind_after_the_check_gains_nothing(
    site: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is looked up once, and the connection goes to the address that was checked."""
    import httpcore2

    site.replies["/secret"] = Reply(b"internal")
    reached: list[str] = []

    async def refuse(self: object, host: str, *_: object) -> object:
        reached.append(host)
        raise httpcore2.ConnectError("no network in this test")

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", refuse)
    names = Names(["93.184.215.14"], ["127.0.0.1"])
    async with open_fetcher(FetchOptions(retries=ONCE), resolve=names) as fetcher:
        with pytest.raises(Unreadable, match="no network"):
            await fetcher.get("http://rebinding.example.com/secret", limit=1_000)
        assert (reached, names.asked) == (["93.184.215.14"], 1)
        with pytest.raises(Unreadable, match="loopback"):
            await fetcher.get("http://rebinding.example.com/secret", limit=1_000)
    assert reached == ["93.184.215.14"]
    assert site.asked == []


async def test_the_host_keeps_its_name_when_its_address_is_pinned(site: Website) -> None:
    port = int(site.url.rpartition(":")[2])
    site.replies["/"] = Reply(b"here")
    async with open_fetcher(OURS, resolve=Names(["127.0.0.1"])) as fetcher:
        answer = await fetcher.get(f"http://docs.example.com:{port}/", limit=1_000)
    assert answer.body == b"here"


async def test_the_next_address_of_a_host_is_tried_when_one_does_not_answer(site: Website) -> None:
    port = int(site.url.rpartition(":")[2])
    site.replies["/"] = Reply(b"here")
    async with open_fetcher(OURS, resolve=Names(["127.0.0.2", "127.0.0.1"])) as fetcher:
        assert (await fetcher.get(f"http://docs.example.com:{port}/", limit=1_000)).body == b"here"


async def test_a_host_that_does_not_exist_is_named_and_not_tried_again() -> None:
    asked = []

    async def nobody(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async with open_fetcher(FetchOptions(), resolve=nobody) as fetcher:
        with pytest.raises(Unreadable, match=r"no host nowhere\.example"):
            await fetcher.get("http://nowhere.example/", limit=1_000)
    assert asked == ["nowhere.example"]


async def test_the_system_resolver_reads_odd_spellings_as_what_they_are() -> None:
    assert await system_resolver("127.1", 80) == ["127.0.0.1"]


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@example.com/",
        "http://user@example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "example.com",
        "http://exa mple.com/",
        "http://0177.0.0.1/",
    ],
)
async def test_an_address_that_is_not_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(Unreadable) as refused:
        await get(url)
    assert "secret" not in str(refused.value)


async def test_other_ports_than_those_of_the_web_are_refused_unless_allowed() -> None:
    with pytest.raises(Unreadable, match="port 8080"):
        await get("http://93.184.215.14:8080/", FetchOptions(retries=ONCE))


# --- what comes back ---


async def test_what_the_server_said_comes_back_whole(site: Website) -> None:
    site.replies["/a?b=c"] = Reply(
        b"<p>Hi", headers={"X-Robots-Tag": "noindex"}, type='Text/HTML; charset="ISO-8859-1"'
    )
    answer = await get(f"{site.url}/a?b=c")
    assert answer == Fetched(f"{site.url}/a?b=c", 200, "text/html", "iso-8859-1", robots="noindex", body=b"<p>Hi")
    assert len(site.agents) == 1
    assert site.agents.pop().startswith("quoth/")


async def test_redirects_are_handed_back_and_not_followed(site: Website) -> None:
    site.replies["/old"] = Reply(status=301, headers={"Location": "http://169.254.169.254/latest/meta-data"})
    answer = await get(f"{site.url}/old")
    assert (answer.status, answer.location, answer.body) == (301, "http://169.254.169.254/latest/meta-data", b"")
    assert site.asked == ["/old"]


async def test_only_the_wanted_types_are_downloaded(site: Website) -> None:
    site.replies["/file"] = Reply(b"x" * 100_000, type="application/zip")
    answer = await get(f"{site.url}/file", types=("text/html",), limit=10)
    assert (answer.status, answer.content_type, answer.body) == (200, "application/zip", b"")


async def test_no_cookie_is_kept(site: Website) -> None:
    site.replies["/"] = Reply(b"hi", headers={"Set-Cookie": "id=1; Path=/"})
    async with open_fetcher(OURS) as fetcher:
        await fetcher.get(site.url, limit=1_000)
        await fetcher.get(site.url, limit=1_000)
    assert site.cookies == []


async def test_no_proxy_of_the_environment_is_used(site: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    site.replies["/"] = Reply(b"direct")
    assert (await get(site.url)).body == b"direct"


# --- bounds ---


async def test_a_document_of_exactly_the_limit_is_read_and_one_byte_more_is_not(site: Website) -> None:
    site.replies["/fits"] = Reply(b"x" * 1_000)
    site.replies["/huge"] = Reply(b"x" * 1_001)
    assert len((await get(f"{site.url}/fits", limit=1_000)).body) == 1_000
    with pytest.raises(Unreadable, match="larger than"):
        await get(f"{site.url}/huge", limit=1_000)


async def test_a_small_file_that_unfolds_to_a_large_one_is_cut_off(site: Website) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    site.replies["/bomb"] = Reply(bomb, headers={"Content-Encoding": "gzip"})
    site.replies["/nested"] = Reply(gzip.compress(bomb), headers={"Content-Encoding": "gzip, gzip"})
    for path in ("/bomb", "/nested"):
        with pytest.raises(Unreadable, match="larger than 1 MB"):
            await get(site.url + path)


async def test_a_compressed_page_is_unfolded_and_a_broken_one_is_told(site: Website) -> None:
    site.replies["/good"] = Reply(gzip.compress(b"hello"), headers={"Content-Encoding": "gzip"})
    site.replies["/bad"] = Reply(b"hello", headers={"Content-Encoding": "gzip"})
    assert (await get(f"{site.url}/good")).body == b"hello"
    with pytest.raises(Unreadable, match="cannot be decompressed"):
        await get(f"{site.url}/bad")


async def test_a_server_that_drips_bytes_is_left_when_the_time_is_over(site: Website) -> None:
    """Each byte comes in time; the whole answer does not."""
    site.replies["/slow"] = Reply(b"x" * 1_000, drip=0.02)
    with pytest.raises(Unreadable, match=r"within 0\.2 s"):
        await get(f"{site.url}/slow", FetchOptions(timeout=0.2, allow_private=True))
    assert site.asked == ["/slow"]


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429])
async def test_a_fault_that_passes_is_not_noticed(site: Website, status: int) -> None:
    site.replies["/"] = [Reply(status=status), Reply(status=status), Reply(status=status), Reply(b"well again")]
    assert (await get(site.url)).body == b"well again"
    assert len(site.asked) == 4


async def test_a_fault_that_stays_is_told_after_three_retries(site: Website) -> None:
    site.replies["/"] = Reply(status=500)
    with pytest.raises(Unreadable, match="HTTP 500"):
        await get(site.url)
    assert len(site.asked) == 4


async def test_retries_wait_longer_each_time(site: Website) -> None:
    site.replies["/"] = Reply(status=500)
    sleep = Sleeper()
    async with open_fetcher(FetchOptions(allow_private=True), sleep=sleep) as fetcher:
        with pytest.raises(Unreadable):
            await fetcher.get(site.url, limit=1_000)
    assert [int(seconds / 0.5 // 2**number) for number, seconds in enumerate(sleep.slept)] == [1, 1, 1]


async def test_a_server_is_given_the_time_it_asks_for_up_to_a_bound(site: Website) -> None:
    site.replies["/"] = [Reply(status=429, headers={"Retry-After": "7"}), Reply(b"thanks")]
    site.replies["/long"] = Reply(status=503, headers={"Retry-After": "86400"})
    sleep = Sleeper()
    async with open_fetcher(OURS, sleep=sleep) as fetcher:
        assert (await fetcher.get(site.url, limit=1_000)).body == b"thanks"
        with pytest.raises(Unreadable, match="asks to wait 86400 s"):
            await fetcher.get(f"{site.url}/long", limit=1_000)
    assert sleep.slept == [7.0]
    assert site.asked.count("/long") == 1


@pytest.mark.parametrize(("wish", "slept"), [("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("soon", 0.0), ("-5", 0.0)])
async def test_a_wish_in_the_past_or_without_sense_is_no_reason_to_wait(site: Website, wish: str, slept: float) -> None:
    site.replies["/"] = [Reply(status=503, headers={"Retry-After": wish}), Reply(b"thanks")]
    sleep = Sleeper()
    async with open_fetcher(OURS, sleep=sleep) as fetcher:
        await fetcher.get(site.url, limit=1_000)
    assert sleep.slept == [slept]


async def test_a_server_that_is_not_there_is_tried_again_and_then_told() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    sleep = Sleeper()
    async with open_fetcher(OURS, sleep=sleep) as fetcher:
        with pytest.raises(Unreadable, match="cannot be fetched"):
            await fetcher.get(f"http://127.0.0.1:{port}/", limit=1_000)
    assert len(sleep.slept) == 3


async def test_a_server_whose_tls_is_wrong_is_told_and_not_tried_again(site: Website) -> None:
    sleep = Sleeper()
    async with open_fetcher(OURS, sleep=sleep) as fetcher:
        with pytest.raises(Unreadable, match="SSL") as told:
            await fetcher.get(site.url.replace("http:", "https:"), limit=1_000)
    assert "certificate" in told.value.hint
    assert sleep.slept == []


@pytest.mark.parametrize(
    ("client", "users"),
    [
        ("httpx2", {"models/web.py", "serve/tokens.py"}),
        (
            "aiohttp",
            {"models/openai.py", "models/endpoint.py", "models/embeddings.py", "index/qdrant_nodes.py"},
        ),
    ],
)
def test_each_http_client_is_known_to_those_that_need_it_and_no_others(client: str, users: set[str]) -> None:
    import quoth

    source = Path(quoth.__file__).parent
    found = [path for path in source.rglob("*.py") if f"import {client}" in path.read_text(encoding="utf-8")]
    assert {path.relative_to(source).as_posix() for path in found} == users
