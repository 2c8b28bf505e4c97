"""The widget on somebody else's page, in a real browser: another origin, a strict policy, a public key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from browsing import LOOP, MARKS, new_page
from doors import ASKED, REFUSAL, UNKNOWN, a_key, closed, served

pytestmark = [pytest.mark.slow, *MARKS]

HTML = """<!doctype html><html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="script-src {quoth}; connect-src {quoth}; style-src 'self'">
<script src="{quoth}/widget.js" data-book="book" data-key="{key}" data-title="Ask us" defer></script></head>
<body><h1>A page of the site</h1>
<p>The zyxomat rests for nine seconds before each start. A second run needs no rest at all.</p>
<p><a href="/other">Another page</a></p></body></html>"""


@asynccontextmanager
async def site(html: Callable[[], str]) -> AsyncIterator[str]:
    """A web server that serves the same page at every path."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = html().encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest_asyncio.fixture(loop_scope=LOOP)
async def page(tmp_path: Path, chromium: Browser) -> AsyncIterator[Page]:
    """A page on a site that the key was made for."""
    written = ""
    async with (
        closed(tmp_path) as doors,
        served(doors.quoth) as quoth,
        site(lambda: written) as where,
        new_page(chromium) as page,
    ):
        shown = await a_key(doors, origins=(where,))
        written = HTML.format(quoth=quoth, key=shown["authorization"].removeprefix("Bearer "))
        await page.goto(where)
        yield page


async def ask(page: Page, question: str) -> None:
    await page.get_by_label("Your question").fill(question)
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn.settled").filter(has_text=question)).to_be_visible()


async def test_a_reader_asks_from_a_page_of_another_origin(page: Page) -> None:
    await page.get_by_role("button", name="Ask us").click()
    await ask(page, ASKED)
    await expect(page.locator(".answer")).to_contain_text("Transient local durability keeps the last message")
    await expect(page.get_by_role("group", name="Source 1")).to_contain_text("Durability")
    await ask(page, UNKNOWN)
    await expect(page.locator(".turn.refused")).to_contain_text(REFUSAL)


async def test_a_question_asked_before_the_book_is_known_waits_for_it(page: Page) -> None:
    known = asyncio.Event()

    async def later(route: Route) -> None:
        await known.wait()
        await route.continue_()

    await page.route("**/books", later)
    await page.get_by_role("button", name="Ask us").click()
    await page.get_by_label("Your question").fill(ASKED)
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Your question")).to_have_value(ASKED)
    known.set()
    await expect(page.locator(".answer")).to_contain_text("Transient local durability keeps the last message")
    await expect(page.get_by_label("Your question")).to_have_value("")
    await expect(page.locator(".turn")).to_have_count(1)


async def test_an_outage_does_not_end_the_conversation(page: Page) -> None:
    await page.get_by_role("button", name="Ask us").click()
    await ask(page, ASKED)
    away = json.dumps({"status": 503, "message": "The database does not answer.", "hint": "Try again."})
    await page.route("**/history/**", lambda route: route.fulfill(status=503, body=away))
    await page.reload()
    await expect(page.get_by_label("Your question")).to_be_visible()
    assert await page.evaluate("document.activeElement.localName") == "body"  # nothing takes the focus of a new page
    await expect(page.locator(".turn")).to_have_count(0)
    await page.unroute("**/history/**")
    await page.reload()
    await expect(page.locator(".answer")).to_contain_text("Transient local durability")


async def test_a_selected_paragraph_alone_answers(page: Page) -> None:
    await page.get_by_text("The zyxomat rests").click(click_count=3)
    await page.get_by_role("button", name="Ask about this").click()
    await ask(page, "How long does the zyxomat rest before each start?")
    await expect(page.locator(".answer")).to_contain_text("nine seconds")
    await expect(page.get_by_role("group", name="Source 1")).to_contain_text("Selected text")
    await ask(page, ASKED)  # the book knows, but only the selection may answer
    await expect(page.locator(".turn.refused")).to_contain_text("I could not find that in the selected text")
    await page.get_by_role("button", name="Drop the selection").click()
    await ask(page, "Which durability keeps nothing?")
    await expect(page.locator(".answer").last).to_contain_text("Volatile durability keeps nothing.")


async def test_a_question_about_a_selection_asked_before_the_book_is_known_stays_about_it(page: Page) -> None:
    known = asyncio.Event()

    async def later(route: Route) -> None:
        await known.wait()
        await route.continue_()

    await page.route("**/books", later)
    await page.get_by_text("The zyxomat rests").click(click_count=3)
    await page.get_by_role("button", name="Ask about this").click()
    await page.get_by_label("Your question").fill("How long does the zyxomat rest before each start?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Your question")).not_to_have_value("")
    known.set()
    await expect(page.locator(".answer")).to_contain_text("nine seconds")
    await expect(page.get_by_role("group", name="Source 1")).to_contain_text("Selected text")


async def test_the_conversation_stays_open_on_the_next_page_and_closes_when_told(page: Page) -> None:
    await page.get_by_role("button", name="Ask us").click()
    await ask(page, ASKED)
    await page.get_by_role("link", name="Another page").click()
    await page.wait_for_url("**/other")
    await expect(page.locator(".answer")).to_contain_text("Transient local durability")
    await page.get_by_label("Your question").press("Escape")
    await expect(page.locator(".corner")).to_be_hidden()
    await expect(page.get_by_role("button", name="Ask us")).to_be_focused()
    await page.reload()
    await expect(page.get_by_role("button", name="Ask us")).to_be_visible()
    await expect(page.locator(".corner")).to_have_count(0)


async def test_a_page_of_a_site_that_the_key_is_not_made_for_is_told_so(page: Page) -> None:
    await page.goto(page.url.replace("127.0.0.1", "localhost"))
    await page.get_by_role("button", name="Ask us").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(page.locator(".turn")).to_have_count(0)


async def test_the_page_of_a_closed_server_asks_for_a_key(tmp_path: Path, chromium: Browser) -> None:
    async with closed(tmp_path) as doors, served(doors.quoth) as quoth, new_page(chromium) as page:
        shown = await a_key(doors)
        await page.goto(quoth)
        await page.get_by_label("Key", exact=True).fill("qk_wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("That key does not open this library.")).to_be_visible()
        await page.get_by_label("Key", exact=True).fill(shown["authorization"].removeprefix("Bearer "))
        await page.keyboard.press("Enter")
        await ask(page, ASKED)
        await expect(page.locator(".answer")).to_contain_text("Transient local durability")
        assert "qk_" not in page.url
