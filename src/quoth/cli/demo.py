"""`quoth demo`: the sample book goes in, one cited answer and one honest refusal come out."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import typer

import quoth
from quoth.cli.app import DataDir, Verbose, app, settings_for
from quoth.cli.ask import ask_book
from quoth.cli.ingest import ingest_path
from quoth.cli.output import print_answer, print_job
from quoth.errors import Unreadable

BOOK_ID = "robotics-book"
ANSWERED = "How do late subscribers get the last message that was published?"
REFUSED = "How much does a TurtleBot 4 cost?"


def sample_book() -> Path:
    """Inside the installed package, or beside the sources in a checkout."""
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
    place = f" --data-dir {shlex.quote(str(data_dir))}" if data_dir else ""
    command = shlex.quote(sys.argv[0])
    typer.echo(f"\nAsk it yourself:  {command} ask{place} 'What is a QoS profile?'")
    typer.echo(f"Start the page:   {command} serve{place}     then open http://{settings.host}:{settings.port}")
