"""`quoth check-links`: does every link of a book open?

In: a book, by its id or its folder, and its site, built or published. Out: how many pages and anchors exist, and a
table of the missing ones; the exit code is 1 if there are any.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.bootstrap import Quoth, open_book, web_of
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.ingest import AUTO, UrlStyle, style_of
from quoth.cli.output import counted, harmless
from quoth.cli.progress import progress_bar
from quoth.errors import WrongUsage
from quoth.settings import Settings

if TYPE_CHECKING:
    from quoth.links import BadLink, Cited, LinkReport

SHOWN = 50  # bad links


@app.command(
    "check-links",
    epilog="Example: quoth check-links my-docs/ --site build/   or: quoth check-links --book my-docs"
    " --base-url https://docs.example.com",
)
def check_links(
    path: Annotated[str | None, typer.Argument(help="The book's folder.", show_default="the ingested book")] = None,
    book: BookId = None,
    site: Annotated[Path | None, typer.Option("--site", help="The folder of the built site.")] = None,
    base_url: Annotated[str, typer.Option(help="Where the book is published, if its project does not say.")] = "",
    url_style: UrlStyle = "",
    max_pages: Annotated[int | None, typer.Option(help="Fetch at most this many pages.", show_default="5,000")] = None,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Allow this machine and private networks.")
    ] = False,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Check that every page and anchor Quoth would cite exists."""
    if path and book:
        raise WrongUsage("A folder and --book cannot be combined.", hint="Leave one of them out.")
    settings = settings_for(
        data_dir=data_dir, verbose=verbose, max_pages=max_pages, allow_private=allow_private or None
    )
    if path:
        cited = _cited_by_folder(settings, path, base_url, style_of(url_style))
    else:
        cited = run(settings, lambda quoth: _cited_by_book(quoth, book, base_url))
    report = asyncio.run(_checked(settings, cited, site, quiet=json))
    if json:
        from quoth.links import report_view

        print_json(report_view(report))
    else:
        _print(report)
    if not report.ok:
        raise typer.Exit(1)


def _cited_by_folder(settings: Settings, path: str, base_url: str, url_style: str) -> Cited:
    from quoth.links import cited_by_source

    source = open_book(settings, path, "book", base_url, url_style="" if url_style == AUTO else url_style)
    try:
        return cited_by_source(source)
    finally:
        source.close()


async def _cited_by_book(quoth: Quoth, book_id: str | None, base_url: str) -> Cited:
    from quoth.links import cited_by_chunks

    book = await quoth.choose_book(book_id)
    cited = await cited_by_chunks(quoth.index.scan(book.book_id))
    return cited.rebased(book.base_url, base_url) if base_url else cited


async def _checked(settings: Settings, cited: Cited, site: Path | None, *, quiet: bool) -> LinkReport:
    from quoth.links import BuiltSite, check_published, compare

    with progress_bar("Checking", quiet=quiet) as bar:

        def tell(done: int, total: int) -> None:
            bar(done, total, f"{done}/{total} pages")

        if site is not None:
            return await compare(cited, BuiltSite(site, cited.pages).look, tell=tell)
        return await check_published(cited, web_of(settings, tell=tell))


def _print(report: LinkReport) -> None:
    _print_links("wrong", report.wrong)
    _print_links("not checked", report.unchecked)
    if report.redirected:
        typer.echo(f"{counted(report.redirected, 'page')} reached through a redirect.")
    typer.echo(
        f"{report.pages_found} of {counted(report.pages, 'page')} and {report.anchors_found} of"
        f" {counted(report.anchors, 'anchor')} found."
    )


def _print_links(what: str, links: Sequence[BadLink]) -> None:
    for link in links[:SHOWN]:
        nearest = f"; the nearest is #{link.nearest}" if link.nearest else ""
        place = f"{link.place.source_file}:{link.place.line}"
        typer.echo(harmless(f"{what}  {link.url}  {place}  {link.problem}{nearest}"))
    if len(links) > SHOWN:
        typer.echo(f"{what}  … and {len(links) - SHOWN} more (--json lists all)")
