"""A question → what kind of answer it wants, and about what.

In: the question as a reader typed it. Out: `Asked`: its kind, its subject, the sides of a comparison. `extract` uses it
to choose which piece of the book to quote: a definition, the steps, one excerpt for each side, the row with the value,
the whole list, the reason. The subject of an instruction (`instructions` recognises them) is its object. English only;
any other question wants a `fact`: the sentence nearest to it and its surroundings. Pure: knows neither passages nor
scores. `kinds` decides whether a sentence holds a price or a date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from quoth.ask.instructions import InstructionKind, instruction_in
from quoth.ask.kinds import kind_asked
from quoth.domain import Evidence
from quoth.text.definitions import without_its_kind
from quoth.text.terms import names_something, query_terms, term_ids

InstructionWanted = Literal["summary", "simpler", "example", "quiz", "translation"]
Wanted = Literal["definition", "how_to", "comparison", "value", "list", "why", "fact"] | InstructionWanted


@dataclass(frozen=True, slots=True)
class Asked:
    wanted: Wanted
    subject: str = ""  # the term of a definition, the object of an instruction; empty: the whole question
    sides: tuple[str, ...] = ()  # of a comparison
    example: bool = False  # code or an example is welcome, whatever else is asked

    @property
    def instruction(self) -> InstructionWanted | None:
        return self.wanted if self.wanted in INSTRUCTIONS else None  # type: ignore[return-value]


INSTRUCTIONS: Mapping[InstructionWanted, str] = {
    "summary": "A summary needs a language model; this is how the book itself introduces the subject.",
    "simpler": "Simpler words need a language model; this is how the book itself explains it.",
    "example": "A new example needs a language model; this is what the book itself shows.",
    "quiz": "A new quiz needs a language model; this is what the book itself asks or says about it.",
    "translation": "A translation needs a language model; this is the book in its own language.",
}


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


# "Could you please tell me what …": the actual question comes after it.
_POLITE = _pattern(
    r"\A\s*(?:(?:hi|hello|hey|please|ok|okay|so|and|but|also|now|thanks)\b[,!.\s]*)*"
    r"(?:(?:can|could|would|will)\s+(?:you|someone|we)\s+(?:please\s+|kindly\s+)?"
    r"|i(?:'d|’d|\s+would)\s+like\s+(?:you\s+)?to\s+(?=explain|summar|translat|compare|quiz|list)"
    r"|(?:please|kindly)\s+)?"
    r"(?:tell\s+me\s+(?=what|how|why|which|when|who|where|the\s+difference)"
    r"|(?:do\s+you\s+know|i\s+(?:want|need|would\s+like)\s+to\s+know|i\s+wonder)\s+(?=what|how|why|which|when|who|where))?"
)
_WANTED: Mapping[InstructionKind, InstructionWanted] = {
    "summarise": "summary",
    "simplify": "simpler",
    "example": "example",
    "quiz": "quiz",
    "translate": "translation",
}
_DEFINITION_OF = _pattern(r"\A(?:definition|meaning|explanation)s?\s+of\s+(?:an?\s+|the\s+)?")

_SIDE = r"(?:the\s+|an?\s+)?(.+?)"
_LAST = r"(?:the\s+|an?\s+)?(.+?)(?:\s+(?:in|when|for|on|at)\s+.+)?[\s.?!]*\Z"
_COMPARISONS = (
    _pattern(rf"\bdifferen(?:ces?|t)\b.*?\b(?:between|of)\s+{_SIDE}\s+(?:and|or|vs\.?|versus)\s+{_LAST}"),
    _pattern(
        rf"\A(?:compare|contrast|comparison\s+(?:of|between))\s+{_SIDE}\s+(?:and|with|to|against|vs\.?)\s+{_LAST}"
    ),
    _pattern(rf"\bhow\s+(?:does|do|is|are|did)\s+{_SIDE}\s+(?:differs?|different|distinct)\s+(?:from|to)\s+{_LAST}"),
    _pattern(rf"\bwhat\s+(?:distinguishes|separates|sets)\s+{_SIDE}\s+(?:apart\s+)?from\s+{_LAST}"),
    _pattern(
        r"\b(?:should|do|would|could|must|can|shall)\s+(?:i|we|you|one)\s+(?:\w+\s+)?"
        rf"(?:use|choose|pick|take|prefer|go\s+with|write|need|buy)\s+{_SIDE}\s+"
        rf"(?:or|instead\s+of|rather\s+than|over)\s+{_LAST}"
    ),
    _pattern(rf"\b(?:is|are)\s+{_SIDE}\s+the\s+same\s+(?:thing\s+)?as\s+{_LAST}"),
    _pattern(rf"\bwhich\b[^,:]*[,:]\s*{_SIDE}\s+or\s+{_LAST}"),
    _pattern(
        r"\A(?:(?:what|how|when|which|why)\b[^,]*?\b(?:of|about|is|use|choose)\s+)?"
        rf"{_SIDE}\s+(?:vs\.?|versus|compared\s+(?:to|with))\s+{_LAST}"
    ),
)
_WHY = _pattern(r"\bwhy\b|\bhow\s+come\b|\bwhat\s+(?:causes|caused|makes)\b|\breasons?\s+(?:for|why|that|to)\b")
_HOW_TO = _pattern(
    r"\bhow\s+(?:do|can|could|should|would|must|might|shall|did)\s+(?:i|we|you|one|someone|somebody|people|an?\s+\w+)\b"
    r"|\bhow\s+to\b|\bhow\s+(?:is|are)\s+\S.*\b(?:installed|configured|set\s+up|built|created|written|started|defined"
    r"|enabled|disabled|run|launched|declared|recorded|published)\b"
    r"|\b(?:what|which)\s+(?:are\s+the\s+)?(?:commands?|steps)\b|\bsteps\s+(?:to|for|of)\b|\bshow\s+me\s+how\b"
    r"|\bwhat\s+(?:do|should|must)\s+(?:i|we)\s+(?:do|type|run|write|add|install|enter)\b"
    r"|\bways?\s+to\b|\A\s*(?:install|configure|set\s+up|build|create|run|enable|disable|write|start)\s"
)
_CODE_WELCOME = _pattern(
    r"\b(?:command|example|snippet|code|syntax|flag|cli|terminal|shell|launch\s+file|yaml|xml|json|script)\b"
)
_COUNTED = "two|three|four|five|six|seven|eight|nine|ten|several|many|all|different|main|various|[2-9]|1[0-9]"
_LIST = _pattern(
    r"\A\s*(?:list|enumerate)\b|\A\s*name\s+(?:the|all|some|two|three|four|five|\d)\b|\ball\s+(?:of\s+)?the\s+\w+s\b"
    r"|\bwhat\s+are\s+(?:all\s+)?(?:the|some|its|their)\s+"
    r"|\bwhat\s+(?:kinds|types|sorts|ways|options|parts|stages|problems|steps|states|values|policies|files)\b"
    rf"|\b(?:what|which)\s+(?:are\s+)?(?:the\s+)?(?:{_COUNTED})\s+\w+"
    r"|\A\s*(?:what|which)\s+(?:\w+\s+)?(?!\w*(?:ss|us|is)\b)\w+s\s+(?:does|do|must|should|can|may|will|has|have)\s"
    r"|\A\s*(?:what|which)\s+(?:[\w-]+\s+){0,3}?(?!\w*(?:ss|us|is)\b)\w+s\s+are\s"
    r"|\b(?:what|which)\s+(?:\w+\s+){1,4}(?:are\s+there|exist|are\s+(?:\w+\s+)?(?:supported|available|allowed|possible"
    r"|needed|required|offered|known|used))\b"
)
_VALUE = _pattern(
    r"\A\s*(?:in\s+|at\s+|on\s+|by\s+|to\s+|for\s+|from\s+|under\s+)?(?:which|when|who|whose|whom|where)\b"
    r"|\bhow\s+(?:many|much|long|often|far|fast|large|big|old|high|deep|wide|small|few|heavy)\b"
    r"|\A\s*(?:in\s+|at\s+|on\s+|by\s+|to\s+|for\s+|from\s+)?what\s+(?!(?:is|are|does|do|did|happens|about|if|an?|the)\b)\w+"
    r"|\bwhat\s+(?:is|are|was)\s+the\s+(?:[\w/-]+\s+){0,3}?(?:name|number|default|address|rate|frequency|size|port"
    r"|version|value|limit|maximum|minimum|range|format|path|type|unit|year|date|price|length|depth|capacity|weight)\b"
)
_DEFINITIONS = (
    _pattern(r"\A\s*(?:so\s+)?what\s+(?:exactly\s+)?(?:does|do)\s+(?:the\s+|an?\s+)?(.+?)\s+(?:mean|stand\s+for|do)\b"),
    _pattern(
        r"\A\s*what(?:\s+(?:is|are|was)|['’]s)\s+(?:exactly\s+)?(?:meant\s+by\s+)?(?:the\s+|an?\s+)?(.+?)[\s.?!]*\Z"
    ),
    _pattern(
        r"\A\s*(?:define|describe|explain)\s+(?:what\s+)?(?:the\s+(?:term\s+)?|an?\s+)?(.+?)(?:\s+(?:is|are))?[\s.?!]*\Z"
    ),
    _pattern(r"\A\s*what\s+(?:the\s+|an?\s+)?(.+?)\s+(?:is|are|means?)[\s.?!]*\Z"),
    _pattern(r"\b(?:definition|meaning)\s+of\s+(?:the\s+|an?\s+)?(.+?)[\s.?!]*\Z"),
    _pattern(r"\A\s*who\s+(?:is|was|are)\s+(.+?)[\s.?!]*\Z"),
    _pattern(r"\A\s*tell\s+me\s+(?:more\s+)?about\s+(?:the\s+|an?\s+)?(.+?)[\s.?!]*\Z"),
)
# "What is the downside of it?", "What is a bag used for?": these ask about a thing, not what it is.
_NO_TERM = _pattern(
    r"\b(?:it|its|them|their|this|that|these|those|he|she|used|made|called|needed|responsible|good|meant|supposed|built"
    r"|based|composed|written|like|possible|allowed|required|recommended)\b"
)
_LONGEST_QUESTION = 1000  # characters: no form of a question is longer, and some patterns try every pair of words
_LONGEST_TERM = 6  # words; "what is the best way to mount a lidar on a moving base" does not ask for a definition


def asked(question: str) -> Asked:
    said = _POLITE.sub("", question.strip()[:_LONGEST_QUESTION], count=1)
    if instruction := _instruction(said):
        return instruction
    example = bool(_CODE_WELCOME.search(said))
    for pattern in _COMPARISONS:
        if found := pattern.search(said):
            return Asked("comparison", sides=(found[1].strip(), found[2].strip()), example=False)
    if _WHY.search(said):
        return Asked("why")
    if _HOW_TO.search(said):
        return Asked("how_to", example=True)
    if _LIST.search(said):
        return Asked("list", example=example)
    if _VALUE.search(said) or kind_asked(said):
        return Asked("value", example=example)
    for pattern in _DEFINITIONS:
        found = pattern.search(said)
        if found and len(found[1].split()) <= _LONGEST_TERM and not _NO_TERM.search(found[1]):
            return Asked("definition", _term(found[1]), example=example)
    return Asked("fact", example=example)


def _term(said: str) -> str:
    name = without_its_kind(said)
    return (name if identifiers(name) else said).strip(" '\"“”‘’`*")


# Said to be polite, or to find out who is answering.
_ASKS_NOTHING = _pattern(
    r"\W*(?:(?:hi|hello|hey|yo|greetings|good\s+(?:morning|afternoon|evening|day|night)|thanks?(?:\s+you)?|thx|ok|okay|cool"
    r"|great|nice|bye|goodbye|see\s+you|cheers|welcome|test(?:ing)?|help|please|hallo|hola|bonjour|salut|salam|merci|danke"
    r"|how\s+are\s+you(?:\s+(?:doing|today))*|how\s+do\s+you\s+do|what['’]?s\s+up|who\s+are\s+you|what\s+are\s+you"
    r"|what\s+can\s+you\s+do(?:\s+for\s+me)?|are\s+you\s+(?:there|a\s+bot|human|real)"
    r"|(?:very|so)\s+much|a\s+lot|there|all|everyone|friend|again)\b\W*)+"
)


def asks_nothing(question: str) -> bool:
    """A greeting or thanks: it asks nothing of the book."""
    return _ASKS_NOTHING.fullmatch(question) is not None


def _instruction(said: str) -> Asked | None:
    order = instruction_in(said)
    if order is None or order.kind not in _WANTED:
        return None
    wanted = _WANTED[order.kind]
    return Asked(wanted, _DEFINITION_OF.sub("", order.object), example=wanted == "example")


# --- identifiers -----------------------------------------------------------------------------------------------------

_IDENTIFIER = re.compile(
    r"`(?P<code>[^`\s]{2,})`"
    r"|(?<![\w-])(?P<flag>--[A-Za-z][\w-]*)"
    r"|(?<![\w./-])(?P<name>"
    r"[A-Za-z]\w*(?:::\w+)+"  # std::vector
    r"|[A-Za-z][^\W_]*_\w*+(?:/\w+)+"  # sensor_msgs/msg/Imu
    r"|[A-Za-z]\w+(?:\.[A-Za-z]\w+)+"  # rclpy.qos, local_setup.bash
    r"|_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_*"  # max_upload_size_mb, ROS_DOMAIN_ID
    r"|[a-z]-[a-z]{2,}(?:-[a-z]+)*"  # v-memoize
    r"|[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,}"  # useMemo, TransformListener
    r"|[A-Z]{1,4}-?\d{4,}"  # E0382, ORA-00942
    r")(?![\w-])"
)
# Words of everyday English and names of everyday products that only look like identifiers.
_ORDINARY = frozenset(
    """
    e-mail x-ray t-shirt u-turn e-book e-commerce k-means github gitlab javascript typescript youtube macbook iphone
    ipad powershell linkedin chatgpt whatsapp powerpoint wordpress
    """.split()  # noqa: SIM905 - as a list of quoted words it would be harder to read
)


def identifiers(question: str) -> tuple[str, ...]:
    """Names in the question that must match letter for letter: options, functions, error codes, anything in code."""
    found = (match[match.lastgroup or 0].strip("()") for match in _IDENTIFIER.finditer(question))
    return tuple(dict.fromkeys(name for name in found if name.lower() not in _ORDINARY))


def absent_identifiers(question: str, evidence: Evidence) -> tuple[str, ...]:
    """Identifiers that the book does not have, and sides of a comparison that it does not cover. An identifier is
    searched for as a whole: if even the nearest passages do not hold it, the book does not, although it may use every
    part of it."""
    held = frozenset[int]().union(
        *(term_ids("\n".join((*one.chunk.breadcrumb, one.chunk.shown))) for one in evidence.passages)
    )
    in_book = {term.id: term.in_book for term in evidence.terms}
    shown = "\n".join(one.chunk.shown for one in evidence.passages)
    names = (
        name
        for name in identifiers(question)
        if name not in shown
        and not _is_called_otherwise(name, question, shown)
        and any(term.id not in held or not in_book.get(term.id, True) for term in query_terms(name)[:1])
    )
    return (*names, *(side for side in asked(question).sides if _is_unknown(side, in_book)))


def _is_called_otherwise(name: str, question: str, shown: str) -> bool:
    """`task.get()` in a question is `result.get()` in the book: the variable is the reader's own."""
    own, _, method = name.rpartition(".")
    return bool(own) and f"{name}(" in question and re.search(rf"\.{re.escape(method)}\b", shown) is not None


def _is_unknown(side: str, in_book: Mapping[int, bool]) -> bool:
    """None of its words is in the book, or a name in it is not."""
    terms = [term for term in query_terms(side) if term.id in in_book]
    unknown = [term for term in terms if not in_book[term.id]]
    return bool(unknown) and (len(unknown) == len(terms) or any(names_something(term.text) for term in unknown))
