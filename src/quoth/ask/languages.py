"""Can the words of a question tell that it is outside the book? Pure.

In: the question, and which of its words are in the book. Out: whether its words mean nothing to the judge. A question
in a language that the book is not written in shares hardly a word with it, whatever it asks; "Summarise the book" names
nothing that could be found in it. Neither is plainly outside: a language model reads it, and may search again in the
book's words. The book's own sentences still need evidence that is worth quoting.
"""

from __future__ import annotations

from collections.abc import Sequence

from quoth.ask.instructions import instruction_in
from quoth.ask.other_languages import read_elsewhere
from quoth.domain import QueryTerm
from quoth.text.terms import term_ids

# Words of German, French, Spanish, Italian, Portuguese and Dutch that hardly any question does without.
_SMALL_WORDS = term_ids(
    """
    der das dem ein eine einen einem einer und ist sind wie warum welche welcher welches nicht kann ich mit von für über
    zum zur auf wird werden gibt bitte wenn oder zwischen macht bedeutet funktioniert heißt erkläre fasse zusammen
    übersetze
    le la les une du est sont pourquoi quel quelle quels quelles dans pour avec sur sans cette ces fait signifie
    el los las un una del es como por que cual cuales donde cuando para con sin sobre entre puedo hace significa explica
    il lo gli della dello che cosa come perché quale quali sono nel nella per ha spiega
    os uma do da dos das qual quais onde quando com sem não são explique
    chi wer qui um cos wat het een van hoe waarom welke niet kan ik met voor zijn worden wordt tussen betekent
    """
)
_LATIN = "\u024f"  # the last letter of Latin scripts


def words_cannot_tell(question: str, terms: Sequence[QueryTerm]) -> bool:
    """Whether a model should be asked although the words that were found say little."""
    instruction = instruction_in(question)
    if (instruction is not None and instruction.whole_book) or _in_another_language(terms):
        return True
    elsewhere = read_elsewhere(question)  # of a follow-up, only the words of its own were searched for
    return elsewhere is not None and not elsewhere.native({term.id for term in terms if term.in_book})


def _in_another_language(terms: Sequence[QueryTerm]) -> bool:
    small = [term for term in terms if term.id in _SMALL_WORDS or _is_foreign_script(term.text)]
    missing = [term for term in small if not term.in_book]
    if not missing or 2 * len(missing) < len(small):
        return False  # the book is written in it
    others = [term for term in terms if term not in small and not term.in_book]
    return len(missing) > 1 or not others or _is_foreign_script(missing[0].text)


def _is_foreign_script(word: str) -> bool:
    return len(word) > 1 and any(char.isalpha() and char > _LATIN for char in word)
