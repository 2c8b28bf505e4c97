"""`quoth ingest`: read a book into the index, with a progress bar when somebody watches."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.bootstrap import Quoth, book_id_for, documents, web_of
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.output import print_job, print_notices, print_plan, summary
from quoth.domain import IngestJob, IngestMode
from quoth.errors import Unreadable, WrongUsage
from quoth.serve.library_views import job_view, plan_view
from quoth.settings import Settings

if TYPE_CHECKING:
    from quoth.chunks.plan import FilePlan
    from quoth.ingest import Planned, Progress, Tell
    from quoth.sources import BookSource


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

    path: str
    book_id: str
    base_url: str = ""
    mode: IngestMode = "incremental"
    dry_run: bool = False
    job_id: int | None = None

    @property
    def is_site(self) -> bool:
        return self.path.lower().startswith(("http://", "https://"))

    @property
    def place(self) -> str:
        """Absolute, because it is remembered: a server may ingest the book again from another working directory."""
        return self.path if self.is_site else str(Path(self.path).absolute())

    def open(self, settings: Settings, tell: Tell = lambda progress: None) -> BookSource:
        # These bring the parsers along, which asking does not need.
        from quoth.ingest import Progress
        from quoth.sources import open_source

        web = web_of(settings, tell=lambda done, total: tell(Progress(done, total, 0)))
        return open_source(self.place, book_id=self.book_id, base_url=self.base_url, documents=documents(), web=web)


async def carry_out(quoth: Quoth, order: Order, *, quiet: bool) -> tuple[IngestJob, FilePlan]:
    plans: list[FilePlan] = []
    with progress_bar(shown=not quiet and sys.stderr.isatty()) as (tell, announce):

        def planned(plan: FilePlan) -> None:
            plans.append(plan)
            if not order.dry_run:
                announce(plan)

        source = await asyncio.to_thread(order.open, quoth.settings, tell)
        try:
            job = await quoth.ingest.run(
                source, mode=order.mode, dry_run=order.dry_run, tell=tell, planned=planned, job_id=order.job_id
            )
        finally:
            source.close()  # a crawl runs in a thread, which would not hear of Ctrl-C
    return job, plans[0]


def ingest_path(settings: Settings, path: Path, *, book_id: str) -> IngestJob:
    job, _ = run(settings, lambda quoth: carry_out(quoth, Order(str(path), book_id), quiet=False))
    return job


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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan (pages, chunks, embeddings), and change nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on: take over every edit of the folder until Ctrl-C.")
    ] = False,
    max_pages: Annotated[
        int | None, typer.Option(help="Of a site: read at most so many pages.", show_default="5,000")
    ] = None,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Of a site: it may be on this machine or a private network.")
    ] = False,
    job_id: Annotated[
        int | None, typer.Option(hidden=True, help="The queued job to take over (for the server).")
    ] = None,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Read a book: Docusaurus, mdBook, MkDocs, Sphinx, GitBook, a folder of files, or a published site."""
    chosen = _mode(mode)
    settings = settings_for(
        data_dir=data_dir, verbose=verbose, max_pages=max_pages, allow_private=allow_private or None
    )
    order = Order(path, book or settings.book or book_id_for(path), base_url, chosen, dry_run, job_id)
    if watch:
        _refuse_watch(order, json=json)
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


def _refuse_watch(order: Order, *, json: bool) -> None:
    if json or order.dry_run:
        other = "--json" if json else "--dry-run"
        raise WrongUsage(f"--watch does not go with {other}.", hint="Leave one of them out.")
    if order.is_site:
        raise WrongUsage("A site cannot be watched.", hint="Run the ingest again now and then: it reads what changed.")


def _watch(settings: Settings, order: Order) -> None:
    from quoth.cli.watch import follow_edits

    async def work(quoth: Quoth) -> None:
        async def first() -> None:
            job, _ = await carry_out(quoth, order, quiet=False)
            print_notices(job.notices)
            print_job(job)

        again = replace(order, mode="incremental")
        await follow_edits(quoth, Path(order.place), first, lambda: again.open(settings))

    try:
        run(settings, work)
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # the ^C of the terminal stands alone on its line


def _mode(value: str) -> IngestMode:
    match value:
        case "incremental" | "full" | "recreate":
            return value
    raise typer.BadParameter(f"{value!r} is not one of incremental, full, recreate.", param_hint="--mode")
