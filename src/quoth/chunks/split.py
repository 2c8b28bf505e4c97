"""Page → Chunks: the pieces of a book that are indexed, found and cited.

Blocks are packed under their heading up to the target. Every section with text of its own starts a chunk, so that a
citation opens at the heading it belongs to; a heading without text joins the text that follows it; fences and tables
are cut only when they alone exceed what the embedder reads. Pure: no file, no clock, no index; the tokenizer comes in
as a `TokenCounter`. A leaf block with nothing to read is markup (`quoth.text.markdown` decides that) and need not be in
any chunk.

The id of a chunk is a uuid5 over book, module, chapter, lesson and content hash if module, chapter and lesson are
known, otherwise over book, source file and content hash; a second or later chunk with the same text on one page gets an
ordinal. If several files claim the same module, chapter and lesson, `quoth.sources` withholds the lesson from all of
them, so that the path keeps their ids unique in any reading order.
"""

from __future__ import annotations

import re
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha1, sha256
from typing import NamedTuple

from quoth.chunks.cut import Cutter, Piece, Words, words_of
from quoth.chunks.sections import Section, sections
from quoth.domain import Chunk, Insert, Markup, Page
from quoth.errors import TextTooLong
from quoth.ports import TokenCounter
from quoth.text.markdown import leaves, parse, plain
from quoth.text.offsets import insert_at

ID_NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
_NAMESPACE = ID_NAMESPACE.bytes

# Two chunks are joined only if fewer characters of markup than this are between them.
_FAR = 200
_FEW = 8  # pieces that announce each other and are cut off one by one
# If the tokenizer does not split at white space first, sums over words are exact enough up to this share of the limit.
_SURE = 0.8
_TARGET = 400  # tokens of a chunk; the embedder's limit applies if it is lower
_LEAST_TAIL = 60  # tokens; a shorter last chunk of a section is evened out with the one before
_LEAST_CHARACTERS = 10  # a shorter chunk joins a neighbour if that fits


class _Draft(NamedTuple):
    """A chunk in the making: pieces under one heading."""

    section: Section
    pieces: tuple[Piece, ...]
    start: int
    end: int

    @property
    def tokens(self) -> int:
        return _size(self.pieces)

    def shown(self, page: Page) -> str:
        lead, text = self.pieces[0].lead, page.text[self.start : self.end]
        return f"{lead}\n{text}" if lead else text


def split(page: Page, tokens: TokenCounter, *, target: int = _TARGET) -> list[Chunk]:
    """The chunks of a page, in order, of up to `target` tokens. A page without anything to read has none."""
    blocks = parse(page.text, markup=page.markup, start=page.body_start)
    words = words_of(tokens)
    texts = [leaf for leaf in leaves(blocks) if leaf.kind != "markup"]
    counts = words.counts([leaf.plain for leaf in texts])
    leaf_tokens = {leaf.start: count for leaf, count in zip(texts, counts, strict=True)}
    cutter = Cutter(page.text, page.markup, words, leaf_tokens)
    drafts: list[_Draft] = []
    for section in sections(page, blocks):
        packed = _pack(section, cutter, tokens.limit, target)
        drafts += [_draft(page, section, pieces) for pieces in packed]
    drafts = _join_short(page, drafts, tokens.limit, target)
    return _chunks(page, _fit(page, drafts, cutter, words, tokens.limit))


def embedding_text(chunk: Chunk) -> str:
    """The text that is embedded for a chunk: its words without markup. Its place in the book is left out, so that a
    text that moves to another page keeps its vector."""
    return _said(chunk.shown, chunk.markup)


def term_text(chunk: Chunk) -> str:
    """The text whose words are weighed: the place of the chunk in the book, and its own words."""
    return "\n".join((" > ".join(chunk.breadcrumb), embedding_text(chunk)))


def _said(shown: str, markup: Markup) -> str:
    return plain(shown, markup) or shown.strip()


def _draft(page: Page, section: Section, pieces: tuple[Piece, ...]) -> _Draft:
    """Without white space at the ends of its text; a cut piece of code keeps the indentation of its first line."""
    end = pieces[-1].end
    text = page.text[pieces[0].start : end]
    kept = text.lstrip("\r\n") if pieces[0].lead else text.lstrip("\ufeff \t\r\n\f\v")
    return _Draft(section, pieces, end - len(kept), end - len(kept) + len(kept.rstrip()))


# --- packing: pieces of one section into drafts --------------------------------------------------------------------


def _size(pieces: Sequence[Piece]) -> int:
    return sum(piece.tokens for piece in pieces) + (pieces[0].lead_tokens if pieces else 0)


def _pack(section: Section, cutter: Cutter, limit: int, target: int) -> list[tuple[Piece, ...]]:
    hard = limit
    soft = min(target, hard)
    drafts: list[tuple[Piece, ...]] = []
    current: list[Piece] = []
    size = 0  # of `current`
    sticky = 0  # pieces at the end of `current` that announce what follows
    for piece in _pieces(section, cutter, soft, hard):
        if piece.barrier:
            if sticky < len(current):
                drafts.append(tuple(current))
                current, size, sticky = [], 0, 0
            continue
        if current and size + piece.tokens > soft:
            all_stay = sticky == len(current) and size + piece.tokens <= hard
            if not all_stay:
                cut = _carried_from(current, sticky, piece, soft, hard)
                drafts.append(tuple(current[:cut]))
                current = current[cut:]
                size, sticky = _size(current), len(current)
        size += piece.tokens if current else piece.tokens + piece.lead_tokens
        # Of several labels in a row only the last announces what follows: the others are cards, or empty.
        sticky = 0 if not piece.sticky else 1 if piece.is_label and current and current[-1].is_label else sticky + 1
        current.append(piece)
    if current:
        drafts.append(tuple(current))
    return _even_out(drafts, soft)


def _pieces(section: Section, cutter: Cutter, soft: int, hard: int) -> Iterator[Piece]:
    """All pieces of a section. A block that fills a chunk leaves room for the headings above it, which would otherwise
    be a chunk by themselves."""
    headings = 0  # tokens of those that nothing has followed yet
    for block in section.blocks:
        pieces = list(cutter.pieces(block, soft, hard))
        if 0 < headings < hard // 2 and pieces and pieces[0].tokens + pieces[0].lead_tokens > hard - headings:
            pieces = list(cutter.pieces(block, min(soft, hard - headings), hard - headings))
        yield from pieces
        if any(not piece.barrier for piece in pieces):
            headings = headings + pieces[0].tokens if block.kind == "heading" else 0


def _carried_from(current: Sequence[Piece], sticky: int, following: Piece, soft: int, hard: int) -> int:
    """The first of the pieces that announce `following` and move into the next chunk with it, as many as fit."""
    cut = len(current) - sticky
    size = sum(piece.tokens for piece in current[cut:]) + following.tokens
    while cut < len(current) and (
        size + current[cut].lead_tokens > (soft if cut else hard) or (cut and _only_headings(current[:cut]))
    ):
        size -= current[cut].tokens
        cut += 1
    return cut


def _only_headings(pieces: Sequence[Piece]) -> bool:
    return all(piece.is_heading for piece in pieces)


def _even_out(drafts: list[tuple[Piece, ...]], soft: int) -> list[tuple[Piece, ...]]:
    """Moves pieces from the second to last chunk of a section into a last one that is hardly worth finding."""
    if len(drafts) < 2 or _size(drafts[-1]) >= _LEAST_TAIL:
        return drafts
    before, tail = drafts[-2], drafts[-1]
    pieces = before + tail
    if _size(pieces) <= soft:
        return [*drafts[:-2], pieces]
    cut, kept, moved = len(before), _size(before), sum(piece.tokens for piece in tail)
    while cut > 1:
        last = pieces[cut - 1]
        longer, shorter = moved + last.tokens + last.lead_tokens, kept - last.tokens
        if longer > soft or (longer > shorter and not last.sticky) or _only_headings(pieces[: cut - 1]):
            break
        cut, kept, moved = cut - 1, shorter, moved + last.tokens
    return [*drafts[:-2], pieces[:cut], pieces[cut:]]


def _join_short(page: Page, drafts: list[_Draft], limit: int, target: int) -> list[_Draft]:
    """Chunks below the minimum join the chunk before them, or after them, if both fit together. So do headings that
    nothing follows at the end of a page, unless they fill half a chunk: `_fit` then cuts where it does less harm."""
    joined: list[_Draft] = []
    for draft in drafts:
        few = joined and _only_headings(draft.pieces) and draft.tokens <= limit // 2
        if few and not _only_headings(joined[-1].pieces):
            joined[-1] = _draft(page, joined[-1].section, joined[-1].pieces + draft.pieces)
            continue
        if joined:
            before = joined[-1]
            short = min(before.end - before.start, draft.end - draft.start) < _LEAST_CHARACTERS
            near = draft.start - before.end < _FAR
            if short and near and before.tokens + draft.tokens <= min(target, limit) // 2:
                section = before.section if draft.end - draft.start < _LEAST_CHARACTERS else draft.section
                joined[-1] = _draft(page, section, before.pieces + draft.pieces)
                continue
        joined.append(draft)
    return joined


# --- checking: nothing above the limit -----------------------------------------------------------------------------


def _fit(page: Page, drafts: list[_Draft], cutter: Cutter, words: Words, limit: int) -> list[tuple[_Draft, int]]:
    """Every draft with the tokens of its embedding text. The rare one that is above the limit is cut again."""
    embedded = [_said(draft.shown(page), page.markup) for draft in drafts]
    sizes = _counted(drafts, embedded, words)
    if not words.additive:
        near = [index for index, size in enumerate(sizes) if size > limit * _SURE]
        for index, size in zip(near, words.exact([embedded[index] for index in near]), strict=True):
            sizes[index] = size
    fitting: list[tuple[_Draft, int]] = []
    for draft, size in zip(drafts, sizes, strict=True):
        if size <= limit:
            fitting.append((draft, size))
        else:
            fitting += _fit(page, _halves(page, draft, cutter), cutter, words, limit)
    return fitting


def _counted(drafts: Sequence[_Draft], embedded: Sequence[str], words: Words) -> list[int]:
    """The tokens of each embedding text. If it is nothing but the words of whole blocks, their sum is known."""
    sizes = [
        draft.tokens if words.additive and _whole(draft) == text else -1
        for draft, text in zip(drafts, embedded, strict=True)
    ]
    counts = iter(words.counts([text for text, size in zip(embedded, sizes, strict=True) if size < 0]))
    return [size if size >= 0 else next(counts) for size in sizes]


def _whole(draft: _Draft) -> str | None:
    """The words of its blocks; None if one of its pieces is only a part of a block."""
    blocks = [piece.block for piece in draft.pieces if piece.block is not None]
    if len(blocks) < len(draft.pieces):
        return None
    return "\n".join([leaf.plain for leaf in leaves(blocks) if leaf.plain and leaf.kind != "markup"])


def _halves(page: Page, draft: _Draft, cutter: Cutter) -> list[_Draft]:
    """The same text in more or smaller pieces: cut between pieces, or inside the last one, or anywhere."""
    pieces = draft.pieces
    readable = [at for at, piece in enumerate(pieces) if not piece.is_heading] or [0, len(pieces) - 1]
    if joints := _joints(pieces, range(readable[0] + 1, readable[-1] + 1)):
        middle = min(joints, key=lambda at: abs(2 * at - len(pieces)))
        return [_draft(page, draft.section, part) for part in (pieces[:middle], pieces[middle:])]
    last = pieces[readable[-1]]
    parts = cutter.smaller(last)
    if parts and parts[0].end - parts[0].start < last.end - last.start:
        return [_draft(page, draft.section, (*pieces[: readable[-1]], *parts, *pieces[readable[-1] + 1 :]))]
    if len(pieces) > 1:
        cut = len(pieces) // 2 if len(pieces) > _FEW else len(pieces) - 1  # one by one would take a step for each piece
        return [_draft(page, draft.section, part) for part in (pieces[:cut], pieces[cut:])]
    if last.lead:  # the lead took the room: it is dropped before any text is cut
        return [_draft(page, draft.section, (last._replace(lead="", lead_tokens=0),))]
    return [_draft(page, draft.section, (half,)) for half in _cut_anywhere(page, last)]


def _joints(pieces: Sequence[Piece], inner: Iterable[int]) -> list[int]:
    """Where to cut between pieces. At the places in `inner`, neither side has nothing but headings."""
    free = [at for at in inner if not pieces[at - 1].sticky]
    if joints := free or [at for at in inner if pieces[at - 1].is_label]:
        return joints
    if len(pieces) > 1 and all(piece.is_heading for piece in pieces):
        return [len(pieces) // 2]  # perhaps thousands of headings: one at a time would take quadratic time
    return []


def _cut_anywhere(page: Page, piece: Piece) -> tuple[Piece, Piece]:
    middle = (piece.start + piece.end) // 2
    if middle == piece.start:
        raise TextTooLong(
            f"{page.source_file}: the character at offset {piece.start} alone is more than the embedder reads.",
            hint="Use an embedder that reads more tokens.",
        )
    half = max(1, piece.tokens // 2)
    return Piece(piece.start, middle, half), Piece(middle, piece.end, half)


# --- chunks: ids and chain -----------------------------------------------------------------------------------------


def _chunks(page: Page, drafts: Sequence[tuple[_Draft, int]]) -> list[Chunk]:
    drafts = [(draft, size) for draft, size in drafts if draft.end > draft.start]
    place = page.source_file
    labels = page.labels
    if labels.module is not None and labels.chapter is not None and labels.lesson is not None:
        place = f"{labels.module}:{labels.chapter}:{labels.lesson}"
    hashes = [sha256(page.text[draft.start : draft.end].encode()).hexdigest() for draft, _ in drafts]
    ids = _ids(f"{page.book_id}:{place}", hashes)
    parent = _uuid5(f"{page.book_id}:{place}:parent")
    chunks: list[Chunk] = []
    line, counted = 1, 0
    for index, (draft, size) in enumerate(drafts):
        text = page.text[draft.start : draft.end]
        line, counted = line + _line_breaks(page.text, counted, draft.start), draft.start
        file_line, shift, inserts = _in_file(page, draft, line)
        chunks.append(
            Chunk(
                id=ids[index],
                book_id=page.book_id,
                text=text,
                start=draft.start,
                end=draft.end,
                line=file_line,
                source_file=page.source_file,
                source_file_hash=page.file_hash,
                title=page.title,
                url=draft.section.address(page),
                heading_path=draft.section.path,
                breadcrumb=draft.section.breadcrumb,
                content_hash=hashes[index],
                parent_doc_id=parent,
                chunk_index=index,
                total_chunks=len(drafts),
                prev_chunk_id=ids[index - 1] if index else None,
                next_chunk_id=ids[index + 1] if index + 1 < len(ids) else None,
                word_count=len(text.split()),
                token_count=size,
                char_count=len(text),
                markup=page.markup,
                lead=draft.pieces[0].lead,
                shift=shift,
                line_shift=line - file_line,
                inserts=inserts,
                labels=labels,
            )
        )
    return chunks


def _ids(place: str, hashes: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    ids: list[str] = []
    for content_hash in hashes:
        name = f"{place}:{content_hash[:16]}"
        seen[name] = seen.get(name, 0) + 1
        ids.append(_uuid5(name if seen[name] == 1 else f"{name}:{seen[name]}"))
    return ids


def _uuid5(name: str) -> str:
    """`str(uuid.uuid5(ID_NAMESPACE, name))`, five times as fast because it makes no objects in between."""
    text = sha1(_NAMESPACE + name.encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(text[16], 16) % 4]
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{variant}{text[17:20]}-{text[20:32]}"


def _in_file(page: Page, draft: _Draft, line: int) -> tuple[int, int, tuple[Insert, ...]]:
    """The line in the page's own file where a chunk begins, how far includes have moved it, and those it touches."""
    if not page.inserts:
        return line, 0, ()
    first = bisect_right(page.inserts, draft.start, key=lambda insert: insert.end)
    last = bisect_left(page.inserts, draft.end, key=lambda insert: insert.start)
    touched = page.inserts[first:last]
    insert = insert_at(page.inserts, draft.start)
    if insert is None:
        return line, 0, touched
    if draft.start < insert.end:
        return insert.line, draft.start - insert.at, touched
    return line - insert.lines, insert.shift, touched


def _line_breaks(text: str, start: int, end: int) -> int:
    between = text[start:end]
    return len(re.findall(r"\r\n?|\n", between)) if "\r" in between else between.count("\n")
