"""`quoth export`, `quoth import`: a book as JSON Lines, and back."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from quoth.bootstrap import Quoth
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.migrate import progress_bar
from quoth.domain import Chunk, Vector
from quoth.errors import Unreadable

if TYPE_CHECKING:
    from quoth.exchange import Imported


@app.command(epilog="Example: quoth export --book my-docs > my-docs.jsonl")
def export(
    book: BookId = None,
    vectors: Annotated[bool, typer.Option("--vectors", help="With vectors, so that an import embeds nothing.")] = False,
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Write every chunk with all its metadata and offsets as JSON Lines."""

    async def work(quoth: Quoth) -> None:
        from quoth.exchange import line_of

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
    file: Annotated[str, typer.Argument(help="What `quoth export` wrote; - reads standard input.")],
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Read an exported book back: the same chunks under the same ids, in place of what is there of the book."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    with opened(file) as lines:

        async def work(quoth: Quoth) -> Imported:
            from quoth.exchange import Importer

            importer = Importer(quoth.index, quoth.library, quoth.embedder, quoth.clock)
            with progress_bar("Importing", shown=not json and sys.stderr.isatty()) as tell:
                return await importer.run(lines, tell=tell)

        done = run(settings, work)
    if json:
        print_json(asdict(done))
        return
    what = f"{done.written} of {done.chunks} chunks written, {done.dropped} dropped, {done.embedded} embedded"
    typer.echo(f"Imported {done.title} ({done.book_id}), {done.pages} pages: {what}")


@contextmanager
def opened(file: str) -> Iterator[BinaryIO]:
    """Something that can be read twice."""
    if file == "-":
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            yield copy
        return
    try:
        lines = Path(file).open("rb")  # noqa: SIM115 - closed below; only opening it may fail here
    except OSError as error:
        raise Unreadable(
            f"{file} cannot be read: {error.strerror}.", hint="Give a file, or - to read a pipe."
        ) from error
    with lines:
        yield lines
