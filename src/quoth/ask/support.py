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
from functools import cache
from importlib.resources import files
from itertools import pairwise

from quoth.ask.calibration import Logistic
from quoth.ask.exact import CODE, missing_in, missing_names, numbers_among
from quoth.ask.grounds import Source, letters, once, words_of
from quoth.text.sentences import fold
from quoth.text.terms import ContentTerm

_NEAR = 4  # content words from one to the next: the two belong together
_LEAST_CLAUSE = 2  # content words; one word alone is found in many places
READ = "read"  # the reader's log odds that the sources say it; within these bounds:
_FAR = 6.0
FEATURES = ("apart", "scattered", "weakest_clause", "numbers", "names", "no_claim")

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


# --- one sentence ----------------------------------------------------------------------------------------------------


def verbatim(claim: str, sources: Sequence[Source]) -> Source | None:
    """The passage that has the sentence word for word, and what is set as code letter for letter."""
    said = letters(claim)
    code = [fold(span) for span in CODE.findall(claim)]
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
    in_order = words_of(claim)
    terms = once(in_order)
    new = [term for term in terms if not term.found_in(ids) and term.id not in asked]
    claims_nothing = _claims_nothing(claim)
    numbers = [] if claims_nothing else numbers_among(new)
    names = [] if claims_nothing else missing_names(claim, new, sources)
    values = {
        "apart": _apart(in_order, sources),
        "scattered": _outside(terms, sources) / len(terms) if terms else 0.0,
        "weakest_clause": 0.0 if claims_nothing else _weakest_clause(claim, sources),
        "numbers": float(min(len(numbers), 2)),
        "names": float(min(len(names), 2)),
        "no_claim": float(claims_nothing or not terms),
    }
    return values, "" if claims_nothing else missing_in(claim, new, numbers, names, sources, asked)


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
    clauses = (once(words_of(clause)) for clause in _CLAUSE.split(claim))
    shares = (_outside(words, sources) / (len(words) + 1) for words in clauses if len(words) >= _LEAST_CLAUSE)
    return max(shares, default=0.0)


def _outside(terms: Sequence[ContentTerm], sources: Sequence[Source]) -> int:
    """How many of the words the best stretch does not hold."""
    windows = (window for source in sources for window in source.windows)
    return len(terms) - max((sum(term.found_in(window) for term in terms) for window in windows), default=0)
