"""`quoth eval`: asks golden questions through the pipeline that readers use, and reports the figures.

In: a YAML file, and what to do with the result (`--compare`, `--fail-under`, `--html`, `--calibrate`). Out: tables or
one JSON document, and an exit code for CI. Measures nothing itself: that is in `quoth.evals`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quoth.ask.calibration import calibration_for
from quoth.bootstrap import Quoth
from quoth.cli.app import BookId, DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.progress import progress_bar
from quoth.domain import Book
from quoth.domain.versions import __version__
from quoth.errors import WrongUsage
from quoth.serve.shapes import timestamp

if TYPE_CHECKING:
    from quoth.evals.calibrate import Refit
    from quoth.evals.cases import GoldenSet
    from quoth.evals.report import Document
    from quoth.evals.run import Run
    from quoth.ports import TellSteps

# quoth.evals is imported where it is used: other commands need neither numpy nor tables.


GoldenFile = Annotated[Path, typer.Argument(help="Golden questions in YAML; docs/evaluation.md shows the format.")]
OldReport = Annotated[
    Path | None, typer.Option("--compare", help="Compare with the --json report of an earlier run.", metavar="OLD")
]
FailUnder = Annotated[
    list[str] | None,
    typer.Option(help="Exit with 1 if the metric is lower; may be repeated.", metavar="METRIC=VALUE"),
]
FailOver = Annotated[
    list[str] | None,
    typer.Option(help="Exit with 1 if the metric is higher, for metrics where less is better.", metavar="METRIC=VALUE"),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if a label is stale.")]
HtmlFile = Annotated[Path | None, typer.Option("--html", help="Write an HTML page with the curve and every failure.")]
Calibrate = Annotated[
    bool, typer.Option("--calibrate", help="Fit the confidence to this book; keep the fit if it is better.")
]
Concurrency = Annotated[
    int, typer.Option(min=1, max=64, help="Questions asked at once; more than 1 distorts the latencies.")
]


@app.command("eval", epilog="Example: quoth eval examples/golden.yaml --fail-under hit@5=0.95 --html report.html")
def evaluate(
    file: GoldenFile,
    book: BookId = None,
    compare: OldReport = None,
    fail_under: FailUnder = None,
    fail_over: FailOver = None,
    strict: Strict = False,
    html: HtmlFile = None,
    calibrate: Calibrate = False,
    concurrency: Concurrency = 1,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Measure a book with questions whose answers are known. Shows what is found, quoted and refused, and how fast."""
    from quoth.evals import report as reports
    from quoth.evals.cases import read_cases

    golden = read_cases(file)
    old = reports.read_report(compare) if compare else None
    floors = [reports.floor(text, at_most=False) for text in fail_under or ()]
    floors += [reports.floor(text, at_most=True) for text in fail_over or ()]
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    async def work(quoth: Quoth) -> Document:
        chosen = await quoth.choose_book(book or golden.book_id)
        with progress_bar("Asking", quiet=json) as tell:
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


async def _asked(quoth: Quoth, book: Book, golden: GoldenSet, concurrency: int, tell: TellSteps) -> Run:
    from quoth.evals.run import Runner, RunOptions

    options = RunOptions(
        top_k=quoth.settings.top_k,
        similarity_threshold=quoth.settings.similarity_threshold,
        concurrency=concurrency,
    )
    runner = Runner(quoth.conversations, quoth.index, quoth.library, book_id=book.book_id, options=options)
    return await runner.run(golden.cases, tell)


def _about(quoth: Quoth, book: Book, golden: GoldenSet, concurrency: int) -> dict[str, Any]:
    """What was measured and how."""
    own = quoth.calibrations.provenance(book.book_id)
    shipped = (
        "shipped"
        if calibration_for(quoth.embedder.name, quoth.reader_name)
        else "the rule for embedders without fitted numbers"
    )
    source = "fitted to this book" if own else shipped
    note = ""
    if own and own.get("file_sha256") == golden.digest:
        note = "it was fitted on these very questions, so the figures for confidence and refusal look too good"
    return {
        "quoth": __version__,
        "at": timestamp(quoth.clock.now()),
        "book_id": book.book_id,
        "fingerprint": quoth.index.fingerprint.as_dict(),
        "top_k": quoth.settings.top_k,
        "similarity_threshold": quoth.settings.similarity_threshold,
        "concurrency": concurrency,
        "confidence": {"source": source, "note": note},
    }


def _calibrated(quoth: Quoth, book: Book, golden: GoldenSet, done: Run) -> Document:
    from quoth.evals.calibrate import examples_of, refit
    from quoth.evals.report import fit_view

    fit = refit(examples_of(done.outcomes), quoth.embedder.name, quoth.reader_name)
    view = fit_view(fit)
    path = quoth.calibrations.path(book.book_id)
    if fit.better:
        quoth.calibrations.write(book.book_id, fit.calibration, _provenance(quoth, golden, fit, view))
        view["verdict"] += f" Written to {path}, and used until that file is deleted."
    else:
        stays = " The earlier fit stays in use." if quoth.calibrations(book.book_id) else ""
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
    from quoth.evals.html import html_page

    try:
        path.write_text(html_page(document), encoding="utf-8")
    except OSError as error:
        raise WrongUsage(f"{path} cannot be written: {error.strerror}.", hint="Give another file name.") from error


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
    """Why the command fails, one line per reason."""
    lines = [
        f"{one['metric']} is {one['value']}, {'over' if one['at_most'] else 'under'} {one['bound']}."
        for one in document.get("floors", ())
        if not one["holds"]
    ]
    if strict:
        lines += [f"The label of {label['id']} is stale: {label['reason']}." for label in document["stale"]]
    return lines
