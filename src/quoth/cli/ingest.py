"""`quoth ingest`: read a book into the index, with a progress bar when somebody watches."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.bootstrap import Quoth, book_id_for, open_book
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.output import command_line, print_job, print_notices, print_plan, summary
from quoth.cli.progress import progress_bar
from quoth.domain import IngestJob, IngestMode
from quoth.errors import Unreadable, WrongUsage
from quoth.serve.views import job_view, plan_view
from quoth.settings import Settings

if TYPE_CHECKING:
    from quoth.chunks.plan import FilePlan
    from quoth.ingest import Progress, TellProgress
    from quoth.sources import BookSource


@dataclass(frozen=True, slots=True)
class IngestCommand:
    """One `quoth ingest` as it was typed."""

    path: str
    book_id: str
    base_url: str = ""
    mode: IngestMode = "incremental"
    dry_run: bool = False
    job_id: int | None = None

    @property
    def is_site(self) -> bool:
        return self.path.lower().startswith(("http://", "https://"))

    def open(self, settings: Settings, tell: TellProgress = lambda progress: None) -> BookSource:
        from quoth.ingest import Progress  # brings the parsers along, which asking does not need

        def crawled(done: int, total: int) -> None:
            tell(Progress(done, total, 0))

        return open_book(settings, self.path, self.book_id, self.base_url, crawled)


async def carry_out(quoth: Quoth, command: IngestCommand, *, quiet: bool) -> tuple[IngestJob, FilePlan]:
    plans: list[FilePlan] = []
    with progress_bar("Reading", quiet=quiet) as bar:

        def tell(progress: Progress) -> None:
            done, total, chunks = progress.pages_done, progress.pages_total, progress.chunks_embedded
            rate = chunks / bar.elapsed if bar.elapsed else 0.0
            bar(done + progress.share, total, f"{done}/{total} pages · {chunks} chunks · {rate:.0f}/s")

        def planned(plan: FilePlan) -> None:
            plans.append(plan)
            if not command.dry_run:
                bar.say(summary(plan))

        source = await asyncio.to_thread(command.open, quoth.settings, tell)
        try:
            job = await quoth.ingest.run(
                source, mode=command.mode, dry_run=command.dry_run, tell=tell, planned=planned, job_id=command.job_id
            )
        finally:
            source.close()  # a crawl runs in a thread, which would not hear of Ctrl-C
    return job, plans[0]


def ingest_path(settings: Settings, path: Path, *, book_id: str) -> IngestJob:
    job, _ = run(settings, lambda quoth: carry_out(quoth, IngestCommand(str(path), book_id), quiet=False))
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
    command = IngestCommand(path, book or settings.book or book_id_for(path), base_url, chosen, dry_run, job_id)
    if watch:
        _refuse_watch(command, json=json)
        _watch(settings, command)
        return

    async def work(quoth: Quoth) -> tuple[IngestJob, FilePlan, int]:
        job, plan = await carry_out(quoth, command, quiet=json)
        return job, plan, len(await quoth.books())

    job, plan, books = run(settings, work)
    if json:
        print_json({**job_view(job), "plan": plan_view(plan, job)} if dry_run else job_view(job))
    else:
        _print(job, plan)
        if not dry_run and not job.files_failed:
            which = ("--book", job.book_id) if books > 1 else ()
            typer.echo("Ask it: " + command_line("ask", *which, '"…"', data_dir=data_dir))
    if job.files_failed:
        if not json:
            sys.stderr.write(f"quoth: {job.files_failed} pages could not be read; the others are in.\n")
        raise typer.Exit(Unreadable.exit_code)


def _print(job: IngestJob, plan: FilePlan) -> None:
    print_notices(job.notices)
    if job.dry_run:
        print_plan(plan, job)
    print_job(job)


def _refuse_watch(command: IngestCommand, *, json: bool) -> None:
    if json or command.dry_run:
        other = "--json" if json else "--dry-run"
        raise WrongUsage(f"--watch does not go with {other}.", hint="Leave one of them out.")
    if command.is_site:
        raise WrongUsage("A site cannot be watched.", hint="Run the ingest again now and then: it reads what changed.")


def _watch(settings: Settings, command: IngestCommand) -> None:
    from quoth.cli.watch import follow_edits

    async def work(quoth: Quoth) -> None:
        async def first() -> None:
            job, _ = await carry_out(quoth, command, quiet=False)
            print_notices(job.notices)
            print_job(job)

        again = replace(command, mode="incremental")
        await follow_edits(quoth, Path(command.path).absolute(), first, lambda: again.open(settings))

    try:
        run(settings, work)
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # the ^C of the terminal stands alone on its line


def _mode(value: str) -> IngestMode:
    match value:
        case "incremental" | "full" | "recreate":
            return value
    raise typer.BadParameter(f"{value!r} is not one of incremental, full, recreate.", param_hint="--mode")
