"""A heading of a book as a question whose grammar is right. Pure.

In: a heading without its markup, and the prose of its page. Out: a question in English; of a heading that asks already,
or is in another language, the heading itself. Where no sentence is safe the heading is named in quotes.
"""

from __future__ import annotations

import re
from functools import cache

# Verbs that open a heading and are hardly ever nouns there. Of a noun such as "logging" nobody asks how to log it.
_VERBS = [
    "access",
    "add",
    "adjust",
    "allow",
    "analyse",
    "analyze",
    "append",
    "apply",
    "assign",
    "attach",
    "authenticate",
    "avoid",
    "bring",
    "build",
    "bundle",
    "calculate",
    "call",
    "choose",
    "clean",
    "combine",
    "compare",
    "compile",
    "compute",
    "configure",
    "connect",
    "contribute",
    "control",
    "convert",
    "create",
    "customise",
    "customize",
    "declare",
    "define",
    "delete",
    "deploy",
    "describe",
    "detect",
    "develop",
    "disable",
    "discover",
    "display",
    "download",
    "edit",
    "embed",
    "enable",
    "enforce",
    "ensure",
    "evaluate",
    "execute",
    "expose",
    "extend",
    "extract",
    "fetch",
    "find",
    "fix",
    "generate",
    "get",
    "handle",
    "host",
    "identify",
    "implement",
    "import",
    "improve",
    "include",
    "initialise",
    "initialize",
    "inject",
    "insert",
    "inspect",
    "install",
    "integrate",
    "introduce",
    "invoke",
    "join",
    "keep",
    "launch",
    "load",
    "make",
    "manage",
    "measure",
    "merge",
    "migrate",
    "modify",
    "move",
    "name",
    "obtain",
    "open",
    "optimise",
    "optimize",
    "organise",
    "organize",
    "override",
    "parse",
    "pass",
    "perform",
    "play",
    "prepare",
    "prevent",
    "protect",
    "provide",
    "publish",
    "pull",
    "put",
    "read",
    "receive",
    "record",
    "reduce",
    "refactor",
    "register",
    "remove",
    "rename",
    "render",
    "replace",
    "require",
    "resolve",
    "restore",
    "retrieve",
    "return",
    "reuse",
    "run",
    "save",
    "secure",
    "select",
    "send",
    "separate",
    "serve",
    "share",
    "show",
    "simplify",
    "simulate",
    "solve",
    "specify",
    "split",
    "start",
    "stop",
    "store",
    "submit",
    "subscribe",
    "support",
    "switch",
    "sync",
    "train",
    "transfer",
    "translate",
    "trigger",
    "turn",
    "understand",
    "uninstall",
    "update",
    "upgrade",
    "upload",
    "use",
    "validate",
    "verify",
    "view",
    "visualise",
    "visualize",
    "work",
    "wrap",
    "write",
]
_DOUBLED = frozenset(["control", "embed", "get", "put", "run", "split", "stop", "submit", "wrap"])

_ASKS = ("?", "？", "؟")
_ODD = re.compile(r"[:;!,()\"“”—/]|\.(?:\s|$)")  # more than one phrase
_NAME = re.compile(r"[A-Za-z0-9]*[a-z0-9][-_.][A-Za-z0-9._-]*[A-Za-z0-9]|[a-z]+[A-Z]\w*", re.ASCII)
_PLURAL = re.compile(r"(?:[\w-]+ ){0,2}\w+[^isu\W](?<!ic)s", re.ASCII)
_WHAT_IT_IS = re.compile(r"what (.+) (is|are)", re.IGNORECASE)
_WHEN_TO = re.compile(r"(when|where|what|why) to (\w.*)", re.IGNORECASE)
_HOW_TO = re.compile(r"how to (\w.*)", re.IGNORECASE)
_OBJECT = r"(?:an?|the|my|its?|new|from|to|with|in|on|into)\b"
# Words after which a phrase is no name of a subject: "From speech to a plan", "Who Rust is for", "Your first node".
_NO_SUBJECT = re.compile(
    r"(?:an?|the|your|my|our|its|this|that|these|those|some|any|all|more|other|who|whom|whose|what|which|when|where|why"
    r"|how|if|as|is|are|can|do|does|from|to|with|without|in|on|at|by|for|of|under|over|between|beyond|after|before|about"
    r"|behind|inside|into|not|no|let|it|you|we|i|let’s|getting|going|moving|putting|taking|looking|thinking|wrapping"
    r"|only|just|still|also|never|always|first|next|last|advanced|basic|further)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_CAPITAL = re.compile(r"\b[A-Z][a-z]+\b")
_SMALL = re.compile(
    r"\b(?:To|An?|The|And|Or|In|On|With|For|From|Is|Are|Your|How|When|What|Where|Why)\b"
)  # in any title
_ENGLISH = re.compile(r"\b(?:the|and|of|to|is)\b")
_ENOUGH = 400  # characters of prose that have such a word if they are English
_MORE_OFTEN = 3


def question_of(heading: str, words: str) -> str:
    prose = _CODE.sub(" ", words).replace("*", " ").replace("_", " ")
    if heading.endswith(_ASKS) or not _is_english(heading, prose):
        return heading
    lowered = _as_in_a_sentence(heading, prose)
    if how := _HOW_TO.fullmatch(lowered):
        return f"How do I {how[1]}?"
    if (when := _WHEN_TO.fullmatch(lowered)) and not _ODD.search(heading):
        return f"{when[1].capitalize()} should I {when[2][0].lower()}{when[2][1:]}?"
    if what := _WHAT_IT_IS.fullmatch(lowered):
        return f"What {what[2]} {what[1]}?"
    if done := _doing(lowered):
        return done
    if _ODD.search(heading) or _NO_SUBJECT.match(heading):
        return f"What is “{heading}” about?"
    if _NAME.fullmatch(heading):
        return f"What is {heading}?"
    return f"How do {lowered} work?" if _PLURAL.fullmatch(lowered) else f"What should I know about {lowered}?"


def _is_english(heading: str, prose: str) -> bool:
    ascii_only = heading.translate({ord("–"): "-", ord("’"): "'", ord("²"): "2"}).isascii()
    return ascii_only and (len(prose) < _ENOUGH or _ENGLISH.search(prose) is not None)


def _doing(heading: str) -> str:
    """ "Installing Isaac Sim", "Write a launch file" → how it is done."""
    first, _, rest = heading.partition(" ")
    if not rest or _ODD.search(heading):
        return ""
    verb, rest = first.lower(), re.sub(r"\byour\b", "my", rest)
    if base := _gerunds().get(verb):
        return f"How do I {base} {rest}?"
    if verb in _VERBS and re.match(_OBJECT, rest, re.IGNORECASE):
        return f"How do I {verb} {rest}?"
    return f"How do I go about {verb} {rest}?" if verb.endswith("ing") and re.match(_OBJECT, rest) else ""


@cache
def _gerunds() -> dict[str, str]:
    return {_gerund(verb): verb for verb in _VERBS}


def _gerund(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith("ee"):
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if verb in _DOUBLED else f"{verb}ing"


def _as_in_a_sentence(heading: str, prose: str) -> str:
    """Words that the page writes small are large only because they are in a heading."""

    def small(word: re.Match[str]) -> str:
        stem = word[0].removesuffix("s")
        often = len(re.findall(rf"(?<![\w./:@-]){stem.lower()}s?(?![\w/:@-]|\.\w)", prose))  # not in an address
        large = len(re.findall(rf"\b{stem}s?\b", prose))
        verb = heading[: word.start()].endswith((" to ", " To "))
        return word[0].lower() if often and (verb or often * _MORE_OFTEN >= large) else word[0]

    lowered = _CAPITAL.sub(small, heading)
    return _SMALL.sub(lambda one: one[0].lower(), lowered)
