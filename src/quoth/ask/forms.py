"""What the form of a sentence says for or against it, depending on what is asked.

In: what is sought, a layout and a place in it. Out: a number to add to the sentence's weight. A defining sentence or
the entry of a glossary suits *what is*, a numbered list or code suits *how do I*, a reason suits *why*. A sentence
about the lesson itself ("In this lesson you learn …"), an exercise and a question answer nothing. Knows neither scores
nor the reader; `weigh` has those.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from quoth.ask.asked import Asked, Wanted
from quoth.ask.blocks import Block, Layout, layout
from quoth.ask.expand import LEANING, about_the_text
from quoth.ask.kinds import Holds
from quoth.domain import Chunk
from quoth.text.definitions import names_in, without_its_kind, without_its_number
from quoth.text.entries import parts_of
from quoth.text.terms import ContentTerm, kinship, query_terms, term_ids, word_ids


@dataclass(frozen=True, slots=True)
class Sought:
    asked: Asked
    terms: tuple[tuple[ContentTerm, float], ...]  # of the question, with their idf
    total: float
    names: tuple[str, ...]  # identifiers in the question, in lower case
    subject: frozenset[int]  # the words of what is to be defined
    holds: Holds | None  # whether a sentence holds the kind of thing that is asked for

    def cover(self, own: frozenset[int], around: frozenset[int], text: str, near: float) -> float:
        """The share of the question's weight that is in the sentence. A related word counts by how much the two share,
        a word in the surroundings by `near`."""
        shares = (
            (weight, 1.0 if term.found_in(own) else max(kinship(term.text, text), term.found_in(around) * near))
            for term, weight in self.terms
        )
        return sum(weight * share for weight, share in shares) / self.total

    def names_it(self, text: str) -> bool:
        """Whether the text is the name of what is to be defined, in this spelling or another: BCrypt is bcrypt. What
        kind of thing it is does not count: the bcrypt option."""
        asked, named = (
            {word_ids(name), word_ids(without_its_kind(name))} - {frozenset[int]()}
            for name in (_BRACKETED.sub("", self.asked.subject), text)
        )
        return bool(self.subject) and not asked.isdisjoint(named)

    def share(self, ids: frozenset[int]) -> float:
        return sum(weight for term, weight in self.terms if term.found_in(ids)) / self.total


_REASON = re.compile(
    r"\b(?:because|since|so that|in order to|therefore|due to|reasons?|otherwise|(?:that|which) is why"
    r"|as a result)\b",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"\s(?:is|are|means|refers? to|describes?|stands? for|denotes?|defines?|represents?|provides?|lets?|allows?)\s"
    r"|\s[—–:-]\s|:\**\s|\n:[ \t]"
)
# "A signature wraps the arguments of …"
_DOES = re.compile(
    r"\W*(?:an?\s|the\s)?\s*((?:[\w.'’`-]+\s+){1,4}?)(?!(?:is|was|has)\s)[a-z]+s\s+(?:the|an?|all|every|each|its|your|one|several|two|how|what|which)\b",
    re.IGNORECASE,
)
_WHICH_IS = re.compile(
    r"[*_`]*,\s+(?:which|that|who)\s+(?:is|are|means?|refers?|describes?|stands?|lets?|allows?|holds?)\b"
)
_CALLED = re.compile(
    r"\b(?:called|named|known as|termed|referred to as|call (?:it|this|that|them|these))\s+(?:an?\s|the\s)?"
)
_A_KIND_OF = re.compile(
    r"\s(?:is|are|was|were|means)\s+(?:an?|the|any|one|some|what|how|where|when)\s"
    r"(?!(?:better|best|good|great|bad|worse|worst|nice|useful|popular|common|more|most|much|lot|few|must)\b)",
    re.IGNORECASE,
)
_RELATIVE = frozenset(("that", "which", "who", "whose", "whom"))
_SHOWS = re.compile(r"\b(?:for example|for instance|such as|e\.g\.|suppose|consider|imagine)\b", re.IGNORECASE)
_EXERCISE = re.compile(
    r"\b(?:exercises?|quiz(?:zes)?|check your\w*|(?:review|practice|study|self[- ]test) questions?|try it yourself"
    r"|challenges?)\b|\A\W*(?:questions|practice|review)\W*\Z",
    re.IGNORECASE,
)
_SUMMARY = re.compile(r"\b(?:summary|recap|in short|overview|key (?:points|takeaways)|conclusions?|tl;?dr)\b", re.I)
_GLOSSARY = re.compile(r"\b(?:glossary|terminology|terms|definitions|vocabulary)\b", re.IGNORECASE)
# "Default: 4.", "Type: int", "New in version 3.1": said before a setting is explained.
_LABELLED = re.compile(
    r"\W*(?:(?:defaults?(?: values?)?|types?|since|values?|required|optional|status|scope|aliases)\s*[:=]"
    r"|(?:new|added|changed|deprecated|available) (?:in|since)\b(?: version)?)\W*(?:\S+\s*){0,4}\Z",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"(?<!\s)\s*\([^()]*\)\s*\Z")
_EMPHASISED = re.compile(r"(?<![*_])([*_]{1,3})(?=\S)([^*_\n]{2,60}?)(?<=\S)\1(?![*_])")
_ASIDE = re.compile(r"(?<!\s)\s*\([^()]*\)")
_ROLE = re.compile(r":[a-zA-Z][\w:+-]{0,40}:(?=`)")  # of reStructuredText: it says what kind of name follows
_WORD = re.compile(r"[\w'’-]+")
_VERB = re.compile(r"\b(?:is|are|was|has|have|can|will|do|does|must|should|need|needs)\b", re.IGNORECASE)
_SUBORDINATE = frozenset(
    "because when if while although though since as after before unless where whether how why what but so".split()  # noqa: SIM905
)
_DIGITS = re.compile(r"\d")
_LINK = re.compile(
    r"\*{0,2}(?:\[[^\]]+\](?:\([^()\s]*\)|\[[^\]]*\])|:[\w:+-]+:`[^`]+`|`[^`]+`_{1,2}|<a\b.*</a>)\*{0,2}[.,;]?",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"`[^`\s]+\s[^`]+`")  # in a sentence
_MANY = 5  # links in a row
_NAMED_SECTION = 0.2
_LONG_CODE = 120  # words: a longer example is too much to read at once
_LONGEST_TITLE = 12  # words
_LONGEST_OPENING = 3  # words that may come before the term at the start of a sentence
_IN_AN_ENTRY = 0.75  # as much as for an entry of a glossary
_ABOUT_IT = 0.25  # share of the question's weight
_PART_OF_TERM = 0.4  # share of the subject's weight that a glossary entry needs if it names only a part of it


def fit(sought: Sought, here: Layout, position: int) -> float:
    text, unit = here.text(position), here.units[position]
    words, wanted = len(text.split()), sought.asked.wanted
    result = -0.3 if words < 3 and unit.kind not in ("row", "code") and ":" not in text else 0.0
    if unit.kind == "code":  # with so many words it holds some of the question's by chance
        result -= 0.1 if wanted in ("how_to", "example") else 0.2
        result -= 0.3 if words > _LONG_CODE or here.block(position).cut else 0.0
    else:
        result -= 0.1 if words > 70 else 0.0
        result -= 0.6 if wanted != "summary" and _about_the_text(here, position) else 0.0
    if wanted != "quiz":
        result -= 0.8 * bool(_EXERCISE.search(heading_of(here))) + 0.4 * _asks(here, position)
    result -= 0.05 if LEANING.match(text) else 0.0
    result -= 0.2 if is_title(here, position) else 0.0
    result += _NAMED_SECTION * _named_section(sought, here) if wanted != "summary" else 0.0
    if sought.names:
        result += 0.25 * sum(name in text.lower() for name in sought.names) / len(sought.names)
    if sought.holds is not None:
        result += 0.1 if sought.holds(text) else -0.05
    return result + _fit_of_kind(sought, here, position, text)


def _named_section(sought: Sought, here: Layout) -> float:
    """The share of the question that a heading covers if it has no other words: `server.port` for "change the server
    port". The text below it is about that."""
    asked = frozenset[int]().union(*((term.id, *term.parts) for term, _ in sought.terms))
    best = 0.0
    for heading in here.chunk.heading_path:
        words = query_terms(_BRACKETED.sub("", without_its_number(heading)))
        if words and all(word.found_in(asked) for word in words):
            best = max(best, sought.share(term_ids(heading)))
    return best


def _asks(here: Layout, position: int) -> bool:
    """The sentence is a question, or leads to the one that its item ends with: a list of questions answers none."""
    last = here.item(position)[-1] if here.block(position).kind == "list" else position
    return here.text(last).endswith("?")


def shows_how(here: Layout, position: int) -> bool:
    """Not what announces the lesson, asks for it or exercises it: a reader sees steps there too."""
    exercise = _EXERCISE.search(heading_of(here)) is not None
    return not (exercise or _about_the_text(here, position) or _asks(here, position) or is_title(here, position))


def is_title(here: Layout, position: int) -> bool:
    """A few words in a paragraph of their own, without a full stop: the title of a box, a caption."""
    block = here.block(position)
    text = here.text(position)
    alone = block.kind == "paragraph" and block.first == block.last and not here.announces(position)
    return alone and len(text.split()) <= _LONGEST_TITLE and text.rstrip('*_`"”’) ')[-1:].isalnum()


def _about_the_text(here: Layout, position: int) -> bool:
    """The sentence, or what announces its list: "In this chapter you will learn:"."""
    block = here.block(position)
    introduction = here.introduction(block) if block.kind == "list" else None
    return about_the_text(here.text(position)) or (
        introduction is not None and about_the_text(here.text(introduction.last))
    )


def _fit_of_kind(sought: Sought, here: Layout, position: int, text: str) -> float:
    announces = _announced(sought, here, position) is not None
    result = -0.2 if text.endswith(":") and not announces else 0.0
    if sought.asked.example and (here.beside_code(position) or "`" in text):
        result += 0.2 if here.beside_code(position) else 0.05
    suits = _SUITS.get(sought.asked.wanted)
    return result + (suits(sought, here, position, text) if suits else 0.0)


def _announced(sought: Sought, here: Layout, position: int) -> Block | None:
    """The block that the sentence announces."""
    block = here.block(position)
    return here.introduces(block, loosely=sought.asked.wanted == "list") if position == block.last else None


def _how_to(sought: Sought, here: Layout, position: int, text: str) -> float:
    block = here.block(position)
    steps = block.ordered and _is_about(sought, here, block)
    code = here.beside_code(position) or block.kind == "code" or _COMMAND.search(text)
    shows = 0.2 if steps else 0.0 if code or block.ordered else -0.1
    return shows - (0.4 if _GLOSSARY.search(" ".join(here.chunk.breadcrumb)) else 0.0)  # it says what, not how


def _is_about(sought: Sought, here: Layout, block: Block) -> bool:
    """Whether what announces the steps, or their heading, has something to do with the question."""
    said = here.introduction(block, loosely=True)
    announced = here.text(said.last) if said else ""
    return sought.share(term_ids(f"{heading_of(here)}\n{announced}")) >= _ABOUT_IT


def _list(sought: Sought, here: Layout, position: int, text: str) -> float:
    following = _announced(sought, here, position)
    if following and following.kind != "code":
        return 0.4
    block = here.block(position)
    if block.kind == "list" and _only_links(here.chunk, block):
        return -0.2  # a table of contents; its items name other pages
    return 0.3 if block.kind in ("list", "table") else 0.0


@lru_cache(maxsize=256)  # asked for each item
def _only_links(chunk: Chunk, block: Block) -> bool:
    here = layout(chunk)
    items = [here.text(at) for at in block.positions if at in here.opens]
    return len(items) >= _MANY and sum(_LINK.fullmatch(item.strip()) is not None for item in items) > 0.8 * len(items)


def _value(sought: Sought, here: Layout, position: int, text: str) -> float:
    return 0.05 if sought.holds is not None and _DIGITS.search(text) else 0.0


def _why(sought: Sought, here: Layout, position: int, text: str) -> float:
    return 0.15 if _REASON.search(text) else 0.0


def _quiz(sought: Sought, here: Layout, position: int, text: str) -> float:
    return 0.4 if _EXERCISE.search(heading_of(here)) else 0.2 if text.endswith("?") else 0.0


def _example(sought: Sought, here: Layout, position: int, text: str) -> float:
    """Code, the sentence that announces it, or one that begins an example. Numbers in a table are not an example."""
    if here.units[position].kind == "code":
        return 0.5
    return 0.2 if _SHOWS.search(text) else -0.2 if here.block(position).kind == "table" else 0.0


def _summary(sought: Sought, here: Layout, position: int, text: str) -> float:
    block = here.block(position)
    result = 0.5 if _SUMMARY.search(heading_of(here)) else 0.0
    if block == _first_paragraph(here.chunk) and sought.subject:
        result += 0.2 + 0.4 * len(sought.subject & term_ids(heading_of(here))) / len(sought.subject)
    return result


def defining(sought: Sought, here: Layout, position: int, text: str) -> float:
    """A glossary entry, then the first paragraph below a heading that is the term, then a defining sentence."""
    block = here.block(position)
    result = max(_defines(sought, text), _explains_aside(sought, text)) + _introduces_term(sought, text)
    if block == _first_paragraph(here.chunk) and _opens_section(here) and _names_term(sought, here):
        opens = text == here.text(block.first)
        glossary = bool(_GLOSSARY.search(" ".join(here.chunk.breadcrumb)))
        result = max(result, 0.3 if opens else 0.15) + (0.45 if glossary else 0.1)
    return max(result, _IN_AN_ENTRY) if _is_its_entry(sought, here, position, text) else result


def _is_its_entry(sought: Sought, here: Layout, position: int, text: str) -> bool:
    """An entry of a list of definitions, for the term or for several of which it is one."""
    if position not in here.opens or here.mark(position):
        return False
    term, _ = parts_of("", text.replace("\r\n", "\n"), here.chunk.markup)
    return any(sought.names_it(one) for one in (term, *term.split(", ")))


def explains_heading(sought: Sought, here: Layout, position: int) -> bool:
    """The first paragraph below a heading is about what the heading names, whether it repeats the name or not."""
    if here.block(position) != _first_paragraph(here.chunk) or not _opens_section(here):
        return False
    return sought.asked.wanted == "summary" or _names_term(sought, here)


def heading_of(here: Layout) -> str:
    return here.chunk.heading_path[-1] if here.chunk.heading_path else here.chunk.title


def _opens_section(here: Layout) -> bool:
    """A section that was cut has its heading in its first chunk only."""
    return here.heading is not None or here.chunk.prev_chunk_id is None


@lru_cache(maxsize=256)  # asked for each sentence
def _first_paragraph(chunk: Chunk) -> Block | None:
    """The first that says something: not only a default or a version."""
    here = layout(chunk)
    found = [block for block in here.blocks if block.kind == "paragraph"]
    return next((block for block in found if not _LABELLED.match(here.text(block.first))), found[0] if found else None)


def _names_term(sought: Sought, here: Layout) -> bool:
    """Whether a heading says the term and nothing else; its number, and what it has in brackets or on the other side of
    a dash, do not count. An entry of a glossary may be a part of the term: a *QoS profile* is explained under *QoS*."""
    if not sought.subject:
        return False
    if any(sought.names_it(name) for name in names_in(heading_of(here))):
        return True
    heading = term_ids(without_its_number(_BRACKETED.sub("", heading_of(here))))
    part = bool(heading) and heading < sought.subject and bool(_GLOSSARY.search(" ".join(here.chunk.breadcrumb)))
    return part and sought.share(heading) >= _PART_OF_TERM


def _introduces_term(sought: Sought, text: str) -> float:
    """A book sets a term in bold or italics where it explains it, most of all where the sentence begins with it."""
    said = next((one for one in _EMPHASISED.finditer(text) if sought.names_it(one[2])), None)
    if said is None:
        return 0.0
    return 0.3 if len(text[: said.start()].split()) <= _LONGEST_OPENING else 0.15


def _explains_aside(sought: Sought, text: str) -> float:
    """The meaning is beside the term: "has a *lifetime*, which is the scope …", "this is called a *lifetime*"."""
    said = _ASIDE.sub("", text)
    before = [said[: found.start()].split() for found in _WHICH_IS.finditer(said)]
    after = [said[found.end() :].split() for found in _CALLED.finditer(said)]
    for words in (*(words[::-1] for words in before), *after):
        if any(sought.names_it(" ".join(words[:count])) for count in (1, 2, 3)):
            return 0.25
    return 0.0


def _defines(sought: Sought, text: str) -> float:
    """The words asked about come before the verb; the fewer other words do, the more this is their meaning."""
    said = _ASIDE.sub("", _ROLE.sub("", text))
    does = _DOES.match(said)
    if does and sought.names_it(does[1]):
        return 0.25
    verb = _DEFINES.search(said)
    head = said[: verb.start()] if verb else said.strip("| ").split("|")[0] if said.startswith("|") else ""
    words = _WORD.findall(head)
    if (
        not words
        or len(words) > 7
        or words[0].lower() in _SUBORDINATE
        or not _RELATIVE.isdisjoint(word.lower() for word in words)  # "the modularity that a framework is built on"
        or (verb and said.startswith("not ", verb.end()))
        or (verb and not verb[0].strip(" *:\n").isalpha() and _VERB.search(head))
    ):
        return 0.0
    whole = word_ids(sought.asked.subject)
    # A name that merely contains the term ("Term-Extras") is another thing.
    own = [word for word in words if term_ids(word) <= sought.subject or word_ids(word) <= whole]
    ids = term_ids(" ".join(own) if sought.subject else head)
    if not (sought.subject and whole <= ids) and sought.share(ids) < 0.6:
        return 0.0
    others = len(word_ids(head) - sought.subject) if sought.subject else 0
    kind = 0.1 if verb and _A_KIND_OF.match(said, verb.start()) else 0.0
    return kind + (0.3 if not others else 0.2 if others == 1 else 0.1)


# What suits each kind of question; others have no form of their own.
_SUITS: dict[Wanted, Callable[[Sought, Layout, int, str], float]] = {
    "how_to": _how_to,
    "list": _list,
    "value": _value,
    "why": _why,
    "definition": defining,
    "simpler": defining,
    "translation": defining,
    "example": _example,
    "quiz": _quiz,
    "summary": _summary,
}
