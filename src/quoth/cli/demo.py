"""`quoth demo`: reads the sample book, gets a cited answer and an honest refusal, and says what to type next."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

import quoth
from quoth.cli.app import DataDir, Verbose, app, settings_for
from quoth.cli.ask import ask_book
from quoth.cli.ingest import ingest_path
from quoth.cli.output import command_line, print_answer, print_job
from quoth.errors import Unreadable

BOOK_ID = "robotics-book"
ANSWERED = "How do late subscribers get the last message?"
REFUSED = "How much does a TurtleBot 4 cost?"
YOURS = "Why is my clock not moving in the simulation?"


def sample_book() -> Path:
    """Its folder in the installed package, or beside the sources in a checkout."""
    package = Path(quoth.__file__).parent
    for place in (package / "examples" / BOOK_ID, package.parents[1] / "examples" / BOOK_ID):
        if place.is_dir():
            return place
    raise Unreadable("The sample book is not part of this installation.", hint="Try your own: `quoth ingest PATH`.")


@app.command(epilog="Example: quoth demo --data-dir .quoth")
def demo(data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Try Quoth on its sample book, a small robotics textbook."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)
    print_job(ingest_path(settings, sample_book(), book_id=BOOK_ID))
    for question in (ANSWERED, REFUSED):
        typer.echo(f"\n> {question}\n")
        print_answer(ask_book(settings, {"query": question, "book_id": BOOK_ID}))
    typer.echo(f"\nAsk it:        {command_line('ask', '--book', BOOK_ID, shlex.quote(YOURS), data_dir=data_dir)}")
    typer.echo(f"Its page:      {command_line('serve', data_dir=data_dir)}   at http://{settings.host}:{settings.port}")
    typer.echo(f"Your own book: {command_line('ingest', 'FOLDER', data_dir=data_dir)}")
