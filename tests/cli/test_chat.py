"""`quoth chat` and `quoth ask` as a person meets them, on a real terminal; and `quoth chat` from a pipe."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn, cast

import pytest

from commands import quoth
from doors import ASKED, PAGE, REFUSAL, SESSION, UNKNOWN
from quoth.bootstrap import Quoth
from quoth.cli.background import Background
from quoth.testing.model_server import ModelServer, asked, chunk, says, stalls
from terminals import CTRL_C, CTRL_D, ENTER, UP, Terminal, plain, terminal

pytestmark = pytest.mark.slow

TRUE = "Transient local durability keeps the last message for late subscribers [1]."
FALSE = "It was invented in Atlantis in 1977 [1]."
PROMPT = "> \x1b[0m"
SESSION_LINE = re.compile(r"--session ([0-9a-f-]{36})")


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("chat")
    docs = place / "docs"
    docs.mkdir()
    (docs / "topics.md").write_text(PAGE, encoding="utf-8")
    run = quoth("ingest", docs, "--book", "book", "--data-dir", place / "data")
    assert run.returncode == 0, run.stderr
    return place / "data"


@pytest.fixture
def data(ingested: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ingested, tmp_path / "data"))


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer(
        says("Transient local durability keeps ", "the last message for late subscribers [1].")
    ) as it:
        yield it


Opens = Callable[..., AbstractContextManager[Terminal]]


@pytest.fixture
def opens(data: Path, tmp_path: Path, model: ModelServer) -> Opens:
    def opened(command: str, *arguments: str, **environment: str) -> AbstractContextManager[Terminal]:
        asks = {"OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "scripted", **environment}
        return terminal(command, *arguments, "--data-dir", data, cwd=tmp_path, **asks)

    return opened


async def ask(screen: Terminal, question: str = ASKED) -> str:
    """Ask at the prompt; return what the screen shows until the next prompt."""
    screen.type(question + ENTER)
    return plain(await screen.until(PROMPT))


# --- chat on a terminal ----------------------------------------------------------------------------------------------


async def test_a_chat_shows_answers_with_their_sources_and_can_be_resumed(opens: Opens, model: ModelServer) -> None:
    with opens("chat") as screen:
        await screen.until(PROMPT)
        shown = await ask(screen)
        assert f"{TRUE}\n\n---\n**Sources:**\n[1] " in shown
        assert "(score: 0." in shown
        screen.type("quit" + ENTER)
        assert await screen.ended() == 0
        found = SESSION_LINE.search(screen.rest())
        assert found is not None
    with opens("chat", "--session", found[1]) as screen:
        opening = plain(await screen.until(PROMPT))
        assert f"> {ASKED}\n{TRUE}\n" in opening
        await ask(screen, "And the deadline policy?")
        assert asked(model.bodies[-1])[1] == ASKED  # what was said before is shown to the model
        screen.type(CTRL_D)
        assert await screen.ended() == 0
        assert found[1] in screen.rest()


@pytest.mark.parametrize("goodbye", ["quit" + ENTER, "EXIT" + ENTER, " q " + ENTER, CTRL_C, CTRL_D])
async def test_leaving_gives_exit_code_0(opens: Opens, goodbye: str) -> None:
    with opens("chat") as screen:
        before = screen.settings()
        await screen.until(PROMPT)
        assert await screen.ended(goodbye) == 0
        assert screen.settings() == before
        assert "--session" not in screen.seen  # nothing was asked, so nothing can be resumed
        assert "Traceback" not in screen.seen


async def test_ctrl_c_stops_an_answer_and_the_chat_goes_on(opens: Opens, model: ModelServer) -> None:
    model.then([stalls(chunk({"content": "Transient local durability "})), says(TRUE)])
    with opens("chat") as screen:
        await screen.until(PROMPT)
        screen.type(ASKED + ENTER)
        await screen.until("Transient local durability ")
        screen.type(CTRL_C)
        assert "(stopped)" in plain(await screen.until(PROMPT))
        assert model.left == 1
        assert TRUE in await ask(screen)
        assert await screen.ended(CTRL_C) == 0
        assert "--session" in screen.rest()


async def test_lines_can_be_edited_and_are_remembered_from_chat_to_chat(
    opens: Opens, model: ModelServer, data: Path
) -> None:
    with opens("chat") as screen:
        await screen.until(PROMPT)
        await ask(screen, ASKED.replace("Which", "XWhich") + "\x01\x1b[3~")  # to the start of the line, delete
        screen.type(CTRL_D)
        assert await screen.ended() == 0
    with opens("chat") as screen:
        await screen.until(PROMPT)
        await ask(screen, UP)
        screen.type(CTRL_D)
        assert await screen.ended() == 0
    assert [asked(body)[-1].rpartition("Question: ")[2] for body in model.bodies] == [ASKED, ASKED]
    assert (data / "chat_history").stat().st_mode & 0o077 == 0


async def test_colours_are_for_those_who_want_them(opens: Opens) -> None:
    with opens("chat", NO_COLOR="1") as screen:
        await screen.until("Ctrl-D.\r\n> ")
        screen.type(ASKED + ENTER)
        await screen.until("(score: ")
        await screen.until("\r\n> ")
        screen.type(CTRL_D)
        assert await screen.ended() == 0
        assert "\x1b[3" not in screen.seen


async def test_a_chat_has_a_last_question(opens: Opens) -> None:
    with opens("chat", AGENT_MAX_TURNS="1") as screen:
        await screen.until(PROMPT)
        screen.type(ASKED + ENTER)
        assert await screen.ended() == 0
        assert "A chat may have at most 1 question (" in screen.rest()


def test_ctrl_c_also_stops_an_answer_that_has_only_just_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    begun, stopped = threading.Event(), threading.Event()
    send = loop.call_soon_threadsafe

    def interrupted(callback: Callable[[], object]) -> NoReturn:
        monkeypatch.undo()
        send(callback)
        assert begun.wait(60)
        raise KeyboardInterrupt

    async def work(_: Quoth) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            stopped.set()

    monkeypatch.setattr(loop, "call_soon_threadsafe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Background(cast(Quoth, None), loop).do(work)
    assert stopped.is_set()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


# --- ask on a terminal -----------------------------------------------------------------------------------------------


async def test_words_are_shown_as_they_come_and_ctrl_c_leaves_a_sane_terminal(opens: Opens, model: ModelServer) -> None:
    model.then([stalls(chunk({"content": "Transient local durability "}))])
    with opens("ask", ASKED) as screen:
        before = screen.settings()
        await screen.until("Transient local durability ")
        screen.type(CTRL_C)
        assert await screen.ended() == 1
        assert screen.settings() == before
        assert re.fullmatch(r"\^C\r\nquoth: Interrupted[^\r\n]*\r\n", screen.rest())


async def test_what_no_source_supports_is_named_below_the_words(opens: Opens, model: ModelServer) -> None:
    model.then([says(TRUE, " ", FALSE)])
    with opens("ask", ASKED) as screen:
        assert await screen.ended() == 0
        shown = plain(screen.rest())
        assert f"{TRUE} {FALSE}\n\n⚠ not supported by the source: “{FALSE}”" in shown
        assert shown.index("⚠") < shown.index("**Sources:**")


async def test_nothing_that_a_model_says_can_steer_the_terminal(opens: Opens, model: ModelServer) -> None:
    model.then([says("\x1b]0;owned\x07\x1b[2J", TRUE)])
    with opens("ask", ASKED) as screen:
        assert await screen.ended() == 0
        assert "\x1b]" not in screen.seen
        assert "\x1b[2J" not in screen.seen
        assert "owned" in screen.seen


async def test_a_model_that_fails_leaves_one_line_and_the_sources(opens: Opens, model: ModelServer) -> None:
    with opens("ask", ASKED, OPENAI_BASE_URL="http://127.0.0.1:9/v1") as screen:
        assert await screen.ended() == 0
        assert "The language model gave no answer" in screen.seen
        assert "**Sources:**" in screen.seen


# --- from a pipe -----------------------------------------------------------------------------------------------------


def test_every_piped_line_is_a_question_and_no_prompt_is_printed(data: Path) -> None:
    run = quoth("chat", "--data-dir", data, lines=f"{ASKED}\n\n  \n{UNKNOWN}\nquit\n{ASKED}\n")
    first, second, rest = run.stdout.partition(REFUSAL)
    assert first.startswith("Transient local durability keeps the last message")
    assert first.count("**Sources:**") == 1
    assert second
    assert "**Sources:**" not in rest
    assert ">" not in run.stdout
    assert run.returncode == 0
    assert SESSION_LINE.search(run.stderr)


def test_json_of_a_chat_is_one_document_in_which_follow_ups_were_understood(data: Path) -> None:
    run = quoth("chat", "--json", "--session", SESSION, "--data-dir", data, lines=f"{ASKED}\nTell me more\n")
    assert run.returncode == 0
    body = json.loads(run.stdout)
    assert body["session_id"] == SESSION
    assert [turn["session_id"] for turn in body["turns"]] == [SESSION, SESSION]
    assert "durability" in body["turns"][1]["metadata"]["searched_query"].lower()


def test_a_question_that_fails_costs_one_line_and_the_chat_goes_on(data: Path) -> None:
    lines = f"{'x' * 32_001}\n{ASKED}\n"
    run = quoth("chat", "--session", SESSION, "--data-dir", data, lines=lines)
    assert run.stdout.startswith("Transient local durability")
    notes = run.stderr.splitlines()
    assert [note.startswith("quoth: ") for note in notes] == [True, True, False]
    assert "32,000" in notes[1]
    assert run.returncode == 1
    body = json.loads(quoth("chat", "--json", "--data-dir", data, lines=lines).stdout)
    assert [turn.get("error_code") for turn in body["turns"]] == ["QUERY_TOO_LONG", None]


def test_lines_beyond_the_last_turn_are_not_left_out_silently(data: Path) -> None:
    run = quoth("chat", "--data-dir", data, lines=f"{ASKED}\n{ASKED}\n", QUOTH_MAX_TURNS="1")
    assert run.stdout.count("**Sources:**") == 1
    assert "at most 1 question (" in run.stderr
    assert run.returncode == 1


@pytest.mark.parametrize("wrong", ["--book nope", "--session x", "--top-k 99", "--lesson -1", "--selection nowhere"])
def test_an_option_that_is_wrong_for_every_question_is_reported_before_the_first(data: Path, wrong: str) -> None:
    run = quoth("chat", *wrong.split(), "--data-dir", data, lines=f"{ASKED}\n")
    assert (run.returncode, run.stdout) == (3 if "selection" in wrong else 2, "")
    assert len(run.stderr.splitlines()) == 1


def test_a_selection_and_filters_hold_for_the_whole_chat(data: Path, tmp_path: Path) -> None:
    (tmp_path / "picked.txt").write_text("The red cable carries 48 volts and must not be cut.")
    picked = quoth(
        "chat", "--selection", tmp_path / "picked.txt", "--data-dir", data, "--json", lines="What carries 48 volts?\n"
    )
    assert json.loads(picked.stdout)["turns"][0]["metadata"]["mode"] == "selected_text"
    narrowed = quoth("chat", "--section", "Timing", "--data-dir", data, "--json", lines=f"{ASKED}\n{ASKED}\n")
    for turn in json.loads(narrowed.stdout)["turns"]:
        assert "Transient" not in json.dumps(turn["sources"])
