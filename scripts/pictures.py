"""Photographs the reader's page in all its states, at four widths, light and dark.

    QUOTH_PICTURES=folder python scripts/pictures.py [--only NAME] [--at ADDRESS]

The sample book behind `quoth serve`, in Chromium. CI keeps the folder; `--readme` renews docs/images/page.png.
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
from typing import Any, Literal

import httpx2
from playwright.async_api import Browser, Page, async_playwright

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "examples" / "robotics-book"
README = ROOT / "docs" / "images" / "page.png"
WIDTHS = {375: 812, 768: 1024, 1280: 800, 1920: 1080}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
ASKED = "Which durability does a late subscriber need to get the last message?"
UNKNOWN = "Who won the football championship in 1966?"


async def ask(page: Page, question: str) -> None:
    await page.locator("#question").fill(question)
    await page.keyboard.press("Enter")
    await page.locator(".turn.settled", has_text=question).wait_for()


async def start(page: Page) -> None:
    await page.locator(".starter").first.wait_for()


async def answer(page: Page) -> None:
    await page.locator(".contents").wait_for()
    await ask(page, ASKED)
    await page.wait_for_timeout(400)  # the book opens


async def book(page: Page) -> None:
    await ask(page, ASKED)
    await page.locator(".marker a").first.click()
    await page.locator(".book mark").first.wait_for()


async def verdict(page: Page) -> None:
    await ask(page, ASKED)
    await page.locator(".verdict summary").first.click()


async def refusal(page: Page) -> None:
    await ask(page, UNKNOWN)


async def conversations(page: Page) -> None:
    await ask(page, UNKNOWN)
    await ask(page, ASKED)
    if await page.locator("#side").is_hidden():
        await page.locator("#side-button").click()


async def leafing(page: Page) -> None:
    await start(page)
    await page.locator(".contents summary").first.click()
    await page.locator(".contents summary").nth(1).click()
    await page.locator(".leaf:visible").nth(3).click()
    await page.locator(".book :is(h3, p)").nth(1).wait_for()


STATES: dict[str, Callable[[Page], Awaitable[None]]] = {
    "start": start,
    "answer": answer,
    "book": book,
    "verdict": verdict,
    "refusal": refusal,
    "conversations": conversations,
    "leafing": leafing,
}


@asynccontextmanager
async def served(address: str) -> AsyncIterator[str]:
    """The sample book on a free port, or what is at the address already."""
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
        server = await asyncio.create_subprocess_exec(*quoth, "serve", "--port", port, "--data-dir", folder)
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


async def photograph(browser: Browser, address: str, name: str, to: Path, **options: Any) -> None:
    async with await browser.new_context(reduced_motion="reduce", **options) as context:
        page = await context.new_page()
        await page.goto(address)
        await STATES[name](page)
        await page.screenshot(path=to)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=STATES, help="one state")
    parser.add_argument("--at", default="", help="a server that runs already")
    parser.add_argument("--readme", action="store_true", help="only the picture of README.md")
    given = parser.parse_args()
    folder = Path(os.environ.get("QUOTH_PICTURES", "pictures"))
    async with served(given.at) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        if given.readme:
            size = {"width": 1280, "height": 800}
            await photograph(browser, address, "answer", README, viewport=size)
            return
        folder.mkdir(parents=True, exist_ok=True)
        for name in [given.only] if given.only else list(STATES):
            for width, height in WIDTHS.items():
                for scheme in SCHEMES:
                    size = {"width": width, "height": height}
                    to = folder / f"{name}-{width}-{scheme}.png"
                    await photograph(browser, address, name, to, viewport=size, color_scheme=scheme)
        sys.stdout.write(f"{folder}: {len(list(folder.glob('*.png')))} pictures\n")


if __name__ == "__main__":
    asyncio.run(main())
