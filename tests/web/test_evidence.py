"""From a citation to the words it stands for, and what a reader is not shown, in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from browsing import LOOP, MARKS, new_page
from doors import ASKED, opened, served

pytestmark = [pytest.mark.slow, *MARKS]


@pytest_asyncio.fixture(loop_scope=LOOP)
async def page(chromium: Browser, tmp_path: Path) -> AsyncIterator[Page]:
    async with opened(tmp_path) as doors, served(doors.quoth) as where, new_page(chromium, only=where) as page:
        await page.goto(where)
        yield page


LIT = """async (said) => {
    const { Reader } = await import("/assets/reader.js");
    const quote = "Keep these rules:\\n\\n- One *owner*.\\n- Only one at a time.";
    const text = `# Rules\\n\\n${quote}\\n- Another one.\\n`;
    const places = [{ chunk_id: "c", at: 0 }];
    const book = { title: "Rules", breadcrumb: ["Rules"], source_url: "", text, places, before: null, after: null };
    const reader = new Reader({ get: async () => book }, { beside: true });
    document.body.append(reader.node);
    await reader.read({ chunk_id: "c", quote, highlight: [0, 17], said }, "book");
    return [...reader.node.querySelectorAll("mark")].map((node) => node.textContent).join("");
}"""


@pytest.mark.parametrize(
    ("said", "lit"),
    [
        ("Only one at a time.", "Only one at a time."),
        (" One owner. ", "One owner."),
        ("Keep these rules:", "Keep these rules:"),
        ("Another one.", "Keep these rules:"),  # not in the quote
        ("In words of a model.", "Keep these rules:"),
        ("", "Keep these rules:"),
    ],
)
async def test_the_words_at_the_marker_are_lit_and_else_the_decisive_ones(page: Page, said: str, lit: str) -> None:
    assert await page.evaluate(LIT, said) == lit


async def test_a_marker_stands_for_the_words_before_it(page: Page) -> None:
    said = await page.evaluate(
        """async () => {
            const { Cards } = await import("/assets/cards.js");
            const { render } = await import("/assets/markdown.js");
            const heard = [];
            const cards = new Cards(99, { beside: true, read: (source) => heard.push(source.said.trim()) });
            cards.cite([1, 2].map((index) => ({ index, chunk_id: `c${index}`, breadcrumb: ["A"], quote: "q" })));
            const items = "- four [1]\\n- [x] five [2]";
            const text = `One *two*. [1] Three. [1] [2]\\n\\n${items}\\n\\n~~~\\nsix\\n~~~\\n\\n[1]`;
            document.body.append(render(text, { cite: (n) => cards.marker(n) }));
            for (const link of document.querySelectorAll(".marker a")) link.click();
            return heard;
        }"""
    )
    assert said == ["One two.", "Three.", "Three.", "four", "five", ""]


async def test_beside_the_answer_a_card_shows_its_quote_and_the_way_to_the_page(page: Page) -> None:
    await page.get_by_label("Your question").fill(ASKED)
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn.settled")).to_be_visible()
    await page.get_by_role("button", name="Close").click()
    card = page.get_by_role("group", name="Source 1", exact=True)
    await expect(card.locator(".quote")).to_be_visible()
    await expect(card.get_by_role("link", name="Open the page")).to_be_visible()
    await expect(card.get_by_role("button", name="Read around it")).to_be_visible()


async def test_the_markers_of_what_the_book_is_open_at_are_shown(page: Page) -> None:
    await page.get_by_label("Your question").fill(ASKED)
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn.settled .marker a[data-open]").first).to_be_visible()
    await page.get_by_role("button", name="Close").click()
    await expect(page.locator(".marker a[data-open]")).to_have_count(0)


async def test_a_formula_in_a_cited_sentence_is_lit_too(page: Page) -> None:
    tags = await page.evaluate(
        """async () => {
            const { adorn } = await import("/assets/adorn.js");
            const { mark } = await import("/assets/nodes.js");
            const { render } = await import("/assets/markdown.js");
            const box = document.createElement("div");
            box.append(render("Energy is $m$ here."));
            mark(box, "Energy is m here.");
            adorn(box);
            return [...box.firstChild.children].map((node) => [node.localName, node.firstElementChild?.localName]);
        }"""
    )
    assert tags == [["mark", None], ["mark", "math"], ["mark", None]]


@pytest.mark.parametrize(("searched", "told"), [("Why is it so?", 0), ("durability: Why is it so?", 1)])
async def test_what_was_searched_for_is_told_only_where_it_is_not_the_question(
    page: Page, searched: str, told: int
) -> None:
    """Page and widget draw a turn with the same script."""
    count = await page.evaluate(
        """async (searched) => {
            const { Turn } = await import("/assets/turn.js");
            const turn = new Turn("Why\\n  is it so?", { read: () => {} });
            turn.take("retrieval", { results: [], searched_query: searched });
            return turn.node.querySelectorAll(".searched").length;
        }""",
        searched,
    )
    assert count == told
