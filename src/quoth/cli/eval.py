"""`quoth eval`: golden questions through the same pipeline as every reader's, and what came of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quoth.ask.calibration import calibration_for
from quoth.bootstrap import Quoth
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.domain import Book
from quoth.errors import WrongUsage
from quoth.serve.shapes import timestamp
from quoth.versions import __version__

if TYPE_CHECKING:
    from quoth.evals.calibrate import Refit
    from quoth.evals.cases import GoldenSet
    from quoth.evals.report import Document
    from quoth.evals.run import Run, Tell

# What measures is imported where it is used: asking needs neither numpy nor tables.


@contextmanager
def progress_bar(shown: bool) -> Iterator[Tell]:
    if not shown:
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("Asking"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@app.command("eval", epilog="Example: quoth eval examples/golden.yaml --fail-under hit@5=0.95 --html report.html")
def evaluate(
    file: Annotated[Path, typer.Argument(help="Golden questions in YAML; docs/evaluation.md shows the format.")],
    book: BookId = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", help="Compare with this report of an earlier --json.", metavar="OLD")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 1 when the metric is below; may be repeated.", metavar="METRIC=VALUE"),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(help="The same for metrics of which less is better.", metavar="METRIC=VALUE"),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when a label is stale.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with the curve and every failure.")] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Fit confidence to this book, and use it if it proves better.")
    ] = False,
    concurrency: Annotated[
        int, typer.Option(min=1, max=64, help="Questions under way at once; more than 1 blurs the latencies.")
    ] = 1,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Ask golden questions and measure: what was found, quoted, refused, how sure, how fast. No model is needed."""
    from quoth.evals import report as reports
    from quoth.evals.cases import read_cases

    golden = read_cases(file)
    old = reports.read_report(compare) if compare else None
    floors = [reports.floor(text, at_most=False) for text in fail_under or ()]
    floors += [reports.floor(text, at_most=True) for text in fail_over or ()]
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    async def work(quoth: Quoth) -> Document:
        chosen = await quoth.choose_book(book or golden.book_id)
        with progress_bar(shown=not json and sys.stderr.isatty()) as tell:
            done = await _asked(quoth, chosen, golden, concurrency, tell)
        document = reports.report(golden, done, _about(quoth, chosen, golden, concurrency))
        if floors:
            document["floors"] = reports.check_floors(floors, done.results)
        if old is not None:
            document["comparison"] = reports.compare(old, done.results)
        if calibrate:
            document["fit"] = _calibrated(quoth, chosen, golden, done)
        return document

    document = run(settings, work, warm=True)
    if html is not None:
        _write_page(html, document)
    complaints = _complaints(document, strict=strict)
    if json:
        print_json(document)
    else:
        _print(document)
        sys.stderr.writelines(f"quoth: {line}\n" for line in complaints)
    if complaints:
        raise typer.Exit(1)


async def _asked(quoth: Quoth, book: Book, golden: GoldenSet, concurrency: int, tell: Tell) -> Run:
    from quoth.evals.run import Runner, RunOptions

    options = RunOptions(top_k=quoth.settings.top_k, concurrency=concurrency)
    runner = Runner(quoth.conversations, quoth.index, quoth.library, book_id=book.book_id, options=options)
    return await runner.run(golden.cases, tell)


def _about(quoth: Quoth, book: Book, golden: GoldenSet, concurrency: int) -> dict[str, Any]:
    """What was measured, and how."""
    own = quoth.calibrations.provenance(book.book_id)
    shipped = "shipped" if calibration_for(quoth.embedder.name) else "the rule for embedders without fitted numbers"
    source = "fitted to this book" if own else shipped
    note = ""
    if own and own.get("file_sha256") == golden.digest:
        note = "it was fitted on these very questions, so the figures of confidence and refusal flatter it"
    return {
        "quoth": __version__,
        "at": timestamp(quoth.clock.now()),
        "book_id": book.book_id,
        "fingerprint": quoth.index.fingerprint.as_dict(),
        "top_k": quoth.settings.top_k,
        "concurrency": concurrency,
        "confidence": {"source": source, "note": note},
    }


def _calibrated(quoth: Quoth, book: Book, golden: GoldenSet, done: Run) -> Document:
    from quoth.evals.calibrate import examples_of, refit
    from quoth.evals.report import fit_view

    fit = refit(examples_of(done.outcomes), quoth.embedder.name)
    view = fit_view(fit)
    path = quoth.calibrations.path(book.book_id)
    if fit.better:
        quoth.calibrations.write(book.book_id, fit.calibration, _provenance(quoth, golden, fit, view))
        view["verdict"] += f" Written to {path}; used from now on, until the file is deleted."
    else:
        stays = " The numbers fitted earlier stay." if quoth.calibrations(book.book_id) else ""
        view["verdict"] += f" Nothing was written.{stays}"
    return view


def _provenance(quoth: Quoth, golden: GoldenSet, fit: Refit, view: Document) -> dict[str, Any]:
    from quoth.evals.calibrate import ANSWERABLE_REFUSED, FOLDS

    return {
        "command": "quoth eval --calibrate",
        "quoth": __version__,
        "at": timestamp(quoth.clock.now()),
        "file": golden.name,
        "file_sha256": golden.digest,
        "questions": len(fit.examples),
        "held_out": f"{FOLDS} parts, all questions about one page in the same part",
        "threshold": f"at most {ANSWERABLE_REFUSED:.0%} of the answerable questions fitted on are refused",
        "shipped": view["shipped"],
        "refitted": view["refitted"],
    }


def _write_page(path: Path, document: Document) -> None:
    from quoth.evals.page import html_page

    try:
        path.write_text(html_page(document), encoding="utf-8")
    except OSError as error:
        raise WrongUsage(f"{path} cannot be written: {error.strerror}.", hint="Name another file.") from error


def _print(document: Document) -> None:
    from rich.console import Console

    from quoth.evals.terminal import comparison_table, fit_table, tables

    console = Console(highlight=False)
    shown = [*tables(document)]
    if "comparison" in document:
        shown += comparison_table(document["comparison"])
    if "fit" in document:
        shown += fit_table(document["fit"])
    for table in shown:
        console.print(table)
        console.print()
    if note := document["confidence"]["note"]:
        console.print(f"Confidence is {document['confidence']['source']}: {note}.")


def _complaints(document: Document, *, strict: bool) -> Sequence[str]:
    """Why the command fails, a line each."""
    lines = [
        f"{one['metric']} is {one['value']}, {'over' if one['at_most'] else 'under'} {one['bound']}."
        for one in document.get("floors", ())
        if not one["holds"]
    ]
    if strict:
        lines += [f"the label of {label['id']} is stale: {label['reason']}." for label in document["stale"]]
    return lines
