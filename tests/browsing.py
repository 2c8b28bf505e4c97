"""A real browser for tests of what a reader sees: one for each test process, and a new page for each test. Tests that
use it run in the browser's own event loop (`LOOP`)."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

CHROMIUM = shutil.which("chromium")
LOOP: Final = "session"
MARKS = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.asyncio(loop_scope=LOOP),
]
# Chromium obeys only the last list of switched-off features, so Playwright's own list comes first.
WITHOUT = [
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "LensOverlay"),
    *("HttpsFirstBalancedModeAutoEnable", "MediaRouter", "PaintHolding", "ThirdPartyStoragePartitioning"),
    *("AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled"),
    "PreconnectToSearch",
    # Pages below an address bar that nobody sees. Each new window would load both: 0.7 s of CPU, more than most tests.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
]
FLAGS = [
    "--no-sandbox",  # root, as in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",  # it is small in a container
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(WITHOUT)}",
]
PATIENCE = 60_000  # ms: a machine with two cores that runs other tests too


@asynccontextmanager
async def started() -> AsyncIterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


@asynccontextmanager
async def new_page(chromium: Browser, *, only: str = "", **options: Any) -> AsyncIterator[Page]:
    """A page that shares nothing with others; `options` are those of a browser context. It fails its test if a script
    breaks, the policy is violated, or a URL is requested that does not begin with `only`."""
    faults: list[str] = []
    async with await chromium.new_context(**options) as context:
        context.set_default_timeout(PATIENCE)
        page = await context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)
        page.on("request", lambda sent: None if sent.url.startswith(only) else faults.append(sent.url))
        yield page
    assert faults == []


async def until(page: Page, said: str) -> None:
    """Waits until an expression is true. A policy that forbids `eval` blocks Playwright's own waiting."""
    async with asyncio.timeout(PATIENCE / 1000):
        while not await page.evaluate(said):
            await page.wait_for_timeout(100)


_FOCUSED = """() => {
    let node = document.activeElement;
    while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    return node?.closest("a, button, textarea, section, summary, label, input")?.outerHTML.slice(0, 80) ?? "";
}"""


async def tab_to(page: Page, wanted: str, *, key: str = "Tab") -> None:
    """Presses a key until the focused element looks like this, as somebody without a pointer does."""
    seen = []
    for _ in range(30):
        await page.keyboard.press(key)
        seen.append(await page.evaluate(_FOCUSED))
        if wanted in seen[-1]:
            return
    pytest.fail(f"{wanted} is not reached: {seen}")
