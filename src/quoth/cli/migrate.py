"""`quoth migrate-index`: move books between the files of this machine and a Qdrant server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.bootstrap import Quoth, cluster_index, embedded_index
from quoth.cli.app import DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.errors import UnknownBook

if TYPE_CHECKING:
    from quoth.moving import Moved, Tell


@app.command("migrate-index", epilog="Example: quoth migrate-index --to cluster --dry-run")
def migrate_index(
    to: Annotated[
        str, typer.Option(help="cluster: the Qdrant server of QDRANT_URL · embedded: files in the data dir.")
    ],
    book: Annotated[str | None, typer.Option("--book", help="Which book.", show_default="all of them")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would move, and change nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a book of the target even if it is newer.")] = False,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Move books to a Qdrant server, or back, without embedding them again. They stay where they were, too."""
    if to not in ("cluster", "embedded"):
        raise typer.BadParameter(f"{to!r} is not one of cluster, embedded.", param_hint="--to")
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    async def work(quoth: Quoth) -> list[Moved]:
        from quoth.moving import move_book

        async with AsyncExitStack() as closing:
            fingerprint = quoth.index.fingerprint
            embedded, cluster = embedded_index(settings, fingerprint), cluster_index(settings, fingerprint)
            closing.push_async_callback(embedded.close)
            closing.push_async_callback(cluster.close)
            source, target = (embedded, cluster) if to == "cluster" else (cluster, embedded)
            books = [book] if book else await source.books()
            if not books:
                raise UnknownBook("There is no book to move.", hint="`quoth ingest PATH` adds one.")
            moved = []
            for book_id in books:
                with progress_bar(f"Moving {book_id}", shown=not json and sys.stderr.isatty()) as tell:
                    moved.append(await move_book(book_id, source, target, force=force, dry_run=dry_run, tell=tell))
            return moved

    moved = run(settings, work)
    if json:
        print_json({"to": to, "books": [asdict(one) for one in moved]})
        return
    for one in moved:
        verb = "Would move" if dry_run else "Moved"
        what = f"{one.written} of {one.chunks} chunks written, {one.dropped} dropped, none embedded"
        typer.echo(f"{verb} {one.book_id} to the {'cluster' if to == 'cluster' else 'embedded index'}: {what}")
    if not dry_run:
        wanted = "Keep QDRANT_URL set" if to == "cluster" else "Unset QDRANT_URL"
        typer.echo(f"{wanted}, and every command works there.")


@contextmanager
def progress_bar(what: str, *, shown: bool) -> Iterator[Tell]:
    if not shown:
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
