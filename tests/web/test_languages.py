"""The choice of the interface language in a real browser: it works at once, loses nothing, and is remembered."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from axe import complaints, needs_axe, small_targets
from browsing import LOOP, MARKS, new_page, tab_to
from doors import ASKED, UNKNOWN, a_key, opened, served
from hosting import FORBIDDEN, Host, hosted

pytestmark = [pytest.mark.slow, *MARKS]

LIMIT = '{"status": 429, "error_code": "RATE_LIMITED", "details": {"retry_after": 900}}'
DRAFT = "What does a volatile one keep?"


@pytest_asyncio.fixture(loop_scope=LOOP, scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with opened(tmp_path_factory.mktemp("library")) as doors, served(doors.quoth) as address:
        yield address


@pytest_asyncio.fixture(loop_scope=LOOP)
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Host]:
    async with hosted(tmp_path_factory.mktemp("host")) as joined:
        yield joined


async def ask(page: Page, question: str, state: str) -> None:
    await page.locator("#question").fill(question)
    await page.keyboard.press("Enter")
    await expect(page.locator(f".turn{state}").last).to_contain_text(question)


@needs_axe
@pytest.mark.parametrize("width", [375, 1280])
async def test_a_reader_chooses_the_language_and_everything_speaks_it_at_once(
    library: str, chromium: Browser, width: int
) -> None:
    async with new_page(chromium, reduced_motion="reduce", viewport={"width": width, "height": 700}) as page:
        await page.goto(library)
        switch = page.get_by_label("Language")
        await expect(switch.locator("option")).to_have_text(["English", "Deutsch", "اردو", "中文"])
        await ask(page, ASKED, ".settled")
        await ask(page, UNKNOWN, ".refused")
        kind = "application/problem+json"
        await page.route("**/chat/stream", lambda route: route.fulfill(status=429, content_type=kind, body=LIMIT))
        await ask(page, "Are you there?", ".failed")
        asked: list[str] = []
        page.on("request", lambda sent: asked.append(sent.url) if sent.method == "POST" else None)
        await page.locator("#question").fill(DRAFT)

        await switch.select_option("ur")
        await expect(page.locator("html")).to_have_attribute("dir", "rtl")
        await expect(page.locator("html")).to_have_attribute("lang", "ur")
        await expect(page.locator(".verdict summary").first).to_have_text("کتاب کے اپنے الفاظ میں۔")
        await expect(page.locator(".turn.refused .nearest")).to_be_visible()
        await expect(page.locator(".turn.refused .answer")).to_be_hidden()  # in English; the verdict says the same
        await expect(page.locator(".turn.refused h3")).to_have_text("قریب ترین حصے")
        await expect(page.locator(".failed .failure .what")).to_have_text("اس وقت بہت سے سوال پوچھے جا رہے ہیں۔")
        await expect(page.locator("#question")).to_have_value(DRAFT)
        await expect(page.get_by_label("آپ کا سوال")).to_be_visible()
        assert await page.locator("h1").inner_text() == "docs"
        assert asked == []
        left = await page.evaluate("document.body.innerText.match(/Copy|Sources|Try again|Contents|Not in the book/g)")
        assert left is None
        assert await complaints(page, None) == []
        assert await small_targets(page, "button, select") == []

        await page.reload()
        await expect(page.locator("html")).to_have_attribute("dir", "rtl")
        await expect(page.get_by_label("زبان")).to_have_value("ur")
        await page.goto(f"{library}/a/none")  # the page of a shared answer
        await expect(page.locator("#main")).to_have_text("یہ لنک اب کسی جواب تک نہیں لے جاتا۔")


async def test_the_language_is_chosen_with_the_keyboard_and_the_reader_stays_there(
    library: str, chromium: Browser
) -> None:
    async with new_page(chromium) as page:
        await page.goto(library)
        await expect(page.locator(".contents")).to_be_visible()
        await tab_to(page, "languages", key="Shift+Tab")
        await page.keyboard.press("ArrowDown")
        await expect(page.get_by_role("heading", name="Inhalt")).to_be_visible()
        await expect(page.locator("#languages")).to_be_focused()
        await expect(page.locator("#question")).to_have_attribute("placeholder", "Stellen Sie dem Buch eine Frage")


async def test_where_storage_is_forbidden_the_choice_and_the_conversation_stay_all_the_same(
    host: Host, chromium: Browser
) -> None:
    key = (await a_key(host.doors))["authorization"].removeprefix("Bearer ")
    async with new_page(chromium) as page:
        await page.add_init_script(FORBIDDEN)
        await page.goto(host.quoth)
        await expect(page.get_by_label("Key", exact=True)).to_be_visible()
        await page.get_by_label("Language").select_option("de")
        await page.get_by_label("Schlüssel", exact=True).fill(key)
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Ihre Frage")).to_be_focused()
        await ask(page, ASKED, ".settled")
        await page.get_by_label("Sprache").select_option("zh")
        await expect(page.get_by_label("你的问题")).to_be_visible()
        await expect(page.locator(".answer")).to_contain_text("Transient local durability")
        await ask(page, "and what keeps nothing?", ".settled")
        await expect(page.locator(".answer").last).to_contain_text("Volatile durability keeps nothing")
