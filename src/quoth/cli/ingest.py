"""`quoth ingest`: read a book into the index, with a progress bar when somebody watches."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.bootstrap import Quoth
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.output import print_job, print_notices, print_plan, summary
from quoth.domain import IngestJob, IngestMode
from quoth.errors import Unreadable, WrongUsage
from quoth.settings import Settings
from quoth.views import job_view, plan_view

if TYPE_CHECKING:
    from quoth.ingest import Planned, Progress, Tell
    from quoth.planning import FilePlan
    from quoth.sources import BookSource


def default_book_id(path: Path) -> str:
    """The folder's name as a book id: `My Docs/` becomes `my-docs`."""
    folder = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links, and fails where they loop
    name = re.sub(r"[^a-z0-9._-]+", "-", folder.name.lower()).strip("-._")
    return name[:64] or "book"


@contextmanager
def progress_bar(shown: bool) -> Iterator[tuple[Tell, Planned]]:
    """Two listeners for an ingest: one draws how far it is, one says beforehand what it will do."""
    if not shown:
        yield (lambda progress: None), (lambda plan: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[pages]} pages · {task.fields[chunks]} chunks · {task.fields[rate]:.0f}/s"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Reading", total=None, pages="", chunks=0, rate=0.0)

        def tell(progress: Progress) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            bar.update(
                task,
                completed=progress.pages_done + progress.share,
                total=progress.pages_total,
                pages=f"{progress.pages_done}/{progress.pages_total}",
                chunks=progress.chunks_embedded,
                rate=progress.chunks_embedded / elapsed if elapsed else 0.0,
            )

        yield tell, lambda plan: bar.console.print(summary(plan), highlight=False)


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for."""

    path: Path
    book_id: str
    base_url: str = ""
    mode: IngestMode = "incremental"
    dry_run: bool = False
    job_id: int | None = None

    def open(self) -> BookSource:
        from quoth.sources import open_source  # brings the parsers along, which asking does not need

        # Absolute, because it is remembered: a server may ingest the book again from another working directory.
        return open_source(self.path.absolute(), book_id=self.book_id, base_url=self.base_url)


async def carry_out(quoth: Quoth, order: Order, *, quiet: bool) -> tuple[IngestJob, FilePlan]:
    source = await asyncio.to_thread(order.open)
    plans: list[FilePlan] = []
    with progress_bar(shown=not quiet and sys.stderr.isatty()) as (tell, announce):

        def planned(plan: FilePlan) -> None:
            plans.append(plan)
            if not order.dry_run:
                announce(plan)

        job = await quoth.ingest.run(
            source, mode=order.mode, dry_run=order.dry_run, tell=tell, planned=planned, job_id=order.job_id
        )
    return job, plans[0]


def ingest_path(settings: Settings, path: Path, *, book_id: str) -> IngestJob:
    job, _ = run(settings, lambda quoth: carry_out(quoth, Order(path, book_id), quiet=False))
    return job


@app.command(epilog="Example: quoth ingest my-docs/ --book my-docs --base-url https://docs.example.com")
def ingest(
    path: Annotated[Path, typer.Argument(help="The folder of the book, or of its toolchain's project.")],
    book: BookId = None,
    base_url: Annotated[str, typer.Option(help="Where the book is published; citations link there.")] = "",
    mode: Annotated[
        str, typer.Option(help="incremental: only what changed · full: read all again · recreate: start from nothing.")
    ] = "incremental",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan (pages, chunks, embeddings), and change nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on: take over every edit of the folder until Ctrl-C.")
    ] = False,
    job_id: Annotated[
        int | None, typer.Option(hidden=True, help="The queued job to take over (for the server).")
    ] = None,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Read a book: Docusaurus, or any folder of Markdown."""
    chosen = _mode(mode)
    if watch and (json or dry_run):
        raise WrongUsage(
            f"--watch does not go with {'--json' if json else '--dry-run'}.", hint="Leave one of them out."
        )
    settings = settings_for(data_dir=data_dir, verbose=verbose)
    order = Order(path, book or settings.book or default_book_id(path), base_url, chosen, dry_run, job_id)
    if watch:
        _watch(settings, order)
        return
    job, plan = run(settings, lambda quoth: carry_out(quoth, order, quiet=json))
    if json:
        print_json({**job_view(job), "plan": plan_view(plan, job)} if dry_run else job_view(job))
    else:
        _print(job, plan)
    if job.files_failed:
        if not json:
            sys.stderr.write(f"quoth: {job.files_failed} pages could not be read; the others are in.\n")
        raise typer.Exit(Unreadable.exit_code)


def _print(job: IngestJob, plan: FilePlan) -> None:
    print_notices(job.notices)
    if job.dry_run:
        print_plan(plan, job)
    print_job(job)
    if not job.dry_run and not job.files_failed:
        typer.echo('Ask it: quoth ask "…"   or start the page: quoth serve')


def _watch(settings: Settings, order: Order) -> None:
    from quoth.cli.watch import follow_edits

    async def work(quoth: Quoth) -> None:
        async def first() -> None:
            job, _ = await carry_out(quoth, order, quiet=False)
            print_notices(job.notices)
            print_job(job)

        await follow_edits(quoth, order.path.absolute(), first, replace(order, mode="incremental").open)

    try:
        run(settings, work)
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # the ^C of the terminal stands alone on its line


def _mode(value: str) -> IngestMode:
    match value:
        case "incremental" | "full" | "recreate":
            return value
    raise typer.BadParameter(f"{value!r} is not one of incremental, full, recreate.", param_hint="--mode")
