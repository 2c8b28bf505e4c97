"""Questions that a technical book answers, made from it by rules.

There are two kinds. A heading becomes the question that its section answers ("Installing X" → "How do I install X?"). A
sentence of a known form becomes a question with the exact words of the answer ("To scale a set, run …" → "How do I
scale it?"). Sections come in, questions go out; other sentences are skipped. Pure Python; the caller passes `Random`.
"""

# ruff: noqa: SIM905 - lists of quoted words would be harder to read

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from .books import Section
from .lexicon import QUESTION_WORDS, SMALL_WORDS
from .texts import Span, sentences


@dataclass(frozen=True, slots=True)
class Mined:
    """`span` is None for a heading's question: the whole section answers it."""

    section: int
    text: str
    span: Span | None


_GENERIC = frozenset(
    """overview/introduction/summary/example/examples/usage/notes/note/prerequisites/options/parameters/reference
    synopsis/description/details/more details/background/motivation/conclusion/see also/further reading/next steps
    what's next/objectives/before you begin/cleaning up/clean up/recap/tip/tips/warning/default/type/values/arguments
    returns/syntax/configuration/features/changelog/contents/index/resources/limitations/technical details/check it
    known issues/bug fixes/other/miscellaneous/general/basics/the basics/advanced/requirements/setup/caveats/groups
    alternatives/mitigations/props/properties/methods/fields/discussion/goals""".replace("\n    ", "/").split("/")
)
_CODE = re.compile(r"^`?[\w.$@/:\[\]{}()<>*-]*[._$@/:()\[\]{}<>-][\w.$@/:\[\]{}()<>*-]*`?$|^`[^`]+`$")
# A verb is a word that follows "to" at least this often.
VERB_SHARE = 0.12


class Verbs:
    """Learns the plain form of verbs from what the books themselves write after "to"."""

    def __init__(self, texts: Iterable[str]) -> None:
        after_to: Counter[str] = Counter()
        anywhere: Counter[str] = Counter()
        for text in texts:
            after_to.update(re.findall(r"\b[tT]o ([a-z]+)\b", text))
            anywhere.update(re.findall(r"[a-z]+", text.lower()))
        self._known = Counter(
            {
                word: count
                for word, count in after_to.items()
                if count >= 3 and count >= VERB_SHARE * anywhere[word] and word not in SMALL_WORDS
            }
        )

    def is_verb(self, word: str) -> bool:
        return self._known[word.lower()] >= 5

    def plain(self, gerund: str) -> str | None:
        """creating → create, running → run, adding → add."""
        stem = gerund.lower().removesuffix("ing")
        if stem == gerund.lower() or len(stem) < 2:
            return None
        forms = [stem, stem + "e", stem[:-1] if stem[-1] == stem[-2] else stem]
        best = max(forms, key=lambda form: self._known[form])
        return best if self._known[best] else None


# --- headings --------------------------------------------------------------------------------------------------------


def heading_question(heading: str, verbs: Verbs, chance: Random) -> str | None:
    """What a reader would ask whom this section was written for."""
    text = re.sub(r"^[\d.]+\s+|^(?:Step|Option)\s+\d+\s*[:.-]\s*", "", heading).strip(" .:")
    words = text.split()
    if not words or text.lower() in _GENERIC or len(words) > 12 or "{" in text:
        return None
    first = words[0].lower()
    rest = " ".join(words[1:])
    if text.endswith("?"):
        return text
    if first in QUESTION_WORDS or first in {"can", "does", "is", "are", "should", "do"}:
        return _how_to(text, chance)
    plain = verbs.plain(first)
    if plain and rest:
        return _how(f"{plain} {_spoken(rest)}", chance)
    if verbs.is_verb(first) and rest and words[0][0].isupper():
        return _how(f"{first} {_spoken(rest)}", chance)
    return _what(text, chance)


def _how_to(text: str, chance: Random) -> str:
    match = re.match(r"[Hh]ow to (.+)", text)
    return _how(_spoken(match.group(1)), chance) if match else f"{text}?"


def _how(doing: str, chance: Random) -> str:
    forms = ("How do I {0}?", "How can I {0}?", "How to {0}?", "how do you {0}", "{0}", "What must I do to {0}?")
    return chance.choices(forms, (5, 3, 2, 1, 1, 1))[0].format(doing)


def _what(thing: str, chance: Random) -> str:
    name = thing if _CODE.match(thing) or sum(c.isupper() for c in thing) > 2 else thing[0].lower() + thing[1:]
    if _CODE.match(thing):
        uses = ("What does {0} do?", "What is {0}?", "What is {0} for?", "{0}", "How do I use {0}?")
        return chance.choices(uses, (4, 3, 2, 1, 2))[0].format(name)
    plural = re.search(r"(?<![su'])s$", thing.split()[-1]) is not None
    forms = (
        "What are {0}?" if plural else "What is {0}?",
        "{0}",
        "Tell me about {0}",
        "What about {0}?",
        "How do {0} work?" if plural else "How does {0} work?",
        "Explain {0}",
    )
    return chance.choices(forms, (6, 3, 1, 1, 3, 1))[0].format(name)


def _spoken(text: str) -> str:
    """As the reader would say it: your → my."""
    for said, asked in (("your", "my"), ("you are", "I am"), ("you're", "I'm"), ("you", "I"), ("yourself", "myself")):
        text = re.sub(rf"\b{said}\b", asked, text)
    words = text.split()
    if words and words[0].istitle() and words[0].lower() in SMALL_WORDS:
        words[0] = words[0].lower()
    return " ".join(words)


# --- sentences -------------------------------------------------------------------------------------------------------

Form = tuple[re.Pattern[str], Callable[[re.Match[str], Random], str | None]]
_THING = r"(?P<thing>(?:(?:An?|The) )?[`*\w][\w`*./:()@-]*(?: [\w`*./:()@-]+){0,4}?)"
_NO_THING = frozenset(
    """this that these those it there here they we you he she i what which who one some many each all both such below
    above following next another other""".split()
)


def _definition(match: re.Match[str], chance: Random) -> str | None:
    thing = match["thing"]
    first = thing.split()[0].lower().strip("*`")
    if first in _NO_THING or thing.split()[-1].lower() in SMALL_WORDS | _NO_THING:
        return None
    article, _, name = thing.partition(" ") if first in {"a", "an", "the"} else ("", "", thing)
    if not name or (not article and len(name.split()) > 3):
        return None
    name = re.sub(r"\*", "", name)
    spoken = f"{article.lower()} {name}".strip()
    forms = (f"What is {spoken}?", f"what is {name}", f"What does {name} mean?", f"Define {name}", f"What's {spoken}?")
    if match["verb"] == "are":
        forms = (f"What are {spoken}?", f"what are {name}", f"What does {name} mean?", f"Define {name}", spoken)
    return chance.choices(forms, (6, 2, 1, 1, 1))[0]


def _doing(match: re.Match[str], chance: Random) -> str | None:
    doing = _spoken(match["doing"].strip())
    if not 2 <= len(doing.split()) <= 14 or doing.split()[0] in {"be", "do", "this", "that", "ensure"}:
        return None
    return _how(re.sub(r"\*\*", "", doing), chance)


def _used_for(match: re.Match[str], chance: Random) -> str | None:
    thing = match["thing"]
    if thing.split()[0].lower() in _NO_THING:
        return None
    return chance.choice((f"What is {_lower(thing)} used for?", f"What is the purpose of {_lower(thing)}?"))


def _does(match: re.Match[str], chance: Random) -> str | None:
    thing, kind = match["code"], match["kind"]
    forms = (f"What does the {thing} {kind} do?", f"What is the {thing} {kind} for?", f"What does {thing} do?")
    return chance.choice(forms)


def _why(match: re.Match[str], chance: Random) -> str | None:
    thing = match["thing"]
    if thing.split()[0].lower() in _NO_THING or len(match["how"].split()) > 14:
        return None
    return f"Why {match['verb']} {_lower(thing)} {match['how']}?"


_CASES = frozenset("it they this so not possible set using filing she he that these those".split())


def _what_if(match: re.Match[str], chance: Random) -> str | None:
    case = _spoken(match["case"].strip())
    if not 3 <= len(case.split()) <= 16 or case.split()[0].lower() in _CASES:
        return None
    return f"What happens {match['word'].lower()} {case}?"


def _by_default(match: re.Match[str], chance: Random) -> str | None:
    thing = match["thing"]
    if thing.split()[0].lower() in _NO_THING:
        return None
    return f"What {match['verb']} {_lower(thing)} by default?"


def _listed(match: re.Match[str], chance: Random) -> str | None:
    term = match["term"].strip("*` ")
    if not 1 <= len(term.split()) <= 5 or term.lower() in _GENERIC | {"note", "tip", "warning"}:
        return None
    if "`" in match["term"] or _CODE.match(term):
        return chance.choice((f"What does `{term}` do?", f"What is `{term}`?", f"What is {term} for?"))
    return chance.choice((f"What is {term}?", f"What does {term} mean?", f"What is meant by {term}?"))


def _difference(match: re.Match[str], chance: Random) -> str | None:
    return f"What is the difference between {match['pair']}?"


def _lower(thing: str) -> str:
    first, _, rest = thing.partition(" ")
    return f"{first.lower()} {rest}" if first in {"A", "An", "The"} and rest else thing


FORMS: tuple[Form, ...] = (
    (re.compile(r"The (?:main )?difference between (?P<pair>.+? and .+?) is (?P<answer>.+)"), _difference),
    (re.compile(_THING + r" (?:is|are) used (?P<answer>(?:to|for) .+)"), _used_for),
    (
        re.compile(r"The (?P<code>`[^`]+`) (?P<kind>\w+(?: \w+)?) (?P<answer>(?!is |are )\w+s .+)"),
        _does,
    ),
    (re.compile(r"By default, (?P<thing>[\w`][^,.;]{2,60}?) (?P<verb>is|are) (?P<answer>.+)"), _by_default),
    (re.compile(_THING + r" (?P<verb>is|are) (?P<how>[^,.;:]{4,90}?) (?P<answer>because .+)"), _why),
    (re.compile(_THING + r" (?P<verb>is|are) (?P<answer>(?:an?|the|one of|any|how|what|where) .{15,})"), _definition),
    (re.compile(r"(?:To|In order to) (?P<doing>[a-z][^,.;:]+), (?P<answer>(?!see |refer |read |check ).{8,})"), _doing),
    (re.compile(r"If you (?:want|need|wish|would like) to (?P<doing>[^,.;:]+), (?P<answer>(?!see ).{8,})"), _doing),
    (
        re.compile(r"You can (?:also )?(?P<doing>[a-z][^,.;:]{6,80}?) (?P<answer>(?:by|using|with|through) .{6,})"),
        _doing,
    ),
    (
        re.compile(
            r"(?P<word>When|If) (?P<case>(?!you want |you need |you're interested )[^,.;:]+), "
            r"(?P<answer>(?!see |then see |but |and |or ).{12,})"
        ),
        _what_if,
    ),
)
_LIST = re.compile(
    r"^[ \t]*(?:[-*+]|\d+\.)[ \t]+(?P<term>\*\*[^*\n]{2,50}\*\*|`[^`\n]{2,50}`)[ \t]*(?::|-|–|—)[ \t]+"
    r"(?P<answer>.{12,})$",
    re.MULTILINE,
)
_ROW = re.compile(
    r"^\|[ \t]*(?P<term>`[^`|\n]{2,50}`|\*\*[^*|\n]{2,50}\*\*)[ \t]*\|(?:[^|\n]*\|){0,2}?[ \t]*"
    r"(?P<answer>[A-Z][^|\n]{20,})\|",
    re.MULTILINE,
)


def mined(sections: list[Section], chance: Random) -> Iterator[Mined]:
    """Sentences, list items and table rows of a known form."""
    for at, section in enumerate(sections):
        text = section.text
        for pattern in (_LIST, _ROW):
            for match in pattern.finditer(text):
                question = _listed(match, chance)
                if question:
                    yield Mined(at, question, match.span("answer"))
        for start, end in _prose(text):
            found = _from_sentence(text[start:end], chance)
            if found:
                yield Mined(at, found[0], (start + found[1][0], start + found[1][1]))


def _from_sentence(sentence: str, chance: Random) -> tuple[str, Span] | None:
    sentence = sentence.replace("\n", " ")
    for pattern, ask in FORMS:
        match = pattern.match(sentence)
        question = ask(match, chance) if match else None
        if match and question:
            start, end = match.span("answer")
            while end > start and sentence[end - 1] in " \n.":
                end -= 1
            return question, (start, end)
    return None


def _prose(text: str) -> Iterator[Span]:
    """Sentences outside code."""
    outside = re.sub(r"^(`{3,}|~{3,}).*?^\1", lambda m: " " * len(m.group()), text, flags=re.M | re.S)
    for start, end in sentences(outside):
        sentence = outside[start:end]
        indent = len(sentence) - len(sentence.lstrip(" \t>*-+"))
        if 6 <= len(sentence.split()) <= 60 and indent < 6 and text[start:end] == sentence:
            yield start + indent, end


def from_headings(sections: list[Section], verbs: Verbs, chance: Random) -> Iterator[Mined]:
    for at, section in enumerate(sections):
        question = heading_question(section.path[-1], verbs, chance)
        if question:
            yield Mined(at, question, None)
