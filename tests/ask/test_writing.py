"""An answer that a model writes: checked as it arrives, cited when it is complete."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.check import NOTHING_SUPPORTED, GroundingPolicy, quote_is_in_place
from quoth.ask.claims import claims
from quoth.ask.writing import Writing, cite, drop_unsupported
from quoth.domain import Citation, Draft, Passage
from samples import chunk

PAGES = (
    "A topic carries messages from publishers to subscribers. It has a name and a type.",
    "# Durability\n\nTransient local durability keeps the last message for late subscribers.\nVolatile durability\n"
    "keeps nothing. The default depth is 10.\n\n```bash\nros2 topic echo /chatter --qos-depth 5\n```",
    "The deadline policy names the longest time between two messages.",
)
PASSAGES = tuple(Passage(chunk(page, start=100 * n), score=0.5, similarity=0.5) for n, page in enumerate(PAGES))
INVENTED = "Bananas grow in warm countries with much rain."
SENTENCES = [
    "The last message is kept for late subscribers by transient local durability. [2]",
    "A topic carries messages [1].",
    "The default depth is 10 [2].",
    "The default depth is 12 [2].",
    "Volatile durability keeps nothing.",
    f"{INVENTED} [3]",
    INVENTED,
    "Two messages have a longest time between them: the deadline [3].",
    "- A topic has a name and a type. [1]\n",
    "\n\n## Durability\n\n",
    "\n\n```bash\nros2 topic echo /chatter --qos-depth 5\n```\n\n[2]\n\n",
    "\n\n```bash\nros2 topic echo /fruit\n```\n\n[2]\n\n",
    "See [9].",
    "\n\n",
]


def written(text: str, policy: GroundingPolicy = "mark", cuts: list[int] | None = None) -> tuple[str, Writing]:
    writing = Writing(PASSAGES, "How long is a message kept?", policy)
    at = [0, *sorted(min(cut, len(text)) for cut in cuts or []), len(text)]
    out = [writing.feed(text[start:end]) for start, end in pairwise(at)]
    return "".join([*out, writing.finish()]), writing


def test_citations_carry_the_words_that_were_relied_on_at_their_place() -> None:
    text, writing = written(f"{SENTENCES[0]} {SENTENCES[1]}")
    draft, grounding = writing.so_far()
    assert text == draft.text
    assert text == SENTENCES[0].replace("[2]", "[1]") + " A topic carries messages [2]."
    assert [(one.index, one.quote) for one in draft.citations] == [
        (1, "Transient local durability keeps the last message for late subscribers."),
        (2, "A topic carries messages from publishers to subscribers."),
    ]
    assert all(quote_is_in_place(one) for one in draft.citations)
    assert grounding.supported == grounding.total == 2


def test_an_answer_without_markers_gets_its_sources_from_the_check() -> None:
    text = f"Volatile durability keeps nothing. {INVENTED} A topic has a name and a type."
    draft, grounding = cite(text, PASSAGES, {})
    assert [(s.supported, s.sources) for s in grounding.sentences] == [(True, (1,)), (False, ()), (True, (2,))]
    assert [one.chunk.text for one in draft.citations] == [PAGES[1], PAGES[0]]
    assert draft.citations[0].quote == "Volatile durability\nkeeps nothing."
    assert grounding.sentences[0].start == 100 + PAGES[1].index("Volatile")


def test_a_code_block_is_cited_at_its_lines() -> None:
    _, writing = written(SENTENCES[10])
    draft, grounding = writing.so_far()
    assert draft.citations[0].quote == "ros2 topic echo /chatter --qos-depth 5"
    assert grounding.sentences[0].supported


def test_with_mark_every_word_goes_out_and_the_check_marks_what_is_wrong() -> None:
    text, writing = written(f"{SENTENCES[3]} {INVENTED} [3] See [9].")
    assert text == f"The default depth is 12 [1]. {INVENTED} [2] See [9]."
    _, grounding = writing.so_far()
    assert [s.reason for s in grounding.sentences] == [
        "12 is not in the source",
        "the source does not say this",
        "there is no source [9]",
    ]
    assert grounding.removed == 0


def test_with_strict_a_sentence_is_held_until_it_is_complete_and_checked() -> None:
    writing = Writing(PASSAGES, "", "strict")
    pieces = [
        "The default",
        " depth is 12",
        " [2]",
        ". A topic",
        " carries messages [1",
        "]. The",
        " default depth is 10.",
    ]
    shown = [writing.feed(piece) for piece in pieces]
    assert shown == ["", "", "", "", "", "A topic carries messages [1]. ", ""]
    assert writing.finish() == "The default depth is 10."
    _, grounding = writing.so_far()
    assert (grounding.supported, grounding.total, grounding.removed) == (2, 2, 1)


def test_with_strict_an_answer_of_inventions_is_withheld_and_cites_nothing() -> None:
    text, writing = written(INVENTED, "strict")
    draft, grounding = writing.so_far()
    assert (text, draft.citations, grounding.total, grounding.removed) == (NOTHING_SUPPORTED, (), 0, 1)


def test_a_table_without_its_header_goes_whole() -> None:
    text, _ = written(f"{SENTENCES[2]}\n\n| Fruit | Rain |\n|---|---|\n| banana | much |\n\n[1]\n", "strict")
    assert text.strip() == "The default depth is 10 [1]."


@given(st.lists(st.sampled_from(SENTENCES), max_size=8).map(" ".join), st.lists(st.integers(0, 600), max_size=6))
def test_what_was_shown_in_pieces_is_what_is_stored_and_all_of_it_is_supported(text: str, cuts: list[int]) -> None:
    shown, writing = written(text, "strict", cuts)
    draft, grounding = writing.so_far()
    assert draft.text == shown
    assert shown == written(text, "strict")[0]
    assert grounding.supported == grounding.total
    assert [one.index for one in draft.citations] == list(range(1, len(draft.citations) + 1))


@given(st.text(alphabet=st.sampled_from("aB1 .[]|`-#>\n*:!?(<【】~$"), max_size=80) | st.text(max_size=60))
def test_any_text_is_checked_without_losing_a_word(text: str) -> None:
    for policy in ("mark", "strict"):
        _, writing = written(text, policy)
        draft, grounding = writing.so_far()
        assert 0 <= grounding.supported <= grounding.total
        assert all(quote_is_in_place(one) for one in draft.citations)
    found = claims(text)
    begins = [claim.begin for claim in found]
    assert begins == sorted(begins)
    assert all(claim.text in text for claim in found)


# --- the last stage: a refusal is known at its end -------------------------------------------------------------------

REFUSAL = "I cannot find that in the book"


def test_words_that_may_become_the_refusal_are_held_until_they_cannot() -> None:
    writing = Writing(PASSAGES, refusal=REFUSAL)
    assert [writing.feed(piece) for piece in ("I cannot", " recommend", " it [1]", ". More")] == [
        "",
        "",
        "",
        "I cannot recommend it [1]. More",
    ]
    assert writing.begun


def test_a_refusal_comes_whole_at_the_end() -> None:
    writing = Writing(PASSAGES, refusal=REFUSAL)
    assert [writing.feed(piece) for piece in ("\nI cannot find", " that in the book", ".")] == ["", "", ""]
    assert writing.so_far()[0].text == ""
    assert (writing.finish(), writing.begun) == (f"\n{REFUSAL}.", False)
    assert writing.so_far()[0].text == f"\n{REFUSAL}."


def test_an_answer_that_is_read_whole_comes_whole() -> None:
    writing = Writing(PASSAGES, refusal=REFUSAL, whole=True)
    assert writing.feed("A topic carries messages [1]. ") == ""
    assert (writing.finish(), writing.begun) == ("A topic carries messages [1]. ", False)


def cited(*texts: str) -> Draft:
    """One sentence for each text, with that text as its source."""
    marked = " ".join(f"{text} [{number}]" for number, text in enumerate(texts, start=1))
    citations = [Citation(n, chunk(text), text, 0, len(text), 0.9) for n, text in enumerate(texts, start=1)]
    return Draft(marked, tuple(citations), "a note")


def test_a_draft_that_is_supported_as_a_whole_stays_as_it_is() -> None:
    draft = cited("A topic carries messages.", "A topic has a name.")
    assert drop_unsupported(draft) == (draft, 0)


def test_a_draft_without_support_is_withheld_and_one_without_claims_is_not() -> None:
    draft = Draft(f"{INVENTED} [1]", cited("A topic carries messages.").citations)
    assert drop_unsupported(draft) == (Draft(NOTHING_SUPPORTED, ()), 1)
    heading = Draft("## Topics", ())
    assert drop_unsupported(heading) == (heading, 0)


def test_what_is_left_of_a_draft_is_numbered_anew() -> None:
    draft = cited("A topic carries messages.", "A topic has a name.")
    broken = Draft(f"{INVENTED} [1] A topic has a name. [2]", draft.citations)
    kept, removed = drop_unsupported(broken)
    assert (kept.text, [one.index for one in kept.citations], removed) == ("A topic has a name. [1]", [1], 1)
    assert kept.citations[0].quote == "A topic has a name."


def test_a_heading_is_shown_only_with_a_sentence_below_it() -> None:
    text = f"# Book\n\n## Fruit\n\n{INVENTED} [3]\n\n## Topics\n\nA topic carries messages [1].\n\n## End\n"
    shown, _ = written(text, "strict")
    assert [line for line in shown.splitlines() if line.startswith("#")] == ["# Book", "## Topics"]
