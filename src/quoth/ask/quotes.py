"""Chosen sentences → a draft: in book order, each verbatim with its marker.

In: which sentences of which passages answer. Out: a `Draft` whose citations are exact slices of chunks, with the
offsets in the source file. Neighbours are one quote, a row brings its table or at least its header, a code block its
fence. Knows nothing of the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quoth.domain import Chunk, Citation, Draft, Passage
from quoth.text.sentences import Sentence, fold

Chosen = dict[int, set[int]]  # rank of the passage → positions of its sentences


def composed(
    chosen: Chosen, passages: Sequence[Passage], units: Sequence[Sequence[Sentence]], *, longest_table: int
) -> Draft:
    """`units` are the sentences of each passage; a table of at most `longest_table` rows is quoted whole."""
    blocks: list[str] = []
    citations: list[Citation] = []
    for rank in sorted(chosen, key=lambda rank: _book_order(passages[rank].chunk)):
        passage = passages[rank]
        quoted = -1  # up to where
        for run in _runs(passage.chunk.text, units[rank], sorted(chosen[rank])):
            run = _with_table(run, units[rank], longest_table)
            if run[0].start < quoted:  # another row of a table that is quoted already
                continue
            quoted = run[-1].end
            citations.append(_citation(len(citations) + 1, passage, run))
            blocks.extend(_blocks(passage.chunk, run, units[rank], len(citations)))
    return Draft(text=_joined(blocks), citations=tuple(citations))


def _book_order(chunk: Chunk) -> tuple[float, float, str, int]:
    far = float("inf")
    return (
        far if chunk.labels.chapter is None else chunk.labels.chapter,
        far if chunk.labels.lesson is None else chunk.labels.lesson,
        chunk.source_file,
        chunk.start,
    )


def _runs(text: str, units: Sequence[Sentence], positions: Sequence[int]) -> Iterator[Sequence[Sentence]]:
    """Neighbours with nothing but space between them are one quote."""
    run: list[Sentence] = []
    last = -2
    for position in positions:
        unit = units[position]
        if run and (position != last + 1 or text[run[-1].end : unit.start].strip("> \t\r\n") or unit.kind == "row"):
            yield run
            run = []
        run.append(unit)
        last = position
    if run:
        yield run


def _with_table(run: Sequence[Sentence], units: Sequence[Sentence], longest: int) -> Sequence[Sentence]:
    """A row of a short table is quoted with the whole table: its header is what gives the cells a meaning."""
    if run[0].kind != "row":
        return run
    table = _table_around(run[0], units)
    return table if len(table) <= longest + 1 and table[0].kind == "header" else run


def _table_around(row: Sentence, units: Sequence[Sentence]) -> Sequence[Sentence]:
    first = last = units.index(row)
    while first > 0 and units[first].kind == "row" and units[first - 1].kind in ("row", "header"):
        first -= 1
    while last + 1 < len(units) and units[last + 1].kind == "row":
        last += 1
    return list(units[first : last + 1])


def _citation(index: int, passage: Passage, run: Sequence[Sentence]) -> Citation:
    chunk = passage.chunk
    start, end = run[0].start, run[-1].end
    return Citation(
        index=index,
        chunk=chunk,
        quote=chunk.text[start:end],
        start=chunk.start + start,
        end=chunk.start + end,
        similarity=passage.similarity,
    )


def _blocks(chunk: Chunk, run: Sequence[Sentence], units: Sequence[Sentence], index: int) -> Iterator[str]:
    marker = f"[{index}]"
    if run[0].kind in ("row", "header"):
        lines = [chunk.text[unit.start : unit.end] for unit in run]
        if run[0].kind == "row":
            lines = [*_header_of(chunk, run[0], units), *lines]
        yield "\n".join("\n".join(line.strip("> \t") for line in text.splitlines()) for text in lines) + f"\n\n{marker}"
        return
    for unit in run:
        text = chunk.text[unit.start : unit.end]
        if unit.kind == "code":
            yield f"{_flush(chunk, unit)}\n\n{marker}"
        else:
            yield f"{fold(text)} {marker}"


def _header_of(chunk: Chunk, row: Sentence, units: Sequence[Sentence]) -> list[str]:
    header = _table_around(row, units)[0]
    if header.kind == "header":
        return [chunk.text[header.start : header.end]]
    return [chunk.lead] if "|" in chunk.lead else []


def _flush(chunk: Chunk, unit: Sentence) -> str:
    """A code block without the indent of the list it was in, or its closing fence would not close it."""
    text = chunk.text[unit.start : unit.end]
    column = unit.start - (chunk.text.rfind("\n", 0, unit.start) + 1)
    lines = text.split("\n")
    indent = chunk.text[unit.start - column : unit.start]
    block = "\n".join([lines[0], *(_outdented(line, indent) for line in lines[1:])])
    if not text.lstrip().startswith(("```", "~~~")):
        opening = chunk.lead.strip().splitlines()[-1] if chunk.lead and unit.start == 0 else "```"
        closed = block.rstrip().endswith(opening[:3])
        return f"{opening}\n{block}" if closed else f"{opening}\n{block}\n{opening[:3]}"
    fence = lines[0].strip()[:3]
    return block if len(lines) > 1 and lines[-1].strip(" \t>").startswith(fence) else f"{block}\n{fence}"


def _outdented(line: str, indent: str) -> str:
    if line.startswith(indent):
        return line[len(indent) :]
    return line.removeprefix(indent.rstrip()) if indent.strip() else line.lstrip(" \t")


def _joined(blocks: Sequence[str]) -> str:
    """Sentences run on in one paragraph; a block of code or a table is a paragraph of its own."""
    text = ""
    previous_block = True
    for block in blocks:
        is_block = "\n" in block
        if text:
            text += "\n\n" if is_block or previous_block else " "
        text += block
        previous_block = is_block
    return text
