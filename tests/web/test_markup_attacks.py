"""Every text of `attacks` through the page and the widget, in a real browser: as a question, as a book's text and as
the words of a hijacked model. Nothing runs, and no request goes anywhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from attacks import ATTACKS, EVIL, MARKUP
from browsing import LOOP, MARKS, new_page
from doors import a_key, closed, served
from quoth.sources import open_source
from quoth.testing.model_server import ModelServer, says
from websites import Reply, website

pytestmark = [pytest.mark.slow, *MARKS]

TEXTS = [*(text for _, text in ATTACKS), *MARKUP]
ANSWER = "\n\n".join(f"{text}\n\nThe zyxomat rests [1]." for text in TEXTS)
ASKED = "How does the zyxomat rest?"
HOSTS = ("page", "widget")
# Elements that no text may become, and addresses that no link may have.
FORBIDDEN = (
    "script, img:not([src^='/']), iframe, object, embed, style, link, base, meta, form:not(.ask), video, audio, animate"
)
LINKS = "a[href]:not([href^='http:']):not([href^='https:']):not([href^='#'])"
INSIDE = (
    """(root, selector) => [...(root.shadowRoot ?? root).querySelectorAll(selector)].map((node) => node.outerHTML)"""
)


@pytest_asyncio.fixture(loop_scope=LOOP, params=HOSTS)
async def page(request: pytest.FixtureRequest, tmp_path: Path, chromium: Browser) -> AsyncIterator[Page]:
    book = tmp_path / "hostile"
    book.mkdir()
    for number, text in enumerate(TEXTS):
        (book / f"p{number}.md").write_text(
            f"# The zyxomat {number}\n\nHow the zyxomat rests: {text}\n", encoding="utf-8"
        )
    with website() as site:
        async with ModelServer(says(ANSWER)) as model:
            settings = {"openai_base_url": model.url, "openai_model": "scripted"}
            async with closed(tmp_path, settings=settings) as doors, served(doors.quoth) as quoth:
                await doors.quoth.ingest.run(open_source(book, book_id="hostile", base_url=site.url))
                key = (await a_key(doors, origins=(site.url,)))["authorization"].removeprefix("Bearer ")
                tag = f'<script src="{quoth}/widget.js" data-book="hostile" data-key="{key}" defer></script>'
                site.replies["/"] = Reply(f"<!doctype html><title>Host</title>{tag}<h1>Host</h1>".encode())
                async with new_page(chromium) as page:
                    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
                    if request.param == "page":
                        whole = (await a_key(doors))["authorization"].removeprefix("Bearer ")
                        await page.add_init_script(f"sessionStorage.setItem('quoth.key', '{whole}')")
                    await page.goto(f"{quoth}/?book=hostile" if request.param == "page" else site.url)
                    yield page


async def test_no_text_runs_or_calls_out(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))
    title = await page.title()
    widget = page.locator("quoth-widget")
    in_widget = await widget.count() == 1
    if in_widget:
        await widget.locator(".launch").click()
    await expect(page.locator("textarea")).to_be_focused()
    for question in (ASKED, f"{ASKED} {' '.join(MARKUP)}"):
        await page.locator("textarea").fill(question)
        await page.keyboard.press("Enter")
        await expect(page.locator(".turn.settled").last).to_contain_text(ASKED)
    await page.locator(".marker a").first.click()
    await expect(page.locator(".answer").first).to_contain_text("window.owned=1")
    root = widget if in_widget else page.locator("body")
    await page.mouse.move(200, 300)
    assert await root.evaluate(INSIDE, FORBIDDEN) == []
    assert await root.evaluate(INSIDE, LINKS) == []
    assert await page.evaluate("window.owned") is None
    assert await page.title() in {title, "hostile · Quoth"}
    assert [url for url in asked if url.startswith(EVIL) or "evil.example" in url] == []
