"""A request that wants something done → what is wanted, and what it is about. Pure.

In: the words of a reader. Out: an `Instruction`, or None for a plain question. "Explain tf2 to a beginner" wants tf2
explained: searching the book for *beginner* finds another chapter. So the book is searched for the object of an
instruction, and the judge does not count the words of the instruction as missing. An instruction without an object
("Summarise this", "Quiz me") is about what is selected, or about what the conversation was about. English only, like
`references`: in another language the request is searched as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

InstructionKind = Literal["translate", "simplify", "summarise", "example", "quiz", "compare", "explain"]

LONGEST = 300  # characters: a longer request brings along what it is about


@dataclass(frozen=True, slots=True)
class Instruction:
    kind: InstructionKind
    object: str  # what it is about, as a phrase to search for; empty if it only points
    searched: str  # what to look for: the object, and for an example or a quiz a word for that


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_PLEASE = _any(
    r"\A\W*(?:(?:please|kindly|ok(?:ay)?|hey|hi|now|so|and|thanks|great)[\s,.!]+)*"
    r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+|also\s+)?|(?:i\s+(?:want|need"
    r"|would\s+like)|i'd\s+like)\s+(?:you\s+to\s+|to\s+see\s+)?"
    r"|help\s+me\s+(?:to\s+)?|let's\s+)?"
)
_END = _any(r"[\s,]*(?:,?\s*please|for\s+me|thanks|thank\s+you)*\s*[.?!\s]*\Z")
_POINTING = _any(
    r"\A\W*(?:(?:all\s+of\s+)?(?:this|that|these|those|it|them|everything|the\s+above|me"
    r"|what\s+(?:this|it)\s+(?:means|says)|what\s+is\s+(?:said|written)\s+here)"
    r"|(?:(?:this|that|the|these|those|my|whole|entire|selected|above|following|highlighted|current|same)\s+)+"
    r"(?:text|passage|paragraph|section|selection|excerpt|part|sentence|lines?|code|snippet|page"
    r"|answer|chapter|material|content|thing|concept)s?)?\W*\Z"
)
_ABOUT = r"(?:\s+(?:of|about|on|for|from|regarding|with|using|how|to|in|that|where|which|showing)\b)?"
_AN = (
    r"(?:(?:an?|the|some|one|another|more|two|three|few|short|brief|quick|simple|small|good|minimal"
    r"|concrete|practical|working|complete|real|basic)\s+)*"
)
_SIMPLY = (
    r"(?:in\s+(?:very\s+)?(?:simple|simpler|plain|easy|everyday|layman'?s|other|your\s+own|my\s+own"
    r"|a\s+few|few|one|two|\d+|short)\s+(?:\w+\s+)?"
    r"(?:words?|terms?|language|english|sentences?|way)|simply|(?:more\s+)?simpl[ey]r?|plainly|easily"
    r"|briefly|in\s+(?:brief|short|detail|depth)|step\s+by\s+step"
    r"|(?:to|for|like\s+i'?m|as\s+if\s+i\s+(?:was|were)|as\s+to)\s+(?:an?\s+)?(?:\w+\s+)?(?:beginners?"
    r"|novices?|child(?:ren)?|kids?|newcomers?|student|five(?:[\s-]years?[\s-]old)?"
    r"|5(?:[\s-]years?[\s-]old)?|\d+[\s-]year[\s-]old"
    r"|dummies|layperson|laymen?|someone\s+(?:new|who\b.*)|non[\s-]?(?:expert|programmer|technical\s+\w+)s?|me)|eli5)"
)
_LANGUAGES = (
    r"(?:urdu|german|french|spanish|chinese|mandarin|arabic|hindi|japanese|italian|portuguese|russian"
    r"|turkish|persian|bengali|korean|dutch|polish|english|swedish|greek|latin"
    r"|deutsch|français|español|another\s+language|my\s+language)"
)
_KINDS: tuple[tuple[InstructionKind, re.Pattern[str]], ...] = (
    (
        "translate",
        _any(
            rf"\A(?:translate|render|put)\b(?P<a>.*?)\s*\b(?:in)?to\s+{_LANGUAGES}\b.*\Z",
            r"\Atranslate\b(?P<b>.*)\Z",
            rf"\A(?:give|say|write|show|explain)\b(?:\s+me)?(?P<c>.*?)\s+in\s+{_LANGUAGES}\Z",
            rf"\A(?:an?\s+)?{_LANGUAGES}\s+translation{_ABOUT}(?P<d>.*)\Z",
            rf"\A(?:what(?:['’]s|\s+(?:is|are)))\s+(?P<e>.*?),?\s+in\s+{_LANGUAGES}\Z",
        ),
    ),
    (
        "quiz",
        _any(
            r"\A(?:quiz|test)\s+me\b(?:\s+(?:on|about|with))?(?P<a>.*)\Z",
            r"\Aask\s+me\s+(?:an?\s+|some\s+|a\s+few\s+|\d+\s+|two\s+|three\s+|five\s+)?questions?\b(?:\s+(?:on"
            r"|about))?(?P<b>.*)\Z",
            rf"\A(?:make|create|write|generate|give(?:\s+me)?"
            rf"|prepare)\s+(?:up\s+)?{_AN}(?:\d+\s+)?(?:multiple[\s-]choice\s+|practice\s+|review\s+"
            rf"|exam\s+)?(?:quiz(?:zes)?|exercises?|questions|flash\s?cards?|test){_ABOUT}(?P<c>.*)\Z",
        ),
    ),
    (
        "summarise",
        _any(
            r"\A(?:summari[sz]e|sum\s+up|recap|condense|shorten|outline)\b(?P<a>.*)\Z",
            rf"\A(?:give(?:\s+me)?|write|make|provide|i\s+need)?\s*{_AN}(?:summary|recap|overview|outline"
            rf"|tl;?dr|gist|synopsis|key\s+points?|takeaways?|bullet\s+points?){_ABOUT}(?P<b>.*)\Z",
            r"\A(?:what(?:'s|\s+is|\s+are)|tell\s+me|list|give(?:\s+me)?)\s+(?:the\s+)?(?:main|key|central"
            r"|core|most\s+important|basic)\s+(?:ideas?|points?|message|takeaways?|topics?|thoughts?"
            r"|arguments?|concepts?)(?:\s+(?:of|in|here|from))?(?P<c>.*)\Z",
            r"\Atl;?dr(?P<d>.*)\Z",
            r"\Awhat\s+(?:is|are)\s+(?P<e>(?:this|that|these|the)(?:\s+(?:selected\s+)?(?:text|passage"
            r"|paragraph|section|selection|page)s?)?)\s+about\Z",
        ),
    ),
    (
        "compare",
        _any(
            r"\A(?:compare|contrast)(?:\s+and\s+contrast)?\b(?P<a>.*)\Z",
            r"\A(?:what(?:'s|’s|\s+is|\s+are)|tell\s+me|explain|describe)\s+the\s+(?:main\s+|key\s+|exact\s+)?"
            r"differences?\s+between\b(?P<b>.*)\Z",
        ),
    ),
    (
        "example",
        _any(
            rf"\A(?:give|show|write|provide|have|see|get|need|want|find|make"
            rf"|create)?(?:\s*me)?(?:\s+an?other)?\s*{_AN}(?:code\s+|sample\s+|usage\s+"
            rf"|real[\s-]world\s+)?(?:example|sample|snippet|code\s+snippet"
            rf"|code)s?(?:\s+code)?{_ABOUT}(?P<a>.*)\Z"
        ),
    ),
    (
        "simplify",
        _any(
            r"\A(?:simplify|rephrase|reword|paraphrase|eli5|break\s+down|make)\b(?P<a>.*?)(?:\s+(?:simpler"
            r"|easier(?:\s+to\s+understand)?|clearer|shorter))?\Z"
        ),
    ),
    (
        "explain",
        _any(
            r"\A(?:explain|describe|clarify|elaborate(?:\s+on)?|teach(?:\s+me)?(?:\s+about)?"
            r"|introduce(?:\s+me\s+to)?|tell\s+me\s+(?:more\s+)?about|walk\s+me\s+through|go\s+over"
            r"|what\s+does|what(?:['’]s|\s+is|\s+are))\b(?P<a>.*)\Z"
        ),
    ),
)
_ARTICLE = _any(
    r"\A(?:to\s+me\s+|me\s+)?(?:what\s+)?(?:(?:an?|the|some|your)\s+)?(?:(?:chapter|section|page"
    r"|lesson|part)s?\s+(?:on|about|of)\s+)?(?:the\s+)?"
)
_HOW = _any(r"\Ahow\s+(.+?)\s+works?\Z")
_MEANS = _any(r"\s+(?:means?|is|are|works?|says?)\Z")
_CODE = _any(r"\b(?:code|snippet)s?\b")
_PART = _any(r"\s+(?:chapter|section|page|lesson)\Z")
_EDGES = " \t\n.,;:?!\"'“”"
_MAKE = _any(r"\Amake\b(?!.*\b(?:simpler|easier|clearer|shorter)\b)")


def instruction_in(request: str) -> Instruction | None:
    """What the reader wants beyond finding something in the book."""
    text = " ".join(request.split())
    if not text or len(text) > LONGEST:
        return None
    words = _END.sub("", _PLEASE.sub("", text, count=1))
    simply = re.search(rf"\s*,?\b{_SIMPLY}(?=\W|\Z)", words, re.IGNORECASE)
    bare = (words[: simply.start()] + words[simply.end() :]).strip(_EDGES) if simply else words.strip(_EDGES)
    for kind, pattern in _KINDS:
        found = None if kind == "simplify" and _MAKE.match(bare) else pattern.match(bare)
        if not found:
            continue
        groups = found.groupdict()
        about = _object(next((groups[name] for name in "abcde" if groups.get(name)), ""))
        if kind == "example":
            example = "code example" if _CODE.search(bare) else "example"
            return Instruction(kind, about, f"{about} {example}".strip())
        if kind == "quiz":  # the book's own, if it has any
            return Instruction(kind, about, f"{about}: check yourself, exercise" if about else "")
        if kind == "explain" and about and not simply:
            return None  # "Explain tf2" simply asks what it is
        return Instruction("simplify" if simply and kind == "explain" else kind, about, about)
    return None


def _object(words: str) -> str:
    """Without articles, and empty if it only points: "this", "the selected paragraph"."""
    words = words.strip(_EDGES)
    if _POINTING.match(words):
        return ""
    words = _HOW.sub(r"\1", words)
    words = _PART.sub("", _MEANS.sub("", _ARTICLE.sub("", words, count=1))).strip(_EDGES)
    return "" if _POINTING.match(words) else words
