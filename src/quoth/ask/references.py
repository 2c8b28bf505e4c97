"""Does a question make sense alone, or does it point back? Pure, by rules.

In: the question and the exchanges before it. Out: the names of the rules that found something pointing back, and the
source of the last answer that the question points at, if any. A rule needs a reason in the language: a pronoun whose
antecedent is not in the question, a sentence without its subject, a noun that wants an "of …". A question that names
what it is about is left alone, because joining the history to it ruins its search (docs/decisions/0014).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quoth.domain import CitedSource, PastTurn
from quoth.text.terms import ContentTerm, is_exact, query_terms, term_ids

# Words that ask without naming a subject.
LIGHT = term_ids(
    """
    add answer anybody anyone anything article ask aspect become begin bit call case change come detail different
    discuss do elaborate else end event everything exactly example expand explain fact find first former give go good
    happen help important include information interest interesting kind know last latter learn like look lot make matter
    mean mention name need new next notable note occur ok okay old one part people person place point possible problem
    really say second see show something sort special specific start stuff take talk tell thank thing think third time
    try two type use want way well word work year
    """
)
# Nouns that want an "of …", or name a sort of thing: with the article alone, they mean one that was mentioned.
RELATIONAL = term_ids(
    """
    actor advantage album alternative amount argument author background band benefit cause choice class command
    component con consequence cost critic default definition difference disadvantage downside drawback effect
    equivalent error event exception feature file film flag format function game goal group guarantee impact length
    limit limitation list maximum meaning member message method minimum movie opposite option order origin outcome
    output parameter performance policy price pro program property purpose reaction reason relation requirement
    response result return risk role rule series setting show side size solution song step story syntax team tool
    tradeoff upside usage value version workaround
    """
)

# Of these, those that nobody asks the meaning of: "What is an alternative?" asks for one to what was talked about.
_ALWAYS_OF = term_ids(
    """
    advantage alternative benefit bit con consequence disadvantage downside drawback equivalent example good kind
    opposite pro problem reason second sort thing third upside way workaround
    """
)

LONGEST_FOLLOW_UP = 400  # characters: a question that long says what it is about


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_WORDS = re.compile(r"[^\W_][\w'’.+#-]*")
_PERSON = _any(r"\b(?:he|him|his|she|hers?|himself|herself)\b")
_THING = _any(r"\b(?:it|its|itself|they|them|theirs?|themselves)\b")
# It is possible to …, how long does it take to …: this "it" refers to nothing.
_EXPLETIVE = _any(
    r"\bit(?:\s+(?:is|be|was)|['’]s)?\s+(?:\w+ly\s+)?(?:possible|necessary|safe|ok|okay|better|best|worth|required|allowed"
    r"|important|recommended|mandatory|easy|hard|true|bad|good|common|useful|legal|advisable)\s+(?:\w+ing|to|that|for|if|when)\b",
    r"\b(?:does|did|will|would|can|could)\s+it\s+(?:\w+\s+)?(?:take|cost|matter|make\s+sense|mean|help)"
    r"(?:\s+\w+){0,3}\s+(?:to|that|if|when|whether|which)\b",
    r"\bit\s+(?:mean|called|known)s?\s+(?:to|that|if|when|for)\b",
    r"\bit\s+(?:takes|costs|matters|seems|turns\s+out|makes\s+sense)\b.*\b(?:to|that|if|when)\b",
)
# What a pronoun further on in the same question may refer to, and what begins the clause in which it may do so.
_INTRODUCED = _any(r"\b(?:an?|the|my|your|our|each|every|some|any|several|two)\s+((?:[\w-]+\s+){0,2}[\w-]+)")
_CLAUSE = _any(
    r"[,;.:]|\b(?:after|although|and|as|because|before|but|if|once|or|since|so|than|that|though|unless|until|when|where"
    r"|which|while|who)\b"
)
# "This book" is the one being asked, not something that was mentioned.
_BOOK = r"(?:book|article|documentation|docs|site|website|manual|guide|tutorial|course)"
# "That" is a conjunction more often than a pronoun: it must follow a word that cannot take a clause, or end one.
_DEMONSTRATIVE = _any(
    rf"\b(?:this|these|those)\b(?!\s+{_BOOK}\b)",
    r"\b(?:about|after|all|allow|and|are|avoid|before|besides|but|by|can|change|could|despite|did|disable|do|does|doing|done"
    r"|enable|fix|for|from|how|is|like|mean|of|on|or|prevent|see|should|than|to|use|was|were|what|when|why|will|with"
    r"|without|would)\s+that\b(?!\s+(?:the|an?|i|you|we|they|it|he|she)\b)",
    r"\bthat\s*(?:[,;?!.]|\Z|\s(?:again|anyway|happen|help|instead|mean|then|too|work|out|off|up|down|away|back)\b)",
    r"\A\W*that\b",
)
_PRO_FORM = _any(
    r"\b(?:the|that|this|which|what|other|another|same|\w+er|\w+est)\s+(?:\w+\s+)?ones?\b(?!\s+of\b)",
    r"\bthe\s+(?:former|latter)\b|\ban?\s+[\w-]+\s+one\b(?!\s+of\b)",
    # How do I record one? How do I stop one halfway?
    r"\b(?!(?:each|every|any|no|number|step|chapter|part|version|level|phase)\b)[a-z]+\s+ones?"
    r"(?:\s+(?:again|first|halfway|instead|later|myself|\w+ly))?\W*\Z",
    r"\b(?:the|those|these)\s+(?:two|three|both)\b(?!\s+\w)",
    r"\bthe\s+others?\b(?!\s+\w)",
)
_OPENING = _any(
    r"\A\W*(?:(?:ok|okay|thanks|thank\s+you|great|hm+|so|yes|no|right|please)\b[\s,.!]*)*"
    r"(?:and|but|or|then|also|(?:what|how)\s+about|what\s+of|so\s+what|why\s+not|how\s+come|how\s+so|in\s+what\s+way"
    r"|what\s+if\s+(?:not|so)|if\s+(?:so|not)|what\s+then|since\s+when|such\s+as|like\s+what)\b"
)
_PHRASE = _any(
    r"\A\W*(?:in|on|at|by|for|from|with|without|under|of|to|as|any|like|before|after|during|until|since|between|through|into"
    r"|about|against|near|over|around|because)\b"
)
# "What is an event?", "What are groups?" ask for a meaning, however common the word: the thing is new.
_DEFINED = _any(
    r"\A\W*(?:(?:and|so|ok|but)\W+)?(?:(?:what(?:['’]?s|\s+is)|define)\s+an?\s+|what\s+are\s+(?=[\w-]+s\W*\Z))([\w'’-]+)\W*\Z"
)
_ASKING = _any(r"\A\W*(?:whose|which|what|who|when|why|how)\b")
_WHO = _any(r"\A\W*who\b")
_VERB = _any(
    r"\b(?:is|are|was|were|be|been|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must|to)\b",
    r"\w['’]s\b|n['’]t\b",
)
# About the answer itself, or the same about something else.
_META = _any(
    r"\A\W*(?:and\s+)?(?:are\s+you\s+(?:really\s+|quite\s+)?(?:sure|certain)\b|(?:shorter|longer|continue|keep\s+going|proceed)"
    r"(?:\s+please)?\W*\Z|(?:the\s+)?same\s+(?:for|with|in|on|goes)\b)"
)
# Which is faster? Which should I use for images? — of those that were mentioned.
_SELECTING = _any(
    r"\A\W*(?:(?:and|so|ok|but|then)\W+)*which\s+(?:is|are|was|were|should|do|does|did|can|could|would|will|must)\s+(?!the\b|an?\b)"
)
_CONTINUING = _any(
    r"\b(?:else|another|others|otherwise|instead|afterwards?|too|as\s+well|the\s+same|next|similar|earlier|previous(?:ly)?"
    r"|again|also)\b",
    r"\bother\b(?!\s+than\b)",
    r"\b(?:any|some|tell\s+me|know|say|learn|there)\s+more\b(?!\s+than\b)",
    r"\b(?:then|after|before)\s*\?",
    r"\A\W*then\b",
    r"\bas\s+a\s+(?:result|consequence)\b(?!\s+of\b)|\bin\s+(?:response|return|turn|consequence)\b(?!\s+(?:to|for)\b)",
    r"\b(?:both|together|each\s+other|at\s+the\s+same\s+time|in\s+the\s+end|later\s+on|meanwhile)\W*\Z",
)
# What follows from something, or answers it: whatever else is named, that something was said before.
_CONSEQUENCE = _any(
    r"\bas\s+a\s+(?:result|consequence)\W*\Z|\bin\s+(?:response|return|turn|consequence)\W*\Z|\Aas\s+a\s+result\b"
)
_CAUSE = _any(r"[,;:]|\b(?:if|when|because|after|once|since)\b")
_CLOSED = _any(r"\b(?:other\s+than|besides|except|apart\s+from|in\s+addition\s+to|aside\s+from)\b")
_DEFINITE = _any(
    r"\bthe\s+((?:[\w'’-]+\s+){0,2}?[\w'’-]+?)(?=\s+(?:of|in|on|for|to|by|with|from|at|that|which|who)\b|\s+\w+|\W*\Z)"
)
_ARGUMENT = _any(r"\b(?:about|between|by|for|from|in|of|on|to|with)\s+((?:[\w'’-]+\s+){0,2}[\w'’-]+)")
_EXISTS = _any(
    r"\A\W*(?:and\s+|but\s+)?(?:is|are|was|were|did|do|does|has|have)\s+(?:there\s+)?any(?:one|thing|body)?\b"
)


def rules_of(question: str, history: Sequence[PastTurn]) -> tuple[str, ...]:
    """What in the question points back, by name; none when it makes sense alone."""
    if not history or len(question) > LONGEST_FOLLOW_UP or "\n" in question.strip():
        return ()  # a question of several lines brings along what it is about: "this program" is below it
    if defines(question):
        return ()
    words = query_terms(question)
    content = [word for word in words if word.id not in LIGHT]
    named = any(_is_name(word.text) for word in content)
    said = term_ids("\n".join(f"{turn.question}\n{turn.content}\n{turn.searched}" for turn in history))
    found = {
        "pronoun": _has_pronoun(question),
        "demonstrative": bool(_DEMONSTRATIVE.search(question)),
        "pro-form": bool(_PRO_FORM.search(question)),
        "opening": bool(_OPENING.match(question)) and len(words) <= 8,
        "fragment": _is_fragment(question, content, named=named),
        "empty": all(word.text.isdigit() for word in content),
        "relational": not named and _is_of_something(question, content),
        "existing": not named and _asks_for_any(question, content),
        "continuing": not named and _continues(question, content, said),
        "meta": bool(_META.match(question)),
        "selecting": not named and len(content) <= 3 and bool(_SELECTING.match(question)),
        "consequence": len(content) <= 3 and bool(_CONSEQUENCE.search(question)) and not _CAUSE.search(question),
        "definite": not named and _is_definite(question, content, said),
    }
    return tuple(name for name, holds in found.items() if holds)


def defines(question: str) -> bool:
    """It asks what a thing is, and names it, be it by the most common word."""
    defined = _DEFINED.match(question)
    return defined is not None and bool(term_ids(defined[1])) and not term_ids(defined[1]) & _ALWAYS_OF


def _is_name(text: str) -> bool:
    return (is_exact(text) and not text.isdigit()) or text[:1].isupper()


def _has_pronoun(question: str) -> bool:
    person = _PERSON.search(question)
    if person and not _named(question[: person.start()]):
        return True
    return any(_is_open(question, thing) for thing in _THING.finditer(question))


def _is_open(question: str, thing: re.Match[str]) -> bool:
    """The pronoun refers to something, and not to anything before it in the question. "Does it make sense to use them
    together?" has one pronoun that refers to nothing and one that refers to something."""
    expletive = _EXPLETIVE.search(question)
    if thing[0].lower() == "it" and expletive and expletive.start() <= thing.start() < expletive.end():
        return False
    before = question[: thing.start()]
    return not _named(before) and not _introduced(before, thing[0].lower())


def _named(before: str) -> bool:
    """There is a name in this beginning of the question: a pronoun after it has its antecedent there."""
    return any(_is_name(word) and query_terms(word) for word in _WORDS.findall(before)[1:])


def _introduced(before: str, pronoun: str) -> bool:
    """There is a thing with its article before the pronoun: "a node … its callbacks". But "it" and "them" never refer
    to the subject of their own clause: in "does the compiler inline it?" they mean something else."""
    plural = pronoun.startswith("the")
    clause = [found.start() for found in _CLAUSE.finditer(before)]
    end = len(before) if pronoun not in ("it", "they", "them") else clause[-1] if clause else 0
    things = " ".join(_INTRODUCED.findall(before[:end]))
    words = [word for word in query_terms(things) if word.id not in LIGHT]
    if any(not plural or (word.text.endswith("s") and not word.text.endswith("ss")) for word in words):
        return True
    said = [word for word in query_terms(before[:end]) if word.id not in LIGHT]
    return not plural and pronoun == "it" and len(said) >= 2


def _is_fragment(question: str, content: Sequence[ContentTerm], *, named: bool) -> bool:
    """On Windows? Which version? — a phrase that needs the sentence before it. Bare keywords are a search, and "Who
    invented pizza?" is a whole sentence."""
    if _VERB.search(question) or (len(content) > 1 and _WHO.match(question)):
        return False
    length = len(question.split())
    return bool((length <= 4 and _PHRASE.match(question)) or (length <= 3 and not named and _ASKING.match(question)))


def _is_of_something(question: str, content: Sequence[ContentTerm]) -> bool:
    """Which format is used? — its only noun wants an "of …" that was mentioned before."""
    return 0 < len(content) <= 2 and all(word.id in RELATIONAL for word in content) and bool(_ASKING.match(question))


def _asks_for_any(question: str, content: Sequence[ContentTerm]) -> bool:
    """Are there any exceptions? — to the subject of the conversation."""
    return bool(_EXISTS.match(question)) and sum(word.id not in RELATIONAL for word in content) <= 1


def _continues(question: str, content: Sequence[ContentTerm], said: frozenset[int]) -> bool:
    if not _CONTINUING.search(question) or _CLOSED.search(question) or len(content) > 2:
        return False
    return not _argued(question, content, said)


def _is_definite(question: str, content: Sequence[ContentTerm], said: frozenset[int]) -> bool:
    """The question names nothing of its own: its nouns want an "of …", or were mentioned before and have the article
    that points back to them."""
    heads = term_ids("\n".join(_DEFINITE.findall(question)))
    known = [word for word in content if word.id in heads and (word.id in RELATIONAL or word.found_in(said))]
    others = [word for word in content if word not in known]
    rest = [word for word in others if word.id not in RELATIONAL]
    return bool(known) and len(content) <= 4 and len(rest) <= 1 and not _argued(question, others, said)


def _argued(question: str, words: Sequence[ContentTerm], said: frozenset[int]) -> bool:
    """ "The purpose of colcon", "the limit for topics": what follows the noun is new and in the question itself."""
    arguments = term_ids("\n".join(_ARGUMENT.findall(question)))
    return any(word.id in arguments and not word.found_in(said) for word in words)


# --- pointing at a source ---------------------------------------------------------------------------------------------

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for words in (ORDINALS, CARDINALS) for number, word in enumerate(words, start=1)} | {
    "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5
}  # fmt: skip
_SOURCE = r"(?:source|reference|citation|quotation|quote|passage|excerpt|result|link|footnote)"
_PLACE = r"(?:page|section|chapter|lesson|part|paragraph)"
_BY_NUMBER = _any(
    rf"\b{_SOURCE}s?\s*(?:#|no\.?|number)?\s*\[?(\d{{1,2}}|{'|'.join(CARDINALS)})\b(?!\s+\w+s\b)\]?",
    r"(?<!\w)\[(\d{1,2})\]",
)
_BY_ORDINAL = _any(
    rf"\b(?:the|your|its)\s+(?:very\s+)?({'|'.join(ORDINALS)}|1st|2nd|3rd|[45]th|last|final|only)\s+(?:{_SOURCE}|one)\b"
)
_FORMER = _any(r"\bthe\s+(former|latter)\b")
_THAT_PLACE = _any(rf"\b(?:that|this|the\s+same)\s+(?:{_SOURCE}|{_PLACE})\b(?!\s+of\b)")
_GO_ON = _any(
    r"(?:\b(?:please|tell|me|more|about|go|on|continue|elaborate|expand|explain|show|say|what|does|is|in|from|can|could|you"
    r"|further|details?|give|open|read|quote|a|bit|little|and|the|says?|of)\b|\W)+"
)


def pointed_at(question: str, history: Sequence[PastTurn]) -> CitedSource | None:
    """The source of the last answer that the question points at by number, order or place."""
    sources = [source for source in (history[-1].sources if history else ()) if source.chunk_id]
    if not sources:
        return None
    if not (pointing := _pointer(question)):
        return None
    number = _number(pointing, len(sources))
    return next((source for source in sources if source.index == number), None)


def without_pointing(question: str) -> str:
    """The question without the words that only point at a source: those must not be searched for."""
    pointing = _pointer(question)
    rest = f"{question[: pointing.start()]} {question[pointing.end() :]}" if pointing else question
    return "" if _GO_ON.fullmatch(rest) else question


def _pointer(question: str) -> re.Match[str] | None:
    if len(question) > LONGEST_FOLLOW_UP:
        return None
    patterns = (_BY_NUMBER, _BY_ORDINAL, _FORMER, _THAT_PLACE)
    return next((found for pattern in patterns if (found := pattern.search(question))), None)


def _number(pointing: re.Match[str], count: int) -> int | None:
    said = next((group.lower() for group in pointing.groups() if group), "")
    if said.isdigit():
        return int(said)
    if said in ("former", "latter"):
        return {"former": 1, "latter": 2}[said] if count == 2 else None
    if said in ("last", "final", "only"):
        return count
    return _NUMBERS.get(said, 1)  # "that page": the first of several
