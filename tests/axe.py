"""axe, the accessibility checker, for pages in tests. npm installs it (`make check-js`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

_FILE = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(not _FILE.exists(), reason="axe-core is not installed: run make check-js")
_TELLS = {"moderate", "serious", "critical"}
# `region` is about the host page around the widget: landmarks are the site's business.
_RUN = """async (root) => {
    const run = await axe.run(root ?? document, { resultTypes: ["violations"], rules: { region: { enabled: !root } } });
    return run.violations.map((one) => [one.impact, one.id, one.nodes.map((node) => node.html.slice(0, 160))]);
}"""


async def complaints(page: Page, root: str | None = None) -> list[Any]:
    """axe's findings of at least moderate impact, in the page or in one of its elements with its shadow tree."""
    await page.evaluate(_FILE.read_text(encoding="utf-8"))
    found: list[Any] = await page.evaluate(_RUN, root)
    return [one for one in found if one[0] in _TELLS]


async def small_targets(page: Page, within: str) -> list[str]:
    """Controls that are less than 24 pixels high or wide. WCAG 2.2 allows that for links within a sentence."""
    found: list[str] = await page.locator(within).evaluate_all(
        """(nodes) => nodes.filter((node) => {
            const { width, height } = node.getBoundingClientRect();
            return width > 0 && (width < 24 || height < 24);
        }).map((node) => node.outerHTML.slice(0, 160))"""
    )
    return found
