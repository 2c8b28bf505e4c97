"""`quoth books`, `quoth status`, `quoth delete-book`: what is stored."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from quoth.bootstrap import Quoth
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.domain import Book, IndexStatus
from quoth.errors import UnknownBook
from quoth.serve.library_views import BookFields, book_view, job_view


async def _status(quoth: Quoth, book: Book) -> IndexStatus | None:
    """A book whose index is gone is still listed, so that it can be ingested again or deleted."""
    try:
        return await quoth.index.status(book.book_id)
    except UnknownBook:
        return None


@app.command(epilog="Example: quoth books --json")
def books(data_dir: DataDir = None, json: Json = False, verbose: Verbose = False) -> None:
    """List the books."""

    async def work(quoth: Quoth) -> list[BookFields]:
        return [book_view(book, await _status(quoth, book)) for book in await quoth.library.books()]

    rows = run(settings_for(data_dir=data_dir, verbose=verbose), work)
    if json:
        print_json({"books": rows})
        return
    if not rows:
        typer.echo("No book yet. Add one: quoth ingest PATH")
    for row in rows:
        typer.echo(f"{row['book_id']}  {row['title']}  ({row['chunks']} chunks, {row['toolchain']})  {row['base_url']}")


@app.command(epilog="Example: quoth status --book my-docs")
def status(book: BookId = None, data_dir: DataDir = None, json: Json = False, verbose: Verbose = False) -> None:
    """Say what is stored, where, how it was built, and how the last job went."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    async def work(quoth: Quoth) -> dict[str, Any]:
        wanted = [await quoth.library.book(book)] if book else await quoth.library.books()
        return {
            "data_dir": str(settings.data_dir),
            "fingerprint": quoth.index.fingerprint.as_dict(),
            "books": [
                {
                    **book_view(one, await _status(quoth, one)),
                    "pages": len(await quoth.library.page_records(one.book_id)),
                    "last_job": next((job_view(job) for job in await quoth.library.jobs(one.book_id, limit=1)), None),
                }
                for one in wanted
            ],
        }

    view = run(settings, work)
    if json:
        print_json(view)
        return
    typer.echo(f"Data directory: {view['data_dir']}")
    if not view["books"]:
        typer.echo("No book yet. Add one: quoth ingest PATH")
    for row in view["books"]:
        job = row["last_job"]
        typer.echo(f"\n{row['title']} ({row['book_id']}), {row['toolchain']}, from {row['source']}")
        typer.echo(f"  {row['pages']} pages, {row['chunks']} chunks, {row['bytes_on_disk'] / 1e6:.1f} MB, ", nl=False)
        typer.echo(f"generation {row['generation']}")
        if row["fingerprint"] is not None and row["fingerprint"] != view["fingerprint"]:
            typer.echo("  built otherwise than this Quoth builds: ingest it again with --mode recreate")
        if job:
            typer.echo(f"  last job {job['job_id']}: {job['status']}, {job['mode']}, started {job['started_at']}")


@app.command("delete-book", epilog="Example: quoth delete-book my-docs --yes")
def delete_book(
    book_id: Annotated[str, typer.Argument(help="The book to delete.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Delete a book: its index, its records and its jobs. Conversations stay."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    async def work(quoth: Quoth) -> None:
        book = await quoth.library.book(book_id)
        if not yes:
            typer.confirm(f"Delete {book.title} ({book_id})?", abort=True, err=True)
        if await _status(quoth, book) is not None:
            await quoth.index.delete_book(book_id)
        await quoth.library.delete_book(book_id)

    run(settings, work)
    if json:
        print_json({"deleted": book_id})
    else:
        typer.echo(f"Deleted {book_id}.")
