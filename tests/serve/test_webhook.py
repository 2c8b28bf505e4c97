"""GitHub's webhook: only signed content is trusted, and nothing is done twice."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from doors import Doors, check_problem, opened
from foremen import QUEUES, Foreman, ended, start, write
from quoth.errors import Unauthorized
from quoth.serve import ingestion
from quoth.serve import jobs as jobs_module
from quoth.serve.jobs import Jobs
from quoth.serve.webhook import MOST_KNOWN, WINDOW, Deliveries, check_signature, remote_of
from samples import StillClock

SECRET = "It's a Secret to Everybody"
OURS, FOREIGN = "https://github.com/me/book.git", "https://github.com/somebody/else.git"


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "FOLLOW_POLL", 0.001)


@pytest.fixture
async def foreman() -> Foreman:
    return Foreman()


@pytest.fixture
async def doors(tmp_path: Path, foreman: Foreman) -> AsyncIterator[Doors]:
    async with opened(tmp_path, settings={"github_webhook_secret": SECRET}, launch=foreman.launch) as joined:
        yield joined


def sign(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def push(after: str = "1", *, clone_url: str = OURS, **fields: Any) -> bytes:
    event = {"ref": "refs/heads/main", "after": after, "repository": {"clone_url": clone_url}, **fields}
    return json.dumps(event).encode()


PING = b'{"zen": "Keep it logically awesome.", "hook_id": 1}'
STAR = b'{"action": "created", "starred_at": "2026-01-01T00:00:00Z", "repository": {"clone_url": "x"}}'


async def deliver(
    doors: Doors,
    body: bytes | None = None,
    *,
    book_id: str | None = None,
    secret: str = SECRET,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> httpx2.Response:
    body = push() if body is None else body
    return await doors.client.post(
        "/ingestion/webhook/github",
        content=body,
        params={} if book_id is None else {"book_id": book_id},
        headers={"x-hub-signature-256": sign(body, secret), **headers},
    )


async def count_jobs(doors: Doors) -> int:
    return len(await doors.quoth.library.jobs())


# --- the signature ---------------------------------------------------------------------------------------------------


def test_the_signature_is_the_one_of_githubs_own_example() -> None:
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    check_signature(SECRET, b"Hello, World!", signature)
    with pytest.raises(Unauthorized):
        check_signature(SECRET, b"Hello, World?", signature)


UNTRUSTED = [
    "",
    "sha256=",
    "sha256=" + "0" * 64,
    sign(push(), "another secret"),
    sign(push() + b" "),
    sign(push()).removeprefix("sha256="),
    sign(push()).upper(),
    sign(push()).replace("sha256", "sha1"),
    sign(push()) + "0",
    sign(push())[:-1] + "\u00e9",
    "sha1=" + hmac.new(SECRET.encode(), push(), hashlib.sha1).hexdigest(),
]


@pytest.mark.parametrize("signature", UNTRUSTED)
async def test_a_delivery_with_a_wrong_signature_is_401(doors: Doors, signature: str) -> None:
    headers = {b"x-github-event": b"push", b"x-hub-signature-256": signature.encode("latin-1")}
    response = await doors.client.post("/ingestion/webhook/github", content=push(), headers=headers)
    problem = check_problem(response, 401, "UNAUTHORIZED")
    assert SECRET not in response.text
    assert "QUOTH_GITHUB_WEBHOOK_SECRET" in problem["hint"]
    assert await count_jobs(doors) == 1  # the one that made the book


async def test_without_a_secret_no_delivery_is_trusted(tmp_path: Path, foreman: Foreman) -> None:
    async with opened(tmp_path, launch=foreman.launch) as doors:
        check_problem(await deliver(doors, secret=""), 401, "UNAUTHORIZED")


async def test_a_delivery_may_be_as_large_as_github_sends_them_and_no_larger(doors: Doors) -> None:
    assert (await deliver(doors, PING + b" " * 2_000_000)).status_code == 200
    check_problem(await deliver(doors, PING + b" " * (25 * 2**20 + 1)), 413, "BODY_TOO_LARGE")


# --- the event -------------------------------------------------------------------------------------------------------


async def test_a_ping_is_answered_and_other_events_are_ignored(doors: Doors) -> None:
    pong = await deliver(doors, PING)
    assert (pong.status_code, pong.json()["message"]) == (200, "pong")
    for body in (STAR, b"{}", b"[]", b'{"ref": 1, "after": "1", "repository": {}}', b'{"ref": "x", "after": "1"}'):
        other = await deliver(doors, body)
        assert (other.status_code, other.content) == (204, b"")
    check_problem(await deliver(doors, b"not JSON"), 400, "INVALID_JSON")
    assert await count_jobs(doors) == 1


async def test_what_happened_is_read_from_the_signed_body_and_not_from_a_header(doors: Doors) -> None:
    star = await deliver(doors, STAR, headers={"x-github-event": "push", "x-github-delivery": "1"})
    assert star.status_code == 204
    assert (await deliver(doors, push(), headers={"x-github-event": "star"})).status_code == 202


async def test_a_push_brings_the_new_page_in(doors: Doors, tmp_path: Path, foreman: Foreman) -> None:
    write(tmp_path / "docs", "queues.md", QUEUES)
    response = await deliver(doors)
    assert response.status_code == 202
    last = await ended(doors, response.json()["job_id"])
    assert (last["status"], last["mode"], last["chunks_created"]) == ("completed", "incremental", 1)
    assert [order.pull for order in foreman.begun] == [False]


async def test_github_may_send_the_event_as_a_form(doors: Doors) -> None:
    response = await deliver(doors, urlencode({"payload": push().decode()}).encode())
    assert response.status_code == 202
    await ended(doors, response.json()["job_id"])


async def test_a_push_pulls_where_the_operator_wants_it(tmp_path: Path, foreman: Foreman) -> None:
    settings = {"github_webhook_secret": SECRET, "webhook_pull": True}
    async with opened(tmp_path, settings=settings, launch=foreman.launch) as doors:
        await ended(doors, (await deliver(doors)).json()["job_id"])
        await ended(doors, (await start(doors))["job_id"])
    assert [order.pull for order in foreman.begun] == [True, False]


# --- nothing twice ---------------------------------------------------------------------------------------------------


async def test_a_body_that_comes_again_starts_nothing_whatever_its_headers_and_address_say(doors: Doors) -> None:
    first = await deliver(doors, headers={"x-github-delivery": "d-1"})
    job_id = first.json()["job_id"]
    for headers, book_id in (
        ({"x-github-delivery": "d-1"}, None),
        ({"x-github-delivery": "d-2"}, "book"),
        ({}, "other"),
    ):
        again = await deliver(doors, book_id=book_id, headers=headers)
        assert (again.status_code, again.json()) == (200, {"message": "already received", "job_id": job_id})
    await ended(doors, job_id)
    assert await count_jobs(doors) == 2


async def test_a_delivery_whose_job_failed_may_be_sent_again(doors: Doors, foreman: Foreman) -> None:
    foreman.words = "The disk is full."
    first = (await deliver(doors)).json()["job_id"]
    assert (await ended(doors, first))["status"] == "failed"
    foreman.words = ""
    again = await deliver(doors)
    assert again.status_code == 202
    assert (await ended(doors, again.json()["job_id"]))["status"] == "completed"


async def test_a_push_that_could_not_start_may_be_sent_again(doors: Doors, tmp_path: Path) -> None:
    (tmp_path / "docs").rename(tmp_path / "away")
    check_problem(await deliver(doors), 400, "UNREADABLE_SOURCE")
    (tmp_path / "away").rename(tmp_path / "docs")
    assert (await deliver(doors)).status_code == 202


def test_bodies_are_forgotten_after_a_day_and_when_there_are_too_many() -> None:
    clock = StillClock()
    known = Deliveries(clock)
    known.add("a", 1)
    clock.pass_by(WINDOW)
    assert ("a" in known, known.job_id("a")) == (True, 1)
    clock.pass_by(1)
    assert "a" not in known
    for number in range(MOST_KNOWN + 2):
        known.add(str(number))
    assert ("0" in known, "2" in known) == (False, True)


async def test_pushes_while_a_job_is_at_work_are_followed_by_one_more(doors: Doors, foreman: Foreman) -> None:
    foreman.go.clear()
    first = await deliver(doors, push("1"))
    for after in ("2", "3"):
        response = await deliver(doors, push(after))
        assert (response.status_code, response.json()["job_id"]) == (202, None)
    foreman.go.set()
    await ended(doors, first.json()["job_id"])
    await ended(doors, first.json()["job_id"] + 1)
    await doors.app.state.jobs.close()  # this would fail any other waiting job
    assert [job.status for job in await doors.quoth.library.jobs()] == ["completed"] * 3
    assert len(foreman.begun) == 2


async def test_a_push_while_another_process_writes_is_taken_up_when_it_is_done(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "CONFLICT_POLL", 0.001)
    last = (await doors.quoth.library.jobs())[0].job_id
    async with doors.quoth.index.writer("book"):
        for after in ("1", "2"):
            response = await deliver(doors, push(after))
            assert (response.status_code, response.json()["job_id"]) == (202, None)
    jobs: Jobs = doors.app.state.jobs
    while jobs._tasks:
        await asyncio.wait(list(jobs._tasks))
    [job] = [job for job in await doors.quoth.library.jobs() if job.job_id > last]
    assert job.status == "completed"


# --- which book ------------------------------------------------------------------------------------------------------


def checkout(folder: Path, origin: str) -> None:
    """The part of a `git clone` that we look at."""
    (folder / ".git").mkdir(parents=True)
    config = (
        f'[core]\n\tbare = false\n[remote "other"]\n\turl = x\n[remote "origin"]\n\turl = {origin}\n\tfetch = +refs\n'
    )
    (folder / ".git" / "config").write_text(config)


SPELLINGS = [
    OURS,
    "https://github.com/me/book",
    "https://somebody:token@github.com/Me/Book.git",
    "git@github.com:me/book.git",
    "ssh://git@github.com:22/me/book.git",
    "git://github.com/me/book.git",
]


@pytest.mark.parametrize("origin", SPELLINGS)
def test_the_repository_of_a_checkout_is_known_however_its_address_is_written(tmp_path: Path, origin: str) -> None:
    checkout(tmp_path, origin)
    (tmp_path / "docs").mkdir()
    assert remote_of(str(tmp_path / "docs")) == "github.com/me/book"


def test_what_is_not_a_checkout_of_a_server_has_no_repository(tmp_path: Path) -> None:
    assert [remote_of(source) for source in ("", "https://book.example.com", str(tmp_path / "nowhere"))] == ["", "", ""]
    checkout(tmp_path / "local", "/srv/git/book.git")
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree" / ".git").write_text("gitdir: elsewhere")
    assert [remote_of(str(tmp_path / name)) for name in ("local", "worktree")] == ["", ""]


@pytest.fixture
async def two_books(tmp_path: Path, foreman: Foreman) -> AsyncIterator[Doors]:
    """`book` and `book-2`, both from the folder docs."""
    settings = {"github_webhook_secret": SECRET}
    async with opened(tmp_path, books=2, settings=settings, launch=foreman.launch) as joined:
        yield joined


async def test_the_signed_repository_finds_its_book(two_books: Doors, tmp_path: Path, foreman: Foreman) -> None:
    await move_book(two_books, "book-2", tmp_path / "other")
    checkout(tmp_path / "other", OURS)
    response = await deliver(two_books)
    assert (await ended(two_books, response.json()["job_id"]))["book_id"] == "book-2"


async def test_the_address_cannot_turn_a_push_to_a_book_of_another_repository(
    two_books: Doors, tmp_path: Path, foreman: Foreman
) -> None:
    await move_book(two_books, "book-2", tmp_path / "other")
    checkout(tmp_path / "other", OURS)
    checkout(tmp_path / "docs", FOREIGN)
    check_problem(await deliver(two_books, book_id="book"), 403, "FORBIDDEN")
    check_problem(await deliver(two_books, push(clone_url="https://github.com/nobody/nothing")), 404, "NOT_FOUND")
    check_problem(await deliver(two_books, book_id="atlantis"), 404, "UNKNOWN_BOOK")
    assert foreman.begun == []
    assert (await deliver(two_books, book_id="book-2")).status_code == 202


async def test_two_books_of_one_repository_are_told_apart_by_the_address(two_books: Doors, tmp_path: Path) -> None:
    checkout(tmp_path / "docs", OURS)
    problem = check_problem(await deliver(two_books), 400, "INVALID_REQUEST")
    assert "book, book-2" in problem["message"]
    assert "?book_id=ID" in problem["hint"]
    response = await deliver(two_books, book_id="book-2")
    assert (await ended(two_books, response.json()["job_id"]))["book_id"] == "book-2"


async def test_books_that_come_from_no_repository_are_named_in_the_address_or_configured(
    tmp_path: Path, foreman: Foreman
) -> None:
    settings = {"github_webhook_secret": SECRET, "book": "book-2"}
    async with opened(tmp_path, books=2, settings=settings, launch=foreman.launch) as doors:
        configured = await deliver(doors, push("1"))
        assert (await ended(doors, configured.json()["job_id"]))["book_id"] == "book-2"
        named = await deliver(doors, push("2"), book_id="book")
        assert (await ended(doors, named.json()["job_id"]))["book_id"] == "book"


async def move_book(doors: Doors, book_id: str, folder: Path) -> None:
    """The same book from another folder."""
    write(folder, "topics.md", "# Topics\n\nA topic carries messages.\n")
    book = await doors.quoth.library.book(book_id)
    await doors.quoth.library.put_book(replace(book, source=str(folder)))
