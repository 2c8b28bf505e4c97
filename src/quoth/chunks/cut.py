"""Blocks → pieces that fit: the knife of `quoth.chunks.split`.

A block that fits is one piece. A longer one is cut where it hurts least: containers at their children, fences and
tables at lines (with the opening line or header row as `lead`), prose at sentences, then words, then anywhere. The
token counts of words are remembered, because a tokenizer is slower than everything else here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from quoth.domain import Markup
from quoth.ports import TokenCounter
from quoth.text.markdown import Block, plain
from quoth.text.sentences import split

_MEMO_WORDS = 200_000
_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_BETWEEN = b"\xff"  # between two texts: a byte that UTF-8 never has
_MARKS = bytes(mark for mark in range(33, 127) if not chr(mark).isalnum())
_MARKS_TO_SPACES = bytes.maketrans(_MARKS, b" " * len(_MARKS))
_DROPPED = b"\x0b\x0c"  # white space to Python, nothing to tokenizers
_PROBE = """The node's --no-deps flag (see tf2_ros::Buffer) costs 3.14 µs.\n\n    for i in range(10):\n\treturn  x[i]
# naïve https://example.com/a?b=c ```rust  | a | b |  日本語 テスト 🤖  unbelievable Straße 0x68 "quoted" <br/> …\x0b"""
_RULE = re.compile(r"([^\w\s|+])\1{3,}")  # the borders of a table, and fences of many backticks
_LONG_MARKUP = 200  # characters of imports or tags that a chunk may carry along between two of its blocks


class Piece(NamedTuple):
    """A stretch of the page that stays together. `tokens` are those of its plain text."""

    start: int
    end: int
    tokens: int
    lead: str = ""
    lead_tokens: int = 0
    sticky: bool = False  # belongs to what follows
    barrier: bool = False  # long markup: nothing to read, and too much for a chunk to carry along
    block: Block | None = None  # if the piece is a whole block

    @property
    def is_heading(self) -> bool:
        return self.block is not None and self.block.kind == "heading"

    @property
    def is_label(self) -> bool:
        return self.block is not None and self.block.kind == "label"


class Words:
    """Token counts as sums over words, each word tokenized once.

    Exact for tokenizers that split at white space and at ASCII punctuation first and make each mark a token, as those
    of BERT do; this is tested once (`additive`). For the others a word is whatever is between white space, the sum is
    close, and the caller checks any text near the limit with `exact`.
    """

    def __init__(self, tokens: TokenCounter) -> None:
        self._tokens = tokens
        self._memo: dict[bytes, int] = {}
        self.additive = True
        self.additive = self.counts([_PROBE]) == tokens.counts([_PROBE])
        self._memo.clear()

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Takes all texts apart at once, as bytes, which is several times as fast as one at a time."""
        if not texts:
            return []
        written = _BETWEEN.join([text.encode("utf-8", "surrogatepass") for text in texts])
        marks = [0] * len(texts)
        if self.additive:
            bare = written.translate(None, _MARKS + _DROPPED)
            written = written.translate(_MARKS_TO_SPACES, _DROPPED)
            parts = zip(written.split(_BETWEEN), bare.split(_BETWEEN), strict=True)
            marks = [len(text) - len(without) for text, without in parts]
        words = [text.split() for text in written.split(_BETWEEN)]
        try:
            return self._sums(words, marks)
        except KeyError:
            self._learn(words)
            return self._sums(words, marks)

    def _sums(self, words: Sequence[list[bytes]], marks: Sequence[int]) -> list[int]:
        look_up = self._memo.__getitem__
        return [sum(map(look_up, each), more) for each, more in zip(words, marks, strict=True)]

    def _learn(self, words: Sequence[list[bytes]]) -> None:
        if len(self._memo) > _MEMO_WORDS:
            self._memo.clear()
        # Sorted, so that a tokenizer sees the words in the same order in every process.
        asked = sorted(set().union(*words).difference(self._memo))
        counts = self._tokens.counts([word.decode("utf-8", "surrogatepass") for word in asked])
        self._memo.update(zip(asked, counts, strict=True))

    def count(self, text: str) -> int:
        return self.counts([text])[0]

    def exact(self, texts: Sequence[str]) -> list[int]:
        return self._tokens.counts(texts)

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._tokens.spans(text)


_WORDS: list[tuple[TokenCounter, Words]] = []


def words_of(tokens: TokenCounter) -> Words:
    """The counts of this tokenizer, kept from page to page; those of the last two tokenizers are remembered."""
    for known, words in _WORDS:
        if known is tokens:
            return words
    words = Words(tokens)
    _WORDS.insert(0, (tokens, words))
    del _WORDS[2:]
    return words


class Cutter:
    """Cuts the blocks of one page. `soft` is the size wanted, `hard` the largest size allowed."""

    def __init__(self, text: str, markup: Markup, words: Words, leaf_tokens: dict[int, int]) -> None:
        self._text = text
        self._markup: Markup = markup
        self._words = words
        self._leaf_tokens = leaf_tokens  # by start of the leaf

    def pieces(self, block: Block, soft: int, hard: int) -> Iterator[Piece]:
        if block.kind == "markup":
            if block.end - block.start > _LONG_MARKUP:
                yield Piece(block.start, block.end, 0, barrier=True)
            return
        tokens = self._tokens_of(block)
        whole = hard if block.kind in ("fence", "table", "code", "admonition") else soft
        if tokens <= whole:
            yield Piece(block.start, block.end, tokens, sticky=self._introduces(block), block=block)
        else:
            yield from self._parts(block, soft, hard)

    def smaller(self, piece: Piece) -> list[Piece]:
        """A piece that turned out too long in its place, cut at the next best joints."""
        half = max(1, piece.tokens // 2)
        if piece.block is None:
            return list(self.anywhere(piece.start, piece.end, half, piece.lead, piece.lead_tokens))
        room = piece.tokens if piece.block.children else half
        parts = list(self._parts(piece.block, room, room))
        while len(parts) == 1 and parts[0].block is not None and parts[0].block.children:
            parts = list(self._parts(parts[0].block, room, room))
        return [part for part in parts if not part.barrier]

    def _parts(self, block: Block, soft: int, hard: int) -> Iterator[Piece]:
        if block.children:
            for child in block.children:
                yield from self.pieces(child, soft, hard)
        elif block.kind in ("fence", "table", "code", "html"):
            yield from self._lines(block, hard)
        else:
            yield from self._sentences(block.start, block.end, soft)

    def anywhere(self, start: int, end: int, budget: int, lead: str = "", lead_tokens: int = 0) -> Iterator[Piece]:
        """Pieces of at most `budget` tokens, cut between words, or inside a word that is too long by itself."""
        words = [(start + match.start(), start + match.end()) for match in _WORD.finditer(self._text[start:end])]
        counts = self._words.counts([self._text[a:b] for a, b in words])
        begin, size = -1, 0
        last = start
        for (a, b), count in zip(words, counts, strict=True):
            if begin >= 0 and size + count > budget:
                yield Piece(begin, last, size, lead, lead_tokens)
                begin = -1
            if count > budget:
                yield from self._inside(a, b, budget, lead, lead_tokens)
                continue
            begin, size = (a, count) if begin < 0 else (begin, size + count)
            last = b
        if begin >= 0:
            yield Piece(begin, last, size, lead, lead_tokens)

    def _inside(self, start: int, end: int, budget: int, lead: str, lead_tokens: int) -> Iterator[Piece]:
        spans = self._words.spans(self._text[start:end])
        step = max(1, budget)
        cuts = [start, *(start + spans[index][0] for index in range(step, len(spans), step)), end]
        for a, b in pairwise(cuts):
            if b > a:
                yield Piece(a, b, min(step, b - a), lead, lead_tokens)

    def _lines(self, block: Block, hard: int) -> Iterator[Piece]:
        at, head_end = block.start, block.head_end
        drawn = self._markup == "rst" and block.kind == "table"  # its border lines hold no words
        lead, lead_tokens = self._lead(at, head_end, hard)
        if head_end:
            size = self._words.count(plain(self._text[at:head_end], self._markup)) if drawn else hard + 1
            whole = [Piece(at, head_end, size)] if size <= hard else self.anywhere(at, head_end, hard)
            yield from (piece._replace(sticky=True) for piece in whole)
            at = head_end
        found = _LINE.finditer(self._text[at : block.end])
        lines = [(at + match.start(), at + match.end()) for match in found if match[0].strip()]
        written = [self._text[a:b] for a, b in lines]
        counts = self._words.counts([plain(line, "rst") for line in written] if drawn else written)
        room = max(1, hard - lead_tokens)
        for (a, b), count in zip(lines, counts, strict=True):
            if count > room:
                yield from self.anywhere(a, b, room, lead, lead_tokens)
            else:
                yield Piece(a, b, count, lead, lead_tokens)

    def _lead(self, start: int, head_end: int, hard: int) -> tuple[str, int]:
        """The opening line or header, whole or with its rules shortened; none if it would leave no room for the lines
        below it. It is counted as it is embedded, with a line below: on its own, docutils would take it for a table."""
        whole = self._text[start:head_end].strip("\r\n") if head_end else ""
        fence = whole.lstrip(" \t>").startswith(("`", "~"))
        for lead in (whole, _RULE.sub(r"\1\1\1", whole)):
            tokens = self._words.count(lead if fence else plain(f"{lead}\nx", self._markup)) if lead else 0
            if tokens * 2 <= hard:
                return lead, tokens
        return "", 0

    def _sentences(self, start: int, end: int, soft: int) -> Iterator[Piece]:
        found = [sentence.start for sentence in split(self._text, start, end)]
        spans = list(pairwise([start, *found[1:], end]))
        counts = self._words.counts([plain(self._text[a:b], self._markup) for a, b in spans])
        for (a, b), count in zip(spans, counts, strict=True):
            if count > soft:
                yield from self.anywhere(a, b, soft)
            else:
                yield Piece(a, b, count)

    def _tokens_of(self, block: Block) -> int:
        if block.children:
            return sum(self._tokens_of(child) for child in block.children)
        return self._leaf_tokens.get(block.start, 0)

    def _introduces(self, block: Block) -> bool:
        """A heading, the opening line of an admonition, or a paragraph that announces what comes next."""
        if block.kind == "paragraph":
            return block.plain.endswith((":", "："))
        return block.kind in ("heading", "label")
