"""Where a request came from, by which name and from whose page: neither a site that makes its own name point here (DNS
rebinding) nor a page of another site reaches any door."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import pytest
from starlette.requests import Request

from doors import ASKED, SITE, Doors, a_key, check_problem, closed, every_door, opened
from fuzzing import Shot, fire
from quoth.serve.callers import address_of, block_of
from quoth.settings import load_settings

EVIL = "http://evil.example"
PAGE_FILES = {"/", "/widget.js", "/assets/anything"}


async def statuses(doors: Doors, paths: list[str], **headers: str) -> set[int]:
    return {(await doors.client.get(path, headers=headers)).status_code for path in paths}


@pytest.mark.parametrize("auth", ["off", "keys"])
@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"host": "evil.example:8000", "origin": EVIL}])
async def test_no_door_of_a_server_on_loopback_answers_to_a_foreign_name(
    tmp_path: Path, auth: str, headers: dict[str, str]
) -> None:
    async with opened(tmp_path, settings={"auth": auth}) as doors:
        reached = [door for door in every_door(doors.app) if door[0] != "HEAD"]  # which has no body to look at
        assert len(reached) > 30
        for method, path in reached:
            problem = check_problem(await doors.client.request(method, path, headers=headers), 403, "FORBIDDEN")
            assert "QUOTH_ALLOWED_HOSTS" in problem["hint"], (method, path)


async def test_no_door_of_an_open_server_answers_a_page_of_another_site(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        reached = [door for door in every_door(doors.app) if door[0] != "HEAD" and door[1] not in PAGE_FILES]
        assert len(reached) > 25
        for method, path in reached:
            check_problem(await doors.client.request(method, path, headers={"origin": EVIL}), 403, "FORBIDDEN")
        assert await statuses(doors, ["/books"], origin="null") == {403}


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1", "", "["]
)
async def test_what_only_looks_like_a_name_of_this_machine_is_not_one(tmp_path: Path, host: str) -> None:
    async with opened(tmp_path) as doors:
        assert await statuses(doors, ["/books", "/"], host=host) == {403}


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8000", "127.9.9.9", "[::1]:8000", "[::1]"])
async def test_names_of_this_machine_are_answered_to_on_any_port(tmp_path: Path, host: str) -> None:
    async with opened(tmp_path) as doors:
        assert await statuses(doors, ["/books", "/"], host=host) == {200}
        assert await statuses(doors, ["/books"], host=host, origin=f"http://{host}") == {200}


async def test_names_that_the_operator_listed_are_answered_to(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"allowed_hosts": "Books.example.com, other.example"}) as doors:
        for host in ("books.example.com", "BOOKS.example.com:443", "other.example", "localhost"):
            assert await statuses(doors, ["/books", "/"], host=host) == {200}
        assert await statuses(doors, ["/books"], host="127.0.0.1", origin="https://books.example.com") == {200}
        assert await statuses(doors, ["/books"], host="evil.example") == {403}


async def test_a_request_that_names_no_host_is_not_a_browsers(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        assert (await fire(doors.app, Shot("GET", "/books"))).status == 200


async def test_a_server_for_others_answers_to_every_name_until_some_are_listed(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"host": "0.0.0.0"}) as doors:
        assert await statuses(doors, ["/books"], host="books.example.com") == {200}
        assert await statuses(doors, ["/books"], host="books.example.com", origin=EVIL) == {403}
    (tmp_path / "listed").mkdir()
    settings = {"host": "0.0.0.0", "allowed_hosts": "books.example.com"}
    async with opened(tmp_path / "listed", settings=settings) as doors:
        # A supervisor asks by address, and an address cannot be rebound.
        for host in ("books.example.com", "localhost", "10.1.2.3:8000", "[2001:db8::1]:8000"):
            assert await statuses(doors, ["/books", "/readyz"], host=host) == {200}
        assert await statuses(doors, ["/books", "/readyz"], host="evil.example") == {403}


async def test_any_site_may_load_the_widget_and_its_files(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        assert await statuses(doors, ["/", "/widget.js", "/assets/page.css"], origin=EVIL) == {200}


async def test_the_page_works_behind_a_proxy_that_sends_another_host(tmp_path: Path) -> None:
    headers = {"host": "127.0.0.1:8000", "origin": "https://ask.example.org"}
    async with opened(tmp_path) as doors:
        own = await doors.client.post(
            "/chat", json={"query": ASKED}, headers={**headers, "sec-fetch-site": "same-origin"}
        )
        assert own.status_code == 200
        for site in ("cross-site", "same-site", "none"):
            foreign = await doors.client.post(
                "/chat", json={"query": ASKED}, headers={**headers, "sec-fetch-site": site}
            )
            check_problem(foreign, 403, "FORBIDDEN")


async def test_where_keys_are_needed_the_key_decides_and_not_the_page(tmp_path: Path) -> None:
    async with closed(tmp_path) as doors:
        secret = await a_key(doors)
        assert (await doors.client.get("/books", headers={**secret, "origin": EVIL})).status_code == 200
        check_problem(await doors.client.get("/books", headers={"origin": EVIL}), 401, "UNAUTHORIZED")


async def test_a_site_that_the_operator_lets_in_may_ask_an_open_server(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"cors_origins": SITE}) as doors:
        answer = await doors.client.post("/chat", json={"query": ASKED}, headers={"origin": SITE})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, SITE)


# --- where a request came from ---------------------------------------------------------------------------------------


def came(peer: str | None, *forwarded: str, proxies: str = "") -> str:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope = {"type": "http", "headers": headers, "client": None if peer is None else (peer, 1234)}
    trusted = load_settings(environ={}, trusted_proxies=proxies).trusted_proxies
    return address_of(Request(scope), tuple(map(ip_network, trusted)))


def test_no_proxy_is_believed_about_addresses_by_default() -> None:
    assert came("203.0.113.9", "192.0.2.1") == "203.0.113.9"
    assert came("127.0.0.1", "192.0.2.1") == "127.0.0.1"


@pytest.mark.parametrize(
    ("forwarded", "found"),
    [
        (("192.0.2.1",), "192.0.2.1"),
        (("6.6.6.6, 192.0.2.1",), "192.0.2.1"),  # the client wrote the first itself
        (("6.6.6.6, 192.0.2.1, 10.0.0.7",), "192.0.2.1"),
        (("6.6.6.6", "192.0.2.1, 10.0.0.7"), "192.0.2.1"),  # two headers are one list
        (("nonsense",), "10.0.0.1"),
        (("6.6.6.6, nonsense, 10.0.0.7",), "10.0.0.7"),
        (("",), "10.0.0.1"),
        ((), "10.0.0.1"),
        (("2001:db8::1",), "2001:db8::1"),
    ],
)
def test_a_trusted_proxy_is_believed_as_far_as_proxies_wrote(forwarded: tuple[str, ...], found: str) -> None:
    assert came("10.0.0.1", *forwarded, proxies="10.0.0.0/8") == found


def test_a_local_socket_has_no_address() -> None:
    assert came(None, "192.0.2.1", proxies="10.0.0.0/8") == "unknown"


@pytest.mark.parametrize(
    ("address", "block"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_a_household_counts_as_one(address: str, block: str) -> None:
    assert block_of(address) == block
