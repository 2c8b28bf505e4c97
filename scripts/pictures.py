"""Takes screenshots of the reader's page and the widget in all their states, at four widths, light and dark.

    python scripts/pictures.py [--to FOLDER] [--only NAME] [--at ADDRESS]

They show the sample book behind `quoth serve`, in Chromium. CI keeps the folder; `--readme` updates
docs/images/page.png.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import httpx2
from playwright.async_api import Browser, Page, ViewportSize, async_playwright

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "examples" / "robotics-book"
README = ROOT / "docs" / "images" / "page.png"
WIDTHS = {375: 812, 768: 1024, 1280: 800, 1920: 1080}
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
ASKED = "Which durability does a late subscriber need to get the last message?"
SHARING = {**os.environ, "QUOTH_SHARING": "true"}
UNKNOWN = "Who won the football championship in 1966?"


async def ask(page: Page, question: str, root: str = "") -> None:
    await page.locator(f"{root} textarea").fill(question)
    await page.keyboard.press("Enter")
    await page.locator(f"{root} .turn.settled", has_text=question).wait_for()


async def start(page: Page) -> None:
    await page.locator(".starter").first.wait_for()


async def writing(page: Page) -> None:
    """The search results are known, but the first word has not arrived yet."""
    send = """async ([query, address]) => {
        const { books } = await (await fetch("/books")).json();
        const body = JSON.stringify({ query, book_id: books[0].book_id });
        const headers = { "content-type": "application/json" };
        return (await fetch(address, { method: "POST", headers, body })).text();
    }"""
    body: str = await page.evaluate(send, [ASKED, "/chat/stream"])
    found = body[: body.index("event: delta")]
    # The stream is never closed: the page waits for the first word.
    script = """(found) => {
        const real = window.fetch;
        const start = (stream) => stream.enqueue(new TextEncoder().encode(found));
        const headers = { "content-type": "text/event-stream" };
        const waiting = () => new Response(new ReadableStream({ start }), { headers });
        window.fetch = async (to, options) => (String(to).includes("chat/stream") ? waiting() : real(to, options));
    }"""
    await page.evaluate(script, found)
    await page.locator("#question").fill(ASKED)
    await page.keyboard.press("Enter")
    await page.locator(".card.found").first.wait_for()
    await page.locator("#question").fill("And what does a volatile one do?")
    await page.keyboard.press("Enter")
    await page.locator(".queued").wait_for()


async def answer(page: Page) -> None:
    await page.locator(".contents").wait_for()
    await ask(page, ASKED)
    await page.wait_for_timeout(400)  # while the book opens


async def book(page: Page) -> None:
    await ask(page, ASKED)
    await page.locator(".marker a").first.click()
    await page.locator(".book mark").first.wait_for()


async def verdict(page: Page) -> None:
    await ask(page, ASKED)
    await page.locator(".verdict summary").first.click()
    await page.locator(".thumb").last.click()
    await page.locator(".why").wait_for()


async def refusal(page: Page) -> None:
    await ask(page, UNKNOWN)


async def failure(page: Page) -> None:
    limit = '{"status": 429, "error_code": "RATE_LIMITED", "request_id": "4f3c2b1a", "details": {"retry_after": 30}}'
    kind = "application/problem+json"
    await page.route("**/chat/stream", lambda route: route.fulfill(status=429, content_type=kind, body=limit))
    await ask(page, ASKED)


async def conversations(page: Page) -> None:
    await ask(page, UNKNOWN)
    await ask(page, ASKED)
    if await page.locator("#side").is_hidden():
        await page.locator("#side-button").click()


async def narrowed(page: Page) -> None:
    await start(page)
    await page.locator(".narrow summary").click()
    await page.locator(".narrow select").first.select_option(index=1)


async def leafing(page: Page) -> None:
    await start(page)
    await page.locator(".contents summary").first.click()
    await page.locator(".contents summary").nth(1).click()
    await page.locator(".leaf:visible").nth(3).click()
    await page.locator(".book :is(h3, p)").nth(1).wait_for()


async def shared(page: Page) -> None:
    await page.locator(".contents").wait_for()
    await ask(page, ASKED)
    await page.get_by_role("button", name="Share").click()
    link = page.locator("input.field")
    await link.wait_for()  # shown once the server has answered with the address
    await page.goto(await link.input_value())
    await page.locator(".settled").wait_for()


async def urdu(page: Page) -> None:
    await answer(page)


async def site(page: Page) -> None:
    """A page with the widget that sets its own dark colours."""
    address = page.url.rstrip("/")
    await page.route(f"{address}/site", lambda route: route.fulfill(content_type="text/html", body=SITE))
    await page.goto(f"{address}/site")
    await page.locator("quoth-widget .launch").wait_for()


async def widget(page: Page) -> None:
    await site(page)
    await page.locator("quoth-widget .launch").click()
    await page.locator("quoth-widget .starter").first.wait_for()


async def widget_answer(page: Page) -> None:
    await widget(page)
    await ask(page, ASKED, "quoth-widget")


async def widget_verdict(page: Page) -> None:
    await widget_answer(page)
    await page.locator("quoth-widget .thumb").last.click()
    await page.locator("quoth-widget .why").scroll_into_view_if_needed()


async def widget_refusal(page: Page) -> None:
    await widget(page)
    await ask(page, UNKNOWN, "quoth-widget")


SITE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Site</title><style>body { font: 17px/1.6 sans-serif; margin: 2rem; max-width: 40rem; color-scheme: light dark;
background: light-dark(#fff, #15181c); color: light-dark(#222, #ddd); }</style>
<h1>Quality of service</h1><p>How publishers and subscribers agree on what happens to a message.</p>
<h2 id="durability">Durability</h2><p>Whether a message is kept for those who come late.</p>
<pre><code>publisher = node.create_publisher(String, "chatter", 10)</code></pre>
<h2 id="reliability">Reliability</h2><p>Whether a message that was lost is sent again.</p>
<script src="/widget.js" defer></script></html>"""

STATES: dict[str, Callable[[Page], Awaitable[None]]] = {
    "start": start,
    "writing": writing,
    "answer": answer,
    "book": book,
    "verdict": verdict,
    "refusal": refusal,
    "failure": failure,
    "conversations": conversations,
    "narrowed": narrowed,
    "leafing": leafing,
    "shared": shared,
    "urdu": urdu,
    "site": site,
    "widget": widget,
    "widget-answer": widget_answer,
    "widget-verdict": widget_verdict,
    "widget-refusal": widget_refusal,
}


@asynccontextmanager
async def served(address: str) -> AsyncIterator[str]:
    """The sample book on a free port, or the server that is already at the address."""
    if address:
        yield address
        return
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
        free.close()
        quoth = [sys.executable, "-m", "quoth"]
        ingest = await asyncio.create_subprocess_exec(*quoth, "ingest", str(BOOK), "--data-dir", folder)
        if await ingest.wait():
            raise SystemExit("The sample book could not be read.")
        server = await asyncio.create_subprocess_exec(
            *quoth, "serve", "--port", port, "--data-dir", folder, env=SHARING
        )
        try:
            await ready(f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            await server.wait()


async def ready(address: str) -> None:
    async with httpx2.AsyncClient(base_url=address) as client:
        for _ in range(120):
            try:
                if (await client.get("/readyz")).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.5)
    raise SystemExit("The server did not start.")


async def photograph(browser: Browser, address: str, name: str, width: int, to: dict[Scheme, Path]) -> None:
    """One state at one width, light and dark."""
    size: ViewportSize = {"width": width, "height": WIDTHS[width]}
    locale = "ur-PK" if name == "urdu" else "en-GB"
    async with await browser.new_context(reduced_motion="reduce", viewport=size, locale=locale) as context:
        page = await context.new_page()
        await page.goto(address)
        await STATES[name](page)
        for scheme, path in to.items():
            await page.emulate_media(color_scheme=scheme)
            await page.screenshot(path=path)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / "pictures", help="the folder")
    parser.add_argument("--only", choices=STATES, help="one state")
    parser.add_argument("--at", default="", help="a server that is already running")
    parser.add_argument("--readme", action="store_true", help="only the picture in README.md")
    given = parser.parse_args()
    folder: Path = given.to
    async with served(given.at) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        if given.readme:
            await photograph(browser, address, "answer", 1280, {"light": README})
            return
        folder.mkdir(parents=True, exist_ok=True)
        for name in [given.only] if given.only else list(STATES):
            for width in WIDTHS:
                to = {scheme: folder / f"{name}-{width}-{scheme}.png" for scheme in SCHEMES}
                await photograph(browser, address, name, width, to)
        sys.stdout.write(f"{folder}: {len(list(folder.glob('*.png')))} pictures\n")


if __name__ == "__main__":
    asyncio.run(main())
