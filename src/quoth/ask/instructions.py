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
    whole_book: bool = False  # it is about the book itself: nothing that was said before, and no word to find in it


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_PLEASE = _any(
    r"\A\W*(?:(?:please|kindly|ok(?:ay)?|hey|hi|now|so|and|thanks|great)[\s,.!]+)*"
    r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+|also\s+)?|(?:i\s+(?:want|need"
    r"|would\s+(?:like|love))|i'd\s+(?:like|love))\s+(?:you\s+to\s+|to\s+(?:see|have)\s+)?"
    r"|(?:can|could|may)\s+i\s+(?:please\s+)?(?:see|have|get)\s+"
    r"|help\s+me\s+(?:to\s+)?(?!understand\b)|let's\s+)?"
)
_END = _any(r"[\s,]*(?:,?\s*please|for\s+me|thanks|thank\s+you)*\s*[.?!\s]*\Z")
_POINTING = _any(
    r"\A\W*(?:(?:all\s+of\s+)?(?:this|that|these|those|it|them|everything|the\s+above|me"
    r"|what\s+(?:this|it|that)\s+(?:means|says)|what\s+is\s+(?:said|written)\s+here"
    r"|(?:(?:all|everything|what)\s+)?(?:that\s+)?(?:you|we|i)(?:['’]ve|\s+have)?\s+(?:just\s+)?(?:said|told|wrote|written"
    r"|explained|discussed|talked\s+about|covered)(?:\s+(?:me|us|so\s+far|until\s+now|above|before|earlier))*"
    r"|(?:this|our|the)\s+(?:whole\s+)?(?:conversation|discussion|chat)(?:\s+so\s+far)?"
    r"|(?:your|the\s+last|the\s+previous|your\s+last)\s+(?:answer|reply|response))"
    r"|(?:(?:this|that|the|these|those|my|whole|entire|selected|above|following|highlighted|current|same)\s+)+"
    r"(?:text|passage|paragraph|section|selection|excerpt|part|sentence|lines?|code|snippet|page"
    r"|answer|chapter|material|content|thing|concept)s?)?\W*\Z"
)
_ABOUT = (
    r"(?:\s+(?:of|about|on|for|from|regarding|with|using|how|to|in|that|where|which|showing|demonstrating"
    r"|illustrating)\b)*"
)
_NUMBER = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|\d{1,3})"
_AN = (
    rf"(?:(?:an?|the|some|any|another|more|few|{_NUMBER}|short|brief|quick|simple|small|good|minimal"
    r"|concrete|practical|working|complete|real|basic)\s+)*"
)
_YEARS = r"[\s-]years?[\s-]olds?"
_PERSON = (
    r"(?:(?:an?|my|our|your)\s+)?(?:\w+\s+)?(?:beginners?|novices?|newbies?|newcomers?|child(?:ren)?|kids?|students?"
    r"|teenagers?|grand(?:mother|father|ma|pa)|mother|mom|mum|dad|manager|boss|colleagues?|friends?|dummies|layperson"
    r"|laymen?|non[\s-]?(?:expert|programmer|technical\s+\w+)s?)\b"
)
# How something is to be said. It is taken out before the rest is read.
_SIMPLY = (
    r"(?:in\s+(?:very\s+)?(?:simple|simpler|plain|easy|everyday|layman'?s|other|your\s+own|my\s+own"
    rf"|a\s+few|few|a\s+single|{_NUMBER}|short)\s+(?:\w+\s+)?"
    r"(?:words?|terms?|language|english|sentences?|way|bullets?|bullet\s+points?|lines|paragraphs?)\b"
    r"|in\s+a\s+(?:nutshell|sentence)\b"
    rf"|(?:in)?to\s+(?:a\s+single|{_NUMBER})\s+(?:sentences?|words|lines|paragraphs?)\b"
    r"|simply|(?:more\s+)?simpl[ey]r?|plainly|easily|more\s+(?:formally|casually|clearly|concisely|briefly)"
    r"|briefly|in\s+(?:brief|short|detail|depth)|step\s+by\s+step"
    rf"|(?:like|as\s+if|as\s+though)\s+i(?:'?m|\s+am|\s+was|\s+were)\s+(?:an?\s+)?(?:{_NUMBER}(?:{_YEARS})?|{_PERSON})"
    rf"|(?:to|for|as\s+to)\s+(?:{_PERSON}|(?:an?\s+)?{_NUMBER}{_YEARS}|5|five"
    r"|someone\s+(?:new|who|coming|with(?:out)?)\b.*|me)"
    r"|\A(?:pretend|imagine|act)\b[^.!?]*?(?:\band\b|[,;:])\s*|(?<=\s)eli5)"
)
_BOOK = r"(?:book|documentation|docs|manual|guide|tutorial|handbook|site|website)"
_LANGUAGES = (
    r"(?:urdu|german|french|spanish|chinese|mandarin|arabic|hindi|japanese|italian|portuguese|russian"
    r"|turkish|persian|bengali|korean|dutch|polish|english|swedish|greek|latin"
    r"|deutsch|français|español|another\s+language|my\s+language)"
)
_KINDS: tuple[tuple[InstructionKind, re.Pattern[str]], ...] = (
    (
        "translate",
        _any(
            rf"\A(?:translate|render|put)\b(?P<a>.*?)\s*\b(?:in)?to\s+{_LANGUAGES}\b(?P<f>.*)\Z",
            r"\Atranslate\b(?P<b>.*)\Z",
            rf"\A(?:explain|describe|define|tell|say|write)\b(?:\s+(?:to\s+)?me)?\s+in\s+{_LANGUAGES}\b(?P<g>.+)\Z",
            rf"\Ahow\s+(?:do|would|can)\s+(?:you|i|we|one)\s+say\s+(?P<h>.+?)\s+in\s+{_LANGUAGES}\Z",
            rf"\A(?:give|say|write|show|explain)\b(?:\s+me)?(?P<c>.*?)\s+in\s+{_LANGUAGES}\Z",
            rf"\A(?:an?\s+)?{_LANGUAGES}\s+translation{_ABOUT}(?P<d>.*)\Z",
            rf"\A(?:what(?:['’]s|\s+(?:is|are)))\s+(?P<e>.*?),?\s+in\s+{_LANGUAGES}\Z",
        ),
    ),
    (
        "quiz",
        _any(
            r"\A(?:quiz|test)\s+(?:me|my\s+(?:knowledge|understanding))\b(?:\s+(?:on|about|with|of))?(?P<a>.*)\Z",
            rf"\Aask\s+me\s+{_AN}questions?\b(?:\s+(?:on|about))?(?P<b>.*)\Z",
            rf"\A(?:(?:make|create|write|generate|give|prepare|suggest|come\s+up\s+with|think\s+of)\s+(?:me\s+)?(?:up\s+)?"
            rf"|what\s+(?:would|could)\s+be\s+){_AN}(?:multiple[\s-]choice\s+|practice\s+|review\s+|exam\s+|interview\s+"
            rf"|study\s+)?(?:quiz(?:zes)?|exercises?|questions|flash\s?cards?|test(?=\s+(?:on|about)\b)|test\Z)"
            rf"{_ABOUT}(?P<c>.*)\Z",
        ),
    ),
    (
        "summarise",
        _any(
            r"\A(?:summari[sz]e|sum\s+up|recap|condense|shorten|outline)\b(?P<a>.*)\Z",
            rf"\A(?:(?:give|write|make|draft|create|provide)(?:\s+me)?|i\s+need)?\s*{_AN}(?:summary|recap|overview|outline"
            rf"|tl;?dr|gist|synopsis|key\s+points?|takeaways?|bullet\s+points?|cheat\s?sheet){_ABOUT}(?P<b>.*)\Z",
            r"\A(?:turn|make|convert|put)\b(?P<f>.*?)\s+(?:in)?to\s+(?:an?\s+)?(?:bullet\s+points?|bullets|notes|summary)\Z",
            r"\Awhat\s+(?:should|do|must)\s+(?:i|we)\s+(?:remember|take\s+away|know)\s+(?:from|about)\b(?P<g>.*)\Z",
            r"\A(?:what(?:'s|\s+is|\s+are)|tell\s+me|list|give(?:\s+me)?)\s+(?:the\s+)?(?:main|key|central"
            r"|core|most\s+important|basic)\s+(?:ideas?|points?|message|takeaways?|topics?|thoughts?"
            r"|arguments?|concepts?)(?:\s+(?:of|in|here|from))?(?P<c>.*)\Z",
            r"\Awhat(?:'s|\s+is)\s+the\s+(?:bottom\s+line|gist|upshot|essence)(?:\s+(?:of|in|here|from))?(?P<h>.*)\Z",
            r"\Atl;?dr(?P<d>.*)\Z",
            rf"\Awhat\s+(?:is|are)\s+(?P<e>(?:this|that|these|the)(?:\s+(?:selected\s+)?(?:text|passage"
            rf"|paragraph|section|selection|page|{_BOOK})s?)?)\s+(?:\w+ly\s+|all\s+)?about\Z",
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
            rf"\A(?:give|show|write|provide|have|see|get|got|need|want|find|make|create|is\s+there|are\s+there|do\s+you\s+have"
            rf")?(?:\s*me)?(?:\s+an?other)?\s*{_AN}(?:code\s+|sample\s+|usage\s+"
            rf"|real[\s-](?:world|life)\s+)?(?:example|sample|snippet|code\s+snippet|analog(?:y|ie)"
            rf"|code)s?\b(?:\s+code)?{_ABOUT}(?P<a>.*)\Z",
            r"\A(?:illustrate|demonstrate|show|explain)\b(?P<b>.+?)\s+(?:with|by|using)\s+(?:an?|some|one)\s+(?:\w+\s+)?"
            r"(?:example|analogy)s?\Z",
        ),
    ),
    (
        "simplify",
        _any(
            r"\A(?:simplify|rephrase|reword|paraphrase|eli5|break\s+down|dumb\s+down|make)\b(?P<a>.*?)"
            r"(?:\s+(?:simpler|easier(?:\s+to\s+(?:understand|read))?|clearer|shorter))?\Z",
            r"\A(?:dumb|break)\s+(?:it|this|that)\s+down\b(?P<b>.*)\Z",
            r"\Ahelp\s+me\s+(?:to\s+)?understand\b(?P<c>.*)\Z",
        ),
    ),
    (
        "explain",
        _any(
            r"\A(?:explain|describe|clarify|elaborate(?:\s+on)?|teach(?:\s+me)?(?:\s+about)?"
            r"|put|say|rewrite|introduce(?:\s+me\s+to)?|tell\s+me\s+(?:more\s+)?about|walk\s+me\s+through|go\s+over"
            r"|what\s+does|what(?:['’]s|\s+is|\s+are))\b(?P<a>.*)\Z"
        ),
    ),
)
_ARTICLE = _any(
    r"\A(?:to\s+me\s+|me\s+)?(?:using\s+)?"
    rf"(?:what\s+(?:is\s+|are\s+|(?:the|this)\s+(?:{_BOOK}|chapter|section)\s+says?\s+about\s+)?)?"
    r"(?:(?:an?|the|some|your)\s+)?(?:(?:chapter|section|page|lesson|part|paragraph|passage)s?\s+(?:on|about|of)\s+)?"
    r"(?:(?:an?|the)\s+)?"
)
_IN_LANGUAGE = _any(rf"\s+in(?:to)?\s+{_LANGUAGES}\Z")
_WHOLE_BOOK = _any(rf"\A(?:(?:this|the|your|whole|entire|complete)\s+)*{_BOOK}\Z")
_MANNER = _any(rf"\s*,?\b{_SIMPLY}(?=\W|\Z)", rf"\A{_SIMPLY}")
_HOW = _any(r"\Ahow\s+(.+?)\s+works?\Z")
_MEANS = _any(r"\s+(?:means?|is|are|works?|says?)\Z")
_CODE = _any(r"\b(?:code|snippet)s?\b")
_PART = _any(r"\s+(?:chapter|section|page|lesson)\Z")
_EDGES = " \t\n.,;:?!\"'“”"
_MAKE = _any(r"\Amake\b(?!.*\b(?:simpler|easier|clearer|shorter)\b)")


def instruction_in(request: str) -> Instruction | None:
    """What the reader wants beyond finding something in the book."""
    text = " ".join(request.replace("’", "'").split())
    if not text or len(text) > LONGEST:
        return None
    words = _END.sub("", _PLEASE.sub("", text, count=1))
    bare = _MANNER.sub("", words).strip(_EDGES)
    simply = bare != words.strip(_EDGES)
    for kind, pattern in _KINDS:
        found = None if kind == "simplify" and _MAKE.match(bare) else pattern.match(bare)
        if found:
            said = next((words for words in found.groups() if words and words.strip(_EDGES)), "")
            return _instruction(kind, said, simply=simply, code=bool(_CODE.search(bare)))
    return None


def _instruction(kind: InstructionKind, said: str, *, simply: bool, code: bool) -> Instruction | None:
    if _WHOLE_BOOK.match(said.strip(_EDGES)) and kind not in ("compare", "explain"):
        return Instruction(kind, "", "introduction, overview", whole_book=True)
    about = _object(_IN_LANGUAGE.sub("", said.strip(_EDGES)))
    if kind == "example":
        return Instruction(kind, about, f"{about} {'code example' if code else 'example'}".strip())
    if kind == "quiz":  # the book's own, if it has any
        return Instruction(kind, about, f"{about}: check yourself, exercise" if about else "")
    if kind == "explain" and about and not simply:
        return None  # "Explain tf2" simply asks what it is
    return Instruction("simplify" if simply and kind == "explain" else kind, about, about)


def _object(words: str) -> str:
    """Without articles, and empty if it only points: "this", "the selected paragraph"."""
    words = words.strip(_EDGES)
    if _POINTING.match(words):
        return ""
    words = _HOW.sub(r"\1", words)
    words = _PART.sub("", _MEANS.sub("", _ARTICLE.sub("", words, count=1))).strip(_EDGES)
    return "" if _POINTING.match(words) else words
