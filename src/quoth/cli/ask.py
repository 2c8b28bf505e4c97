"""`quoth ask` and `quoth search`: the same pipelines as the HTTP doors, and with `--json` the same bodies.

On a terminal an answer appears as it is written: first the current step, then the words as they come, then the
sources. A pipe gets the finished answer (`output`).
"""

from __future__ import annotations

import sys
import uuid
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any

import typer

from quoth.ask.request import ChatRequest, SearchRequest, parse
from quoth.bootstrap import Quoth
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for, takes_filters
from quoth.cli.output import decorated, harmless, print_answer, print_basis, print_passages, print_unsupported, styled
from quoth.domain import Answer, AnswerEvent, Delta, Done, Question, Status
from quoth.errors import Unreadable
from quoth.serve.search_views import search_view
from quoth.serve.views import answer_view
from quoth.settings import Settings

# --- an answer as it is written --------------------------------------------------------------------------------------


UNDER_WAY = {"retrieving": "searching the book …", "generating": "answering …"}
CLEAR_LINE = "\r\x1b[2K"


async def answered_live(quoth: Quoth, question: Question) -> Answer:
    """Ask, and show the answer. If it is stopped, the cursor is at the start of a line and no colour is left on."""
    screen = Screen()
    try:
        async with aclosing(quoth.conversations.ask(question)) as events:
            async for event in events:
                screen.take(event)
                if isinstance(event, Done):
                    return event.answer
    finally:
        screen.leave()
    raise AssertionError("the stream of an answer ends with Done")


class Screen:
    def __init__(self) -> None:
        self._note = False  # the line shows the current step
        self._open = False  # the line holds words of the answer
        self._spoke = False

    def take(self, event: AnswerEvent) -> None:
        if isinstance(event, Status) and decorated():
            self._write(styled(UNDER_WAY[event.stage], dim=True))
            self._note = True
        elif isinstance(event, Delta) and event.text:
            self._write(harmless(event.text))
            self._spoke, self._open = True, not event.text.endswith("\n")
        elif isinstance(event, Done):
            self.leave()
            self._close(event.answer)

    def leave(self) -> None:
        self._write("\n" if self._open else "")
        self._open = False

    def _close(self, answer: Answer) -> None:
        if answer.fallback_message:
            sys.stdout.write(("\n" if self._spoke else "") + styled(answer.fallback_message, fg="yellow") + "\n")
        print_unsupported(answer.grounding)
        print_basis(answer)
        sys.stdout.flush()

    def _write(self, text: str) -> None:
        sys.stdout.write(f"{CLEAR_LINE if self._note else ''}{text}")
        sys.stdout.flush()
        self._note = False


# --- the commands ----------------------------------------------------------------------------------------------------


TopK = Annotated[int | None, typer.Option("--top-k", "-k", help="How many passages, 1 to 20.", show_default="5")]
Selection = Annotated[Path | None, typer.Option(help="Answer only from the text in this file.")]
SessionId = Annotated[str | None, typer.Option(help="Continue this session (UUID v4).")]

# The search request uses other names for four of the filters.
SEARCH_FIELDS = {name: f"{name}_filter" for name in ("module", "lesson", "hardware_tier", "layer")}


def given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def ask_book(settings: Settings, fields: dict[str, Any], *, live: bool = False) -> Answer:
    """With `live` the answer is shown as it is written; otherwise the caller shows it."""
    request = parse(ChatRequest, fields)

    async def work(quoth: Quoth) -> Answer:
        book = await quoth.choose_book(request.book_id)
        question = quoth.question(request, book, request_id=str(uuid.uuid4()))
        return await (answered_live(quoth, question) if live else quoth.conversations.answer(question))

    return run(settings, work, warm=True)


def read_selection(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path} cannot be read: {error}.", hint="Give a text file in UTF-8.") from error


@app.command(epilog='Example: quoth ask "Which QoS setting keeps the last message for late subscribers?"')
@takes_filters
def ask(
    question: Annotated[str, typer.Argument(help="Your question.")],
    filters: dict[str, Any],
    book: BookId = None,
    top_k: TopK = None,
    selection: Selection = None,
    session: SessionId = None,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Ask the book: a cited answer, or an honest refusal."""
    fields = given(
        query=question,
        book_id=book,
        top_k=top_k,
        session_id=session,
        selected_text=read_selection(selection) if selection else None,
        filters=filters or None,
    )
    live = not json and sys.stdout.isatty()
    answer = ask_book(settings_for(data_dir=data_dir, verbose=verbose), fields, live=live)
    if verbose:
        print_stages(answer)
    if json:
        print_json(answer_view(answer))
    elif not live:
        print_answer(answer)


def print_stages(answer: Answer) -> None:
    stages = " ".join(f"{stage}={spent:.1f}ms" for stage, spent in answer.stage_ms.items())
    verdict = answer.verdict
    for line in (
        f"searched: {answer.searched_query!r}",
        f"retrieved {answer.retrieval_count} passages, similarity max {verdict.metrics.max_similarity:.3f}",
        f"confidence {verdict.confidence:.3f} ({verdict.level}), mode {answer.mode}",
        f"stages: {stages} total={answer.query_time_ms:.1f}ms",
    ):
        typer.echo(f"[DEBUG] {line}", err=True)


@app.command(epilog="Example: quoth search tf2_ros -k 3 --explain")
@takes_filters
def search(
    text: Annotated[str, typer.Argument(help="What to look for: words, a flag, an identifier.")],
    filters: dict[str, Any],
    book: BookId = None,
    top_k: TopK = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show each passage's scores and ranks.")] = False,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Find passages, best first, without answering."""
    narrowed = {SEARCH_FIELDS.get(name, name): value for name, value in filters.items()}
    request = parse(SearchRequest, {**given(text=text, book_id=book, limit=top_k, explain=explain), **narrowed})

    async def work(quoth: Quoth) -> None:
        chosen = await quoth.choose_book(request.book_id)
        wanted = request.to_search(book=chosen, similarity_threshold=quoth.settings.similarity_threshold or 0.0)
        evidence, verdict = await quoth.conversations.search(wanted)
        if json:
            print_json(search_view(wanted, evidence, verdict, query_id=str(uuid.uuid4())))
        else:
            print_passages(evidence.passages, evidence.total_found, explain=explain)

    run(settings_for(data_dir=data_dir, verbose=verbose), work, warm=True)
