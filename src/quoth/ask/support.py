"""How well the passages that a sentence rests on support it.

In: a sentence without its markers, the passages analysed as `Source`s, the words of the question. Out: `Support`: the
chance that the passages say it, and the first thing in it that they do not hold. Exact things (numbers, flags,
identifiers, names) must occur there. For the rest a small logistic model weighs whether neighbouring words are
neighbours there too, and whether one short stretch there holds most of the sentence, and of its weakest clause. Where
these words leave a doubt and a reader has read the sentence (`doubts`), a second model weighs what it says as well.
Their numbers are fitted by benchmarks/grounding.py and shipped in grounding.json. No language model is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

from quoth.ask.calibration import Logistic
from quoth.domain import Chunk
from quoth.text.sentences import fold
from quoth.text.terms import ContentTerm, content_ids, content_terms, term_ids

_STRETCH, _STEP = 24, 8  # content words: as many as two sentences hold, and how far apart such stretches begin
_NEAR = 4  # content words from one to the next: the two belong together
_LEAST_CLAUSE = 2  # content words; one word alone is found in many places
READ = "read"  # the reader's log odds that the sources say it; within these bounds:
_FAR = 6.0
FEATURES = ("apart", "scattered", "weakest_clause", "numbers", "names", "no_claim")

# Words with which an answer refers to itself, its sources or its own order. They claim nothing.
_GLUE = """
according additionally addition additional aforementioned another answer answers answered appear appears article
author based basis besides brief briefly case certain clear clearly conclude conclusion confidence confirm consider
considered contain contains context crucial describe described describes detail detailed details determine discuss
discussed discusses document effectively ensure especially even example examples excerpt explain explained explains
explanation explicitly extract fact factor factors final finally first firstly second secondly third thirdly follow
following follows furthermore general generally given hand hence however implied implies imply important
importantly include included includes including indicate indicated indicates infer information instance instead
involve involves involved key known lastly like likely list listed main mainly mean means meanwhile mention
mentioned mentions moreover namely necessary need needed needs nevertheless next note noted noteworthy number one
ones order overall page particular particularly passage passages point points possible possibly potentially present
presented previous primarily primary provide provided provides providing purpose question query quote read reason
reasons recommend recommended refer refers regarding related relevant remember response result results role said
say says section sections see seem seems sentence several short significant significantly similar similarly simply
source sources specific specifically specified state stated states step steps still suggest suggested suggests sum
summarize summary sure term terms text therefore tip tips topic typically unable unclear unfortunately use used
uses using usually various vary way ways well whereas worth make makes making made take takes taken help helps
allow allows
"""
# Spelled-out numbers are the same numbers.
_SMALL_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty
"""
_LARGE_NUMBERS = {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "thousand": 1000,
    "million": 1_000_000,
}
_LARGEST_COUNT = 10
_SIGNS = {"%": "percent percentage", "$": "dollar", "°": "degree fahrenheit celsius", "€": "euro", "£": "pound"}

_SOURCE_WORDS = r"(?:passages?|contexts?|sources?|texts?|documents?|excerpts?|articles?|book|sections?|information)"
_NOT = r"(?:not|no|n[o']t|cannot|\w+n[’']t|without|lacks?|never|nothing|unclear)"
_DISCLAIMS = re.compile(
    rf"\b{_SOURCE_WORDS}\b[^.;]{{0,80}}\b{_NOT}\b|\b{_NOT}\b[^.;]{{0,60}}\b{_SOURCE_WORDS}\b"
    r"|\b(?:unable|cannot|can't|impossible|not (?:possible|able)|could not|couldn't)\b[^.;]{0,40}"
    r"\b(?:answer|determine|find|say|tell|conclude|infer)|\bis unclear\b",
    re.IGNORECASE,
)
_TURNS = re.compile(
    r"[.,;]\s*(?:but|however|although|though|nevertheless|instead)\b|\b(?:but|however)\b", re.IGNORECASE
)
_ADVISES = re.compile(
    r"\b(?:let me know|hope (?:this|that|it)|feel free|please (?:let|provide|ask)"
    r"|further (?:questions|assistance|information|clarification)"
    r"|(?:consult|contact|seek|check|refer)\w*\b[^.;]{0,60}\b(?:professional|doctor|expert|physician|provider|advice"
    r"|guidance|resources?|assistance|sources?|specialist|manufacturer|lawyer|contractor|documentation))\b",
    re.IGNORECASE,
)
# "Passage 2", "Step 3": the answer counts its own parts.
_COUNTED = re.compile(
    r"\(?\b(?:passage|source|option|step|method|part|example|approach|point|item|answer|question)s?\s+"
    r"\d+(?:(?:\s*,|\s*,?\s+(?:and|or)|\s*-|\s*&)\s*\d+)*\b\)?",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_JOINED = re.compile(r"(?<=\d)/(?=[A-Za-z])")
_CLAUSE = re.compile(r"[,;:](?=\s)|[()]")  # between two clauses; the marks in 1,000 and 10:30 part nothing
_NAME = re.compile(r"(?<=[\w,;)] )[\"'(*_“]*([A-Z][\w'’-]+)")
_CODE = re.compile(r"`+([^`]+)`+")
_QUOTED = re.compile(r"\"([^\"\n]*)\"|“([^“”\n]*)”")
_LEAST_QUOTED = 4  # words; fewer are a term or a label
_MARKUP = re.compile(r"[*_`~]+")
_NOT_LETTERS = re.compile(r"\W+")
_MONTHS = frozenset(
    ("January", "February", "March", "April", "June", "July", "August", "September", "October", "November", "December")
)
_HOST = re.compile(r"(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|dev|info|[a-z]{2})")
_LONGEST_INITIALS = 5
_CAPITALS = re.compile(r"\b[A-Z]{2,8}\b")


@dataclass(frozen=True, slots=True)
class Source:
    """A passage, analysed once for all sentences that rest on it."""

    chunk: Chunk
    windows: tuple[frozenset[int], ...]  # the words of each stretch as long as two sentences
    places: Mapping[int, Sequence[int]]  # word → where, counted in content words
    ids: frozenset[int]  # all words, those of the headings too
    raw: str
    letters: str


@dataclass(frozen=True, slots=True)
class Support:
    score: float  # 0–1: the chance that the passages say this
    missing: str = ""  # the exact thing they do not hold, in words
    verbatim: bool = False
    read: bool = False  # the score rests on a reading too

    @property
    def is_enough(self) -> bool:
        least = fitted().read_threshold if self.read else fitted().threshold
        return self.verbatim or (not self.missing and self.score >= least)


@dataclass(frozen=True, slots=True)
class Fitted:
    unsupported: Logistic
    threshold: float  # least score of a supported sentence
    reader: str  # whose readings the rest was fitted to
    doubtful: float  # a sentence with a lower score is worth reading
    read: Logistic  # as `unsupported`, for a sentence that was read
    read_threshold: float


# What a reader makes of a sentence beside its sources, in log odds; None: it was not read.
Said = Callable[[str, Sequence["Source"]], float | None]


def unread(claim: str, sources: Sequence[Source]) -> float | None:
    return None


@cache
def fitted() -> Fitted:
    shipped = json.loads(files("quoth.ask").joinpath("grounding.json").read_text(encoding="utf-8"))
    read = shipped["read"]
    words, both = (
        Logistic(float(one["bias"]), dict(one["weights"])) for one in (shipped["unsupported"], read["unsupported"])
    )
    return Fitted(words, shipped["threshold"], read["reader"], read["doubtful"], both, read["threshold"])


# --- a passage -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def analyse(chunk: Chunk) -> Source:
    above = " / ".join((chunk.title, *chunk.heading_path))
    words, glue = content_ids(chunk.shown), _glue()
    places: dict[int, list[int]] = {}
    position = 0
    for ids in words:
        position += ids[0] not in glue
        for id_ in ids:
            places.setdefault(id_, []).append(position)
    content = [ids for ids in words if ids[0] not in glue]
    starts = range(0, max(1, len(content) - _STRETCH + _STEP), _STEP)
    stretches = (content[start : start + _STRETCH] for start in starts)
    return Source(
        chunk=chunk,
        windows=tuple(_with_numbers({id_ for ids in stretch for id_ in ids}) for stretch in stretches),
        places=places,
        ids=_with_numbers({*places, *term_ids(above)}) | _signs(chunk.text),
        raw=f"{above}\n{chunk.shown}",
        letters=_letters(chunk.shown),
    )


def _letters(text: str) -> str:
    """Word characters only, bounded by spaces: how a text reads when markup and punctuation are forgotten."""
    return f" {_NOT_LETTERS.sub(' ', _MARKUP.sub('', text)).strip()} ".lower()


@cache
def _spelled() -> Mapping[str, int]:
    return {word: number for number, word in enumerate(_SMALL_NUMBERS.split())} | _LARGE_NUMBERS


@cache
def _numbers() -> Mapping[int, int]:
    """The id of a spelled-out number ↔ that of its digits."""
    pairs = [(content_ids(word)[0][0], content_ids(str(number))[0][0]) for word, number in _spelled().items()]
    return dict(pairs) | {digits: word for word, digits in pairs}


@cache
def _glue() -> frozenset[int]:
    return term_ids(_GLUE)


def _with_numbers(ids: set[int]) -> frozenset[int]:
    same = _numbers()
    return frozenset(ids) | {same[id_] for id_ in ids if id_ in same}


def _signs(text: str) -> frozenset[int]:
    return term_ids(" ".join(words for sign, words in _SIGNS.items() if sign in text))


# --- one sentence ----------------------------------------------------------------------------------------------------


def verbatim(claim: str, sources: Sequence[Source]) -> Source | None:
    """The passage that has the sentence word for word, and what is set as code letter for letter."""
    said = _letters(claim)
    code = [fold(span) for span in _CODE.findall(claim)]
    for source in sources:
        if said.strip() and said in source.letters:
            folded = fold(source.raw) if code else ""
            if all(span in folded for span in code):
                return source
    return None


def support(claim: str, sources: Sequence[Source], asked: frozenset[int] = frozenset(), said: Said = unread) -> Support:
    """`asked` are the words of the question: repeating them claims nothing."""
    if not sources:
        return Support(0.0)
    if verbatim(claim, sources):
        return Support(1.0, verbatim=True)
    signs, missing = features(claim, sources, asked)
    score = probability(signs)
    heard = None if missing or score >= fitted().doubtful else said(claim, sources)
    if heard is None:
        return Support(score, missing)
    return Support(probability(signs | {READ: max(-_FAR, min(_FAR, heard))}), read=True)


def probability(signs: Mapping[str, float]) -> float:
    """The chance that the passages say it, from all signs: the one place where they are weighed against each other."""
    model = fitted().read if READ in signs else fitted().unsupported
    return 1.0 - model.probability(signs)


def features(claim: str, sources: Sequence[Source], asked: frozenset[int]) -> tuple[dict[str, float], str]:
    """The features of the model, each 0 where all is well, and the exact thing that is missing."""
    claim = _JOINED.sub(" / ", _ORDINAL.sub("", _COUNTED.sub(" ", claim)))
    ids = frozenset().union(*(source.ids for source in sources))
    in_order = _words(claim)
    terms = _once(in_order)
    new = [term for term in terms if not term.found_in(ids) and term.id not in asked]
    claims_nothing = _claims_nothing(claim)
    numbers = [] if claims_nothing else _numbers_among(new)
    names = [] if claims_nothing else _missing_names(claim, new, sources)
    values = {
        "apart": _apart(in_order, sources),
        "scattered": _outside(terms, sources) / len(terms) if terms else 0.0,
        "weakest_clause": 0.0 if claims_nothing else _weakest_clause(claim, sources),
        "numbers": float(min(len(numbers), 2)),
        "names": float(min(len(names), 2)),
        "no_claim": float(claims_nothing or not terms),
    }
    return values, "" if claims_nothing else _missing(claim, new, numbers, names, sources, asked)


def _claims_nothing(claim: str) -> bool:
    """A question, a courtesy, or a sentence about what the passages do not say."""
    if claim.rstrip(" *_)").endswith("?") or _ADVISES.search(claim):
        return True
    return bool(_DISCLAIMS.search(claim)) and not _TURNS.search(claim)


def _apart(terms: Sequence[ContentTerm], sources: Sequence[Source]) -> float:
    """The share of neighbouring words that are not near each other in any passage."""
    pairs = list(pairwise(terms))
    if not pairs:
        return 0.0
    return sum(not any(_near(one, other, source) for source in sources) for one, other in pairs) / len(pairs)


def _near(one: ContentTerm, other: ContentTerm, source: Source) -> bool:
    left, right = source.places.get(one.id, ()), source.places.get(other.id, ())
    return any(abs(a - b) <= _NEAR for a in left for b in right)


def _weakest_clause(claim: str, sources: Sequence[Source]) -> float:
    """The largest share of a clause's words that no one stretch holds: what is invented may be one clause of a
    sentence whose others are said there. One more word is counted as held, because in a short clause one paraphrased
    word says little."""
    clauses = (_once(_words(clause)) for clause in _CLAUSE.split(claim))
    shares = (_outside(words, sources) / (len(words) + 1) for words in clauses if len(words) >= _LEAST_CLAUSE)
    return max(shares, default=0.0)


def _outside(terms: Sequence[ContentTerm], sources: Sequence[Source]) -> int:
    """How many of the words the best stretch does not hold."""
    windows = (window for source in sources for window in source.windows)
    return len(terms) - max((sum(term.found_in(window) for term in terms) for window in windows), default=0)


def _words(text: str) -> list[ContentTerm]:
    """The content words in order, without those in which an answer refers to itself."""
    return [term for term in content_terms(text) if term.id not in _glue()]


def _once(terms: Sequence[ContentTerm]) -> list[ContentTerm]:
    return list({term.id: term for term in terms}.values())


# --- exact things ----------------------------------------------------------------------------------------------------


def _missing(
    claim: str,
    new: Sequence[ContentTerm],
    numbers: Sequence[str],
    names: Sequence[str],
    sources: Sequence[Source],
    asked: frozenset[int],
) -> str:
    if numbers:
        return f"{numbers[0]} is not in the source"
    raw = "\n".join(source.raw for source in sources)
    for term in _exact_terms(claim, new):
        if not term.found_in(asked) and not _occurs_exactly(term.text, raw):
            return f"{term.text} is not in the source"
    if any(_misquotes(straight or curved, sources, asked) for straight, curved in _QUOTED.findall(claim)):
        return "the words in quotation marks are not in the source"
    return f"{names[0]} is not in the source" if names else ""


def _numbers_among(terms: Sequence[ContentTerm]) -> list[str]:
    return [term.text for term in terms if any(char.isdigit() for char in term.text) or _is_number(term.text)]


def _is_number(word: str) -> bool:
    """Eleven to ninety. An answer counts its own points with smaller ones; larger ones are parts of a number."""
    number = _spelled().get(word.lower(), 0)
    return _LARGEST_COUNT < number < 100


def _misquotes(quoted: str, sources: Sequence[Source], asked: frozenset[int]) -> bool:
    said = _letters(quoted)
    if len(said.split()) < _LEAST_QUOTED or any(said in source.letters for source in sources):
        return False
    terms = content_terms(quoted)
    return 2 * sum(term.id in asked for term in terms) <= len(terms)  # otherwise it quotes the question


def _exact_terms(claim: str, new: Sequence[ContentTerm]) -> list[ContentTerm]:
    """Words in code, and new words anywhere that look like code."""
    in_code = [term for span in _CODE.findall(claim) for term in content_terms(span)]
    return in_code + [term for term in new if _looks_like_code(term.text)]


def _looks_like_code(text: str) -> bool:
    body = text.lstrip("-@$~./")
    inside = any(mark in body for mark in ("_", "::")) or bool(re.search(r"[a-z][A-Z]|\w\.\w{2,}", body))
    return inside or (text.startswith("-") and len(text) > 1)


def _occurs_exactly(text: str, raw: str) -> bool:
    flags = re.IGNORECASE if _HOST.fullmatch(text) else 0  # the case of an address says nothing
    return not text.isascii() or re.search(rf"(?<!\w){re.escape(text)}(?!\w)", raw, flags) is not None


def _missing_names(claim: str, new: Sequence[ContentTerm], sources: Sequence[Source]) -> list[str]:
    unknown = {term.text for term in new}
    names = [name for name in _NAME.findall(claim) if name in unknown]
    if not names:
        return []
    raw = "\n".join(source.raw for source in sources)
    short_there, long_here = set(_CAPITALS.findall(raw)), _initials(claim)
    spelled_out = {letter for short in short_there if short in long_here for letter in short}
    long_there = _initials(raw)
    return [
        name
        for name in names
        if name[0] not in spelled_out
        and not (name.isupper() and (name in long_there or name in long_here))
        and not _shortened(name, raw)
    ]


def _shortened(name: str, raw: str) -> bool:
    """The same name there in another spelling: Aug for August, U.S. for US, EZ for E-Z."""
    if name in _MONTHS:
        return re.search(rf"\b{name[:3]}\b", raw) is not None
    letters = name.replace("-", "")
    if not letters.isupper() or len(letters) > _LONGEST_INITIALS:
        return False
    return re.search(rf"(?<!\w){'[.-]?'.join(map(re.escape, letters))}(?!\w)", raw) is not None


def _initials(text: str) -> str:
    """The initials of the words with a capital: FLSA is the Fair Labor Standards Act, here or there."""
    return "".join(word[0] for word in re.findall(r"\b[A-Z][\w'’-]*", text) if not word.isupper())
