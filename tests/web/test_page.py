"""The reader's page in a real browser, against the real doors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from attacks import ATTACKS
from browsing import LOOP, MARKS, new_page
from doors import ASKED, REFUSAL, UNKNOWN, invents, opened, served
from quoth.ask import extract
from quoth.bootstrap import fingerprint_of
from quoth.errors import IndexUnavailable
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex

pytestmark = [pytest.mark.slow, *MARKS]

HOSTILE = """# Danger

Never trust the zyxomat <img src=x onerror="document.title='owned'"> or <script>document.title='owned'</script> here.

The zyxomat link is [click me](javascript:document.title='owned') and [a real one](https://example.com/safe).
"""


# Texts that a renderer could trip over.
BROKEN = [
    *[
        "[a](http://[)",
        "<https://[::1>",
        "http://%",
        "![x](http://[",
        "[x](https://exa mple)",
        "$\\frac{$",
        "$$",
        "\\[",
    ],
    *[
        "[^",
        "[^a]: ",
        "```math\n\\frac\n```",
        "| a |\n|:-:|:-\n| b",
        "- [x]",
        "> [!",
        ":::",
        "<img src=>",
        "$\\begin{x}$",
    ],
    *[
        '<img src="x" onerror="alert(1)" alt=\'"><script>\'>',
        "<a href='javascript:alert(1)'>x</a>",
        "\ue000\ue001",
        "\0",
    ],
]


class Switch(MemoryIndex):
    """An index that can be switched off."""

    def __init__(self) -> None:
        super().__init__(fingerprint_of(FakeEmbedder()))
        self.down = False

    async def asked(self, call: str, book_id: str) -> None:
        if self.down and call == "search":
            raise IndexUnavailable("The index cannot be read.", hint="Look at the disk.")
        await super().asked(call, book_id)


@pytest.fixture
def index() -> Switch:
    return Switch()


@pytest_asyncio.fixture(loop_scope=LOOP)
async def address(tmp_path: Path, index: Switch) -> AsyncIterator[str]:
    async with opened(tmp_path, index=index) as doors, served(doors.quoth) as where:
        hostile = tmp_path / "hostile"
        hostile.mkdir()
        (hostile / "danger.md").write_text(HOSTILE, encoding="utf-8")
        await doors.quoth.ingest.run(open_source(hostile, book_id="hostile"))
        yield where


@pytest_asyncio.fixture(loop_scope=LOOP)
async def page(chromium: Browser, address: str) -> AsyncIterator[Page]:
    async with new_page(chromium, only=address) as page:
        await page.goto(f"{address}/?book=book")
        yield page


async def ask(page: Page, question: str) -> None:
    await page.get_by_label("Your question").fill(question)
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn.settled").filter(has_text=question)).to_be_visible()


async def test_an_answer_comes_with_one_verdict_and_its_source(page: Page) -> None:
    await ask(page, ASKED)
    await expect(page.locator(".answer")).to_contain_text("Transient local durability keeps the last message")
    verdict = page.locator(".verdict")
    await expect(verdict).to_have_count(1)
    await expect(verdict.locator("summary")).to_contain_text("In the book’s own words")
    await expect(verdict).not_to_contain_text("%", use_inner_text=True)
    await verdict.locator("summary").click()
    await expect(verdict).to_contain_text("sentence")
    card = page.get_by_role("group", name="Source 1", exact=True)
    await expect(card).to_contain_text("Durability")
    await expect(card).not_to_contain_text("topics.md")
    await expect(card).not_to_contain_text("%")


DECISIVE = "Transient local durability keeps the last message for late subscribers."


async def test_a_marker_opens_the_book_beside_the_answer_at_the_lit_sentence_and_leads_back(page: Page) -> None:
    await ask(page, ASKED)
    marker = page.locator(".answer").get_by_role("link", name="Source 1").first
    await page.get_by_role("button", name="Close").click()
    await expect(page.locator(".book")).to_be_hidden()
    await marker.focus()
    await page.keyboard.press("Enter")
    book = page.get_by_role("complementary", name="Topics")
    await expect(book).to_contain_text("The deadline policy names the longest time")
    assert "".join(await book.locator("mark").all_inner_texts()) == DECISIVE
    await expect(book.get_by_role("region")).to_be_focused()
    published = book.get_by_role("link", name="Open the page")
    fragment = "text=Transient%20local%20durability%20keeps%20the%20last%20message%20for%20late%20subscribers."
    await expect(published).to_have_attribute("href", f"https://book.example.com/topics#durability:~:{fragment}")
    await page.keyboard.press("Escape")
    await expect(book).to_be_hidden()
    await expect(marker).to_be_focused()


async def test_the_book_opens_by_itself_where_there_is_room_until_the_reader_closes_it(page: Page) -> None:
    await ask(page, ASKED)
    book = page.get_by_role("complementary", name="Topics")
    await expect(book.locator("mark").first).to_be_visible()
    await expect(page.get_by_label("Your question")).to_be_focused()
    await book.get_by_role("button", name="Close").click()
    await ask(page, "What does the deadline policy name?")
    await expect(book).to_be_hidden()
    await page.set_viewport_size({"width": 375, "height": 700})
    await page.locator(".unfold").last.click()
    box = await book.bounding_box()
    assert box is not None
    assert box["width"] == 375
    assert box["y"] > 100  # a sheet from below


async def test_sources_are_there_before_the_first_word(page: Page) -> None:
    """The stream ends after the event with the passages found."""
    body = await page.evaluate(
        """async (query) => {
            const headers = { "content-type": "application/json" };
            const body = JSON.stringify({ query, book_id: "book" });
            return (await fetch("/chat/stream", { method: "POST", headers, body })).text();
        }""",
        ASKED,
    )
    found = body[: body.index("event: delta")]
    await page.route("**/chat/stream", lambda route: route.fulfill(content_type="text/event-stream", body=found))
    await page.get_by_label("Your question").fill(ASKED)
    await page.keyboard.press("Enter")
    cards = page.locator(".card.found")
    await expect(cards.first).to_contain_text("Durability")
    assert len(set(await cards.all_inner_texts())) == await cards.count()


async def test_an_unsupported_sentence_is_marked_in_the_answer_and_again_after_a_reload(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "draft", invents)
    await ask(page, ASKED)
    marked = page.locator(".answer mark.doubt")
    await expect(marked).to_have_count(1)
    await expect(marked).to_contain_text("It was invented in Atlantis.")
    await expect(marked).to_have_attribute("title", "Atlantis is not in the source")
    await expect(page.locator(".answer pre.doubt")).to_have_attribute("title", "this code is not in the source")
    await expect(page.locator(".answer tr.doubt")).to_have_count(2)
    await expect(page.locator(".answer tr")).to_have_count(2)
    await expect(page.locator(".answer pre.doubt code")).to_have_text("atlantis.sink()")
    verdict = page.locator(".verdict")
    await expect(verdict.locator("summary")).to_have_text(
        "Treat with care: 4 of 5 sentences could not be confirmed in the book."
    )
    await expect(verdict.locator("li")).to_have_count(4)
    await page.reload()
    await expect(verdict.locator("summary")).to_contain_text("4 of 5 sentences")
    await expect(page.locator(".answer mark.doubt")).to_contain_text("It was invented in Atlantis.")


async def test_a_passage_of_the_book_can_be_asked_about(page: Page) -> None:
    await ask(page, ASKED)
    await page.locator(".book").get_by_text("The deadline policy names").click(click_count=3)
    await page.get_by_role("button", name="Ask about this").click()
    await ask(page, "What does the deadline policy name?")
    await expect(page.locator(".answer").last).to_contain_text("the longest time between two messages")
    await expect(page.get_by_role("group", name="Source 1", exact=True).last).to_contain_text("Selected text")


async def test_a_follow_up_says_in_a_sentence_what_it_was_taken_to_be_about(page: Page) -> None:
    await ask(page, ASKED)
    await expect(page.locator(".searched")).to_have_count(0)
    await ask(page, "Why does it?")
    await expect(page.locator(".searched")).to_have_text("In context: “durability”")
    await page.reload()
    await expect(page.locator(".searched")).to_have_text("In context: “durability”")


async def test_a_refusal_looks_like_one_and_shows_the_nearest_sections(page: Page) -> None:
    await ask(page, UNKNOWN)
    turn = page.locator(".turn.refused")
    await expect(turn).to_contain_text(REFUSAL)
    await expect(turn).to_contain_text("football")
    await expect(turn.locator(".nearest").get_by_role("button")).to_have_count(3)
    await expect(turn.locator(".verdict")).to_have_text("Not in the book.")
    await expect(page.locator(".card, .failure")).to_have_count(0)
    await page.reload()
    await expect(turn.locator(".verdict")).to_have_text("Not in the book.")
    await expect(turn).to_contain_text("football")
    await expect(turn.locator(".nearest").get_by_role("button")).to_have_count(3)


async def test_an_outage_shows_what_to_do_and_can_be_tried_again(page: Page, index: Switch) -> None:
    index.down = True
    await ask(page, ASKED)
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("The book cannot be asked at the moment.")
    await expect(alert).not_to_contain_text("disk")  # that is for the operator, in the log
    await expect(alert).not_to_contain_text("QDRANT_UNAVAILABLE")  # so is that
    await expect(alert).to_contain_text("request")  # by which the operator finds it
    index.down = False
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".answer")).to_contain_text("Transient local durability")
    await expect(page.locator(".turn")).to_have_count(1)


async def test_a_conversation_survives_a_reload_and_can_be_left(page: Page) -> None:
    await ask(page, ASKED)
    await ask(page, UNKNOWN)
    await page.reload()
    await expect(page.locator(".turn")).to_have_count(2)
    await expect(page.locator(".answer").get_by_role("link", name="Source 1").first).to_be_visible()
    await page.get_by_role("button", name="New conversation").click()
    await expect(page.locator(".turn")).to_have_count(0)
    await page.reload()
    await expect(page.locator("#display")).not_to_be_empty()
    await expect(page.locator(".turn")).to_have_count(0)


async def test_each_book_has_its_own_conversation(page: Page) -> None:
    await ask(page, ASKED)
    await page.get_by_label("Book").select_option("hostile")
    await expect(page.locator(".turn")).to_have_count(0)
    await page.get_by_label("Book").select_option("book")
    await expect(page.locator(".turn")).to_have_count(1)


async def test_the_decisive_sentence_of_a_source_is_marked(page: Page) -> None:
    await ask(page, ASKED)
    marked = page.locator(".turn.settled .quote mark")
    decisive = "Transient local durability keeps the last message for late subscribers."
    assert "".join(await marked.all_inner_texts()) == decisive
    assert decisive != await page.locator(".turn.settled .quote").first.inner_text()


async def test_what_a_book_says_never_runs(page: Page) -> None:
    """Both ways to hide a script: in the question, and in the text of the book."""
    await page.get_by_label("Book").select_option("hostile")
    title = await page.title()
    await ask(page, "<img src=x onerror=\"document.title='owned'\">")
    await ask(page, "What is the zyxomat link?")
    await page.locator(".unfold").last.click()
    book = page.locator(".book")
    await expect(book).to_contain_text("<script>")
    await expect(book.get_by_role("link", name="a real one")).to_have_attribute("href", "https://example.com/safe")
    await expect(page.locator("main script, .room script, a[href^=javascript], [onerror]")).to_have_count(0)
    assert await page.title() == title


async def test_no_attack_runs_or_loads_anything(page: Page) -> None:
    """Every text in the corpus as an answer and as a page of a book; `new_page` fails on any foreign request."""
    made = await page.evaluate(
        """async (texts) => {
            const { render } = await import("/assets/markdown.js");
    await (await import("/assets/texts/index.js")).speak(["en"]);
            const { adorn } = await import("/assets/adorn.js");
            const box = document.body.appendChild(document.createElement("div"));
            return texts.flatMap((text) => [false, true].map((page) => {
                box.replaceChildren(render(text, { page, doubts: [{ text, reason: "x" }] }));
                adorn(box);
                const bad = [...box.querySelectorAll("*")].filter((node) =>
                    /^(SCRIPT|IFRAME|IMG|OBJECT|EMBED|FORM|STYLE|LINK)$/i.test(node.tagName)
                    || node.getAttributeNames().some((name) => name.startsWith("on"))
                    || /^\\s*(javascript|data):/i.test(node.getAttribute("href") ?? ""));
                return bad.map((node) => node.outerHTML);
            }).flat());
        }""",
        [text for _, text in ATTACKS] + BROKEN,
    )
    assert made == []


async def test_nothing_sticks_out_on_a_phone(page: Page) -> None:
    await page.set_viewport_size({"width": 360, "height": 640})
    await ask(page, ASKED)
    await ask(page, UNKNOWN)
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360


# Samples of book text, each with the tags it must become. Rendered in the browser by the page's own module.
MARKDOWN = {
    "a **b** and *c* and `d*e*`": "p strong em code",
    "snake_case_name and __init__ and 2 * 3 * 4": "p strong",
    "- one\n- two\n  - three": "ul li li ul li",
    "3. three\n4. four": "ol li li",
    "```py\n# no heading\n```": "pre code",
    "| a | b |\n|:-:|--:|\n| 1 | `2` |": "div table thead tr th th tbody tr td td code",
    "## Head {#id}\ntext": "h3 p",
    "# One\n### Three\n## Two": "h3 h4 h4",
    "- [x] done\n- [ ] open": "ul li span li span",
    "H<sub>2</sub>O x^2^ <kbd>Ctrl</kbd>": "p sub sup kbd",
    "so[^1]\n\n[^1]: because": "p sup a p sup",
    "$x_1$ and \\(y\\) cost $5 or $6": "p code code",
    "$$\na\n$$": "p code",
    "$$\na\n$$ **so** and `b`": "p code strong code",  # a marker too
    "> [!NOTE]\n> said": "div p p",
    "![words](picture.png)": "p span",
    ":::tip Careful\nHot.\n:::": "div p p",
    "> said": "blockquote p",
    "[x](https://a.example/) <https://b.example/> [y](../rel.md)": "p a a span",
    "`unclosed and **unclosed": "p",
    "<b>bold</b> <i>not</b> <blink>html</blink>": "p b",
    '<span class="filename">Filename: <code class="x">main.rs</code></span>': "p code",
    "": "",
}
RENDER = """async (texts) => {
    const { render } = await import("/assets/markdown.js");
    await (await import("/assets/texts/index.js")).speak(["en"]);
    const tags = (node) => [...node.querySelectorAll("*")].map((one) => one.tagName.toLowerCase()).join(" ");
    return texts.map((text) => tags(render(text)));
}"""


async def test_markdown_becomes_nodes(page: Page) -> None:
    made = await page.evaluate(RENDER, list(MARKDOWN))
    assert dict(zip(MARKDOWN, made, strict=True)) == MARKDOWN


async def test_columns_and_bullets_go_the_way_of_their_text(page: Page) -> None:
    """An English book may have readers with a right-to-left interface, and the other way round."""
    texts = ["- one\n- two", "| a | b |\n|---|---|\n| 1 | 2 |", "1. کتاب", "| کتاب | سوال |\n|---|---|\n| a | b |"]
    made = await page.evaluate(
        """async (texts) => {
            document.documentElement.dir = "rtl";
            const { render } = await import("/assets/markdown.js");
            const box = document.body.appendChild(document.createElement("div"));
            return texts.map((text) => {
                box.replaceChildren(render(text));
                return getComputedStyle(box.querySelector("ul, ol, table")).direction;
            });
        }""",
        texts,
    )
    assert made == ["ltr", "ltr", "rtl", "rtl"]


TRAPS = ["*", "_a_ ", "[", "`", "[a](", "| ", "> ", "- a ", "1. - ", ":::a\n"]


async def test_no_text_takes_the_page_long(page: Page) -> None:
    """Texts as long as the longest answers that a renderer could trip over: a slow pattern would run for minutes and
    hit the time limit, deep nesting would overflow the stack."""
    made = await page.evaluate(RENDER, [trap * (20_000 // len(trap)) for trap in TRAPS])
    assert len(made) == len(TRAPS)
