"""In a real browser: a stopped answer stays as it was, and the conversation continues from there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from browsing import LOOP, MARKS, new_page
from doors import ASKED, Doors, opened, served
from quoth.ask import judge as judging
from quoth.domain import Verdict
from quoth.testing.model_server import ModelServer, chunk, says, stalls

SAID = "Transient local durability keeps the last message for late subscribers [1]."

LOOSE = "Treat with care: the book touches on this only loosely."

pytestmark = [pytest.mark.slow, *MARKS]


@pytest_asyncio.fixture(loop_scope=LOOP)
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer(stalls(chunk({"content": SAID}), chunk({"content": " And then"}))) as server:
        yield server


@pytest_asyncio.fixture(loop_scope=LOOP)
async def doors(tmp_path: Path, model: ModelServer) -> AsyncIterator[Doors]:
    async with opened(tmp_path, settings={"openai_base_url": model.url, "openai_model": "scripted"}) as joined:
        yield joined


@pytest_asyncio.fixture(loop_scope=LOOP)
async def page(chromium: Browser, doors: Doors) -> AsyncIterator[Page]:
    async with served(doors.quoth) as address, new_page(chromium, only=address) as page:
        await page.goto(f"{address}/?book=book")
        yield page


async def test_a_stopped_answer_stays_where_it_was_stopped_and_can_be_asked_on(page: Page, model: ModelServer) -> None:
    await page.get_by_label("Your question").fill(ASKED)
    await page.keyboard.press("Enter")
    await expect(page.locator(".answer")).to_contain_text("And then")
    await page.keyboard.press("Escape")
    await expect(page.locator(".turn.settled .verdict")).to_contain_text("Stopped before the end.")
    model.then([says(SAID)])
    await page.get_by_label("Your question").fill("and what about volatile?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn.settled")).to_have_count(2)
    assert ASKED in [message["content"] for message in model.bodies[-1]["messages"]]

    await page.reload()
    stopped = page.locator(".turn").first
    await expect(stopped.locator(".answer")).to_contain_text("And then")
    await expect(stopped.locator(".verdict")).to_contain_text("Stopped before the end.")
    await expect(stopped.get_by_role("group", name="Source 1")).to_be_visible()
    await expect(page.locator(".turn")).to_have_count(2)


async def test_an_unsure_answer_says_so_at_once_and_after_a_reload(
    page: Page, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = judging.judge

    def judge(*given: Any) -> Verdict:
        return replace(real(*given), level="low", should_answer=True)

    monkeypatch.setattr(judging, "judge", judge)
    model.then([says(SAID)])
    await page.get_by_label("Your question").fill(ASKED)
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn.settled .verdict summary")).to_have_text(LOOSE)
    await page.reload()
    await expect(page.locator(".turn.settled .verdict summary")).to_have_text(LOOSE)
