"""A site that publishes the book of `doors` and has the widget on its pages: on another origin than the server, with a
public key and a strict policy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Locator, Page, expect

from browsing import new_page
from doors import Doors, a_key, closed, served
from quoth.sources import open_source
from websites import Reply, Website, website

TOPICS = """<main><h1 id="topics">Topics<a class="headerlink" href="#topics">¶</a></h1>
<p>A topic carries messages from publishers to subscribers.</p>
<pre tabindex="0"><code>publisher = node.create_publisher(String, "chatter", 10)</code></pre>
<div style="height: 120vh"></div>
<h2 id="durability">Durability<a class="headerlink" href="#durability">¶</a></h2>
<p>Transient <em>local</em> durability keeps the last
message for late subscribers. Volatile durability keeps nothing.</p>
<h2 id="timing">Timing</h2>
<p>The deadline policy names the longest time between two messages.</p>
<div style="height: 120vh"></div></main>"""

# A script for a browser that stores nothing.
FORBIDDEN = """for (const name of ["sessionStorage", "localStorage"])
    Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });"""

# The visible properties of an element that a site could change.
_LOOK = """(nodes) => nodes.map((node) => {
    const style = getComputedStyle(node);
    const names = ["letterSpacing", "wordSpacing", "textTransform", "lineHeight", "fontFamily", "fontSize", "color",
        "textIndent", "visibility", "opacity", "direction", "backgroundColor", "padding", "borderWidth"];
    const { width, height } = node.getBoundingClientRect();
    return [node.className, Math.round(width), Math.round(height), ...names.map((name) => style[name])];
})"""


@dataclass(frozen=True)
class Host:
    site: Website
    quoth: str
    key: str
    doors: Doors

    def tag(self, **data: str) -> str:
        given = "".join(f' data-{name}="{value}"' for name, value in {"book": "book", "key": self.key, **data}.items())
        return f'<script src="{self.quoth}/widget.js"{given} defer></script>'

    def publish(
        self, path: str, *, root: str = "", body: str = "", head: str = "", main: str = TOPICS, **data: str
    ) -> str:
        """A page with the widget; `root` and `body` are attributes of those elements. Returns its URL."""
        policy = f"script-src {self.quoth} 'unsafe-inline'; connect-src {self.quoth}; style-src 'unsafe-inline'"
        html = (
            f'<!doctype html><html {root or "lang=en"}><head><meta charset="utf-8"><title>Topics</title>'
            '<meta name="viewport" content="width=device-width">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">{head}{self.tag(**data)}</head>'
            f"<body {body}>{main}</body></html>"
        )
        self.site.replies[path] = Reply(html.encode())
        return self.site.url + path


@asynccontextmanager
async def hosted(folder: Path) -> AsyncIterator[Host]:
    with website() as site:
        async with closed(folder) as doors, served(doors.quoth) as quoth:
            await doors.quoth.ingest.run(open_source(folder / "docs", book_id="book", base_url=site.url))
            shown = await a_key(doors, origins=(site.url,))
            yield Host(site, quoth, shown["authorization"].removeprefix("Bearer "), doors)


@asynccontextmanager
async def visited(chromium: Browser, address: str, **options: Any) -> AsyncIterator[Page]:
    async with new_page(chromium, **options) as page:
        await page.goto(address)
        yield page


def launch(page: Page) -> Locator:
    return page.locator("quoth-widget .launch")


def box(page: Page) -> Locator:
    return page.locator("quoth-widget textarea")


async def ask(page: Page, question: str) -> None:
    await box(page).fill(question)
    await page.keyboard.press("Enter")
    await expect(page.locator("quoth-widget .turn.settled").filter(has_text=question)).to_be_visible()


async def looks(page: Page, question: str) -> Any:
    """How the open widget looks after a question, to be compared between sites."""
    await launch(page).click()
    await ask(page, question)
    seen = page.locator("quoth-widget").locator(".launch, .corner, .answer, .asked, textarea, .only")
    return await seen.evaluate_all(_LOOK)
