"""`quoth ingest`: read a book into the index, with a progress bar when somebody watches."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.bootstrap import Quoth, documents
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.output import print_job, print_notices
from quoth.domain import IngestJob, IngestMode
from quoth.errors import Unreadable
from quoth.settings import Settings
from quoth.views import job_view

if TYPE_CHECKING:
    from quoth.ingest import Progress, Tell


def default_book_id(path: Path) -> str:
    """The folder's name as a book id: `My Docs/` becomes `my-docs`."""
    folder = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links, and fails where they loop
    name = re.sub(r"[^a-z0-9._-]+", "-", folder.name.lower()).strip("-._")
    return name[:64] or "book"


@contextmanager
def progress_bar(shown: bool) -> Iterator[Tell]:
    if not shown:
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("pages · {task.fields[chunks]} chunks · {task.fields[rate]:.0f}/s"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Reading", total=None, chunks=0, rate=0.0)

        def tell(progress: Progress) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            bar.update(
                task,
                completed=progress.pages_done,
                total=progress.pages_total,
                chunks=progress.chunks_embedded,
                rate=progress.chunks_embedded / elapsed if elapsed else 0.0,
            )

        yield tell


def ingest_path(
    settings: Settings,
    path: Path,
    *,
    book_id: str,
    base_url: str = "",
    mode: IngestMode = "incremental",
    dry_run: bool = False,
    quiet: bool = False,
) -> IngestJob:
    from quoth.sources import open_source  # brings the parsers along, which asking does not need

    source = open_source(path, book_id=book_id, base_url=base_url, documents=documents())
    with progress_bar(shown=not quiet and sys.stderr.isatty()) as tell:

        async def work(quoth: Quoth) -> IngestJob:
            return await quoth.ingest.run(source, mode=mode, dry_run=dry_run, tell=tell)

        return run(settings, work)


@app.command(epilog="Example: quoth ingest my-docs/ --book my-docs --base-url https://docs.example.com")
def ingest(
    path: Annotated[Path, typer.Argument(help="The folder of the book, or of its toolchain's project.")],
    book: BookId = None,
    base_url: Annotated[str, typer.Option(help="Where the book is published; citations link there.")] = "",
    mode: Annotated[
        str, typer.Option(help="incremental: only what changed · full: read all again · recreate: start from nothing.")
    ] = "incremental",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Read a book: Docusaurus, mdBook, MkDocs, Sphinx, GitBook, or any folder of Markdown, RST, HTML or notebooks."""
    chosen = _mode(mode)
    settings = settings_for(data_dir=data_dir, verbose=verbose)
    book_id = book or settings.book or default_book_id(path)
    job = ingest_path(settings, path, book_id=book_id, base_url=base_url, mode=chosen, dry_run=dry_run, quiet=json)
    if json:
        print_json(job_view(job))
    else:
        print_notices(job.notices)
        print_job(job)
        if not dry_run and not job.files_failed:
            typer.echo('Ask it: quoth ask "…"   or start the page: quoth serve')
    if job.files_failed:
        if not json:
            sys.stderr.write(f"quoth: {job.files_failed} pages could not be read; the others are in.\n")
        raise typer.Exit(Unreadable.exit_code)


def _mode(value: str) -> IngestMode:
    match value:
        case "incremental" | "full" | "recreate":
            return value
    raise typer.BadParameter(f"{value!r} is not one of incremental, full, recreate.", param_hint="--mode")
