"""`quoth export` and `quoth import`: a book as JSON Lines. `quoth migrate-index`: moves books between files and Qdrant,
and reads the texts of a collection that another program made.

In: a book, a file, a collection, or two indexes. Out: lines on standard output, or counts of what was written. Embeds
only texts that come without one of our vectors.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from quoth.bootstrap import Quoth, book_id_for, cluster_index, embedded_index
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.output import counted, echo, print_job, print_notices
from quoth.cli.progress import progress_bar
from quoth.domain import Book, Chunk, IngestJob, Vector
from quoth.errors import UnknownBook, Unreadable, WrongUsage
from quoth.ports import Library
from quoth.providers import qdrant_options
from quoth.serve.library_views import job_view
from quoth.settings import Settings

if TYPE_CHECKING:
    from quoth.export import Imported
    from quoth.ingest import Progress
    from quoth.migrate import Moved


# --- migrate-index ---------------------------------------------------------------------------------------------------


@app.command("migrate-index", epilog="Example: quoth migrate-index --to cluster --dry-run")
def migrate_index(
    to: Annotated[
        str, typer.Option(help="cluster: the Qdrant server of QDRANT_URL · embedded: files in the data directory.")
    ] = "",
    from_collection: Annotated[
        str,
        typer.Option(help="A collection at QDRANT_URL that another program made; its texts are embedded again."),
    ] = "",
    book: Annotated[
        str | None,
        typer.Option(
            "--book",
            help="The book to copy; with --from-collection, the id to store it under.",
            show_default="all books, or the collection's name",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be copied without changing anything.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a book even if the copy at the target is newer.")
    ] = False,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Copy books to a Qdrant server, or back. They are not embedded again, and the originals stay."""
    if to not in (("cluster", "embedded", "") if from_collection else ("cluster", "embedded")):
        raise typer.BadParameter(f"{to!r} is not one of cluster, embedded.", param_hint="--to")
    settings = settings_for(data_dir=data_dir, verbose=verbose)
    if from_collection:
        _adopt(settings, from_collection, book, embedded=to == "embedded", dry_run=dry_run, json=json)
        return

    moved = _move(settings, book, to_cluster=to == "cluster", force=force, dry_run=dry_run, quiet=json)
    if json:
        print_json({"to": to, "books": [asdict(one) for one in moved]})
        return
    for one in moved:
        verb = "Would move" if dry_run else "Moved"
        what = f"{one.written} of {one.chunks} chunks written, {one.dropped} dropped, none embedded"
        typer.echo(f"{verb} {one.book_id} to the {'cluster' if to == 'cluster' else 'embedded index'}: {what}")
    if not dry_run:
        wanted = "Keep QDRANT_URL set" if to == "cluster" else "Unset QDRANT_URL"
        typer.echo(f"{wanted}, and every command uses it.")


def _move(
    settings: Settings, book: str | None, *, to_cluster: bool, force: bool, dry_run: bool, quiet: bool
) -> list[Moved]:
    async def work(quoth: Quoth) -> list[Moved]:
        from quoth.migrate import move_book

        async with AsyncExitStack() as closing:
            fingerprint = quoth.index.fingerprint
            embedded, cluster = embedded_index(settings, fingerprint), cluster_index(settings, fingerprint)
            closing.push_async_callback(embedded.close)
            closing.push_async_callback(cluster.close)
            source, target = (embedded, cluster) if to_cluster else (cluster, embedded)
            books = [book] if book else await source.books()
            if not books:
                raise UnknownBook("There is no book to move.", hint="`quoth ingest PATH` adds one.")
            moved = []
            for book_id in books:
                with progress_bar(f"Moving {book_id}", quiet=quiet) as tell:
                    known = await _known(quoth.library, book_id)
                    moved.append(
                        await move_book(book_id, source, target, force=force, dry_run=dry_run, tell=tell, book=known)
                    )
            return moved

    return run(settings, work)


def _adopt(settings: Settings, name: str, book: str | None, *, embedded: bool, dry_run: bool, json: bool) -> None:
    if name == settings.qdrant_collection_name and not embedded:
        raise WrongUsage(
            f"The collection {name!r} cannot be read and written at the same time.",
            hint="Set QDRANT_COLLECTION_NAME to a new name for the index, or add --to embedded.",
        )

    async def work(quoth: Quoth) -> IngestJob:
        from quoth.index.qdrant_foreign import foreign_payloads
        from quoth.ingest import Ingest
        from quoth.sources.collection import CollectionSource

        payloads = [payload async for payload in foreign_payloads(qdrant_options(settings), name)]
        source = CollectionSource(name, payloads, book_id=book or book_id_for(name))
        async with AsyncExitStack() as closing:
            index = quoth.index
            if embedded:
                index = embedded_index(settings, index.fingerprint)
                closing.push_async_callback(index.close)
            ingest = Ingest(index, quoth.library, quoth.embedder, quoth.clock)
            with progress_bar(f"Reading {name}", quiet=json) as bar:

                def tell(progress: Progress) -> None:
                    bar(progress.pages_done + progress.share, progress.pages_total)

                return await ingest.run(source, dry_run=dry_run, tell=tell)

    job = run(settings, work)
    if json:
        print_json(job_view(job))
    else:
        print_notices(job.notices)
        print_job(job)


async def _known(library: Library, book_id: str) -> Book | None:
    try:
        return await library.book(book_id)
    except UnknownBook:
        return None


# --- export and import -----------------------------------------------------------------------------------------------


@app.command(epilog="Example: quoth export --book my-docs > my-docs.jsonl")
def export(
    book: BookId = None,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Include the vectors; an import then embeds nothing.")
    ] = False,
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Write a book as JSON Lines. Every chunk comes with its metadata and offsets."""

    async def work(quoth: Quoth) -> None:
        from quoth.export import line_of

        chosen = await quoth.choose_book(book)
        pages = await quoth.library.page_records(chosen.book_id)
        async for chunk, vector in _chunks(quoth, chosen.book_id, vectors=vectors):
            line = line_of(chunk, chosen, pages.get(chunk.source_file), vector, quoth.embedder.name)
            sys.stdout.write(line + "\n")

    run(settings_for(data_dir=data_dir, verbose=verbose), work)


async def _chunks(quoth: Quoth, book_id: str, *, vectors: bool) -> AsyncIterator[tuple[Chunk, Vector | None]]:
    if vectors:
        async for point in quoth.index.points(book_id):
            yield point.chunk, point.dense
    else:
        async for chunk in quoth.index.scan(book_id):
            yield chunk, None


@app.command(
    "import", epilog="Example: quoth import my-docs.jsonl   or: quoth export --vectors | ssh host quoth import -"
)
def import_book(
    file: Annotated[str, typer.Argument(help="A file that `quoth export` wrote; - reads standard input.")],
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Read an exported book back, with the same chunks and ids. It replaces a book with the same id."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    with opened(file) as lines:

        async def work(quoth: Quoth) -> Imported:
            from quoth.export import Importer

            importer = Importer(quoth.index, quoth.library, quoth.embedder, quoth.clock)
            with progress_bar("Importing", quiet=json) as tell:
                return await importer.run(lines, tell=tell)

        done = run(settings, work)
    if json:
        print_json(asdict(done))
        return
    what = f"{done.written} of {done.chunks} chunks written, {done.dropped} dropped, {done.embedded} embedded"
    echo(f"Imported {done.title} ({done.book_id}), {counted(done.pages, 'page')}: {what}")


@contextmanager
def opened(file: str) -> Iterator[BinaryIO]:
    """A stream that can be read twice, even from a pipe."""
    if file == "-":
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            yield copy
        return
    try:
        lines = Path(file).open("rb")  # noqa: SIM115 - closed below; only opening may fail here
    except OSError as error:
        raise Unreadable(
            f"{file} cannot be read: {error.strerror}.", hint="Give a file, or - for standard input."
        ) from error
    with lines:
        yield lines
