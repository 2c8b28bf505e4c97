"""The widget and the site around it, in a real browser: what it takes from the site, and what it must not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Request, Route, expect

from browsing import LOOP, MARKS, new_page, until
from doors import ASKED
from hosting import FORBIDDEN, Host, ask, box, hosted, launch, looks, visited
from quoth.domain import Feedback

pytestmark = [pytest.mark.slow, *MARKS]

PHONE = {"viewport": {"width": 375, "height": 700}, "has_touch": True, "is_mobile": True}
TIMING = "What does the deadline policy name?"

# What a site may do to every element, including ours.
HOSTILE = """<style>
html { font-size: 10px; letter-spacing: 5px; word-spacing: 9px; text-transform: uppercase; direction: rtl; }
* { letter-spacing: 4px !important; text-transform: uppercase !important; font-family: cursive !important; color: red;
    line-height: 3 !important; text-indent: 20px !important; visibility: hidden; --paper: red; --ink: red; }
body > * { display: none !important; }
button, textarea { width: 7px !important; padding: 50px !important; border: 9px solid red !important; }
quoth-widget { font-size: 60px !important; transform: scale(.2) !important; filter: blur(3px) !important; }
</style>"""


@pytest_asyncio.fixture(loop_scope=LOOP, scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Host]:
    async with hosted(tmp_path_factory.mktemp("host")) as joined:
        yield joined


async def test_no_style_of_a_site_reaches_the_widget(host: Host, chromium: Browser) -> None:
    seen = []
    for name, head in {"/plain": "", "/small": "<style>html { font-size: 10px; }</style>", "/hostile": HOSTILE}.items():
        async with visited(chromium, host.publish(name, head=head)) as page:
            seen.append(await looks(page, ASKED))
    plain, small, hostile = seen
    assert len(plain) == 6
    assert small == plain
    assert hostile == plain


async def test_the_widget_follows_the_readers_own_size_of_text(host: Host, chromium: Browser) -> None:
    """It ignores the site's size: `medium` is the reader's own setting."""
    async with visited(chromium, host.publish("/plain")) as page:
        await launch(page).click()
        assert await box(page).evaluate("node => getComputedStyle(node).fontSize") == "16px"
        assert await page.locator("quoth-widget .corner").evaluate("node => node.offsetWidth") == 27 * 16


# How the sites of each toolchain say that they are dark. The pages are ours; they imitate the themes.
SWITCHES = {
    "docusaurus": (
        "html[data-theme=dark] { background-color: #1b1b1d; }",
        "document.documentElement.dataset.theme = 'dark'",
    ),
    "material": (
        "body { background-color: #fff; transition: background-color 4s; }"
        "body[data-md-color-scheme=slate] { background-color: #1e2129; }",
        "document.body.dataset.mdColorScheme = 'slate'",
    ),
    "mdbook": (
        "html.navy { background-color: hsl(226, 23%, 11%); }",
        "document.documentElement.classList.replace('light', 'navy')",
    ),
    "furo": (
        "body { background: #fff; } body[data-theme=dark] { background: #131416; }",
        "document.body.dataset.theme = 'dark'",
    ),
    "vitepress": (
        "html.dark body { background: oklch(0.2 0.01 260); }",
        "document.documentElement.classList.add('dark')",
    ),
    "starlight": (
        ":root[data-theme=dark] { color-scheme: dark; } body { color: white; }",
        "document.documentElement.dataset.theme = 'dark'",
    ),
}


@pytest.mark.parametrize("toolchain", SWITCHES)
async def test_the_sites_dark_switch_is_followed_at_once(host: Host, chromium: Browser, toolchain: str) -> None:
    css, switch = SWITCHES[toolchain]
    light = "<style>body { color: #222; }</style>" if toolchain != "starlight" else ""
    dark_text = css.replace("body { color: white; }", "[data-theme=dark] body { color: white; }")
    address = host.publish(f"/{toolchain}", root='class="light"', head=f"{light}<style>{dark_text}</style>")
    async with visited(chromium, address) as page:
        widget = page.locator("quoth-widget")
        await expect(widget).to_have_attribute("data-scheme", "light")
        await page.evaluate(switch)
        assert await widget.get_attribute("data-scheme") == "dark"  # no waiting: not even for the site's transition
        assert await launch(page).evaluate("node => getComputedStyle(node).backgroundColor") == "rgb(130, 201, 197)"


async def test_a_citation_of_this_page_scrolls_to_its_words_and_lights_them(host: Host, chromium: Browser) -> None:
    async with visited(chromium, host.publish("/topics")) as page:
        await launch(page).click()
        await ask(page, ASKED)
        await page.locator("quoth-widget .marker a").first.click()
        await until(page, "CSS.highlights.get('quoth-cited')?.size === 1")
        lit = await page.evaluate("[...CSS.highlights.get('quoth-cited')][0].toString().replace(/\\s+/g, ' ')")
        assert lit == "Transient local durability keeps the last message for late subscribers."
        await expect(page.locator("#durability + p")).to_be_in_viewport()
        await expect(page.locator("quoth-widget .corner")).to_be_visible()


async def test_on_a_phone_a_citation_uncovers_its_place_and_the_button_leads_back(
    host: Host, chromium: Browser
) -> None:
    host.publish("/other")
    async with visited(chromium, host.publish("/topics"), **PHONE) as page:
        await launch(page).tap()
        await ask(page, ASKED)
        await page.locator("quoth-widget .marker a").first.tap()
        await expect(page.locator("quoth-widget .corner")).to_be_hidden()
        await expect(page.locator("#durability + p")).to_be_in_viewport()
        back = page.get_by_role("button", name="Back to the answer")
        await back.tap()
        await expect(page.locator("quoth-widget .answer")).to_be_visible()

        # From another page: the cited one opens uncovered, with its words highlighted and a way back.
        await page.goto(f"{host.site.url}/other")
        await page.locator("quoth-widget .marker a").first.tap()  # its card
        await page.locator("quoth-widget .card a").first.tap()
        await page.wait_for_url("**/topics**")
        await until(page, "CSS.highlights.get('quoth-cited')?.size === 1")
        await expect(page.locator("quoth-widget .corner")).to_have_count(0)
        await page.get_by_role("button", name="Back to the answer").tap()
        await expect(page.locator("quoth-widget .answer")).to_contain_text("Transient local durability")


async def test_a_key_opens_and_closes_the_widget_unless_the_site_uses_it(host: Host, chromium: Browser) -> None:
    async with visited(chromium, host.publish("/plain")) as page:
        await expect(launch(page)).to_have_attribute("title", "Ask the book (Ctrl K)")
        await page.keyboard.press("Control+k")
        await expect(box(page)).to_be_focused()
        await page.keyboard.press("Control+k")
        await expect(page.locator("quoth-widget .corner")).to_be_hidden()
        # A search of the site, registered later than the widget.
        await page.evaluate(
            "addEventListener('keydown', (e) => { if (e.key === 'k') { e.preventDefault(); window.searched = 1; } })"
        )
        await page.keyboard.press("Control+k")
        await until(page, "window.searched === 1")
        await expect(page.locator("quoth-widget .corner")).to_be_hidden()


async def test_code_can_be_asked_about_with_the_pointer_and_with_the_keyboard(host: Host, chromium: Browser) -> None:
    async with visited(chromium, host.publish("/plain")) as page:
        await page.locator("pre").hover()
        await page.get_by_role("button", name="Ask about this code").click()
        chip = page.locator("quoth-widget .selected")
        await expect(chip).to_contain_text("node.create_publisher")
        await page.get_by_role("button", name="Drop the selection").click()
        await page.keyboard.press("Control+k")
        await page.locator("pre").focus()
        await page.keyboard.press("Control+k")
        await expect(chip).to_contain_text("node.create_publisher")
        await expect(box(page)).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.locator("pre")).to_be_focused()  # back where the reader was


async def test_code_that_the_page_scrolls_under_the_pointer_can_be_asked_about(host: Host, chromium: Browser) -> None:
    async with visited(chromium, host.publish("/topics")) as page:
        await launch(page).click()
        await ask(page, ASKED)
        await page.locator("quoth-widget .marker a").first.click()  # the page scrolls smoothly to the cited words
        await expect(page.locator("#durability + p")).to_be_in_viewport()
        about = page.get_by_role("button", name="Ask about this code")
        await page.locator("pre").hover()  # which scrolls too
        await expect(about).to_be_visible()
        place = await page.evaluate("scrollY")
        await page.evaluate("scrollBy(0, 4)")  # the pointer rests on the code
        await until(page, f"scrollY === {place + 4}")
        await expect(about).to_be_visible()
        await page.evaluate("scrollBy(0, 2000)")  # it does no more
        await expect(about).to_be_hidden()
        await page.evaluate(f"scrollTo(0, {place})")
        await about.click()
        await expect(page.locator("quoth-widget .selected")).to_contain_text("node.create_publisher")


async def test_an_answer_in_the_widget_is_judged_and_that_stays_with_it(host: Host, chromium: Browser) -> None:
    async with visited(chromium, host.publish("/plain")) as page:
        await launch(page).click()
        await ask(page, ASKED)
        down = page.get_by_role("button", name="Not helpful")
        await down.press("Enter")
        await page.get_by_role("button", name="Incomplete").press("Enter")
        await expect(page.get_by_text("Thank you.")).to_be_visible()
        await expect(down).to_be_focused()  # what was pressed is gone
        await page.reload()
        await expect(down).to_have_attribute("aria-pressed", "true")
        await expect(page.get_by_role("button", name="Share")).to_have_count(0)
        judged = await host.doors.quoth.library.rated_turns(since=datetime.fromtimestamp(0, UTC))
        assert [(one.query, one.feedback) for one in judged] == [(ASKED, Feedback("down", "Incomplete"))]


async def test_an_empty_panel_offers_questions_from_the_headings_of_the_page(host: Host, chromium: Browser) -> None:
    async with visited(chromium, host.publish("/plain")) as page:
        await launch(page).click()
        starters = page.get_by_role("list", name="Questions about this page").get_by_role("button")
        await expect(starters).to_have_text(["What is “Durability” about?", "What is “Timing” about?"])
        await starters.first.click()
        await expect(page.locator("quoth-widget .answer")).to_contain_text("durability")


async def test_a_question_can_be_kept_to_this_page_or_to_the_version_of_the_site(host: Host, chromium: Browser) -> None:
    async with visited(chromium, host.publish("/v2/start/", under="version")) as page:
        asked: list[Any] = []

        def note(sent: Request) -> None:
            if sent.method == "POST":
                asked.append((sent.post_data_json or {}).get("filters"))

        page.on("request", note)
        await launch(page).click()
        await ask(page, ASKED)
        await page.get_by_label("Only this page").check()
        await ask(page, TIMING)
        assert asked == [{"source_url_prefix": "/v2/"}, {"source_url_prefix": "/v2/start/"}]
        await expect(page.locator("quoth-widget .turn.refused")).to_have_count(2)  # the book has no such pages
    async with visited(chromium, host.publish("/topics")) as page:
        await launch(page).click()
        await page.get_by_label("Only this page").check()
        await ask(page, ASKED)
        await expect(page.locator("quoth-widget .answer")).to_contain_text("Transient local durability")


async def test_where_storage_is_forbidden_page_and_widget_answer_all_the_same(host: Host, chromium: Browser) -> None:
    async with new_page(chromium) as page:
        await page.add_init_script(FORBIDDEN)
        await page.goto(host.publish("/plain"))
        await launch(page).click()
        await ask(page, ASKED)
        await ask(page, "and what keeps nothing?")
        await expect(page.locator("quoth-widget .answer").last).to_contain_text("Volatile durability keeps nothing")
        await page.goto(host.quoth)
        await page.get_by_label("Key", exact=True).fill(host.key)
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Your question")).to_be_visible()


async def test_a_limit_is_counted_down_and_a_cut_answer_can_be_asked_again(host: Host, chromium: Browser) -> None:
    limit = {"status": 429, "error_code": "RATE_LIMITED", "message": "no", "hint": "", "details": {"retry_after": 2}}
    half = 'event: delta\ndata: {"delta": "Transient local"}\n\n'
    answers = [(429, "application/problem+json", json.dumps(limit)), (200, "text/event-stream", half)]

    async def instead(route: Route) -> None:
        if not answers:
            return await route.continue_()
        status, kind, body = answers.pop(0)
        headers = {"content-type": kind, "access-control-allow-origin": "*"}
        return await route.fulfill(status=status, headers=headers, body=body)

    async with visited(chromium, host.publish("/plain")) as page:
        await page.route("**/chat/stream", instead)
        await launch(page).click()
        await ask(page, ASKED)
        failure = page.locator("quoth-widget .failure")
        await expect(failure).to_contain_text("You can ask again in 2 seconds.")
        again = failure.get_by_role("button", name="Try again")
        await expect(again).to_be_disabled()
        await expect(failure).to_contain_text("You can ask again in 1 second.")
        await again.click()  # waits until it can be pressed
        await expect(failure).to_contain_text("The answer broke off.")
        await expect(page.locator("quoth-widget .answer")).to_contain_text("Transient local")
        await again.click()
        await expect(page.locator("quoth-widget .answer")).to_contain_text("for late subscribers")
        await expect(failure).to_have_count(0)


async def test_questions_asked_while_an_answer_is_written_wait_for_it(host: Host, chromium: Browser) -> None:
    async with visited(chromium, host.publish("/plain")) as page:
        written = asyncio.Event()
        sent: list[str] = []

        async def hold(route: Route) -> None:
            sent.append(route.request.url)
            await written.wait()
            await route.continue_()

        await page.route("**/chat/stream", hold)
        await launch(page).click()
        await box(page).fill(ASKED)
        await page.keyboard.press("Enter")
        await expect(page.locator("quoth-widget .turn .asked")).to_have_text(
            [ASKED]
        )  # until the book is known it stays in the box
        for question in (TIMING, "Who is Atlantis?"):
            await box(page).fill(question)
            await page.keyboard.press("Enter")
        queued = page.locator("quoth-widget .queued")
        await expect(queued).to_have_count(2)
        await queued.last.get_by_role("button", name="Don’t ask").click()
        await expect(queued).to_have_count(1)
        assert len(sent) == 1
        written.set()
        await expect(page.locator("quoth-widget .turn.settled .asked")).to_have_text([ASKED, TIMING])


async def test_the_widget_speaks_the_language_of_the_site_or_of_its_tag(host: Host, chromium: Browser) -> None:
    host.publish("/german", root='lang="de-CH"')
    host.publish("/urdu", root='lang="de"', lang="ur")
    async with new_page(chromium, locale="zh-CN") as page:
        await page.goto(f"{host.site.url}/german")
        await page.get_by_role("button", name="Das Buch fragen").click()
        await expect(page.get_by_label("Ihre Frage")).to_be_focused()
        await page.goto(f"{host.site.url}/urdu")
        assert await page.locator("quoth-widget .corner").evaluate("node => getComputedStyle(node).direction") == "rtl"
        await expect(page.locator("quoth-widget textarea")).to_have_attribute("placeholder", "کتاب سے سوال پوچھیں")
        await page.goto(host.quoth)  # the page itself goes by the browser
        await expect(page.locator("html")).to_have_attribute("lang", "zh")
        await expect(page.get_by_label("密钥")).to_be_visible()
