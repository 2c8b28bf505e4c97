"""Chosen sentences → a draft: each piece in order, each verbatim with its marker.

In: pieces, which are sentences of passages that belong together, in reading order. Out: a `Draft` whose citations are
exact slices of chunks, with the offsets in the source file and the decisive sentence marked in them. Neighbours are one
quote; a list stays a list, a row brings its table or at least its header, a code block its fence. Markup that only a
renderer understands (roles, shortcodes, tags) is not shown. Knows nothing of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent

from quoth.ask.blocks import Layout
from quoth.domain import Chunk, Citation, Draft, Passage
from quoth.text.asciidoc_inline import as_markdown as asciidoc_as_markdown
from quoth.text.asciidoc_tables import row_as_markdown
from quoth.text.entries import joined, parts_of
from quoth.text.markdown_inline import as_markdown as markdown_as_markdown
from quoth.text.markdown_inline import row_as_markdown as markdown_row
from quoth.text.rst_inline import as_markdown as rst_as_markdown
from quoth.text.rst_tables import row_as_markdown as rst_row
from quoth.text.rst_tables import rule
from quoth.text.sentences import Sentence, fold

_SHORT = 80  # words of code that is quoted because the last sentence announces it
Place = tuple[int, int]  # rank of a passage, position of a sentence in it

_BROKEN = re.compile(r"\\(?=\r?\n)")  # a backslash at the end of a line breaks it
_PLUS = re.compile(r"(?:\A|(?<=[ \t]))\+(?=\r?\n)")  # so does a plus in AsciiDoc
_LINE_BLOCK = re.compile(r"^[ \t]*\|[ \t]+", re.M)
_DIRECTIVE = re.compile(
    r"\A(?P<fence>`{3,}|~{3,})[ \t]*\{(?:(?P<cell>(?:python|r|julia|bash|sql|ojs)\b)[^}\n]*|[\w:.+-]+)\}[ \t]*"
    r"(?P<language>[\w+#-]*)[^\n]*\n(?:[ \t]*:[\w-]+:[^\n]*\n)*(?:[ \t]*\n)?"
)
_ATTRIBUTES = re.compile(r"\A((?:`{3,}|~{3,})[ \t]*[\w+#.-]+)[ \t]+[^\n]*")
_ENDS_OPEN = re.compile(r"(?<=[\w)`\]])\s*[:：]([*_]*)\Z")
_WHOLE_CODE = re.compile(
    r"(?P<opening>(?:`{3,}+|~{3,}+)[^\n]*\n)(?P<code>.*\n)(?P<closing>(?:`{3,}|~{3,})\n\n\[[^\n]*)", re.S
)
_TICKS = re.compile(r"^[ \t]*(`{3,})", re.M)
_MARK = re.compile(r"\(?(\d{1,9}|#|[A-Za-z])[.)]")
_BOX = re.compile(r"\[([ xX*])\]\s*\Z")  # of a task


@dataclass(frozen=True, slots=True)
class Piece:
    """Sentences that are read together, and how good the decisive one is."""

    places: frozenset[Place]
    decisive: Place
    score: float = 0.0


def composed(pieces: Sequence[Piece], passages: Sequence[Passage], layouts: Sequence[Layout], longest: int) -> Draft:
    """A table of at most `longest` rows is quoted whole."""
    blocks: list[str] = []
    citations: list[Citation] = []
    last: tuple[Layout, int] | None = None  # the sentence that was quoted last
    quoted: set[tuple[int, int]] = set()  # rank, offset: a table is not quoted again for another of its rows
    decisive = [piece.decisive for piece in sorted(pieces, key=lambda piece: -piece.score)]
    for piece in pieces:
        runs = list(_runs_of(piece, passages, layouts))
        for number, (rank, run) in enumerate(runs, 1):
            here, final = layouts[rank], number == len(runs)
            run = _with_table(_with_announced(run, here) if final else run, here, longest)
            if (rank, run[0]) in quoted:
                continue
            quoted.update((rank, at) for at in run)
            best = next((at for of, at in decisive if of == rank and at in run), run[0])
            citations.append(_citation(len(citations) + 1, passages[rank], here, run, best))
            made = list(_blocks(here, run, len(citations), final=final))
            if last and blocks and made and _is_one_code(*last, here, run[0]):
                blocks[-1] = _joined(blocks[-1], made.pop(0))
            blocks.extend(made)
            last = here, run[-1]
    return Draft(text="\n\n".join(map(_at_the_margin, blocks)), citations=tuple(citations))


def _is_one_code(before: Layout, end: int, here: Layout, start: int) -> bool:
    """A block of code that was cut into two chunks is one block to its readers."""
    adjacent = before.chunk.next_chunk_id == here.chunk.id and end == len(before.units) - 1 and start == 0
    both = before.units[end].kind == here.units[start].kind == "code" if adjacent else False
    return both and here.begins_inside and (before.block(end).cut or here.chunk.markup == "rst")


def _joined(first: str, second: str) -> str:
    """Without the closing fence of the first and the opening fence of the second."""
    (head, marker), (tail, next_marker) = first.rsplit("\n\n", 1), second.rsplit("\n\n", 1)
    return f"{head[: head.rindex(chr(10))]}\n{tail[tail.index(chr(10)) + 1 :]}\n\n{marker}{next_marker}"


def _at_the_margin(block: str) -> str:
    """Code without the margin that all its lines share: that of the directive around it."""
    shown = _WHOLE_CODE.fullmatch(block)
    return f"{shown['opening']}{dedent(shown['code'])}{shown['closing']}" if shown else block


def book_order(chunk: Chunk) -> tuple[float, float, str, int]:
    far = float("inf")
    return (
        far if chunk.labels.chapter is None else chunk.labels.chapter,
        far if chunk.labels.lesson is None else chunk.labels.lesson,
        chunk.source_file,
        chunk.start,
    )


def spoken(text: str, chunk: Chunk) -> str:
    """A sentence on one line, without the markup that only a renderer understands."""
    if chunk.markup == "rst":
        return rst_as_markdown(fold(_LINE_BLOCK.sub("", text)))
    if chunk.markup == "asciidoc":
        return asciidoc_as_markdown(fold(_PLUS.sub("", text)))
    return markdown_as_markdown(fold(_BROKEN.sub("", text)), chunk.text)


def _runs_of(piece: Piece, passages: Sequence[Passage], layouts: Sequence[Layout]) -> Iterator[tuple[int, list[int]]]:
    for rank in sorted({rank for rank, _ in piece.places}, key=lambda rank: book_order(passages[rank].chunk)):
        for run in _runs(layouts[rank], sorted(at for of, at in piece.places if of == rank)):
            yield rank, run


def _runs(here: Layout, positions: Sequence[int]) -> Iterator[list[int]]:
    """Neighbours with nothing but space and markup between them are one quote; a table is always one of its own."""
    run: list[int] = []
    for position in positions:
        table = here.block(position).kind == "table"
        if run and (
            position != run[-1] + 1
            or table != (here.block(run[-1]).kind == "table")
            or (table and here.block(position) != here.block(run[-1]))
            or _heading_between(here, run[-1], position)
        ):
            yield run
            run = []
        run.append(position)
    if run:
        yield run


def _heading_between(here: Layout, one: int, other: int) -> bool:
    """Words that belong to no sentence, such as the label of the next tab, may come between two neighbours."""
    gap = here.chunk.text[here.units[one].end : here.units[other].start]
    return (
        here.block(one).group != here.block(other).group
        or here.block(one).tab != here.block(other).tab
        or ("<" in gap and here.block(one) != here.block(other))
    )


def _with_table(run: list[int], here: Layout, longest: int) -> list[int]:
    """A row of a short table is quoted with the whole table: only its header gives the cells a meaning."""
    table = here.block(run[0])
    if table.kind != "table":
        return run
    whole = list(table.positions)
    rows = sum(here.units[at].kind == "row" for at in whole)
    complete = here.units[whole[0]].kind == "header" or not here.chunk.lead
    return whole if rows <= longest and complete else run


def _with_announced(run: list[int], here: Layout) -> list[int]:
    """A piece that ends with a colon goes on with the short code that the colon announces."""
    following = here.after(here.block(run[-1]))
    if following is None or following.kind != "code" or following.group >= 0 or following.first != run[-1] + 1:
        return run
    short = here.words(following.positions) <= _SHORT
    return [*run, *following.positions] if short and here.announces(run[-1]) else run


def _citation(index: int, passage: Passage, here: Layout, run: Sequence[int], best: int) -> Citation:
    chunk = passage.chunk
    start, end = here.units[run[0]].start, here.units[run[-1]].end
    marked = here.units[best]
    return Citation(
        index=index,
        chunk=chunk,
        quote=chunk.text[start:end],
        start=chunk.start + start,
        end=chunk.start + end,
        similarity=passage.similarity,
        highlight=(marked.start - start, marked.end - start),
    )


# --- how it reads ----------------------------------------------------------------------------------------------------


def _blocks(here: Layout, run: Sequence[int], index: int, *, final: bool) -> Iterator[str]:
    """Markdown: paragraphs, lists, tables and code blocks, each with the marker at its end. After the `final` sentence
    of a piece nothing comes, so its colon becomes a full stop."""
    marker = f"[{index}]"
    if here.block(run[0]).kind == "table":
        written = {"asciidoc": _asciidoc_lines, "rst": _rst_lines}
        rows = written.get(here.chunk.markup, _table_lines)(here, run)
        yield "\n".join(rows) + f"\n\n{marker}"
        return
    lines: list[str] = []
    for position in run:
        unit, block = here.units[position], here.block(position)
        first = position == run[0] or here.block(position - 1) != block
        if unit.kind == "code":
            yield from _ended(lines, marker)
            lines = []
            yield f"{_flush(here.chunk, unit)}\n\n{marker}"
            continue
        said = _said(here, position)
        if final and position == run[-1]:
            said = _ENDS_OPEN.sub(r".\1", said)
        if not any(char.isalnum() for char in said):
            continue
        if first:
            yield from _ended(lines, marker)
            lines = []
        if position in here.opens:
            lines.append(_item_mark(here, position, block.first) + said)
        elif lines:
            lines[-1] += f" {said}"
        else:
            lines = [said]
    yield from _ended(lines, marker)


def _said(here: Layout, position: int) -> str:
    """A sentence; an entry of a list of definitions as `term: meaning`."""
    raw, chunk, mark = here.text(position), here.chunk, here.mark(position).strip()
    if position not in here.opens and not mark.startswith(".. "):
        return spoken(raw, chunk)
    term, meaning = parts_of(mark, raw.replace("\r\n", "\n"), chunk.markup)
    return joined(spoken(term, chunk), spoken(meaning, chunk))


def _ended(lines: Sequence[str], marker: str) -> Iterator[str]:
    if lines:
        yield "\n".join(f"{line} {marker}" for line in lines)


def _item_mark(here: Layout, position: int, first: int) -> str:
    written = here.mark(position)
    mark, box = _MARK.match(written), _BOX.search(written)
    depth = max(0, here.column(position) - here.column(first))
    task = f"[{' ' if box[1] == ' ' else 'x'}] " if box else ""
    return " " * depth + (f"{mark[1]}. " if mark and mark[1].isdigit() else "- ") + task


def _table_lines(here: Layout, run: Sequence[int]) -> Iterator[str]:
    chunk = here.chunk
    if here.units[run[0]].kind == "row":
        header = here.block(run[0]).first
        if here.units[header].kind == "header":
            yield markdown_row(here.text(header), chunk.text)
        elif "|" in chunk.lead:
            yield markdown_row(chunk.lead, chunk.text)
    for position in run:
        yield markdown_row(here.text(position), chunk.text)


def _rst_lines(here: Layout, run: Sequence[int]) -> Iterator[str]:
    """Rows of a drawn table or of a directive, below their header. Markdown wants one, so it may be empty."""
    from quoth.text.units import rst_tables  # deferred: most books are Markdown

    places = [here.units[position].start for position in run]
    for table in rst_tables(here.chunk.text, here.chunk.lead):
        rows = [row for row in table if any(row.start <= place < row.end for place in places)]
        columns = max((len(row.cells) for row in table), default=0)
        if rows:
            head = table[0].cells if table[0].header else ()
            yield f"{rst_row(head, columns)}\n{rule(columns)}"
            yield from (rst_row(row.cells, columns) for row in rows if row is not table[0] or not row.header)


def _asciidoc_lines(here: Layout, run: Sequence[int]) -> Iterator[str]:
    """Rows written in AsciiDoc, below their header if the table has one."""
    first = here.block(run[0]).first
    if here.units[run[0]].kind == "row":
        if here.units[first].kind == "header":
            yield row_as_markdown(here.text(first), header=True)
        elif here.chunk.lead:
            yield row_as_markdown(here.chunk.lead.splitlines()[-1], header=True)
    for position in run:
        yield row_as_markdown(here.text(position), header=here.units[position].kind == "header")


def _flush(chunk: Chunk, unit: Sentence) -> str:
    """A code block without the indent of its list; otherwise its closing fence would not close it."""
    text = chunk.text[unit.start : unit.end].replace("\r\n", "\n")
    column = unit.start - (chunk.text.rfind("\n", 0, unit.start) + 1)
    lines = text.split("\n")
    indent = chunk.text[unit.start - column : unit.start]
    block = "\n".join([lines[0], *(_outdented(line, indent) for line in lines[1:])])
    if not text.lstrip().startswith(("```", "~~~")):
        opening = chunk.lead.strip().splitlines()[-1] if chunk.lead and unit.start == 0 else ""
        opening = _as_fence(f"{opening}\n").rstrip() if opening.startswith(("```", "~~~")) else _around(block)
        fence = _fence_of(opening)
        return f"{opening}\n{block}" if block.rstrip().endswith(fence) else f"{opening}\n{block}\n{fence}"
    fence = _fence_of(lines[0].strip())
    closed = len(lines) > 1 and lines[-1].strip(" \t>").startswith(fence)
    return _as_fence(block if closed else f"{block}\n{fence}")


def _as_fence(block: str) -> str:
    """Code of a directive, such as `{code-block} python`, as code in its language, without options, and so any other:
    what else its opening line says is for a renderer."""
    block = _DIRECTIVE.sub(lambda match: match["fence"] + (match["cell"] or match["language"]) + "\n", block, count=1)
    return _ATTRIBUTES.sub(r"\1", block, count=1)


def _around(code: str) -> str:
    """A fence that no line of the code closes."""
    return "`" * max([3, *(1 + len(ticks) for ticks in _TICKS.findall(code))])


def _fence_of(opening: str) -> str:
    return opening[: len(opening) - len(opening.lstrip(opening[0]))]


def _outdented(line: str, indent: str) -> str:
    if line.startswith(indent):
        return line[len(indent) :]
    return line.removeprefix(indent.rstrip()) if indent.strip() else line.lstrip(" \t")
