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

from quoth.bootstrap import Quoth, documents, web_of
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.output import print_job, print_notices
from quoth.domain import IngestJob, IngestMode
from quoth.errors import Unreadable
from quoth.settings import Settings
from quoth.views import job_view

if TYPE_CHECKING:
    from quoth.ingest import Progress, Tell


def default_book_id(path: str | Path) -> str:
    """The folder's name as a book id: `My Docs/` becomes `my-docs`. Of a site, its host and the folder that is read:
    `https://example.com/guide/sitemap.xml` becomes `example.com-guide`."""
    site = re.match(r"https?://([^/?#]+)(/[^?#]*)?", str(path), re.I)
    if site is None:
        shown = Path(os.path.abspath(path)).name  # noqa: PTH100 - resolve() follows links, and fails where they loop
    else:
        shown = re.sub(r"[^/]*\.(?:xml|xml\.gz|txt)$", "", "".join(site.groups("")))
    name = re.sub(r"[^a-z0-9._-]+", "-", shown.lower()).strip("-._")
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
    path: str | Path,
    *,
    book_id: str,
    base_url: str = "",
    mode: IngestMode = "incremental",
    dry_run: bool = False,
    quiet: bool = False,
) -> IngestJob:
    # These bring the parsers along, which asking does not need.
    from quoth.ingest import Progress
    from quoth.sources import open_source

    with progress_bar(shown=not quiet and sys.stderr.isatty()) as tell:
        web = web_of(settings, tell=lambda done, total: tell(Progress(done, total, 0)))
        source = open_source(path, book_id=book_id, base_url=base_url, documents=documents(), web=web)

        async def work(quoth: Quoth) -> IngestJob:
            try:
                return await quoth.ingest.run(source, mode=mode, dry_run=dry_run, tell=tell)
            finally:
                source.close()  # a crawl runs in a thread, which would not hear of Ctrl-C

        return run(settings, work)


@app.command(epilog="Example: quoth ingest my-docs/ --book my-docs --base-url https://docs.example.com")
def ingest(
    path: Annotated[
        str,
        typer.Argument(help="The folder of the book or of its toolchain's project; or the URL of a sitemap or a site."),
    ],
    book: BookId = None,
    base_url: Annotated[str, typer.Option(help="Where the book is published; citations link there.")] = "",
    mode: Annotated[
        str, typer.Option(help="incremental: only what changed · full: read all again · recreate: start from nothing.")
    ] = "incremental",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    max_pages: Annotated[
        int | None, typer.Option(help="Of a site: read at most so many pages.", show_default="5,000")
    ] = None,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Of a site: it may be on this machine or a private network.")
    ] = False,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Read a book: Docusaurus, mdBook, MkDocs, Sphinx, GitBook, a folder of documents, or a published site."""
    chosen = _mode(mode)
    settings = settings_for(
        data_dir=data_dir, verbose=verbose, max_pages=max_pages, allow_private=allow_private or None
    )
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
