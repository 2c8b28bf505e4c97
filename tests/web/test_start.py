"""The start of the reader's page and what remains after it, in a real browser: contents, questions, filters,
conversations, pictures and formulas."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from axe import complaints, needs_axe, small_targets
from browsing import LOOP, MARKS, new_page, tab_to
from doors import ASKED, Doors, opened, served
from quoth.sources import open_source

pytestmark = [pytest.mark.slow, *MARKS]

LESSON = """---
title: {title}
module: {module}
proficiency_level: {level}
---

# {title}

{words}
"""
FAQ = "Transient local durability keeps the last message for late subscribers."
FORMULAS = """The energy is $E = mc^2$ and \\(x_1\\), but \\( alone stays and $5 too. ![A robot arm](arm.svg)

```python
speed = 3  # fast
```
"""
ARM = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>document.title="owned"</script></svg>'


@pytest_asyncio.fixture(loop_scope=LOOP)
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path, settings={"sharing": True}) as joined:
        book = tmp_path / "lessons"
        book.mkdir()
        for name, module, level, words in (
            (ASKED, "ros2", "A1", FAQ),
            ("Energy", "physics", "B2", FORMULAS),
        ):
            lesson = LESSON.format(title=name, module=module, level=level, words=words)
            (book / f"{module}.md").write_text(lesson, encoding="utf-8")
        (book / "arm.svg").write_text(ARM, encoding="utf-8")
        await joined.quoth.ingest.run(open_source(book, book_id="lessons", title="Lessons"))
        yield joined


@pytest_asyncio.fixture(loop_scope=LOOP)
async def page(chromium: Browser, doors: Doors) -> AsyncIterator[Page]:
    async with served(doors.quoth) as address, new_page(chromium, only=address) as page:
        await page.goto(f"{address}/?book=lessons")
        yield page


async def settled(page: Page, question: str) -> None:
    await expect(page.locator(".turn.settled").filter(has_text=question)).to_be_visible()


async def test_a_question_to_begin_with_is_asked_with_one_press_and_is_answered(page: Page) -> None:
    await page.locator(".starter", has_text=ASKED).press("Enter")
    await settled(page, ASKED)
    await expect(page.locator(".answer")).to_contain_text(FAQ)
    await expect(page.locator(".starts")).to_have_count(0)


async def test_the_contents_open_a_page_with_formulas_pictures_and_coloured_code(page: Page) -> None:
    await page.get_by_role("button", name="Energy").click()
    book = page.locator(".book")
    await expect(book.locator("math")).to_have_count(2)
    await expect(book.locator("msup")).to_have_text("c2")
    await expect(book).to_contain_text("but \\( alone stays and $5 too")
    picture = book.get_by_role("img", name="A robot arm")
    await expect(picture).to_have_js_property("naturalWidth", 40)
    await expect(book.locator("pre .c-comment")).to_have_text("# fast")
    await expect(book.get_by_role("button", name="Copy")).to_be_visible()
    await book.get_by_role("button", name="→").click()
    await expect(book.get_by_role("heading", level=2)).to_have_text(ASKED)
    await expect(page).to_have_title("Lessons · Quoth")  # no script of the picture has run


async def test_a_question_is_narrowed_to_what_the_reader_chose_and_that_is_remembered(page: Page) -> None:
    await page.get_by_text("Narrow down").click()
    await page.get_by_label("Module").select_option("physics")
    await page.reload()
    await expect(page.locator(".narrow summary")).to_have_text("Only Module: physics")
    async with page.expect_request("**/chat/stream") as sent:
        await page.get_by_label("Your question").fill(ASKED)
        await page.keyboard.press("Enter")
    asked = json.loads((await sent.value).post_data or "")
    assert asked["filters"] == {"module": "physics"}
    await settled(page, ASKED)
    await expect(page.locator(".answer")).not_to_contain_text(FAQ)
    await page.locator(".narrow summary").click()
    await page.get_by_role("button", name="The whole book").click()
    await expect(page.locator(".narrow summary")).to_have_text("Narrow down")


async def test_conversations_stay_across_tabs_and_can_be_renamed_and_erased(page: Page, doors: Doors) -> None:
    await page.get_by_label("Your question").fill(ASKED)
    await page.keyboard.press("Enter")
    await settled(page, ASKED)
    other = await page.context.new_page()
    await other.goto(page.url)
    await other.get_by_role("button", name="Conversations").click()
    await other.get_by_role("button", name=f"Rename “{ASKED}”").click()
    await other.get_by_label("Rename").fill("About durability")
    await other.keyboard.press("Enter")
    await other.get_by_role("navigation").get_by_role("button", name="About durability", exact=True).click()
    await expect(other.locator(".answer")).to_contain_text(FAQ)
    await expect(other.locator(".verdict")).to_have_count(1)

    await page.get_by_role("button", name="Conversations").click()
    await page.get_by_role("button", name="Delete “About durability”").click()
    await page.get_by_role("button", name="Delete for good").click()
    await expect(page.locator(".turn")).to_have_count(0)
    await expect(page.locator(".starts")).to_be_visible()
    await other.reload()
    await expect(other.locator(".starts")).to_be_visible()
    await expect(other.locator(".turn")).to_have_count(0)


async def test_every_target_is_large_enough(page: Page) -> None:
    await page.set_viewport_size({"width": 375, "height": 800})
    await page.get_by_label("Your question").fill(ASKED)
    await page.keyboard.press("Enter")
    await settled(page, ASKED)
    await page.get_by_role("button", name="Contents").click()
    small = await page.evaluate(
        """() => [...document.querySelectorAll("a, button, summary, select, input")]
            .filter((node) => node.checkVisibility() && !node.closest(".skip, .unseen"))
            .map((node) => [node.outerHTML.slice(0, 80), node.getBoundingClientRect()])
            .filter(([, box]) => Math.round(box.width) < 24 || Math.round(box.height) < 24)
            .map(([html, box]) => `${html} ${box.width}×${box.height}`)"""
    )
    assert small == []


async def test_an_answer_is_judged_and_shared_and_everyone_with_the_link_reads_it(page: Page, doors: Doors) -> None:
    await page.get_by_label("Your question").fill(ASKED)
    await page.keyboard.press("Enter")
    await settled(page, ASKED)
    await page.get_by_role("button", name="Not helpful").click()
    await page.get_by_role("button", name="Incomplete").click()
    await expect(page.get_by_text("Thank you.")).to_be_visible()
    await page.get_by_role("button", name="Share").click()
    link = await page.get_by_role("textbox", name="Share").input_value()
    await page.reload()
    await expect(page.get_by_role("button", name="Not helpful")).to_have_attribute("aria-pressed", "true")

    other = await page.context.new_page()
    await other.goto(link)
    await expect(other.locator(".asked")).to_have_text(ASKED)
    await expect(other.locator(".answer")).to_contain_text(FAQ)
    await expect(other.locator(".verdict")).to_have_count(1)
    await expect(other.locator("textarea")).to_have_count(0)
    await other.goto(link[:-1] + ("x" if link[-1] != "x" else "y"))
    await expect(other.locator("main")).to_have_text("This link no longer leads to an answer.")


async def around_the_answer(page: Page) -> AsyncIterator[str]:
    """Everything beside the conversation itself, one thing after another."""
    await page.locator(".starter").first.wait_for()
    yield "the start"
    await page.get_by_text("Narrow down").click()
    await page.get_by_label("Module").select_option("ros2")
    yield "narrowed down"
    await page.get_by_role("button", name="Energy").click()
    await page.locator(".book math").first.wait_for()
    yield "leafing"
    await page.keyboard.press("Escape")
    await page.get_by_label("Your question").fill(ASKED)
    await page.keyboard.press("Enter")
    await settled(page, ASKED)
    await page.get_by_role("button", name="Not helpful").click()
    await page.get_by_role("button", name="Incomplete").wait_for()
    await page.get_by_role("button", name="Share").click()
    shared = page.get_by_role("textbox", name="Share")
    await shared.wait_for()
    yield "judging and sharing"
    await page.locator("#side-button").click()
    yield "the conversations"
    await page.get_by_role("button", name=f"Rename “{ASKED}”").click()
    yield "renaming"
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name=f"Delete “{ASKED}”").click()
    yield "deleting"
    await page.goto(await shared.input_value())
    await settled(page, ASKED)
    yield "a shared answer"


@needs_axe
@pytest.mark.parametrize("reader", ["light", "dark on a phone"])
async def test_axe_finds_nothing_around_the_answer(page: Page, reader: str) -> None:
    scheme, width = {"light": ("light", 1280), "dark on a phone": ("dark", 375)}[reader]
    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    await page.set_viewport_size({"width": width, "height": 800})
    await page.reload()
    pressed = "button, summary, select, .marker a"
    found = {
        state: [*await complaints(page), *await small_targets(page, pressed)] async for state in around_the_answer(page)
    }
    assert {state: told for state, told in found.items() if told} == {}
    assert len(found) == 8


async def test_the_journey_on_the_page_needs_no_pointer(page: Page) -> None:
    """Ask, open the source, turn pages, come back, rate, share, narrow down, rename, delete, start again."""
    press = page.keyboard.press
    box = page.get_by_label("Your question")
    await expect(box).to_be_focused()
    await page.keyboard.type(ASKED)
    await press("Enter")
    await settled(page, ASKED)

    await tab_to(page, "Source 1", key="Shift+Tab")  # the marker in the answer, or its card
    await press("Enter")
    book = page.locator(".book")
    await expect(book.get_by_role("region")).to_be_focused()
    await expect(book.locator("mark").first).to_be_visible()
    await tab_to(page, "Energy")  # the page before or after
    await press("Enter")
    await expect(book.locator("math").first).to_be_visible()
    await expect(book.get_by_role("region")).to_be_focused()
    await press("Escape")
    await expect(book).to_be_hidden()
    assert await page.evaluate("document.activeElement.closest('.turn') !== null")  # back at the answer

    await tab_to(page, "Not helpful")
    await press("Enter")
    await tab_to(page, "Incomplete")
    await press("Enter")
    await expect(page.get_by_text("Thank you.")).to_be_visible()
    assert await page.evaluate("document.activeElement.closest('.turn') !== null")
    await tab_to(page, ">Share<")
    await press("Enter")
    await expect(page.get_by_role("textbox", name="Share")).to_be_visible()

    await tab_to(page, "Narrow down")
    await press("Enter")
    await tab_to(page, "Module")
    await page.keyboard.type("physics")
    await expect(page.locator(".narrow summary")).to_have_text("Only Module: physics")
    await tab_to(page, "The whole book")
    await press("Enter")
    await expect(page.locator(".narrow summary")).to_have_text("Narrow down")
    await expect(page.locator(".narrow summary")).to_be_focused()

    await tab_to(page, "side-button", key="Shift+Tab")
    await press("Enter")
    await tab_to(page, "Rename “Which")
    await press("Enter")
    await page.keyboard.type("Renamed")
    await press("Enter")
    item = page.get_by_role("navigation").get_by_role("button", name="Renamed", exact=True)
    await expect(item).to_be_focused()
    await tab_to(page, "Delete “Renamed”")
    await press("Enter")
    await press("Enter")
    await expect(page.locator(".turn")).to_have_count(0)
    await expect(box).to_be_focused()

    await tab_to(page, "starter")
    await press("Enter")
    await expect(page.locator(".turn.settled")).to_be_visible()
    await expect(page.locator(".turn")).to_be_focused()  # the button is gone
