"""`quoth explain`: how an answer came about.

In: the stored trace of an answer. Out: the trace as JSON, or as tables in the order of the pipeline: question, both
rank lists, combined list, verdict, answer, check, times.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quoth.bootstrap import Quoth
from quoth.cli.app import DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.cli.output import harmless
from quoth.domain import Trace
from quoth.insight.trace import hide
from quoth.serve.shapes import timestamp

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPED = 120  # columns when there is no terminal
Row = dict[str, Any]


@app.command(epilog="Example: quoth explain 0b8a1f0e-5a53-4f86-9a40-2f4be1b5a111")
def explain(
    request_id: Annotated[
        str | None, typer.Argument(help="The request_id of an answer.", show_default="the last answer")
    ] = None,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show how an answer came about. What was searched and found, and how it was judged, written and checked."""

    async def work(quoth: Quoth) -> Trace:
        return await quoth.library.trace(request_id)

    trace = run(settings_for(data_dir=data_dir, verbose=verbose), work)
    trace = replace(trace, record=hide(trace.record))  # earlier versions stored the question unredacted
    if json:
        print_json(view(trace))
    else:
        show(trace)


def view(trace: Trace) -> Row:
    return {
        "request_id": trace.request_id,
        "session_id": trace.session_id,
        "book_id": trace.book_id,
        "timestamp": timestamp(trace.created_at),
        **trace.record,
    }


def show(trace: Trace) -> None:
    from rich.console import Console

    record = trace.record
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED)
    _question(console, trace)
    _ranks(console, record)
    _fused(console, record["fused"])
    _verdict(console, record["verdict"])
    _answer(console, record["answer"], record["grounding"])
    times = record["times"]
    stages = " · ".join(f"{stage} {spent:.1f}" for stage, spent in times["stages"].items())
    first = "" if times["first_word"] is None else f" · first word after {times['first_word']:.1f}"
    _head(console, "Times, in ms")
    _line(console, f"{stages}{first} · total {times['total']:.1f}")


def _head(console: Console, text: str) -> None:
    console.print()
    console.print(text, style="bold")


def _line(console: Console, text: str, *, style: str = "") -> None:
    console.print(f"  {harmless(text)}", style=style, markup=False, soft_wrap=True)


def _table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="dim", show_edge=False)
    for column in columns:
        wide = column in ("section", "sentence", "best words")
        table.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=1 if wide else None,
        )
    table.expand = True
    return table


def _question(console: Console, trace: Trace) -> None:
    asked, query = trace.record["question"], trace.record["query"]
    console.print(_plain(asked["text"]), style="bold", markup=False)
    _line(console, f"{trace.book_id} · {timestamp(trace.created_at)} · request {trace.request_id}", style="dim")
    if asked["selected_text"] is not None:
        _line(console, f"about a selected text of {asked['selected_text']} characters; the book was not searched")
        return
    if asked["filters"]:
        _line(console, "filters   " + ", ".join(f"{name}={value}" for name, value in asked["filters"].items()))
    if query["rules"]:
        _line(
            console,
            f"follow-up ({', '.join(query['rules'])}), with earlier words: {', '.join(query['carried']) or 'none'}",
        )
        _line(console, f"searched  {_plain(query['searched'])}")
    else:
        _line(console, "searched  as asked")
    known = [f"{term['text']} {term['idf']:.1f}" for term in query["terms"] if term["in_book"]]
    absent = [term["text"] for term in query["terms"] if not term["in_book"]]
    _line(console, f"words     {', '.join(known) or 'none that the book uses'} (rarer words weigh more)")
    if absent:
        _line(console, f"nowhere   {', '.join(absent)}")


def _ranks(console: Console, record: Any) -> None:
    for side, what in (("dense", "By meaning (cosine)"), ("sparse", "By words (BM25)")):
        if rows := record[side]:
            total = record["query"]["chunks"]  # unknown on a server with a filter
            _head(console, f"{what}: the first {len(rows)}{'' if total is None else f' of {total}'} chunks")
            table = _table("#", "score", "section", "chunk", right=("#", "score"))
            for row in rows:
                table.add_row(str(row["rank"]), f"{row['score']:.3f}", _cell(_tail(row["place"])), row["chunk_id"][:8])
            console.print(table)


def _fused(console: Console, rows: list[Row]) -> None:
    if not rows:
        _head(console, "Nothing was found")
        return
    _head(console, "Combined")
    numbers = ("#", "score", "similar", "dense", "words", "pairs", "agree")
    table = _table(*numbers, "section", "chunk", "cited", right=numbers)
    for row in rows:
        table.add_row(
            str(row["rank"]),
            f"{row['score']:.3f}",
            f"{row['similarity']:.2f}",
            _rank(row["dense_rank"]),
            _rank(row["sparse_rank"]),
            f"{row['pair_share']:.2f}",
            f"{row['agreement']:.2f}",
            _cell(_tail(row["place"])),
            row["chunk_id"][:8],
            "".join(f"[{n}]" for n in row["cited_as"]).replace("[", r"\["),
        )
    console.print(table)
    _read(console, rows)


def _read(console: Console, rows: list[Row]) -> None:
    """Traces from earlier versions, or without a reader, have no readings."""
    if not any(row.get("read") for row in rows):
        return
    _head(console, "Read")
    numbers = ("#", "answers", "relevant")
    table = _table(*numbers, "best words", right=numbers)
    for row in rows:
        if read := row.get("read"):
            words = read["words"] if read["margin"] > 0 else "none"
            table.add_row(str(row["rank"]), f"{read['answers']:.2f}", f"{read['relevant']:.2f}", _cell(words))
    console.print(table)


def _verdict(console: Console, verdict: Row) -> None:
    outcome = "answered" if verdict["should_answer"] else "refused"
    _head(console, f"Judged: confidence {verdict['confidence']:.3f}, {verdict['level']}, {outcome}")
    if verdict["threshold"] is None:
        return
    _line(
        console,
        f"threshold {verdict['threshold']:.3f} · {'fitted' if verdict['fitted'] else 'not fitted: a rule of thumb'}",
    )
    table = _table("feature", "value", "weight", "adds", "section", right=("value", "weight", "adds"))
    table.columns[-1].header = ""
    table.add_row("(bias)", "", "", f"{verdict['bias']:+.2f}", "")
    for row in verdict["features"]:
        if row["weight"]:
            table.add_row(row["name"], f"{row['value']:.3f}", f"{row['weight']:+.2f}", f"{row['adds']:+.2f}", "")
    console.print(table)


def _answer(console: Console, answer: Row, grounding: Row) -> None:
    _head(console, f"Answered: {answer['mode']}, {answer['characters']} characters")
    if answer["model"]:
        read, written = answer["prompt_tokens"], answer["tokens"] - answer["prompt_tokens"]
        _line(
            console, f"model {answer['model']} · prompt version {answer['prompt_version']} · {answer['rounds']} rounds"
        )
        _line(console, f"{answer['tokens']} tokens ({read} read, {written} written)")
    for call in answer["tools"]:
        _line(console, f"the model called {call['name']} {_plain(call['arguments'])}")
    if answer["fallback_message"]:
        _line(console, answer["fallback_message"])
    if grounding["total"] or grounding["removed"]:
        removed = f", {grounding['removed']} removed" if grounding["removed"] else ""
        _head(console, f"Checked: {grounding['supported']} of {grounding['total']} sentences supported{removed}")
        table = _table("", "score", "sources", "sentence", right=("score",))
        for row in grounding["sentences"]:
            text = _plain(row["text"]) if row["supported"] else f"{_plain(row['text'])} — {row['reason']}"
            sources = ", ".join(map(str, row["sources"]))
            table.add_row("✓" if row["supported"] else "✗", f"{row['score']:.2f}", sources, _cell(text))
        console.print(table)


def _tail(place: str) -> str:
    """The page and the section: the paths of chunks differ at the end."""
    parts = place.split(" › ")
    return " › ".join(parts if len(parts) <= 2 else ("…", *parts[-2:])) or "–"


def _rank(rank: int | None) -> str:
    return "–" if rank is None else f"#{rank}"


def _plain(text: str) -> str:
    return " ".join(harmless(text).split())


def _cell(text: str) -> str:
    """Text from a book must not be read as markup."""
    from rich.markup import escape

    return escape(_plain(text))
