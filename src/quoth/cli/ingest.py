"""`quoth ingest`: reads a book into the index, once or (`--watch`) after every edit.

In: a folder or the URL of a site. Out: what was read, added and dropped, or with `--dry-run` what would be.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.bootstrap import Quoth, book_id_for, open_book
from quoth.cli.app import DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.output import command_line, cost, counted, print_coverage, print_job, print_notices, print_plan, summary
from quoth.cli.progress import progress_bar
from quoth.domain import URL_STYLES, IngestJob, IngestMode
from quoth.errors import UnknownBook, Unreadable, WrongUsage
from quoth.serve.library_views import job_view, plan_view
from quoth.settings import Settings

if TYPE_CHECKING:
    from quoth.chunks.plan import FilePlan
    from quoth.ingest import Progress, TellProgress
    from quoth.sources import BookSource


AUTO = "auto"  # for --url-style: the toolchain's own style


@dataclass(frozen=True, slots=True)
class IngestCommand:
    """One `quoth ingest` as it was typed."""

    path: str
    book_id: str
    base_url: str = ""
    mode: IngestMode = "incremental"
    dry_run: bool = False
    job_id: int | None = None
    url_style: str = ""
    project: Path | None = None

    @property
    def is_site(self) -> bool:
        return self.path.lower().startswith(("http://", "https://"))

    def open(self, settings: Settings, tell: TellProgress = lambda progress: None) -> BookSource:
        from quoth.ingest import Progress  # imports the parsers, which asking does not need

        def crawled(done: int, total: int) -> None:
            tell(Progress(done, total, 0))

        return open_book(
            settings, self.path, self.book_id, self.base_url, crawled, url_style=self.url_style, project=self.project
        )

    async def remembering(self, quoth: Quoth) -> IngestCommand:
        """This command, with the URL options of the book's last ingest filled in. `auto` forgets the style. The
        remembered base URL applies only if the project does not name one."""
        said = replace(self, url_style="" if self.url_style == AUTO else self.url_style)
        try:
            known = await quoth.library.book(self.book_id)
        except UnknownBook:
            return said
        command = said if self.url_style else replace(said, url_style=known.url_style)
        if self.base_url or self.is_site or not known.base_url or await asyncio.to_thread(command._says_where, quoth):
            return command
        return replace(command, base_url=known.base_url)

    def _says_where(self, quoth: Quoth) -> bool:
        source = self.open(quoth.settings)
        try:
            return bool(source.book.base_url)
        finally:
            source.close()


async def carry_out(quoth: Quoth, command: IngestCommand, *, quiet: bool) -> tuple[IngestJob, FilePlan]:
    """Before a remote embedder is used, print how much it will have to embed."""
    plans: list[FilePlan] = []
    command = await command.remembering(quoth)
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
            if quoth.embedder.remote and not command.dry_run and not quiet:
                planned_job = await quoth.ingest.run(source, mode=command.mode, dry_run=True)
                bar.say(cost(planned_job, quoth.embedder.name), always=True)
            job = await quoth.ingest.run(
                source, mode=command.mode, dry_run=command.dry_run, tell=tell, planned=planned, job_id=command.job_id
            )
        finally:
            source.close()  # a crawl runs in a thread, where Ctrl-C does not reach it
    return job, plans[0]


def ingest_path(settings: Settings, path: Path, *, book_id: str) -> IngestJob:
    job, _ = run(settings, lambda quoth: carry_out(quoth, IngestCommand(str(path), book_id), quiet=False))
    return job


Place = Annotated[
    str,
    typer.Argument(help="The book's folder or project, a single file, or the URL of a site or its sitemap."),
]
NewBookId = Annotated[
    str | None,
    typer.Option("--book", help="The id to store the book under.", show_default="QUOTH_BOOK or the folder's name"),
]
BaseUrl = Annotated[str, typer.Option(help="Where the book is published; citations link there.")]
Mode = Annotated[
    str, typer.Option(help="incremental: read what changed · full: read everything · recreate: start over.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the plan (pages, chunks, embeddings) without changing anything.")
]
Watch = Annotated[bool, typer.Option("--watch", help="Keep running and ingest every edit until Ctrl-C.")]
MaxPages = Annotated[int | None, typer.Option(help="For a site: read at most this many pages.", show_default="5,000")]
AllowPrivate = Annotated[
    bool, typer.Option("--allow-private", help="For a site: allow this machine and private networks.")
]
UrlStyle = Annotated[
    str,
    typer.Option(
        help="How the site writes URLs: html (a/b.html) · slash (a/b/) · bare (a/b) · auto. It is remembered.",
        show_default="as in the last ingest, else auto",
    ),
]
Project = Annotated[
    Path | None,
    typer.Option(
        "--project", help="The folder whose files the book may include.", show_default="the book's Git checkout"
    ),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", help="Write an HTML page for the author: what was read, what was not, and every note."),
]
JobId = Annotated[int | None, typer.Option(hidden=True, help="The queued job to take over (for the server).")]


@app.command(epilog="Example: quoth ingest my-docs/ --book my-docs --base-url https://docs.example.com")
def ingest(
    path: Place,
    book: NewBookId = None,
    base_url: BaseUrl = "",
    mode: Mode = "incremental",
    dry_run: DryRun = False,
    watch: Watch = False,
    max_pages: MaxPages = None,
    allow_private: AllowPrivate = False,
    url_style: UrlStyle = "",
    project: Project = None,
    report: Report = None,
    job_id: JobId = None,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Read a book into the index. It may be a documentation project (docs/books.md lists the tools), a folder of files,
    or a published site."""
    chosen = _mode(mode)
    settings = settings_for(
        data_dir=data_dir, verbose=verbose, max_pages=max_pages, allow_private=allow_private or None
    )
    command = IngestCommand(path, book or settings.book or book_id_for(path), base_url, chosen, dry_run, job_id)
    command = replace(command, url_style=style_of(url_style), project=project)
    if watch:
        _refuse_watch(command, json=json, report=report is not None)
        _watch(settings, command)
        return

    async def work(quoth: Quoth) -> tuple[IngestJob, FilePlan, int, str]:
        job, plan = await carry_out(quoth, command, quiet=json)
        if report is not None:
            await _write_report(quoth, report, job)
        return job, plan, len(await quoth.books()), quoth.embedder.name

    job, plan, books, embedder = run(settings, work)
    if json:
        print_json({**job_view(job), "plan": plan_view(plan, job)} if dry_run else job_view(job))
    else:
        _print(job, plan, embedder)
        if not dry_run and not job.files_failed:
            which = ("--book", job.book_id) if books > 1 else ()
            typer.echo("Ask it: " + command_line("ask", *which, '"…"', data_dir=data_dir))
    if complaint := _complaint(job):
        if not json:
            sys.stderr.write(f"quoth: {complaint}\n")
        raise typer.Exit(Unreadable.exit_code)


def _complaint(job: IngestJob) -> str:
    """Why a finished job did not read the book; empty if it did."""
    if job.files_failed:
        return f"{counted(job.files_failed, 'page')} could not be read; all others were ingested."
    if job.coverage is not None and job.coverage.mostly_lost:
        return "Most of the text in this folder could not be read; see the notes above."
    return ""


def _print(job: IngestJob, plan: FilePlan, embedder: str) -> None:
    print_notices(job.notices)
    print_coverage(job.coverage)
    if job.dry_run:
        print_plan(plan, job)
        typer.echo(cost(job, embedder))
    print_job(job)


async def _write_report(quoth: Quoth, path: Path, job: IngestJob) -> None:
    from quoth.serve.author_page import author_page

    page = await author_page(quoth.library, job)
    try:
        await asyncio.to_thread(path.write_text, page, encoding="utf-8")
    except OSError as error:
        raise WrongUsage(f"{path} cannot be written: {error.strerror}.", hint="Give another file name.") from error


def _refuse_watch(command: IngestCommand, *, json: bool, report: bool) -> None:
    if json or command.dry_run or report:
        other = "--json" if json else "--dry-run" if command.dry_run else "--report"
        raise WrongUsage(f"--watch and {other} cannot be combined.", hint="Leave one of them out.")
    if command.is_site:
        raise WrongUsage(
            "A site cannot be watched.", hint="Run the ingest again from time to time; it reads only what changed."
        )


def _watch(settings: Settings, command: IngestCommand) -> None:
    from quoth.cli.watch import follow_edits

    async def work(quoth: Quoth) -> None:
        async def first() -> None:
            job, _ = await carry_out(quoth, command, quiet=False)
            print_notices(job.notices)
            print_coverage(job.coverage)
            print_job(job)

        again = replace(await command.remembering(quoth), mode="incremental")
        place = Path(command.path).absolute()
        folder = place.parent if place.is_file() else place
        await follow_edits(quoth, folder, first, lambda: again.open(settings))

    try:
        run(settings, work)
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # after the ^C that the terminal printed


def style_of(value: str) -> str:
    if value not in ("", AUTO, *URL_STYLES):
        raise typer.BadParameter(f"{value!r} is not one of {', '.join((*URL_STYLES, AUTO))}.", param_hint="--url-style")
    return value


def _mode(value: str) -> IngestMode:
    match value:
        case "incremental" | "full" | "recreate":
            return value
    raise typer.BadParameter(f"{value!r} is not one of incremental, full, recreate.", param_hint="--mode")
