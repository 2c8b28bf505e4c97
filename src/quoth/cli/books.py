"""`quoth books`, `quoth status`, `quoth verify`, `quoth delete-book`: what is stored.

A book whose index is gone is still listed, so that it can be ingested again or deleted.
"""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from quoth.bootstrap import Quoth
from quoth.cli.app import AnyBookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.output import counted, echo, harmless
from quoth.domain import Book
from quoth.errors import IndexDamaged, IndexMismatch, UnknownBook, Unsupported
from quoth.index import status_of
from quoth.serve.library_views import BookFields, book_state, job_view


@app.command(epilog="Example: quoth books --json")
def books(data_dir: DataDir = None, json: Json = False, verbose: Verbose = False) -> None:
    """List the books."""

    async def work(quoth: Quoth) -> list[BookFields]:
        known = await quoth.books()
        return [await book_state(quoth, book, await status_of(quoth.index, book.book_id)) for book in known]

    rows = run(settings_for(data_dir=data_dir, verbose=verbose), work)
    if json:
        print_json({"books": rows})
        return
    if not rows:
        typer.echo("No book yet. Add one: quoth ingest PATH")
    for row in rows:
        holds = f"({counted(row['chunks'], 'chunk')}, {row['toolchain']})"
        echo(f"{row['book_id']}  {row['title']}  {holds}  {row['base_url']}")


@app.command(epilog="Example: quoth status --book my-docs")
def status(book: AnyBookId = None, data_dir: DataDir = None, json: Json = False, verbose: Verbose = False) -> None:
    """Show what is stored: sources, sizes, state and last job."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    async def work(quoth: Quoth) -> dict[str, Any]:
        wanted = [await quoth.book(book)] if book else await quoth.books()
        return {
            "data_dir": str(settings.data_dir),
            "fingerprint": quoth.index.fingerprint.as_dict(),
            "books": [
                {
                    **await book_state(quoth, one, found := await status_of(quoth.index, one.book_id)),
                    "outdated": found is not None and found.outdated,
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
        echo(f"\n{row['title']} ({row['book_id']}), {row['toolchain']}, from {row['source']}")
        size = f"{row['bytes_on_disk'] / 1e6:.1f} MB, generation {row['generation']}"
        typer.echo(f"  {counted(row['pages'], 'page')}, {counted(row['chunks'], 'chunk')}, {size}")
        again = f"build it again: {_recreation(row['book_id'], row['source'])}"
        if row["outdated"]:
            typer.echo(f"  built by an earlier Quoth; {again}")
        elif row["fingerprint"] is not None and row["fingerprint"] != view["fingerprint"]:
            typer.echo(f"  built with different settings; {again}")
        if job:
            typer.echo(f"  last job {job['job_id']}: {job['status']}, {job['mode']}, started {job['started_at']}")


@app.command(epilog="Example: quoth verify --book my-docs")
def verify(book: AnyBookId = None, data_dir: DataDir = None, json: Json = False, verbose: Verbose = False) -> None:
    """Check that every index file is still as it was published."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    async def work(quoth: Quoth) -> list[dict[str, Any]]:
        wanted = [await quoth.book(book)] if book else await quoth.books()
        return [await _verified(quoth, one) for one in wanted]

    rows = run(settings, work)
    damaged = [row for row in rows if row["problem"]]
    if json:
        print_json({"books": rows})
    for row in [] if json else rows:
        if row["problem"]:
            typer.echo(harmless(f"{row['problem']} {row['hint']}"), err=True)
        else:
            typer.echo(f"{row['book_id']}: {row['files']} files, {row['bytes'] / 1e6:.1f} MB, all as published")
    if not rows and not json:
        typer.echo("No book yet. Add one: quoth ingest PATH")
    if damaged:
        raise typer.Exit(1)


async def _verified(quoth: Quoth, book: Book) -> dict[str, Any]:
    from quoth.index.embedded import EmbeddedIndex

    if not isinstance(quoth.index, EmbeddedIndex):
        raise Unsupported(
            "The index is on a Qdrant server, which checks its own files.", hint="See the log of that server."
        )
    row: dict[str, Any] = {"book_id": book.book_id, "files": 0, "bytes": 0, "problem": "", "hint": "", "damage": []}
    try:
        verified = await quoth.index.verify(book.book_id)
    except (IndexDamaged, IndexMismatch) as error:
        row |= {"problem": error.message, "damage": error.details.get("damage", [])}
    except UnknownBook:
        row |= {"problem": f"The index of {book.book_id!r} is missing."}
    else:
        row |= {"files": verified.files, "bytes": verified.bytes}
    return row | ({"hint": f"Build it again: {_recreation(book.book_id, book.source)}"} if row["problem"] else {})


def _recreation(book_id: str, source: str) -> str:
    return f"quoth ingest {shlex.quote(source) if source else 'PATH'} --book {book_id} --mode recreate"


@app.command("delete-book", epilog="Example: quoth delete-book my-docs --yes")
def delete_book(
    book_id: Annotated[str, typer.Argument(help="The book to delete.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Delete a book: its index, its records and its jobs. Conversations stay."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    async def work(quoth: Quoth) -> None:
        book = await quoth.book(book_id)
        if not yes:
            typer.confirm(f"Delete {book.title} ({book_id})?", abort=True, err=True)
        if book_id in await quoth.index.books():
            await quoth.index.delete_book(book_id)
        await quoth.library.delete_book(book_id)

    run(settings, work)
    if json:
        print_json({"deleted": book_id})
    else:
        typer.echo(f"Deleted {book_id}.")
