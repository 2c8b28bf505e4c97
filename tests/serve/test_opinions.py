"""Readers rate answers and share them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from doors import ASKED, Doors, a_key, check_problem, closed, opened

NEVER = "7-" + "a" * 22


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path, settings={"sharing": True}) as joined:
        yield joined


async def an_answer(doors: Doors) -> dict[str, str]:
    body = await doors.ask()
    return {"session_id": body["session_id"], "request_id": body["metadata"]["request_id"]}


async def test_an_opinion_is_kept_with_the_answer_and_can_be_taken_back(doors: Doors) -> None:
    answer = await an_answer(doors)
    for rating in ("up", "down", None):
        given = {**answer, "rating": rating, "reason": "not what I asked"}
        assert (await doors.client.post("/feedback", json=given)).status_code == 204
        history = (await doors.client.get(f"/history/{answer['session_id']}")).json()
        assert history["entries"][0]["rating"] == rating


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"rating": "sideways"}, 400, "INVALID_REQUEST"),
        ({"reason": "x" * 501}, 400, "INVALID_REQUEST"),
        ({"session_id": "me"}, 400, "INVALID_SESSION_ID"),
        ({"request_id": "other"}, 404, "SESSION_NOT_FOUND"),
        ({"more": 1}, 400, "UNKNOWN_FIELD"),
    ],
)
async def test_a_wrong_opinion_says_what_is_wrong(
    doors: Doors, changes: dict[str, object], status: int, code: str
) -> None:
    given = {**await an_answer(doors), "rating": "up", **changes}
    check_problem(await doors.client.post("/feedback", json=given), status, code)


async def test_a_shared_answer_is_read_by_everyone_who_has_the_address_until_its_session_is_erased(
    doors: Doors,
) -> None:
    answer = await an_answer(doors)
    await doors.client.post("/feedback", json={**answer, "rating": "down", "reason": "x"})
    share = (await doors.client.post("/share", json=answer)).json()
    assert (await doors.client.post("/share", json=answer)).json() == share
    shown = await doors.client.get(f"/shared/{share['share_id']}")
    assert shown.headers["x-robots-tag"] == "noindex"
    assert (shown.json()["entry"]["query"], shown.json()["entry"]["rating"]) == (ASKED, None)
    assert "session_id" not in shown.text
    page = await doors.client.get(share["path"])
    assert page.status_code == 200
    assert f'<meta property="og:title" content="{ASKED}">' in page.text
    await doors.client.delete(f"/session/{answer['session_id']}")
    check_problem(await doors.client.get(f"/shared/{share['share_id']}"), 404, "NOT_FOUND")
    assert (await doors.client.get(share["path"])).status_code == 404


async def test_the_card_of_a_link_is_text(doors: Doors) -> None:
    body = await doors.ask('"><script>alert(1)</script>')
    answer = {"session_id": body["session_id"], "request_id": body["metadata"]["request_id"]}
    share = (await doors.client.post("/share", json=answer)).json()
    page = await doors.client.get(share["path"])
    assert "<script>alert" not in page.text
    assert "&quot;&gt;&lt;script&gt;" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]


@pytest.mark.parametrize("share_id", [NEVER, "x", "7-short", f"{'9' * 30}-{'a' * 22}", "1-" + "a" * 21 + "%00"])
async def test_an_address_that_was_never_shared_leads_nowhere(doors: Doors, share_id: str) -> None:
    check_problem(await doors.client.get(f"/shared/{share_id}"), 404, "NOT_FOUND")
    assert (await doors.client.get(f"/a/{share_id}")).status_code == 404


async def test_nothing_is_shared_unless_the_operator_allows_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        answer = await an_answer(doors)
        check_problem(await doors.client.post("/share", json=answer), 404, "NOT_FOUND")
        check_problem(await doors.client.get(f"/shared/{NEVER}"), 404, "NOT_FOUND")


async def test_only_the_key_that_asked_can_share_or_judge_an_answer(tmp_path: Path) -> None:
    async with closed(tmp_path, settings={"sharing": True}) as doors:
        mine, other = await a_key(doors), await a_key(doors)
        body = (await doors.client.post("/chat", json={"query": ASKED}, headers=mine)).json()
        answer = {"session_id": body["session_id"], "request_id": body["metadata"]["request_id"]}
        for path, given in (("/share", answer), ("/feedback", {**answer, "rating": "up"})):
            check_problem(await doors.client.post(path, json=given, headers=other), 404, "SESSION_NOT_FOUND")
            check_problem(await doors.client.post(path, json=given), 401, "UNAUTHORIZED")
        share = (await doors.client.post("/share", json=answer, headers=mine)).json()
        assert (await doors.client.get(f"/shared/{share['share_id']}")).status_code == 200
