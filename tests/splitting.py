"""What every splitter of pages promises, each promise as a named check, and two tokenizers to check it with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from quoth.chunks.split import embedding_text
from quoth.domain import Chunk, Labels, Page
from quoth.text.markdown import Block, leaves, parse


@dataclass(frozen=True)
class WordTokens:
    """A word or a sign is a token, so counts can be checked by eye."""

    limit: int = 80

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [len(self.spans(text)) for text in texts]


@dataclass(frozen=True)
class LetterTokens:
    """Three characters are a token, wherever they stand: sums over words are wrong for it."""

    limit: int = 120

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [(at, min(at + 3, len(text))) for at in range(0, len(text), 3)]

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [len(self.spans(text)) for text in texts]


Tokens = WordTokens | LetterTokens
TOKENS = WordTokens()


def page(text: str, **fields: object) -> Page:
    made = Page("book", "guide/intro.md", text, "hash", "https://a.b/intro", "Intro", anchors="docusaurus")
    labels = Labels(**{name: fields.pop(name) for name in Labels.__slots__ if name in fields})  # type: ignore[arg-type]
    return replace(made, labels=labels, **fields)  # type: ignore[arg-type]


def walk(blocks: Sequence[Block]) -> list[Block]:
    return [found for block in blocks for found in (block, *walk(block.children))]


def check_text_is_the_slice(written: Page, chunks: Sequence[Chunk]) -> None:
    for chunk in chunks:
        assert chunk.text == written.text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert chunk.text == chunk.text.rstrip()
        assert chunk.char_count == len(chunk.text)
        assert chunk.word_count == len(chunk.text.split()) >= 1


def check_everything_readable_is_in_a_chunk(written: Page, chunks: Sequence[Chunk]) -> None:
    covered = bytearray(len(written.text))
    for chunk in chunks:
        covered[chunk.start : chunk.end] = b"x" * (chunk.end - chunk.start)
    for leaf in leaves(parse(written.text, markup=written.markup, start=written.body_start)):
        if leaf.kind != "markup":
            lost = [at for at in range(leaf.start, leaf.end) if not covered[at] and not written.text[at].isspace()]
            assert not lost, f"{leaf.kind} loses {written.text[lost[0] : leaf.end][:40]!r}"


def check_nothing_is_above_the_limit(chunks: Sequence[Chunk], tokens: Tokens) -> None:
    counts = tokens.counts([embedding_text(chunk) for chunk in chunks])
    assert all(count <= tokens.limit for count in counts)


def check_the_chain_holds(chunks: Sequence[Chunk]) -> None:
    ids = [chunk.id for chunk in chunks]
    assert len(set(ids)) == len(ids)
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.total_chunks for chunk in chunks} <= {len(chunks)}
    assert [chunk.prev_chunk_id for chunk in chunks] == [None, *ids][: len(ids)]
    assert [chunk.next_chunk_id for chunk in chunks] == [*ids, None][1:]
    assert len({chunk.parent_doc_id for chunk in chunks}) <= 1
    assert [chunk.start for chunk in chunks] == sorted(chunk.start for chunk in chunks)


def check_no_fence_or_table_is_cut_that_would_have_fitted(
    written: Page, chunks: Sequence[Chunk], tokens: Tokens
) -> None:
    blocks = parse(written.text, markup=written.markup, start=written.body_start)
    headings = [block for block in blocks if block.level]
    for block in walk(blocks):
        if block.kind in ("fence", "table"):
            start = block.end - len(written.text[block.start : block.end].lstrip())
            whole = any(chunk.start <= start and chunk.end >= block.end for chunk in chunks)
            touching = [chunk for chunk in chunks if chunk.start < block.end and chunk.end > block.start]
            above = start  # the headings above go with it
            for heading in reversed([heading for heading in headings if heading.end <= start]):
                above = heading.start if not written.text[heading.end : above].strip() else above
            after = [leaf for leaf in leaves(blocks) if leaf.start >= block.end and leaf.kind != "markup"]
            below = (
                block.end if any(not leaf.level for leaf in after) else len(written.text.rstrip())
            )  # titles of nothing
            alone = replace(touching[0], text=written.text[above:below], lead="")
            fits = tokens.counts([embedding_text(alone)])[0] <= tokens.limit
            assert whole or not fits, f"{block.kind} was cut: {alone.text[:60]!r}"


def check_no_heading_ends_a_chunk(written: Page, chunks: Sequence[Chunk]) -> None:
    blocks = [b for b in parse(written.text, markup=written.markup, start=written.body_start) if b.kind != "markup"]
    for block, following in pairwise(blocks):
        if block.level and not following.level:
            assert not any(chunk.end == block.end for chunk in chunks), f"{block.text!r} ends a chunk"


def check_no_chunk_has_nothing_but_headings(written: Page, chunks: Sequence[Chunk]) -> None:
    """Unless that is all the page has. A heading inside a quote or a list is text of it, not the title of a section."""
    blocks = parse(written.text, markup=written.markup, start=written.body_start)
    titles = {block.start for block in blocks if block.level}
    texts = [leaf for leaf in leaves(blocks) if leaf.kind != "markup" and leaf.start not in titles]
    for chunk in chunks if texts else ():
        assert any(leaf.start < chunk.end and leaf.end > chunk.start for leaf in texts), f"{chunk.text!r} is a heading"
