"""The recipes of docs/widget.md on sites built with the real MkDocs, Sphinx, Docusaurus and mdBook (`make sites`), in a
real browser. The Docusaurus site has a root font size of 10 pixels."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from browsing import LOOP, MARKS, until
from built_sites import BuiltSite, published, toolchains
from doors import ASKED
from hosting import ask, launch, looks, visited

pytestmark = [pytest.mark.slow, *MARKS]

LIT = "[...CSS.highlights.get('quoth-cited') ?? []].map((range) => range.toString().replace(/\\s+/g, ' '))"
DECISIVE = "Transient local durability keeps the last message for late subscribers."


@pytest_asyncio.fixture(loop_scope=LOOP, scope="module", params=toolchains())
async def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[BuiltSite]:
    async with published(request.param, tmp_path_factory.mktemp("site")) as built:
        yield built


async def lit(page: Page) -> list[str]:
    await until(page, "CSS.highlights.get('quoth-cited')?.size === 1")
    found: list[str] = await page.evaluate(LIT)
    return found


async def test_the_widget_answers_and_its_citation_opens_the_built_page_at_the_lit_words(
    site: BuiltSite, chromium: Browser
) -> None:
    async with visited(chromium, f"{site.url}/") as page:
        assert await page.evaluate("document.activeElement === document.body")
        await launch(page).click()
        await ask(page, ASKED)
        await page.locator("quoth-widget .marker a").first.click()  # its card
        await page.locator("quoth-widget .card a").first.click()
        await page.wait_for_url("**/topics*/**" if site.name in {"MkDocs", "Docusaurus"} else "**/topics.html*")
        assert await lit(page) == [DECISIVE]
        await expect(page.locator("h2", has_text="Durability").first).to_be_in_viewport()
        await expect(page.locator("quoth-widget .answer")).to_contain_text(DECISIVE)  # still open, still there
        assert await page.evaluate("document.activeElement?.tagName !== 'QUOTH-WIDGET'")
        # Now the cited words are on this page.
        await page.evaluate("scrollTo(0, 0); CSS.highlights.clear()")
        await page.locator("quoth-widget .marker a").first.click()
        assert await lit(page) == [DECISIVE]
        await expect(page.locator("h2", has_text="Durability").first).to_be_in_viewport()


async def test_the_widget_stays_while_the_reader_follows_the_links_of_the_site(
    site: BuiltSite, chromium: Browser
) -> None:
    """Two of the four change pages without loading a new one."""
    async with visited(chromium, f"{site.url}/", viewport={"width": 1600, "height": 900}) as page:
        await launch(page).click()
        await ask(page, ASKED)
        await page.get_by_role("link", name="topics", exact=True).first.click()
        await expect(page.locator("h1", has_text="Topics").first).to_be_visible()
        await expect(page.locator("quoth-widget")).to_have_count(1)
        await expect(page.locator("quoth-widget .answer")).to_contain_text(DECISIVE)
        await page.locator("quoth-widget .marker a").first.click()
        assert await lit(page) == [DECISIVE]
        await page.locator("pre").first.hover()  # scrolls back, as a reader does
        await page.get_by_role("button", name="Ask about this code").click()
        await expect(page.locator("quoth-widget .selected")).to_contain_text("node.create_publisher")


async def test_no_style_of_the_site_reaches_the_widget(site: BuiltSite, chromium: Browser) -> None:
    seen = []
    for name in ("/plain.html", "/"):
        async with visited(chromium, f"{site.url}{name}") as page:
            seen.append(await looks(page, ASKED))
    assert seen[0] == seen[1]
    assert len(seen[0]) == 6


def switch(page: Page, name: str) -> list[Locator]:
    """What a reader presses to get this site's dark colours."""
    return {
        "MkDocs": [page.locator(".md-header__option label:visible")],
        "Sphinx": [page.locator(".theme-toggle:visible").first],
        "Docusaurus": [page.locator("button[class*=toggleButton]:visible").first],
        "mdBook": [page.locator("button[aria-label='Change theme'], #theme-toggle"), page.get_by_text("Navy")],
    }[name]


async def test_the_dark_switch_of_the_site_is_followed(site: BuiltSite, chromium: Browser) -> None:
    async with visited(chromium, f"{site.url}/", color_scheme="light") as page:
        widget = page.locator("quoth-widget")
        await expect(widget).to_have_attribute("data-scheme", "light")
        for press in switch(page, site.name):
            await press.click()
        await expect(widget).to_have_attribute("data-scheme", "dark")
