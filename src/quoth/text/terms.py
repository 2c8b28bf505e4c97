"""Text → sparse term weights, for the BM25 side of the index.

Comes in: any text, a passage at ingest or a query at search. Goes out: `TermWeights` whose ids depend on the text alone
(a hash of the term), so that the same word has the same id on every machine. How rare a term is belongs to the index
(IDF); how often it stands in a passage of what length belongs here.

Identifiers stay whole *and* are split: `tf2_ros` is found as itself, by `tf2` and by `ros`. Change anything that
changes an id or a weight, and raise `TERMS_VERSION`: an index knows which one built it.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from hashlib import blake2s
from itertools import pairwise
from typing import Protocol

from quoth.domain import TermWeights
from quoth.versions import TERMS_VERSION as TERMS_VERSION

# BM25 with fixed numbers: an average over the corpus would tie a passage's weights to its neighbours.
K1 = 1.5
B = 0.75
AVERAGE_LENGTH = 90.0  # content tokens; a chunk of 254 word pieces of prose holds about that many
# The parts of an identifier in a query count half: found whole it outweighs the sum of its pieces.
PART_WEIGHT = 0.5
MOST_REPEATS = 3  # a word repeated in a long query says little more the fourth time
KIN, CLOSE = 4, 0.6  # words are kin that share their first letters: so many, and that share of the longer one
LONGEST_TERM = 96  # beyond that it is data, not a word

STOP_WORDS = frozenset(
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

CAPITAL_WORDS = frozenset({"IT", "US", "WHO"})  # names, though their small letters are stop words

_TOKEN = re.compile(
    r"`\w+`"  # one word set as code: `for` is content where for is not
    r"|(?<![\w-])--?[A-Za-z]\w*(?:[-.]\w+)*"  # a flag
    r"|(?<!\w)[@$~./]*"  # a path, a topic, a decorator, a dot file …
    r"\w+(?:(?:::|[-._/:'’@]|(?<=\d),(?=\d\d\d))\w+)*"  # … or a word, with whatever holds its pieces together
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
    """Two words of a query that stand side by side, as `side_by_side` writes them, and the ids of its content words."""

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
    norm = K1 * (1.0 - B + B * length / AVERAGE_LENGTH)
    ordered = sorted(counts)
    return TermWeights(
        ids=tuple(ordered), weights=tuple(counts[term] * (K1 + 1.0) / (counts[term] + norm) for term in ordered)
    )


def query_weights(text: str) -> TermWeights:
    weights: dict[int, float] = {}
    for token, count in Counter(_TOKEN.findall(_folded(text))).items():
        for position, term in enumerate(_ids(token)):
            weight = (PART_WEIGHT if position else 1.0) * min(count, MOST_REPEATS)
            weights[term] = max(weights.get(term, 0.0), weight)
    ordered = sorted(weights)
    return TermWeights(ids=tuple(ordered), weights=tuple(weights[term] for term in ordered))


def content_ids(text: str) -> list[tuple[int, ...]]:
    """The ids of every content word in order, the whole first; quicker than `content_terms`."""
    return [ids for token in _TOKEN.findall(_folded(text)) if (ids := _ids(token))]


def content_terms(text: str) -> list[ContentTerm]:
    """The content words in order, as often as they stand there, identifiers whole."""
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
    """The neighbours in a query of which one at least is a content word, each once."""
    words = side_by_side(text).split()
    pairs = dict.fromkeys(pairwise(words))
    found = []
    for one, other in pairs:
        ids = tuple(ids[0] for word in (one, other) if (ids := _ids(word.decode("utf-8"))))
        if ids:
            found.append(Pair(b" %b %b " % (one, other), ids))
    return found


# Bytes, because a text of any language is folded in one pass: what is not a letter or a digit of ASCII or part of
# another letter becomes a space, capitals become small.
_SIDE_BY_SIDE = bytes(
    at if at > 127 or chr(at).isdigit() or chr(at) == "_" else ord(chr(at).lower()) if chr(at).isalpha() else 32
    for at in range(256)
)


@lru_cache(maxsize=2048)  # of passages, which are read again with every question near them
def side_by_side(text: str) -> bytes:
    """The words of a text with one space around each: two that stand side by side are found by a plain search."""
    return b" %b " % b" ".join(text.encode("utf-8").translate(_SIDE_BY_SIDE).split())


@lru_cache(maxsize=2048)  # of passages and their sentences, which are asked for with every question near them
def term_ids(text: str) -> frozenset[int]:
    """Every term that stands in the text, for asking what it covers."""
    found: set[int] = set()
    for token in set(_TOKEN.findall(_folded(text))):
        found.update(_ids(token))
    return frozenset(found)


def kinship(word: str, text: str) -> float:
    """How near a word of the text, in small letters, comes to this one by its beginning (discover, discovery): the
    share of the longer of the two that they have in common, 0 where that is little."""
    word = word.lower()
    stem = word[:KIN]
    if len(stem) < KIN or not word.isalpha() or stem not in text:
        return 0.0
    near = (other for other in _PIECES.findall(text) if other.startswith(stem))
    best = max((_common(word, other) / max(len(word), len(other)) for other in near), default=0.0)
    return best if best >= CLOSE else 0.0


def _common(one: str, other: str) -> int:
    """How many letters two words share from the first on."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def is_exact(text: str) -> bool:
    """A number, a flag, a path, an identifier: something that is right only letter for letter."""
    if _HYPHENATED.match(text):
        return False
    return not text.isalpha() or not (text.islower() or text.istitle() or text.isupper())


def names_something(text: str) -> bool:
    """Exact, or written with a capital: a word that a paraphrase would keep."""
    return is_exact(text) or text[:1].isupper()


# --- one token ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 17)
def _ids(token: str) -> tuple[int, ...]:
    return tuple(_hash(term) for term in terms_of(token))


def _hash(term: str) -> int:
    return int.from_bytes(blake2s(term.encode("utf-8"), digest_size=4).digest(), "big")


def terms_of(token: str) -> tuple[str, ...]:
    """The terms of one token, the whole first; none for a stop word."""
    if token.startswith("`"):
        inner = token.strip("`")
        return (f"`{inner.lower()}",) if inner.lower() in STOP_WORDS else terms_of(inner)
    body = token.lstrip("@$~./-")
    prefix = token[: len(token) - len(body)]
    if prefix == "//" or (set(prefix) == {"."} and len(prefix) > 1):  # the rest of a URL, an ellipsis: no name
        prefix = ""
    body = _without_possessive(body.replace("’", "'"))
    lower = body.lower()
    if not body or len(body) > LONGEST_TERM or (not prefix and lower in STOP_WORDS and body not in CAPITAL_WORDS):
        return ()
    if _INITIALS.match(lower):  # U.S. is US
        return (lower.replace(".", ""),)
    if not prefix and lower.isalpha() and lower.isascii() and (body.islower() or body.istitle() or body.isupper()):
        return (_stem(lower),)
    return tuple(dict.fromkeys(_compound(prefix, body, lower)))


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
    if lower in STOP_WORDS or (len(lower) == 1 and not lower.isdigit()):
        return []
    return [_stem(lower) if lower.isalpha() else lower]


def _number_forms(lower: str) -> list[str]:
    """1,000 is 1000; v1.2.3 is also 1.2.3 and 1.2."""
    plain = lower.lstrip("v").replace(",", "").replace("_", "")
    forms = [plain] if lower[0] != "v" else [lower, plain]
    pieces = plain.split(".")
    return forms + [".".join(pieces[:count]) for count in range(len(pieces) - 1, 1, -1)]


def _without_possessive(body: str) -> str:
    return body[:-2] if body.endswith(("'s", "'S")) and body.lower() not in STOP_WORDS else body


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


@cache
def _stemmer() -> _Stemmer:
    import Stemmer

    stemmer: _Stemmer = Stemmer.Stemmer("english")
    return stemmer


_stemming = threading.Lock()  # a Stemmer must not be shared between threads; misses of the cache are rare


def _stem(word: str) -> str:
    with _stemming:
        return _stemmer().stemWord(word)


def _folded(text: str) -> str:
    """Accents and typographic variants removed; most text is ASCII and passes as it is."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(char for char in decomposed if not unicodedata.combining(char)))
