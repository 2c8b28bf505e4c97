"""Text → sparse term weights, for the BM25 side of the index.

In: any text, a passage at ingest or a query at search. Out: `TermWeights` whose ids depend on the text alone (a hash of
the term), so that the same word has the same id on every machine. The index knows how rare a term is (IDF); this module
knows how often it occurs in a passage, and how long the passage is.

Identifiers stay whole *and* are split: `tf2_ros` is found as itself, by `tf2` and by `ros`. If you change an id or a
weight, raise `TERMS_VERSION`: an index knows which one built it.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Container
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from hashlib import blake2s
from itertools import pairwise
from typing import Protocol

from quoth.domain import TermWeights
from quoth.domain.versions import TERMS_VERSION as TERMS_VERSION
from quoth.text.accents import without_accents

# BM25 with fixed numbers: an average over the corpus would tie a passage's weights to its neighbours.
K1 = 1.5
_B = 0.75
_AVERAGE_LENGTH = 90.0  # content tokens; a chunk of 254 word pieces of prose holds about that many
# The parts of an identifier in a query count half: found whole it outweighs the sum of its pieces.
_PART_WEIGHT = 0.5
_MOST_REPEATS = 3  # a word repeated in a long query says little more the fourth time
# Two words are kin when they begin with the same letters: at least this many, and this share of the longer one.
_KIN_LETTERS, _KIN_SHARE = 4, 0.6
_LONGEST_TERM = 96  # a longer one is data, not a word

_STOP_WORDS = frozenset(
    """
    a about above according after again against all also am an and any anything are aren't as at be because been
    before being below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't
    down during each either else ever few for from further get gets had hadn't has hasn't have haven't having he
    he'd he'll he's her here hers herself him himself his how how's i i'd i'll i'm i've if in into is isn't it it's
    its itself just let let's many may me might more most much must mustn't my myself neither no nor not of off on
    once only onto or other our ours ourselves out over own per please rather same shall shan't she she'd she'll
    she's should shouldn't so some someone something such than that that's the their theirs them themselves then
    there there's these they they'd they'll they're they've this those though through thus to too under until up
    upon us very via was wasn't we we'd we'll we're we've were weren't what what's when when's where where's whether
    which while who who's whom whose why why's will with within without won't would wouldn't yes yet you you'd
    you'll you're you've your yours yourself yourselves e.g i.e etc
    """.split()  # noqa: SIM905 - two hundred quoted words would be harder to read
)

_CAPITAL_WORDS = frozenset({"IT", "US", "WHO"})  # names, although the same words in lower case are stop words

# A run of marks (`../`) is read once: from its first mark, or from its second if the first follows a word. If no word
# follows the run, no match begins inside it; otherwise a run of n marks would cost n² steps.
_TOKEN = re.compile(
    r"`\w+`"  # one word set as code: `for` is content, for is not
    r"|(?<![\w-])--?[A-Za-z]\w*(?:[-.]\w+)*"  # a flag
    r"|(?:(?<![\w@$~./])[@$~./]++|(?<=\w[@$~./])[@$~./]++|(?<!\w))"  # a path, a topic, a decorator, a dot file …
    r"\w+(?:(?:::|[-._/:'’@]|(?<=\d),(?=\d\d\d))\w+)*"  # … or a word, with the marks that join its pieces
    r"(?:\+\+|\#(?!\w))?"  # C++, C#
)
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_PIECES = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"v?\d+(?:[.,_]\d+)*\Z")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+\Z")
_HYPHENATED = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)+\Z")
_HEX = re.compile(r"0[xbo][0-9a-f]+\Z")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")  # scripts written without spaces


@dataclass(frozen=True, slots=True)
class ContentTerm:
    """A content word of a question. `parts` are the ids of its pieces when it is an identifier or a compound."""

    text: str
    id: int
    parts: tuple[int, ...] = ()

    def found_in(self, ids: Container[int]) -> bool:
        return self.id in ids or (bool(self.parts) and all(part in ids for part in self.parts))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring words of a query, as `side_by_side` writes them, and the ids of its content words."""

    text: bytes
    ids: tuple[int, ...]


def passage_weights(text: str) -> TermWeights:
    counts: dict[int, int] = {}
    length = 0
    for token, count in Counter(_TOKEN.findall(_folded(text))).items():
        ids = _ids(token)
        if ids:
            length += count
            for term in ids:
                counts[term] = counts.get(term, 0) + count
    norm = K1 * (1.0 - _B + _B * length / _AVERAGE_LENGTH)
    ordered = sorted(counts)
    return TermWeights(
        ids=tuple(ordered), weights=tuple(counts[term] * (K1 + 1.0) / (counts[term] + norm) for term in ordered)
    )


def with_marks(weights: TermWeights, marks: Collection[int]) -> TermWeights:
    """With terms that are not words of the text."""
    known = dict(zip(weights.ids, weights.weights, strict=True))
    known |= {mark: 1.0 for mark in marks if mark not in known}
    ordered = sorted(known)
    return TermWeights(ids=tuple(ordered), weights=tuple(known[term] for term in ordered))


def query_weights(text: str) -> TermWeights:
    weights: dict[int, float] = {}
    for token, count in Counter(_TOKEN.findall(_folded(text))).items():
        for position, term in enumerate(_ids(token)):
            weight = (_PART_WEIGHT if position else 1.0) * min(count, _MOST_REPEATS)
            weights[term] = max(weights.get(term, 0.0), weight)
    ordered = sorted(weights)
    return TermWeights(ids=tuple(ordered), weights=tuple(weights[term] for term in ordered))


def content_ids(text: str) -> list[tuple[int, ...]]:
    """The ids of every content word in order, the whole first; quicker than `content_terms`."""
    return [ids for token in _TOKEN.findall(_folded(text)) if (ids := _ids(token))]


def content_terms(text: str) -> list[ContentTerm]:
    """The content words in order, repeated ones too, identifiers whole."""
    found = ((token, _ids(token)) for token in _TOKEN.findall(_folded(text)))
    return [ContentTerm(token.strip("`"), ids[0], ids[1:]) for token, ids in found if ids]


def query_terms(text: str) -> list[ContentTerm]:
    """The content words in order, each once, identifiers whole."""
    found: dict[int, ContentTerm] = {}
    for term in content_terms(text):
        first = found.setdefault(term.id, term)
        if not set(term.parts) <= set(first.parts):  # hashmap, then HashMap: one word, and the parts of both spellings
            found[term.id] = replace(first, parts=tuple(dict.fromkeys((*first.parts, *term.parts))))
    return list(found.values())


def query_pairs(text: str) -> list[Pair]:
    """The pairs of neighbours in a query that hold a content word, each once."""
    words = side_by_side(text).split()
    pairs = dict.fromkeys(pairwise(words))
    found = []
    for one, other in pairs:
        ids = tuple(ids[0] for word in (one, other) if (ids := _ids(word.decode("utf-8"))))
        if ids:
            found.append(Pair(b" %b %b " % (one, other), ids))
    return found


# Bytes fold a text of any language in one pass: ASCII letters become lower case, other ASCII except digits becomes a
# space, and the bytes of all other letters stay.
_SIDE_BY_SIDE = bytes(
    at if at > 127 or chr(at).isdigit() or chr(at) == "_" else ord(chr(at).lower()) if chr(at).isalpha() else 32
    for at in range(256)
)


@lru_cache(maxsize=2048)  # of passages, which every question near them needs
def side_by_side(text: str) -> bytes:
    """The words of a text with one space around each, so that a plain search finds two neighbours."""
    return b" %b " % b" ".join(text.encode("utf-8").translate(_SIDE_BY_SIDE).split())


@lru_cache(maxsize=2048)  # of passages and their sentences, which every question near them needs
def term_ids(text: str) -> frozenset[int]:
    """Every term of the text, to see what it covers."""
    found: set[int] = set()
    for token in set(_TOKEN.findall(_folded(text))):
        found.update(_ids(token))
    return frozenset(found)


@lru_cache(maxsize=2048)
def word_ids(text: str) -> frozenset[int]:
    """Every word of the text, whole: BCrypt is bcrypt, of whose parts only the first spelling knows."""
    return frozenset(ids[0] for ids in content_ids(text))


def kinship(word: str, text: str) -> float:
    """How much of its beginning a word shares with the nearest word of the text, which is in lower case (discover,
    discovery): a share of the longer of the two, 0 if it is small."""
    word = word.lower()
    stem = word[:_KIN_LETTERS]
    if len(stem) < _KIN_LETTERS or not word.isalpha() or stem not in text:
        return 0.0
    near = (other for other in _PIECES.findall(text) if other.startswith(stem))
    best = max((_common(word, other) / max(len(word), len(other)) for other in near), default=0.0)
    return best if best >= _KIN_SHARE else 0.0


def _common(one: str, other: str) -> int:
    """How many letters the beginnings of two words share."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def is_exact(text: str) -> bool:
    """A number, a flag, a path, an identifier: every letter of it matters."""
    if _HYPHENATED.match(text):
        return False
    return not text.isalpha() or not (text.islower() or text.istitle() or text.isupper())


def names_something(text: str) -> bool:
    """Exact, or written with a capital: a word that a paraphrase would keep."""
    return is_exact(text) or text[:1].isupper()


# --- one token ---------------------------------------------------------------------------------------------------


def _ids(token: str) -> tuple[int, ...]:
    # Long tokens are not remembered: a reader could fill the memory with them.
    return _remembered_ids(token) if len(token) <= 2 * _LONGEST_TERM else _ids_of(token)


@lru_cache(maxsize=1 << 17)
def _remembered_ids(token: str) -> tuple[int, ...]:
    return _ids_of(token)


def _ids_of(token: str) -> tuple[int, ...]:
    return tuple(_hash(term) for term in _terms_of(token))


def _hash(term: str) -> int:
    return int.from_bytes(blake2s(term.encode("utf-8"), digest_size=4).digest(), "big")


def _terms_of(token: str) -> tuple[str, ...]:
    """The terms of one token, the whole first; none for a stop word."""
    if token.startswith("`"):
        inner = token.strip("`")
        return (f"`{inner.lower()}",) if inner.lower() in _STOP_WORDS else _terms_of(inner)
    prefix, body = _prefix_and_body(token)
    if not body or len(body) > _LONGEST_TERM or _is_stop_word(prefix, body):
        return ()
    lower = body.lower()
    if _INITIALS.match(lower):  # U.S. is US
        return (lower.replace(".", ""),)
    if not prefix and _is_plain_word(body):
        return (_stem(lower),)
    return tuple(dict.fromkeys(_compound(prefix, body, lower)))


def _prefix_and_body(token: str) -> tuple[str, str]:
    body = token.lstrip("@$~./-")
    prefix = token[: len(token) - len(body)]
    if prefix == "//" or (set(prefix) == {"."} and len(prefix) > 1):  # the rest of a URL, an ellipsis: not a name
        prefix = ""
    return prefix, _without_possessive(body.replace("’", "'"))


def _is_stop_word(prefix: str, body: str) -> bool:
    return not prefix and body.lower() in _STOP_WORDS and body not in _CAPITAL_WORDS


def _is_plain_word(body: str) -> bool:
    lower = body.lower()
    return lower.isalpha() and lower.isascii() and (body.islower() or body.istitle() or body.isupper())


def _compound(prefix: str, body: str, lower: str) -> list[str]:
    whole = lower.replace("-", "_")
    if lower.isalpha():
        whole = _stem(whole)
    found = [prefix.replace("-", "_") + whole] if prefix else []
    if _NUMBER.match(lower):
        return found + _number_forms(lower)
    found.append(whole.replace("'", "").replace(",", ""))
    if _HEX.match(lower):
        return found
    for piece in _PIECES.findall(body):
        if piece.lower() != lower:
            found.extend(_part(piece))
        split = _CAMEL.findall(piece)
        if len(split) > 1:
            found.extend(form for part in split for form in _part(part))
        for run in _UNSPACED.findall(piece):
            found.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return found


def _part(piece: str) -> list[str]:
    lower = piece.lower()
    if lower in _STOP_WORDS or (len(lower) == 1 and not lower.isdigit()):
        return []
    return [_stem(lower) if lower.isalpha() else lower]


def _number_forms(lower: str) -> list[str]:
    """1,000 is 1000; v1.2.3 is also 1.2.3 and 1.2."""
    plain = lower.lstrip("v").replace(",", "").replace("_", "")
    forms = [plain] if lower[0] != "v" else [lower, plain]
    pieces = plain.split(".")
    return forms + [".".join(pieces[:count]) for count in range(len(pieces) - 1, 1, -1)]


def _without_possessive(body: str) -> str:
    return body[:-2] if body.endswith(("'s", "'S")) and body.lower() not in _STOP_WORDS else body


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


@cache
def _stemmer() -> _Stemmer:
    import Stemmer

    stemmer: _Stemmer = Stemmer.Stemmer("english")
    return stemmer


_stemming = threading.Lock()  # threads must not share a Stemmer; cache misses are rare


def _stem(word: str) -> str:
    with _stemming:
        return _stemmer().stemWord(word)


def _folded(text: str) -> str:
    """Without accents and typographic variants; most text is ASCII and passes unchanged."""
    return text if text.isascii() else unicodedata.normalize("NFC", without_accents(text))
