"""Evidence → an answer in the book's own words.

In: the question and the passages found for it. Out: a `Draft` of one to four sentences, verbatim, in book order, each
followed by its marker; the code block beside a sentence is given whole when the question asks how. A citation's quote
is an exact slice of its chunk, and its offsets are those in the source file. No model is called: sentences are weighed
by the rarity of the question's words in them, by what kind of answer is asked for, and by how well their passage was
found. Whether to answer at all is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from quoth.ask.quotes import Chosen, composed
from quoth.domain import Draft, Evidence, Passage
from quoth.text.sentences import Sentence, fold, sentences
from quoth.text.terms import ContentTerm, kinship, query_terms, term_ids


@dataclass(frozen=True, slots=True)
class ExtractiveOptions:
    most_sentences: int = 4
    longest_table: int = 8  # rows: a short table is clearer whole than one row of it


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the question wants, read off its own words."""

    terms: tuple[tuple[ContentTerm, float], ...]  # with their idf
    total: float
    code: bool
    number: bool
    reason: bool
    definition: bool


@dataclass(frozen=True, slots=True)
class _Candidate:
    score: float
    passage: int  # rank
    unit: int  # position among the units of its chunk
    ids: frozenset[int]
    text: str


_HOW = re.compile(
    r"\bhow\s+(?:do|does|can|could|should|would|to|is|are)\b"
    r"|\b(?:command|example|snippet|code|syntax|flag|cli|terminal|install|configure|set up|launch file)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\b(?:how\s+(?:many|much|long|often|far|fast|large|big|old|high)|when"
    r"|(?:what|which)\s+(?:\w+\s+){0,2}(?:year|date|version|port|rate|frequency|number|size|address|value|percentage))\b",
    re.IGNORECASE,
)
_WHY = re.compile(r"\bwhy\b|\breasons?\b", re.IGNORECASE)
_WHAT_IS = re.compile(
    r"^\s*(?:what(?:'s|’s|\s+is|\s+are|\s+does)|define|explain|describe|meaning\s+of)\b", re.IGNORECASE
)
_REASON = re.compile(r"\b(?:because|since|so that|in order to|therefore|due to|reason|otherwise)\b", re.IGNORECASE)
_DEFINES = re.compile(
    r"\s(?:is|are|means|refers? to|describes?|stands? for|denotes?|represents?|provides?|lets?|allows?)\s"
    r"|\s[—–:-]\s|:\**\s"
)
_DIGITS = re.compile(r"\d")
_LEANING = re.compile(
    r"(?:this|that|these|those|it|they|he|she|but|however|also|instead|then|here|such)\b", re.IGNORECASE
)
_TAG = re.compile(r"</?[A-Za-z][\w.]*[\s/>]")
_CODE_SPAN = re.compile(r"`+[^`]*`+")
_LOOKS_LIKE_MARKER = re.compile(r"\[\d{1,3}(?:\s*,\s*\d{1,3})*\]")
_MOST_PASSAGES = 5  # later ones are read only by a language model
_MOST_CHARACTERS = 1200  # of prose; a code block is never cut for length
_COMPANION_RATIO = 0.7  # a further sentence of the best one's passage must be nearly as good …
_ELSEWHERE_RATIO = 0.9  # … and one of another passage, which is another thing to read, its equal
_QUOTABLE = ("prose", "item", "row")
_QUOTABLE_AS_CODE = (*_QUOTABLE, "code")
_ORDINARY_IDF = 3.0  # for a term whose rarity was not measured
_CARRIED = 1 / 2  # what the words taken over from the conversation may weigh together: they say where, not what
_HEARD = 0.3  # off a sentence that was quoted just before: readers who go on asking seldom ask for it again


def draft(question: str, evidence: Evidence, options: ExtractiveOptions = ExtractiveOptions()) -> Draft:
    passages = evidence.passages[:_MOST_PASSAGES]
    units = [
        sentences(passage.chunk.text, lead=passage.chunk.lead, markup=passage.chunk.markup) for passage in passages
    ]
    asked = _asked(question, evidence)
    found = _beyond(_candidates(passages, units, asked), evidence)
    candidates = sorted(found, key=lambda c: (-c.score, c.passage, c.unit))
    chosen = _chosen(candidates, passages, units, options)
    if asked.code:
        _add_code(chosen, units)
    if not chosen:
        chosen = _nearest_block(units)
    return composed(chosen, passages, units, longest_table=options.longest_table)


def _asked(question: str, evidence: Evidence) -> _Asked:
    idf = {term.id: term.idf if term.in_book else 0.0 for term in evidence.terms}
    own = term_ids(question) if evidence.query.startswith(question.strip()) else frozenset()
    known = [(term, idf.get(term.id, _ORDINARY_IDF)) for term in query_terms(evidence.query)]
    asked = sum(weight for term, weight in known if term.id in own)
    carried = sum(weight for _, weight in known) - asked
    share = min(1.0, _CARRIED * asked / carried) if asked and carried else 1.0
    terms = tuple((term, weight if term.id in own else weight * share) for term, weight in known)
    return _Asked(
        terms=terms,
        total=sum(weight for _, weight in terms) or 1.0,
        code=bool(_HOW.search(question)),
        number=bool(_NUMBER.search(question)),
        reason=bool(_WHY.search(question)),
        definition=bool(_WHAT_IS.match(question)),
    )


# --- weighing --------------------------------------------------------------------------------------------------------


def _candidates(
    passages: Sequence[Passage], units: Sequence[Sequence[Sentence]], asked: _Asked
) -> Iterator[_Candidate]:
    best = max((passage.similarity for passage in passages), default=0.0) or 1.0
    for rank, passage in enumerate(passages):
        chunk = passage.chunk
        above = term_ids(" ".join((chunk.title, *chunk.heading_path)))
        before: frozenset[int] = frozenset()
        prior = 0.4 * passage.similarity / best - 0.02 * rank
        for position, unit in enumerate(units[rank]):
            if unit.kind not in (_QUOTABLE_AS_CODE if asked.code else _QUOTABLE):
                continue
            text = chunk.text[unit.start : unit.end]
            ids = term_ids(text)
            cover = _cover(asked, ids, above | before, text.lower())
            score = cover + prior + _fit(asked, text, unit, units[rank], position)
            before = ids
            if unit.kind == "code" or _readable(text):
                yield _Candidate(score, rank, position, ids, text)


def _beyond(candidates: Iterator[_Candidate], evidence: Evidence) -> Iterator[_Candidate]:
    """What the reader has already read weighs less, and is left out where they only ask for more."""
    for candidate in candidates:
        if any(candidate.text in quote for quote in evidence.previous_quotes):
            candidate = replace(candidate, score=candidate.score - _HEARD)
        if not any(candidate.text in quote for quote in evidence.exclude_quotes):
            yield candidate


def _cover(asked: _Asked, own: frozenset[int], around: frozenset[int], text: str) -> float:
    """The share of the question's weight that is in the sentence. A relative of a word counts for as much as the two
    share, the sentence's surroundings for a third."""
    shares = (
        (weight, 1.0 if term.found_in(own) else max(kinship(term.text, text), term.found_in(around) / 3))
        for term, weight in asked.terms
    )
    return sum(weight * share for weight, share in shares) / asked.total


def _fit(asked: _Asked, text: str, unit: Sentence, units: Sequence[Sentence], position: int) -> float:
    words = len(text.split())
    fit = -0.3 if words < 4 and unit.kind != "row" else 0.0
    fit -= 0.1 if words > 70 else 0.0
    fit -= 0.2 if unit.kind == "code" else 0.0  # so many words hold some of the question's by chance
    fit -= 0.4 if text.endswith("?") else 0.0
    fit -= 0.05 if _LEANING.match(text) else 0.0
    beside_code = position + 1 < len(units) and units[position + 1].kind == "code"
    if text.endswith(":") and not (asked.code and beside_code):
        fit -= 0.2
    if asked.code and (beside_code or "`" in text):
        fit += 0.15 if beside_code else 0.05
    if asked.number and _DIGITS.search(text):
        fit += 0.1
    if asked.reason and _REASON.search(text):
        fit += 0.15
    if asked.definition and _is_definition(asked, text):
        fit += 0.3
    return fit


def _is_definition(asked: _Asked, text: str) -> bool:
    """The words asked about come before the verb, and little else does."""
    verb = _DEFINES.search(text)
    head = text[: verb.start()] if verb else text.strip("| ").split("|")[0] if text.startswith("|") else ""
    if not head or len(head.split()) > 7:
        return False
    ids = term_ids(head)
    return sum(weight for term, weight in asked.terms if term.found_in(ids)) >= 0.6 * asked.total


def _readable(text: str) -> bool:
    """Tags would have to be dropped, and a bracketed number would be taken for a citation."""
    plain = _CODE_SPAN.sub("", text)
    return not _TAG.search(plain) and not _LOOKS_LIKE_MARKER.search(plain)


# --- choosing --------------------------------------------------------------------------------------------------------


def _chosen(
    candidates: Sequence[_Candidate],
    passages: Sequence[Passage],
    units: Sequence[Sequence[Sentence]],
    options: ExtractiveOptions,
) -> Chosen:
    chosen: Chosen = {}
    said: list[frozenset[int]] = []
    seen: set[str] = set()
    length = 0
    for candidate in candidates:
        if len(said) >= options.most_sentences:
            break
        at_home = candidate.passage == candidates[0].passage
        if candidate.score < (_COMPANION_RATIO if at_home else _ELSEWHERE_RATIO) * candidates[0].score:
            continue
        words = fold(candidate.text)
        if words in seen or any(_alike(candidate.ids, other) for other in said):
            continue
        if said and length + len(words) > _MOST_CHARACTERS:
            continue
        chosen.setdefault(candidate.passage, set()).add(candidate.unit)
        said.append(candidate.ids)
        seen.add(words)
        length += len(words)
        if len(said) < options.most_sentences:
            length += _add_antecedent(chosen, candidate, passages, units, said)
    return chosen


def _alike(one: frozenset[int], other: frozenset[int]) -> bool:
    return len(one & other) > 0.75 * min(len(one), len(other)) if one and other else False


def _add_antecedent(
    chosen: Chosen,
    candidate: _Candidate,
    passages: Sequence[Passage],
    units: Sequence[Sequence[Sentence]],
    said: list[frozenset[int]],
) -> int:
    """A sentence that opens with "It" or "This" depends on the one before: quote that too."""
    position = candidate.unit
    text = passages[candidate.passage].chunk.text
    unit = units[candidate.passage][position]
    if position == 0 or not _LEANING.match(text[unit.start : unit.end]):
        return 0
    before = units[candidate.passage][position - 1]
    words = text[before.start : before.end]
    apart = "\n\n" in text[before.end : unit.start]
    if before.kind != unit.kind or apart or position - 1 in chosen[candidate.passage] or not _readable(words):
        return 0
    chosen[candidate.passage].add(position - 1)
    said.append(term_ids(words))
    return len(words)


def _add_code(chosen: Chosen, units: Sequence[Sequence[Sentence]]) -> None:
    """The block right after a chosen sentence (or right before the last one) belongs to it."""
    for rank, positions in chosen.items():
        kinds = [unit.kind for unit in units[rank]]
        for position in sorted(positions):
            following = next((i for i in range(position + 1, len(kinds)) if kinds[i] not in ("prose", "item")), None)
            if following is not None and kinds[following] == "code" and following - position <= 2:
                positions.add(following)
                return
        for position in sorted(positions):
            if position and kinds[position - 1] == "code":
                positions.add(position - 1)
                return


def _nearest_block(units: Sequence[Sequence[Sentence]]) -> Chosen:
    """Passages of nothing but code (or of nothing quotable at all) still answer with what they hold."""
    for kinds in (("code",), ("row", "item", "prose"), ("heading", "header")):
        for rank, listed in enumerate(units):
            for position, unit in enumerate(listed):
                if unit.kind in kinds:
                    return {rank: {position}}
    return {}
