"""`quoth questions`: tells the author which questions the book could not answer, or how readers rated answers.

In: recorded questions, redacted before they were stored, and rated answers, redacted here. Out: a list, newest first.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

import typer

from quoth.ask.gaps import together
from quoth.bootstrap import Quoth
from quoth.cli.app import AnyBookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.output import counted, echo
from quoth.domain import Turn
from quoth.serve.library_views import rated_view, recorded_view
from quoth.settings import Settings

OFF = "Recording is off. QUOTH_RECORD_QUESTIONS=true records refused and low-confidence questions, redacted."


@app.command(epilog="Example: quoth questions --book my-docs --json")
def questions(
    book: AnyBookId = None,
    forget: Annotated[bool, typer.Option("--forget", help="Delete all recorded questions of every book.")] = False,
    feedback: Annotated[
        bool, typer.Option("--feedback", help="List the answers that readers rated, with their reasons.")
    ] = False,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List refused and low-confidence questions, newest first. Similar ones are grouped."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)
    if feedback:
        _list_feedback(settings, book, json=json)
        return

    async def work(quoth: Quoth) -> dict[str, Any]:
        since = quoth.clock.now() - timedelta(days=settings.record_days)
        if book is not None:
            await quoth.book(book)
        # The retention period holds even after recording was switched off.
        gone = await quoth.library.forget_questions(before=quoth.clock.now() if forget else since)
        found = together(await quoth.library.recorded_questions(book, since=since))
        return {
            "recording": settings.record_questions,
            "retention_days": settings.record_days,
            "forgotten": gone,
            "questions": [recorded_view(similar.newest, similar.times) for similar in found],
        }

    view = run(settings, work)
    if json:
        print_json(view)
        return
    if forget:
        echo(f"Deleted {counted(view['forgotten'], 'question')}.")
    for row in view["questions"]:
        _print(row)
    if not view["recording"]:
        echo(OFF)
    elif not view["questions"]:
        echo(f"No question was refused or answered with low confidence in the last {settings.record_days} days.")


def _list_feedback(settings: Settings, book: str | None, *, json: bool) -> None:
    async def work(quoth: Quoth) -> list[Turn]:
        if book is not None:
            await quoth.book(book)
        return await quoth.library.rated_turns(book, since=quoth.clock.now() - timedelta(days=settings.record_days))

    rated = [rated_view(turn, turn.feedback) for turn in run(settings, work) if turn.feedback]
    ups = sum(row["rating"] == "up" for row in rated)
    if json:
        print_json({"up": ups, "down": len(rated) - ups, "feedback": rated})
        return
    for row in rated:
        sign = {"up": "↑", "down": "↓"}[row["rating"]]
        echo(f"{_when(row['asked_at'])}  {row['book_id']}  {sign} {row['reason']}".rstrip())
        echo(f"  {' '.join(row['question'].split())}")
        for section in row["sections"]:
            echo(f"  answered from: {' › '.join(section['breadcrumb'])}  {section['source_url']}")
    judged = counted(len(rated), "answer")
    echo(f"{judged} rated in the last {settings.record_days} days: ↑ {ups}, ↓ {len(rated) - ups}.")


def _when(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _print(row: dict[str, Any]) -> None:
    times = f" ×{row['times']}" if row["times"] > 1 else ""
    echo(f"{_when(row['asked_at'])}  {row['book_id']}  {row['confidence_level']} ({row['confidence']:.2f}){times}")
    echo(f"  {' '.join(row['question'].split())}")
    if row["searched_query"] != row["question"]:
        echo(f"  searched: {' '.join(row['searched_query'].split())}")
    if row["missing_terms"]:
        echo(f"  nowhere in the book: {', '.join(row['missing_terms'])}")
    if row["nearest"]:
        echo(f"  nearest: {' › '.join(row['nearest']['breadcrumb'])}  {row['nearest']['source_url']}")
