"""The page and the widget for everyone: axe finds nothing in any state, targets are large enough, texts are read out,
and everything can be done with the keyboard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from axe import complaints, needs_axe, small_targets
from browsing import LOOP, MARKS, new_page, tab_to
from doors import ASKED, UNKNOWN, opened, served
from hosting import Host, hosted, launch

pytestmark = [pytest.mark.slow, *MARKS]

PRESSED = "button, summary, select, label.only, .marker a"
READERS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "urdu": {"locale": "ur-PK"},
    "phone": {"viewport": {"width": 375, "height": 700}, "color_scheme": "dark"},
}
ANSWERED = ".turn.settled:not(.refused):not(.failed)"


@pytest_asyncio.fixture(loop_scope=LOOP, scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Host]:
    async with hosted(tmp_path_factory.mktemp("host")) as joined:
        yield joined


@pytest_asyncio.fixture(loop_scope=LOOP, scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with opened(tmp_path_factory.mktemp("library"), books=2) as doors, served(doors.quoth) as address:
        yield address


async def ask(page: Page, question: str, state: str) -> None:
    await page.locator("textarea").fill(question)
    await page.keyboard.press("Enter")
    await expect(page.locator(f".turn{state}").last).to_contain_text(question)


async def every_state(page: Page, root: str | None) -> AsyncIterator[str]:
    """The conversation in one state after another: empty, in progress, answered, a source opened, refused, failed."""
    yield "empty"
    gate = asyncio.Event()

    async def later(route: Route) -> None:
        await gate.wait()
        await route.continue_()

    await page.route("**/chat/stream", later)
    await ask(page, ASKED, "")
    await page.locator("textarea").fill("What comes next?")
    await page.keyboard.press("Enter")
    yield "on its way, one queued"
    gate.set()
    await expect(page.locator(".turn.settled")).to_have_count(2)
    await page.unroute("**/chat/stream")
    yield "answered"
    await page.locator(".marker a").first.click()
    yield "a source opened"
    await ask(page, UNKNOWN, ".refused")
    yield "refused"
    await page.route("**/chat/stream", lambda route: route.abort())
    await ask(page, "Are you there?", ".failed")
    yield "failed"


@needs_axe
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("place", ["page", "widget"])
async def test_axe_finds_nothing_in_any_state(
    host: Host, library: str, chromium: Browser, place: str, reader: str
) -> None:
    options: dict[str, Any] = READERS[reader]
    dark = options.get("color_scheme") == "dark"
    paper = "#111; color: #eee" if dark else "#fff; color: #111"
    lang = "ur" if reader == "urdu" else "en"
    host_page = host.publish(
        f"/{reader}", root=f'lang="{lang}"', head=f"<style>body {{ background: {paper}; }}</style>"
    )
    async with new_page(chromium, reduced_motion="reduce", **options) as page:
        root = None
        if place == "widget":
            root = "quoth-widget"
            await page.goto(host_page)
            await launch(page).click()
        else:
            await page.goto(library)
        await expect(page.locator("textarea")).to_be_focused()
        found = {}
        async for state in every_state(page, root):
            within = ", ".join(f"{root} {one}" if root else one for one in PRESSED.split(", "))
            found[state] = [*await complaints(page, root), *await small_targets(page, within)]
        assert {state: told for state, told in found.items() if told} == {}
        assert len(found) == 6


async def test_the_journey_in_the_widget_needs_no_pointer(host: Host, chromium: Browser) -> None:
    async with new_page(chromium) as page:
        await page.goto(host.publish("/journey"))
        await expect(launch(page)).to_have_attribute("title", "Ask the book (Ctrl K)")
        await tab_to(page, "launch")
        await page.keyboard.press("Enter")
        await expect(page.locator("textarea")).to_be_focused()
        await page.keyboard.type(ASKED)
        await page.keyboard.press("Enter")
        await expect(page.locator(ANSWERED)).to_be_visible()
        await tab_to(page, "#source-", key="Shift+Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("group", name="Source 1")).to_be_focused()
        await tab_to(page, "Read around it")
        await page.keyboard.press("Enter")
        await expect(page.locator("quoth-widget dialog").get_by_text("deadline policy")).to_be_visible()
        await page.keyboard.press("Escape")  # the passage
        await expect(page.locator("quoth-widget .corner")).to_be_visible()
        await tab_to(page, "only-page")
        await page.keyboard.press("Space")
        await expect(page.get_by_label("Only this page")).to_be_checked()
        await tab_to(page, "New conversation", key="Shift+Tab")
        await page.keyboard.press("Enter")
        await expect(page.locator("quoth-widget textarea")).to_be_focused()
        await tab_to(page, "starter", key="Shift+Tab")
        await page.keyboard.press("Enter")
        await expect(page.locator(".turn.settled")).to_be_visible()
        await expect(page.locator(".turn")).to_be_focused()  # the button is gone
        await page.keyboard.press("Escape")  # the panel
        await expect(page.locator("quoth-widget .corner")).to_be_hidden()
        await expect(launch(page)).to_be_focused()


@pytest.mark.parametrize("locale", ["en-GB", "ur-PK"])
@pytest.mark.parametrize("width", [375, 1280])
async def test_nothing_is_beside_the_page_and_the_answer_is_seen(
    library: str, chromium: Browser, locale: str, width: int
) -> None:
    """A right-to-left page with anything to its left could be scrolled there, and would be empty."""
    async with new_page(chromium, locale=locale, viewport={"width": width, "height": 700}) as page:
        await page.goto(library)
        await ask(page, ASKED, ".settled")
        await expect(page.locator(".asked")).to_be_in_viewport(ratio=1)
        root = await page.evaluate(
            "(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.documentElement)"
        )
        assert root == [width, width]
        await page.evaluate("scrollBy(-500, 0)")
        assert await page.evaluate("scrollX") == 0


async def test_the_conversations_open_without_leading_away_from_the_answer(library: str, chromium: Browser) -> None:
    async with new_page(chromium, viewport={"width": 1280, "height": 700}, reduced_motion="reduce") as page:
        await page.goto(library)
        await ask(page, UNKNOWN, ".refused")
        await ask(page, ASKED, ".settled")
        before = await page.evaluate("scrollY")
        assert before > 0
        await page.locator("#side-button").click()
        await expect(page.locator("#side")).to_be_visible()
        assert await page.evaluate("scrollY") == before


async def test_an_answer_is_read_out_in_sentences_and_without_its_markers(host: Host, chromium: Browser) -> None:
    async with new_page(chromium) as page:
        await page.goto(host.publish("/heard"))
        await launch(page).click()
        await ask(page, ASKED, ".settled")
        said = page.get_by_role("log").locator("p")
        await expect(said.nth(0)).to_have_text("Looking through the book")
        heard = await said.all_inner_texts()
        assert "Transient local durability keeps the last message for late subscribers." in heard
        assert not [sentence for sentence in heard if "[1]" in sentence or "**" in sentence]


async def test_who_wants_no_motion_gets_none(library: str, chromium: Browser) -> None:
    async with new_page(chromium, reduced_motion="reduce") as page:
        await page.goto(library)
        await ask(page, ASKED, ".settled")
        moving = "document.getAnimations().filter((one) => one.playState === 'running').length"
        assert await page.evaluate(moving) == 0
        styles = "[...document.querySelectorAll('*')].map((node) => getComputedStyle(node))"
        assert await page.evaluate(f"{styles}.filter((one) => one.animationName !== 'none').length") == 0
