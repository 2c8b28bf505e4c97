"""What a follow-up is about, in words that a reader can be shown.

In: the exchanges a follow-up goes back to, and the words that were taken over from them. Out: one noun phrase as the
reader typed it, or a heading of the last answer; empty when neither reads well. Showing nothing is better than showing
a heap of words. The search itself does not depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from quoth.ask.references import LIGHT, RELATIONAL, defines
from quoth.domain import PastTurn
from quoth.text.terms import names_something, query_terms, term_ids

_LONGEST = 6  # words of a phrase
_TOKEN = re.compile(r"(?:(?<![\w-])--?)?[^\W_][\w'’.+#/-]*[\w+#]|\w|[.,;:!]|(?<!\s)\?")
_DETERMINERS = {"a", "an", "the", "my", "your", "our", "their", "its", "this", "that", "these", "those", "each", "any"}
_ACTORS = {"i", "you", "he", "she", "we", "they", "it", "one", "to", "please", "let"}  # a verb follows
_AUXILIARIES = {"do", "does", "did", "can", "could", "should", "would", "will", "must", "may", "might"}  # subject, verb
_ASKING = {"what", "which", "who", "where", "when"}
_BEING = {"is", "are", "was", "were", "be"}
_OPENS = {"where", "when", "why", "how", "which", "if", "is", "are", "was", "were"}
_VERBS = _AUXILIARIES | _BEING | {"been", "has", "have", "had"}  # right behind a thing, they say something about it
_BEFORE_BEING = (_ASKING - {"which"}) | {"why", "how", "and", "so", "but"}  # is, and then a thing; which is [faster]?
_SHORT = {"r": "are", "u": "you", "wat": "what", "wht": "what"}
_ADVERBS = {"instead", "again", "back", "aside", "away", "others", "otherwise"}
_CONJUNCTIONS = {"when", "if", "because", "while", "that", "which", "whether", "why", "how"}
_PREPOSITIONS = {
    "about",
    "after",
    "against",
    "at",
    "before",
    "behind",
    "between",
    "by",
    "during",
    "for",
    "from",
    "in",
    "into",
}
_PREPOSITIONS |= {"of", "on", "through", "to", "under", "until", "using", "versus", "vs", "with", "without"}
_LEADING = _BEING | _PREPOSITIONS | _DETERMINERS  # a thing follows
_AFTER_VERB = _DETERMINERS | _PREPOSITIONS | _CONJUNCTIONS | {"?", "."}
_ENDS_IN_S = re.compile(r"[a-z]{2}(?<!s)s\Z")  # many things, or what one thing does
_NO_PHRASE = re.compile(
    r"[?!:;/|()\[\]]|\.(?=\s|\Z)|\A\W*(?:how|what|why|when|where|which|who|is|are|can|do|does)\b", re.IGNORECASE
)
# Headings that say what sort of text is below them, and not what it is about.
_NO_TOPICS = term_ids(
    """
    api appendix basics changelog description example faq introduction notes overview reference summary tips tutorial
    usage
    """
)
_AFTER_DOING = {"after", "before", "by", "when", "while", "without"}  # and something is done to what follows
_ONES = re.compile(r"\bones?\Z", re.IGNORECASE)
_BY_DEFAULT = {("by", "default"), ("in", "general"), ("for", "example"), ("in", "total"), ("in", "practice")}
_PRONOUN = re.compile(
    r"\b(?:(?P<many>they|them|theirs?|themselves|these|those)|(?P<any>ones?)|it|its|itself)\b", re.IGNORECASE
)
# "And in Docker?" says where, and not what.
_CIRCUMSTANCE = re.compile(
    r"\A\W*(?:(?:ok|and|but|or|what\s+about|how\s+about)\s+)*(?:in|on|with|without|under|from|via|using)\s",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\b(?:and|vs|versus)\b")
_OF = re.compile(r"\s+of\s+")
_NO_THINGS = LIGHT | RELATIONAL
_PREDICATES = {"based", "called", "good", "made", "meant", "needed", "useful", "used"}
_JOINING = {"and", "or", "vs", "versus", "than", "from"}


def subject(turns: Sequence[PastTurn], words: Sequence[str]) -> str:
    """`words` are those that were asked about, the most meant first."""
    verbs = _verbs(turns)
    words = [word for word in words if not term_ids(word) <= verbs] or words
    worth = {term.id: 1 / (1 + rank) for rank, word in enumerate(words) for term in query_terms(word)}
    if not worth:
        return ""
    best = max(_phrases(turns), key=lambda phrase: _worth(phrase, worth), default="")
    if _worth(best, worth) >= max(worth.values()):  # the word most meant is in it, or several that are worth as much
        return best
    headings = [source.section or source.title for source in turns[-1].sources] if turns else []
    fitting = [heading for heading in headings if reads_well(heading)]
    best = max(fitting, key=lambda heading: _worth(heading, worth), default="")
    return best if _worth(best, worth) >= max(worth.values()) else ""


def antecedent(question: str, turns: Sequence[PastTurn]) -> str | None:
    """What the pronoun of a question most probably means: the thing last asked about that is one, or many, as it is;
    "one" may be one of many. Words of things that were talked about for longer weigh more, and are not meant any more.
    None without a pronoun, empty if it agrees with no thing that was asked about."""
    pronoun = _PRONOUN.search(question)
    if pronoun is None:
        return None
    many = pronoun["many"] is not None
    for turn in reversed(turns):
        if _CIRCUMSTANCE.match(turn.question):
            continue
        for thing in noun_phrases(turn.question):
            named = defines(turn.question) or not term_ids(thing) <= _NO_THINGS
            if named and (pronoun["any"] or _is_many(thing) in (many, None)):
                return thing
    return ""


def _is_many(phrase: str) -> bool | None:
    """Whether "they" could mean it; None if both could be."""
    if _JOINED.search(phrase):
        return True
    head = _OF.split(phrase, maxsplit=1)[0].split()[-1].lower()
    return None if head in ("data", "metadata") else head.endswith("s") and not head.endswith(("ss", "us", "is", "as"))


def reads_well(heading: str) -> bool:
    """ "Late subscribers", and no question, sentence, or heading in two parts: those do not go before a question."""
    return len(heading.split()) <= _LONGEST and not _NO_PHRASE.search(heading) and not term_ids(heading) <= _NO_TOPICS


def _worth(phrase: str, worth: dict[int, float]) -> float:
    return sum(worth.get(term, 0.0) for term in term_ids(phrase))


def _verbs(turns: Sequence[PastTurn]) -> frozenset[int]:
    """Words that are no thing in any question: "stored" in "Where is the config stored?". A question of which no noun
    phrase could be told leaves open what its words are."""
    texts = [text for turn in turns for text in (turn.question, turn.searched)]
    found = [(term_ids(text), term_ids("\n".join(noun_phrases(text)))) for text in texts]
    things = frozenset[int]().union(*(named or said for said, named in found))
    return frozenset[int]().union(*(said for said, _ in found)) - things


def _phrases(turns: Sequence[PastTurn]) -> Iterator[str]:
    """The noun phrases of what was asked, newest question first."""
    for turn in reversed(turns):
        for text in (turn.question, turn.searched):
            yield from (phrase for phrase in noun_phrases(text) if not _ONES.search(phrase))  # of what, is not said


def noun_phrases(text: str) -> Iterator[str]:
    """The noun phrases of an English question, as far as they can be told without a dictionary: content words side by
    side, joined by *of*, or by *and* where both are names, have an article or stand after *between*. A verb at the
    beginning or the end is left out where the words around it show that it is one; where they do not, the phrase is."""
    tokens = list(_TOKEN.finditer(text))
    said = [_SHORT.get(token[0], token[0].lower()) for token in tokens]
    content = [
        bool(term_ids(word)) and word not in _ADVERBS and (one, word) not in _BY_DEFAULT
        for one, word in pairwise(("", *said))
    ]
    named = [names_something(token[0]) for token in tokens]
    at = 0
    if any(content) and len(said) <= _LONGEST and _is_object(said, content):
        yield text[tokens[0].start() : tokens[-1].end()]
        return
    while at < len(tokens):
        if not content[at]:
            at += 1
            continue
        end = _end(said, content, named, at)
        begin, stop = (at, end) if (at, end) == (0, len(said)) else _without_verbs(said, at, end)
        if named[at] and at > 0 and (begin > at or begin == stop):
            begin, stop = at, max(stop, at + 1)  # a name is a thing wherever it is
        if 0 < stop - begin <= _LONGEST:
            yield text[tokens[begin].start() : tokens[stop - 1].end()]
        at = end


def _is_object(said: Sequence[str], content: Sequence[bool]) -> bool:
    """Nothing but things and what joins them: "String and &str"."""
    joins = (word in ("and", "or", "vs", "of") or word in _DETERMINERS for word in said[1:-1])
    return content[0] and content[-1] and all(one or other for one, other in zip(content[1:-1], joins, strict=True))


def _end(said: Sequence[str], content: Sequence[bool], named: Sequence[bool], at: int) -> int:
    """Behind the last word of the phrase that begins at `at`."""
    while True:
        article = at > 0 and said[at - 1] in _DETERMINERS
        between = "between" in said[max(0, at - 2) : at]
        while at < len(said) and content[at]:
            at += 1
        joint = at + 1 + (at + 1 < len(said) and said[at + 1] in _DETERMINERS)
        if joint >= len(said) or not content[joint]:
            return at
        has_article = said[joint - 1] in _DETERMINERS
        names = said[at] == "and" and named[at - 1] and named[joint] and not has_article
        if said[at] != "of" and not (said[at] in _JOINING and (between or names or (article and has_article))):
            return at
        at = joint


def _without_verbs(said: Sequence[str], begin: int, end: int) -> tuple[int, int]:
    """The phrase without the verb at its beginning or end; empty where the words around it do not show whether one is
    in it."""
    before, clause, opening = said[begin - 1] if begin else "", said[max(0, begin - 2) : begin], said[0]
    closes = end == len(said) or not said[end][:1].isalnum()
    if before in _ACTORS:
        # How do I [record] bags? How do I [record] one?
        return begin + 1, begin + 1 if {"one", "ones"}.intersection(said[begin + 1 : end]) else end
    if before in ("this", "that") and end == begin + 1 and said[max(0, begin - 2)] in _AUXILIARIES:
        return begin, begin  # Does that [cancel] its jobs?
    if before in _AFTER_DOING and said[begin].endswith("ing") and (end > begin + 1 or not closes):
        return begin + 1, end  # after [leaving] orbit, after [leaving] the orbit
    if before in _BEING and begin > 1 and said[begin - 2] not in _BEFORE_BEING:
        return begin, begin  # Which databases are [supported]?
    if not closes and said[end] in _VERBS and (before in _VERBS or before in ("which", "what")):
        return begin, end  # What does [converge] do? What [compression filters] are available?
    if before == "what" and end == begin + 1 and (end == len(said) or said[end] in _AFTER_VERB):
        return begin, begin  # What [happens] when …? What [causes] the error?
    if before in ("which", "what"):  # Which durability [keeps] the last message? Which sensors [publish] data?
        verbs = (at for at in range(begin + 1, end) if _ENDS_IN_S.search(said[at]))
        return begin, begin + 1 if _ENDS_IN_S.search(said[begin]) else next(verbs, begin)
    if before in _DETERMINERS and end == begin + 1:
        return begin, end  # How do I do a [join]?
    if _AUXILIARIES.intersection(clause):  # What does the energy function [return]? How do lifetimes [relate] to …
        known = end - begin <= 2 or not closes or opening in _ASKING
        return (begin, end - 1) if known else (begin, begin)
    if said[end - 1] in _PREDICATES and end - begin > 1:
        return begin, end - 1  # What is a hook [used] for?
    if _BEING.intersection(clause) and opening in _OPENS:  # Where is the map [kept]?
        return begin, end - 1 if closes and end - begin > 1 else end
    led = before in _LEADING
    return (begin, end) if led and not (_CONJUNCTIONS.intersection(clause) and end - begin > 1) else (begin, begin)
