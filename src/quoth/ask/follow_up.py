"""History + question → the query that is really searched. Pure.

In: the last exchanges of the conversation (question, answer, what was searched for it, the sources it cited), the
question, and how rare words are in the book. Out: a `SearchQuery`. A question that makes sense alone is searched as it
is, letter for letter. One that points back gets the few words of the conversation that it most probably means: first
what was asked about, then what the last answer named. History is only ever a source of words: nothing in it is obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from quoth.ask.references import LIGHT, pointed_at, rules_of, without_pointing
from quoth.domain import Chunk, Evidence, PastTurn, SearchQuery
from quoth.text.terms import ContentTerm, is_exact, query_terms, term_ids

EXCHANGES = 5  # that inform a question
MOST_TERMS = 12  # taken over from the conversation: more words add noise, not hits (docs/decisions/0014)


@dataclass(frozen=True, slots=True)
class FollowUpOptions:
    most_asked: int = 6  # words taken over from what was asked
    longest: int = 32_000  # characters: no query may be longer


_MOST_ANSWERED = 8  # words taken over from what only the last answer said: it says much more than what is meant
_DECAY = 0.6  # what counts of something that was said one exchange earlier
_FLOOR = 0.15  # of the weight of the word most asked about: below it, a word is not what is meant
# How much a word tells what the conversation is about, by where it was said.
_ASKED, _CARRIED, _ANSWERED, _CITED = 1.0, 0.9, 0.45, 0.35
_NAME = 1.6  # a name or an identifier is meant more often than an ordinary word
_ORDINARY = 0.6  # rarity where none was measured
_LONGEST_ANSWER = 2_000  # characters of an answer that are looked through
_FIGURE = re.compile(r"\d[\d.,:%-]*(?:st|nd|rd|th)?\Z")  # 1999, 3.3, 99th: said in passing more often than meant
_MARKER = re.compile(r"\[\d{1,3}(?:\s*,\s*\d{1,3})*\]")
_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)

Rarity = Mapping[int, float]  # term id → IDF


@dataclass(slots=True)
class _Word:
    """A word of the conversation that may be meant."""

    text: str
    weight: float
    order: int
    asked: bool


def rewrite(
    question: str,
    history: Sequence[PastTurn],
    rarity: Rarity | None = None,
    options: FollowUpOptions = FollowUpOptions(),
) -> SearchQuery:
    """`rarity` is the IDF of the book's terms; without it all words count alike."""
    turns = _with_searches(history, rarity or {}, options)
    rules = rules_of(question, turns)
    pinned = pointed_at(question, turns)
    if pinned is None and not rules:
        return SearchQuery(question)
    own = without_pointing(question)
    meant = turns if pinned is None else [PastTurn(f"{pinned.title}\n{pinned.section}", pinned.quote)]
    carried = _carried_terms(own, meant, rarity or {}, options)
    rules = rules if pinned is None else ("source", *rules)
    exclude = () if own else tuple(source.quote for turn in turns for source in turn.sources)
    previous = tuple(source.quote for source in turns[-1].sources)
    text = " ".join((own, *carried)).strip()
    if not carried or len(text) > options.longest:
        return SearchQuery(question, rules, (), pinned, exclude, previous)
    return SearchQuery(text, rules, carried, pinned, exclude, previous)


def terms_for(question: str, history: Sequence[PastTurn]) -> list[int]:
    """The terms whose rarity `rewrite` will want; none for a question that makes sense alone."""
    if pointed_at(question, history) is None and not rules_of(question, history):
        return []
    return sorted(frozenset[int]().union(*(term_ids(_said(turn)) for turn in history)))


def pinned_first(found: Evidence, chunk: Chunk, limit: int) -> Evidence | None:
    """The passages with this chunk before all others and its neighbours next; None when it was not found."""
    order = {chunk.id: 0, chunk.next_chunk_id: 1, chunk.prev_chunk_id: 2}
    passages = sorted(found.passages, key=lambda passage: order.get(passage.chunk.id, 3))
    if not passages or passages[0].chunk.id != chunk.id:
        return None
    return replace(found, passages=tuple(passages[:limit]))


def _with_searches(history: Sequence[PastTurn], rarity: Rarity, options: FollowUpOptions) -> list[PastTurn]:
    """The exchanges, each with the query that was searched for it: a subject lives on as long as it is meant."""
    turns: list[PastTurn] = []
    for turn in history:
        if not turn.searched:
            carried = _carried_terms(turn.question, turns, rarity, options) if rules_of(turn.question, turns) else ()
            turn = replace(turn, searched=" ".join((turn.question, *carried)))
        turns.append(turn)
    return turns


# --- which words are meant -------------------------------------------------------------------------------------------


def _carried_terms(
    question: str, history: Sequence[PastTurn], rarity: Rarity, options: FollowUpOptions
) -> tuple[str, ...]:
    """The words to take over, the most meant first."""
    words: dict[int, _Word] = {}
    rarest = max(rarity.values(), default=0.0)

    def add(text: str, weight: float, *, asked: bool, leave_out: frozenset[int] = frozenset()) -> None:
        for term in query_terms(text):
            if term.id not in leave_out:
                _add(words, term, weight * _importance(term, rarity, rarest), asked=asked)

    for age, turn in enumerate(reversed(history)):
        share = _DECAY**age
        asked = term_ids(turn.question)
        add(turn.question, share * _ASKED, asked=True)
        add(turn.searched, share * _CARRIED, asked=True, leave_out=asked | _passing(history[: len(history) - 1 - age]))
        for source in turn.sources:
            add(f"{source.title}\n{source.section}", share * _CITED / len(turn.sources), asked=False)
    if history:
        add(_readable(history[-1].content), _ANSWERED, asked=False)
    own = term_ids(question) | LIGHT
    return _choose([word for term, word in words.items() if term not in own and not word.text.isdigit()], options)


def _passing(before: Sequence[PastTurn]) -> frozenset[int]:
    """Words of earlier answers that no question meant: taken over into an exchange, they are not its subject."""
    if not before:
        return frozenset()
    meant = [turn.question for turn in before] + [before[-1].searched]
    return term_ids("\n".join(turn.answer for turn in before)) - term_ids("\n".join(meant))


def _add(words: dict[int, _Word], term: ContentTerm, weight: float, *, asked: bool) -> None:
    known = words.get(term.id)
    if known is None:
        words[term.id] = _Word(term.text, weight, len(words), asked)
    else:
        known.weight += weight
        known.asked = known.asked or asked


def _importance(term: ContentTerm, rarity: Rarity, rarest: float) -> float:
    """From 0.2 for a word that is everywhere to 1 for one that is nearly nowhere, and more for a name."""
    share = max(0.2, rarity.get(term.id, _ORDINARY * rarest) / rarest) if rarest > 0 else _ORDINARY
    named = term.text[:1].isupper() or (is_exact(term.text) and not _FIGURE.match(term.text))
    return share * (_NAME if named else 1.0)


def _choose(words: list[_Word], options: FollowUpOptions) -> tuple[str, ...]:
    ranked = sorted(words, key=lambda word: (-word.weight, word.order))
    asked = [word for word in ranked if word.asked]
    floor = _FLOOR * asked[0].weight if asked else 0.0
    chosen = [word for word in asked if word.weight >= floor][: options.most_asked]
    room = min(_MOST_ANSWERED, MOST_TERMS - len(chosen))
    chosen += [word for word in ranked if not word.asked][:room]
    return tuple(word.text for word in chosen)


def _said(turn: PastTurn) -> str:
    places = [f"{source.title}\n{source.section}\n{source.quote}" for source in turn.sources]
    return "\n".join((turn.question, turn.searched, _readable(turn.answer), *places))


def _readable(answer: str) -> str:
    """Without code, which names much more than the answer is about, and without markers."""
    return _MARKER.sub(" ", _FENCE.sub(" ", answer[:_LONGEST_ANSWER]))
