"""History + question → the query that is really searched. Pure.

In: the last exchanges of the conversation (question, answer, what was searched for it, the sources it cited), the
question, and how rare words are in the book. Out: a `SearchQuery`. A question that makes sense alone is searched as it
is, letter for letter; an instruction by its object. One that points back gets the few words of the conversation that it
most probably means: first what was asked about, then what the last answer named. What was refused was not talked about.
Readers are shown "launch file: and for parameters?", or their own question where no subject reads well. Passages
on the pages of the conversation are preferred. History is only ever a source of words: nothing in it is obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from quoth.ask.asked import asks_nothing
from quoth.ask.informing import informing
from quoth.ask.instructions import Instruction, instruction_in
from quoth.ask.items import named
from quoth.ask.ordinals import ordinals_in_english
from quoth.ask.other_languages import read_elsewhere
from quoth.ask.pages import leaves_pages, pages_of
from quoth.ask.references import LIGHT, RELATIONAL, pointed_at, rules_of, without_pointing
from quoth.ask.shift import turned
from quoth.ask.stretches import stretches
from quoth.ask.subject import antecedent, reads_well, subject
from quoth.domain import Chunk, CitedSource, Evidence, PastTurn, SearchQuery
from quoth.text.terms import ContentTerm, is_exact, names_something, query_terms, term_ids

EXCHANGES = 5  # that inform a question
MOST_TERMS = 12  # taken over from the conversation: more words add noise, not hits (docs/decisions/0014)


@dataclass(frozen=True, slots=True)
class FollowUpOptions:
    most_asked: int = 6  # words taken over from what was asked
    longest: int = 32_000  # characters: no query may be longer


_MOST_ANSWERED = 8  # words taken over from what only the last answer said: it says much more than what is meant
_DECAY = 0.6  # what counts of something that was said one exchange earlier
_FLOOR = 0.15  # of the weight of the word most asked about: below it, a word is not what is meant
_ALONE = 0.7  # of what the pages of the conversation count for, where a question makes sense without it
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
    last: bool = False  # what was last spoken of


def rewrite(
    question: str,
    history: Sequence[PastTurn],
    rarity: Rarity | None = None,
    options: FollowUpOptions = FollowUpOptions(),
) -> SearchQuery:
    """`rarity` is the IDF of the book's terms; without it all words count alike."""
    if asks_nothing(question):
        return SearchQuery(question)
    known = rarity or {}
    said = [turn for turn in history if not asks_nothing(turn.question)]
    history = [_by_object(turn, known) for turn in said]
    informed = _since_turn(informing(history, known, question), known)
    turns = _with_searches(informed, known, options)
    pointing = _pointing(question)
    if meant := named(pointing, [turn for turn in said if not turn.refused]):
        rules = ("named",) if meant.listed else _rules(meant.question, turns)
        query = _in_context(meant.question, _Past(history, informed, turns, known, rules, None), options)
        shown = query.shown if "turn" in query.rules else meant.question
        return replace(query, rules=tuple(dict.fromkeys(("named", *query.rules))), shown=shown)
    pinned = pointed_at(pointing, history)
    question = question if pinned is None else pointing
    return _in_context(question, _Past(history, informed, turns, known, _rules(question, turns), pinned), options)


def _pointing(question: str) -> str:
    """The question, with the ordinal of another language in English: that is what can be resolved."""
    return ordinals_in_english(question) if read_elsewhere(question) else question


def _in_context(question: str, past: _Past, options: FollowUpOptions) -> SearchQuery:
    elsewhere = read_elsewhere(question)
    turn = elsewhere.turn if elsewhere else question
    if past.pinned is None and (instead := turned(turn, past.informed, past.rarity)):
        return SearchQuery(instead, ("turn", *past.rules), shown=instead)
    if past.pinned is None and not past.rules:
        return _alone(question, past.turns)
    return _going_back(question, past, options)


def _by_object(turn: PastTurn, rarity: Rarity) -> PastTurn:
    """An instruction was about its object: "a beginner" and "quiz" are nothing that is talked about. A question in
    another language was about those of its words that the book has."""
    instruction, elsewhere = instruction_in(turn.question), read_elsewhere(turn.question)
    if instruction is None and elsewhere is None:
        return turn
    about = instruction.object if instruction else ""
    if elsewhere and not elsewhere.native(rarity):
        about = " ".join(word.text for word in query_terms(elsewhere.named) if not rarity or word.found_in(rarity))
    elif elsewhere and not instruction:
        return turn
    whole_book = instruction is not None and instruction.whole_book
    searched = "" if whole_book else turn.searched.removesuffix(turn.question).rstrip(": ")
    return replace(turn, question=about, searched=searched)


@dataclass(frozen=True, slots=True)
class _Past:
    """What a follow-up goes back to."""

    history: Sequence[PastTurn]
    informed: Sequence[PastTurn]  # those that tell what is meant
    turns: Sequence[PastTurn]  # the same, with all that was searched for them
    rarity: Rarity
    rules: tuple[str, ...]
    pinned: CitedSource | None


def _alone(question: str, turns: Sequence[PastTurn] = ()) -> SearchQuery:
    """A question that makes sense as it is; an instruction is searched for by its object. It may still be about what
    was talked about: "Did the album sell well?" names no album."""
    instruction = instruction_in(question)
    if instruction is not None and instruction.whole_book:
        return SearchQuery(instruction.searched)
    pages = {page: _ALONE * share for page, share in pages_of(turns).items()}
    if instruction is None:
        return SearchQuery(question, pages=pages)
    return SearchQuery(instruction.searched or question, phrase=_meant(question, instruction), pages=pages)


def _going_back(question: str, past: _Past, options: FollowUpOptions) -> SearchQuery:
    """The question with the words of the conversation, or of the source it points at, that it most probably means."""
    pinned, instruction = past.pinned, instruction_in(question)
    own = instruction.searched if instruction and pinned is None else without_pointing(question)
    elsewhere = read_elsewhere(question)
    if elsewhere and not elsewhere.native(past.rarity):
        own = elsewhere.own
    meant = past.turns if pinned is None else [PastTurn(_place(pinned), pinned.quote)]
    said_last = term_ids(antecedent(question, past.informed) or _shown_before(past.informed))
    carried = _carried_terms(own, meant, past.rarity, options, said_last)
    joined = " ".join((own, *(word.text for word in carried))).strip()
    if not carried or len(joined) > options.longest:
        return _back_to(_alone(question).text, past, own)
    asked = [word.text for word in carried if word.asked]
    about, shown = stretches(_asked(meant), asked), subject(meant, asked)
    if pinned is not None:
        about = _place(pinned).rsplit("\n", 1)[-1]
        shown = about if reads_well(about) else ""
    return replace(
        _back_to(joined, past, own),
        carried=tuple(word.text for word in carried),
        phrase=_joined(about, own or question),
        shown=_joined(shown, question if elsewhere else own or question) if shown else question,
    )


def _asked(turns: Sequence[PastTurn]) -> list[str]:
    return [text for turn in reversed(turns) for text in (turn.question, turn.searched)]


def _shown_before(turns: Sequence[PastTurn]) -> str:
    """The subject that the last question was shown with: what goes on from there is about it, however much more was
    said about something else."""
    last = turns[-1] if turns else PastTurn("")
    return last.searched.removesuffix(f": {last.question}") if last.searched.endswith(f": {last.question}") else ""


def _back_to(text: str, past: _Past, own: str) -> SearchQuery:
    """A query with what the follow-up goes back to."""
    turns, pinned = past.turns, past.pinned
    exclude = () if own else tuple(source.quote for turn in turns for source in turn.sources)
    return SearchQuery(
        text,
        past.rules if pinned is None else ("source", *past.rules),
        pages=pages_of(turns),
        pinned=pinned,
        exclude_quotes=exclude,
        previous_quotes=tuple(source.decisive for source in past.history[-1].sources),
    )


def _meant(question: str, instruction: Instruction) -> str:
    """What is asked for where it is searched for by other words: two sides by their names, a quiz by *exercise*."""
    if instruction.kind == "compare":
        return question
    return instruction.object if instruction.searched != instruction.object else ""


def terms_for(question: str, history: Sequence[PastTurn]) -> list[int]:
    """The terms whose rarity `rewrite` will want; none for a question that makes sense alone."""
    if asks_nothing(question) or (pointed_at(_pointing(question), history) is None and not _rules(question, history)):
        return []
    elsewhere = read_elsewhere(question)
    usual = elsewhere.usual if elsewhere else frozenset[int]()
    if history[-1].refused:  # are these words of the book, or of what it does not know?
        usual |= term_ids(question)
    return sorted(usual.union(*(term_ids(_said(turn)) for turn in history)))


def _rules(question: str, history: Sequence[PastTurn]) -> tuple[str, ...]:
    """What points back. An instruction without an object is about what was talked about."""
    rules, instruction, elsewhere = rules_of(question, history), instruction_in(question), read_elsewhere(question)
    if history and elsewhere:
        rules = tuple(dict.fromkeys((*elsewhere.rules, *rules)))
    if instruction and instruction.whole_book:
        return ()
    return ("instruction", *rules) if history and instruction and not instruction.object else rules


def pinned_first(found: Evidence, chunk: Chunk, limit: int) -> Evidence | None:
    """The passages with this chunk before all others and its neighbours next; None when it was not found."""
    order = {chunk.id: 0, chunk.next_chunk_id: 1, chunk.prev_chunk_id: 2}
    passages = sorted(found.passages, key=lambda passage: order.get(passage.chunk.id, 3))
    if not passages or passages[0].chunk.id != chunk.id:
        return None
    return replace(found, passages=tuple(passages[:limit]))


def as_asked(evidence: Evidence) -> Evidence:
    """Only what readers asked about: the words of the last answer have helped to find the passages, and that is all."""
    return _about(evidence, evidence.asked)


def readings(question: str, evidence: Evidence) -> list[Evidence]:
    """The evidence as the judge may read it: with all words, with those that were asked about, and with those of the
    question alone. One of them is enough: the words that were taken over say where the answer is, so one that is not
    there says little, and where they all are, the passage says *it* where the question says *it*. A greeting asks for
    nothing, so nothing that was found answers it."""
    if asks_nothing(question):
        return [replace(evidence, passages=())]
    if not evidence.carried:
        return [evidence, as_asked(evidence)] if evidence.phrase else [evidence]
    own = " ".join(word.text for word in query_terms(question) if word.id not in LIGHT)
    if turns_to_unknown(question, evidence):
        return [_about(evidence, own)]
    about = evidence.asked.removesuffix(question).rstrip(": ")
    return [evidence, as_asked(evidence), _about(evidence, own if own else about)]


def turns_to_unknown(question: str, evidence: Evidence) -> bool:
    """ "And in Airflow?" in a book that never names it: what fits the conversation does not answer that. German writes
    every noun like a name."""
    own = term_ids(question) - LIGHT - RELATIONAL
    words = [term for term in evidence.terms if term.id in own]
    names = (names_something(term.text) and not question.lstrip().startswith(term.text) for term in words)
    return bool(words) and not any(term.in_book for term in words) and all(names) and not read_elsewhere(question)


def _about(evidence: Evidence, text: str) -> Evidence:
    ids = term_ids(text)
    terms = tuple(term for term in evidence.terms if term.id in ids)
    return replace(evidence, query=text, terms=terms) if terms else evidence


def _since_turn(history: Sequence[PastTurn], rarity: Rarity) -> Sequence[PastTurn]:
    """The exchanges since the conversation turned to something else: what was before is no longer meant."""
    turns = [at for at in range(1, len(history)) if turned(history[at].question, history[:at], rarity)]
    return history[turns[-1] :] if turns else history


def _with_searches(history: Sequence[PastTurn], rarity: Rarity, options: FollowUpOptions) -> list[PastTurn]:
    """The exchanges, each with all that was searched for it: a subject lives on as long as it is meant. The store keeps
    what was shown, which is enough to know it when the exchange that named it is forgotten."""
    turns: list[PastTurn] = []
    for turn in history:
        carried = _carried_terms(turn.question, turns, rarity, options) if _rules(turn.question, turns) else ()
        searched = "; ".join((turn.searched or turn.question, *(word.text for word in carried if word.asked)))
        turns.append(replace(turn, searched=searched))
    return turns


# --- which words are meant -------------------------------------------------------------------------------------------


def _carried_terms(
    question: str,
    history: Sequence[PastTurn],
    rarity: Rarity,
    options: FollowUpOptions,
    said_last: frozenset[int] = frozenset(),
) -> tuple[_Word, ...]:
    """The words to take over, the most meant first; those said last come before all others."""
    words: dict[int, _Word] = {}
    rarest = max(rarity.values(), default=0.0)
    strayed = _strays(history)

    def add(text: str, weight: float, *, asked: bool, leave_out: frozenset[int] = frozenset()) -> None:
        for term in query_terms(text):
            if term.id not in leave_out:
                _add(words, term, weight * _importance(term, rarity, rarest), asked=asked)

    for age, turn in enumerate(reversed(history)):
        share = _DECAY**age
        asked = term_ids(turn.question)
        add(turn.question, share * _ASKED, asked=True)
        add(turn.searched, share * _CARRIED, asked=True, leave_out=asked | _passing(history[: len(history) - 1 - age]))
        for source in () if strayed and age == 0 else turn.sources:
            add(_place(source), share * _CITED / len(turn.sources), asked=False)
    if history and not strayed:
        add(_readable(history[-1].content), _ANSWERED, asked=False)
    own = term_ids(question) | LIGHT
    for term in said_last & words.keys():
        words[term].last = words[term].asked
    return _choose([word for term, word in words.items() if term not in own and not word.text.isdigit()], options)


def _strays(turns: Sequence[PastTurn]) -> bool:
    """The last answer is to a follow-up, but from pages that the conversation was not on: what it says is seldom
    meant."""
    return len(turns) > 1 and leaves_pages(turns) and bool(_rules(turns[-1].question, turns[:-1]))


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


def _choose(words: list[_Word], options: FollowUpOptions) -> tuple[_Word, ...]:
    ranked = sorted(words, key=lambda word: (not word.last, -word.weight, word.order))
    asked = [word for word in ranked if word.asked]
    floor = _FLOOR * max((word.weight for word in asked), default=0.0)
    chosen = [word for word in asked if word.last or word.weight >= floor][: options.most_asked]
    room = min(_MOST_ANSWERED, MOST_TERMS - len(chosen))
    chosen += [word for word in ranked if not word.asked][:room]
    return tuple(chosen)


def _place(source: CitedSource) -> str:
    """The headings of a source. A page without any is called by its file's name, which means nothing to a reader."""
    name = PurePosixPath(source.source_file).stem
    return "\n".join(part for part in (source.title, source.section) if not name or _slug(part) != _slug(name))


def _slug(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def _joined(about: str, own: str) -> str:
    return f"{about}: {own}" if about and own else about or own


def _said(turn: PastTurn) -> str:
    places = [f"{_place(source)}\n{source.quote}" for source in turn.sources]
    return "\n".join((turn.question, turn.searched, _readable(turn.answer), *places))


def _readable(answer: str) -> str:
    """Without code, which names much more than the answer is about, and without markers."""
    return _MARKER.sub(" ", _FENCE.sub(" ", answer[:_LONGEST_ANSWER]))
