"""Grounding: what the cited passage says is supported, what it does not say is marked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quoth.ask.check import NOTHING_SUPPORTED, check, quote_is_in_place, sources_of
from quoth.ask.places import locate_code
from quoth.ask.support import FEATURES, features, fitted
from quoth.ask.writing import drop_unsupported
from quoth.domain import Citation, Draft
from samples import chunk

PAGE = (
    "The sensor data profile is best effort with a depth of 5. Call `rclpy.init()` before you create a node.\n\n"
    "```bash\npip install --no-deps quoth\n```\n\nDDS was chosen by the ROS 2 team in 2014."
)


def citation(index: int = 1, text: str = PAGE, quote: str = "") -> Citation:
    words = quote or text
    start = text.index(words)
    return Citation(index, chunk(text, start=50), words, 50 + start, 50 + start + len(words), 0.9)


def supported(text: str, *citations: Citation) -> list[bool]:
    return [sentence.supported for sentence in check(text, citations or (citation(),)).sentences]


@pytest.mark.parametrize(
    "sentence",
    [
        "The sensor data profile is best effort with a depth of 5. [1]",
        "The **sensor data** profile is best effort\nwith a depth of 5 [1].",
        "The depth of the sensor data profile is 5 [1].",
        "You call `rclpy.init()` before a node is created. [1]",
        "Yes, it does. [1]",
    ],
)
def test_verbatim_words_and_faithful_paraphrases_are_supported(sentence: str) -> None:
    assert supported(sentence) == [True]


@pytest.mark.parametrize(
    "sentence",
    [
        "The sensor data profile is best effort with a depth of 10. [1]",
        "Call `rclpy.start()` before you create a node. [1]",
        "Install with pip install --no-cache quoth. [1]",
        "DDS was chosen by the Autoware team in 2014. [1]",
        "Bananas are rich in potassium and grow in warm countries. [1]",
    ],
)
def test_a_wrong_number_identifier_flag_or_name_is_not_supported(sentence: str) -> None:
    assert supported(sentence) == [False]


def test_a_marker_without_a_citation_supports_nothing() -> None:
    assert supported("The sensor data profile is best effort with a depth of 5. [2]") == [False]
    assert supported("The sensor data profile is best effort with a depth of 5. [1][2]") == [False]


def test_a_sentence_without_any_marker_is_attributed_to_the_passage_that_says_it() -> None:
    answer = "A lidar measures distance.\n\nBananas are rich in potassium."
    said, invented = check(answer, [citation(), citation(2, "A lidar measures distance.")]).sentences
    assert (said.supported, said.sources) == (True, (2,))
    assert (invented.supported, invented.sources, invented.reason) == (
        False,
        (),
        "no source is named, and none says this",
    )


def test_a_quote_that_is_not_at_its_place_supports_nothing() -> None:
    good = citation(quote="best effort")
    moved = replace(good, start=good.start + 1, end=good.end + 1)
    changed = replace(good, quote="best effors")
    assert quote_is_in_place(good)
    assert not quote_is_in_place(moved)
    assert not quote_is_in_place(changed)
    assert supported("The sensor data profile is best effort. [1]", moved) == [False]


def test_each_sentence_is_checked_against_what_it_cites_itself() -> None:
    other = citation(2, "A lidar measures distance.")
    answer = "A lidar measures distance. [2] A lidar measures distance. [1]"
    grounding = check(answer, [citation(), other])
    assert [(s.supported, s.sources) for s in grounding.sentences] == [(True, (2,)), (False, (1,))]
    assert (grounding.supported, grounding.total) == (1, 2)


def test_a_sentence_may_be_supported_by_two_passages_together() -> None:
    other = citation(2, "A lidar measures distance.")
    joined = "The sensor data profile has a depth of 5 and a lidar measures distance [1, 2]."
    assert supported(joined, citation(), other) == [True]


def test_an_unmarked_sentence_leans_on_the_next_marker_of_its_paragraph() -> None:
    other = citation(2, "A profile of best effort has a depth of 5.")
    grounding = check("The profile is best effort. Its depth is 5. [1]", [other, citation()])
    assert [(s.supported, s.sources) for s in grounding.sentences] == [(True, (1,)), (True, (1,))]


def test_a_code_block_must_be_verbatim() -> None:
    assert supported("```bash\npip install --no-deps quoth\n```\n\n[1]") == [True]
    assert supported("```bash\npip install quoth\n```\n\n[1]") == [False]


def test_brackets_in_code_and_links_are_not_markers() -> None:
    [sentence] = check("Use `argv[2]` and [3](page.md) here. [1]", [citation()]).sentences
    assert sentence.sources == (1,)


def test_verbatim_code_is_linked_to_its_place_and_other_code_is_called_adapted() -> None:
    linked, adapted, foreign = check(
        "```bash\npip install --no-deps quoth\n```\n\n[1]\n\n"
        "```bash\npip install quoth --no-deps\n```\n\n[1]\n\n"
        "```python\nimport numpy\n```\n\n[1]",
        [citation()],
    ).sentences
    at = 50 + PAGE.index("pip install")
    assert (linked.supported, linked.sources, linked.start, linked.end) == (True, (1,), at, at + 27)
    assert (adapted.supported, adapted.reason) == (False, "adapted: this code is not in the source as it stands")
    assert (foreign.supported, foreign.reason) == (False, "this code is not in the source")


def test_code_in_another_indentation_is_not_verbatim() -> None:
    page = citation(1, "> ```python\n> if late:\n>\n>     drop()\n> ```")
    assert supported("```python\nif late:\n\n    drop()\n```\n\n[1]", page) == [True]
    assert supported("```python\n\n```\n\n[1]", page) == [True]
    assert supported("```python\nif late:\ndrop()\n```\n\n[1]", page) == [False]


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("The depth of the profile is 10. [1]", "10 is not in the source"),
        ("The depth is 5. [7]", "there is no source [7]"),
        ("The depth is 5. [0]", "there is no source [0]"),
        ("Call `rclpy.start` before you create a node. [1]", "rclpy.start is not in the source"),
        ("Call `RCLPY.init` before you create a node. [1]", "RCLPY.init is not in the source"),
        ("Install quoth with pip and --no-cache. [1]", "--no-cache is not in the source"),
        ("DDS was chosen by the Autoware team in 2014. [1]", "Autoware is not in the source"),
        (
            'The page says "best effort is the only way" to it. [1]',
            "the words in quotation marks are not in the source",
        ),
        ("Bananas grow in warm countries with much rain. [1]", "the source does not say this"),
        ("## Bananas grow in warm countries with very much rain at night. [1]", "the source does not say this"),
        ("<p>Bananas grow in warm countries with much rain.</p>", "no source is named, and none says this"),
    ],
)
def test_the_reason_names_what_is_wrong(sentence: str, reason: str) -> None:
    [checked] = check(sentence, [citation()]).sentences
    assert (checked.supported, checked.reason) == (False, reason)


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("There are two profiles and one thousand nodes.", "There are 2 profiles and 1000 nodes. [1]"),
        ("There are 2 profiles and 1,000 nodes.", "There are two profiles and 1000 nodes. [1]"),
        ("The deadline is 5 ms.", "The deadline is 5ms. [1]"),
        ("It takes 15 to 20 seconds.", "It takes 15-20 seconds. [1]"),
        ("The node is released on May 23.", "The node is released on May 23rd. [1]"),
        ("The FLSA pays overtime.", "The Fair Labor Standards Act (FLSA) pays overtime. [1]"),
        (
            "Costs are found by weighted average costing.",
            "Costs are found by Weighted Average Costing (WAC). [1]",
        ),
        ("Look at pagesjaunes.fr for a name.", "Look at PagesJaunes.fr for a name. [1]"),
        ("The profile is best effort.", "Step 3: the profile is best effort. [1]"),
        ("The profile is best effort.", "7. The profile is best effort. [1]"),
    ],
)
def test_another_spelling_and_a_count_are_not_new_claims(page: str, sentence: str) -> None:
    [checked] = check(sentence, [citation(1, page)]).sentences
    assert (checked.supported, checked.reason) == (True, "")


def test_a_program_in_another_case_is_another_program() -> None:
    [checked] = check("Import `Farm_Base` first. [1]", [citation(1, "Import `farm_base` first.")]).sentences
    assert not checked.supported


def test_code_that_was_cut_into_two_passages_is_supported_by_both() -> None:
    cited = [citation(1, "```js\nconst a = {"), citation(2, "  b: 1,\n}\n```")]
    whole = "```js\nconst a = {\n  b: 1,\n}\n```\n\n[1][2]"
    [checked] = check(whole, cited).sentences
    assert (checked.supported, checked.sources) == (True, (1, 2))
    [other] = check(whole.replace("b: 1", "b: 2"), cited).sentences
    assert not other.supported


def test_that_something_is_not_in_the_passages_is_neither_supported_nor_unsupported() -> None:
    assert check("The passages do not mention version 4.2 of Foxglove. [1]", [citation(1, "Best effort.")]).total == 0


def test_a_disclaimer_does_not_cover_the_claim_behind_it() -> None:
    answer = "The passages do not mention the depth, but 42 messages are recommended. [1]"
    assert supported(answer) == [False]


def test_the_words_of_the_question_are_not_claims() -> None:
    answer = "For the Foxglove 4.2 bridge the sensor data profile is best effort. [1]"
    [checked] = check(answer, [citation()], "Which profile does the Foxglove 4.2 bridge use?").sentences
    assert checked.supported
    assert supported(answer) == [False]


def test_the_score_of_an_answer_is_that_of_its_two_weakest_sentences() -> None:
    good = check("The sensor data profile is best effort. [1] Call `rclpy.init()` first. [1]", [citation()])
    bad = check("The sensor data profile is best effort. [1] Bananas grow in warm countries. [1]", [citation()])
    assert bad.score < 0.5 < good.score
    assert check("", []).score == 1.0


def test_headings_of_an_answer_claim_nothing() -> None:
    assert supported("## Depth\n\nThe depth is 5. [1]") == [True]


def test_markers_alone_belong_to_the_table_above_them() -> None:
    table = "| Flag | Meaning |\n|---|---|\n| `-k` | hits |\n| `-v` | more |"
    shown = "| Flag | Meaning |\n|---|---|\n| `-v` | more |\n\n[1]"
    grounding = check(shown, [citation(1, table, "| `-v` | more |")])
    assert [(s.supported, s.sources) for s in grounding.sentences] == [(True, (1,)), (True, (1,))]


def test_an_empty_answer_has_nothing_to_check() -> None:
    assert check("", []).total == 0
    assert check("[1]", [citation()]).total == 0


# --- strict: unsupported sentences are removed ---------------------------------------------------------------------

INVENTED = "Bananas grow in warm countries with much rain."


def test_strict_takes_out_the_sentence_and_the_citation_that_only_it_had() -> None:
    other = citation(2, "A lidar measures distance.")
    draft = Draft(f"{INVENTED} [1] A lidar measures distance. [2]", (citation(), other))
    kept, removed = drop_unsupported(draft)
    assert (kept.text, removed) == ("A lidar measures distance. [1]", 1)
    assert [(one.index, one.chunk.text) for one in kept.citations] == [(1, "A lidar measures distance.")]


def test_strict_leaves_a_supported_answer_as_it_is() -> None:
    draft = Draft("The sensor data profile is best effort. [1]", (citation(),))
    assert drop_unsupported(draft) == (draft, 0)


def test_strict_says_so_when_nothing_is_left() -> None:
    kept, removed = drop_unsupported(Draft(f"## Fruit\n\n{INVENTED} [1]", (citation(),)))
    assert (kept.text, kept.citations, removed) == (NOTHING_SUPPORTED, (), 1)
    assert check(kept.text, kept.citations).total == 0


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            f"The depth is 5. {INVENTED} [1]\n\nDDS was chosen in 2014. [1]",
            "The depth is 5. \n\nDDS was chosen in 2014. [1]",
        ),
        (f"- The depth is 5. [1]\n- {INVENTED} [1]\n- Best effort. [1]", "- The depth is 5. [1]\n- Best effort. [1]"),
        (f"## Fruit\n\n{INVENTED} [1]\n\n## Depth\n\nThe depth is 5. [1]", "## Depth\n\nThe depth is 5. [1]"),
        ("The depth is 5. [1]\n\n```js\nbananas.grow()\n```\n\n[1]", "The depth is 5. [1]"),
    ],
)
def test_what_is_left_keeps_its_shape(text: str, left: str) -> None:
    assert drop_unsupported(Draft(text, (citation(),)))[0].text == left


def test_a_sentence_that_claims_nothing_is_laid_at_the_first_source_alone() -> None:
    (found,) = check("Yes, it does.", (citation(1), citation(2, "Something else entirely."))).sentences
    assert (found.supported, found.sources) == (True, (1,))


def test_code_of_which_all_words_are_there_is_adapted_and_half_as_good() -> None:
    adapted = "```bash\npip quoth install --no-deps\n```\n\n[1]"
    (found,) = check(adapted, (citation(),)).sentences
    assert (found.supported, found.sources, found.score) == (False, (1,), 0.5)
    (foreign,) = check("```bash\nzebras dream\n```\n\n[1]", (citation(text="A sentence."),)).sentences
    assert (foreign.supported, foreign.score) == (False, 0.0)
    assert foreign.reason != found.reason


@pytest.mark.parametrize("number", ["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"])
def test_a_number_in_words_is_the_number(number: str) -> None:
    digits = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}[number]
    page = citation(text=f"The queue of the sensor holds {digits} messages.")
    assert supported(f"The queue of the sensor holds {number} messages. [1]", page) == [True]
    assert supported(f"The queue of the sensor holds {digits + 1} messages. [1]", page) == [False]


def names_missing(claim: str, text: str) -> float:
    (source,) = sources_of([citation(text=text)]).values()
    return features(claim, [source], frozenset())[0]["names"]


def test_a_name_that_is_not_there_is_missing_unless_it_is_spelled_out() -> None:
    assert names_missing("The sensor speaks XKCD.", "The sensor speaks to others.") == 1.0
    assert names_missing("The sensor speaks Autoware.", "The sensor speaks to others.") == 1.0
    assert names_missing("The sensor speaks DDS.", "The sensor speaks Data Distribution Service.") == 0.0
    assert names_missing("It came in August.", "It came in Aug 2014.") == 0.0
    assert names_missing("It came in August.", "It came in Sep 2014.") == 1.0


def test_a_sentence_without_a_word_of_its_own_claims_nothing() -> None:
    (source,) = sources_of([citation()]).values()
    values, missing = features("It is.", [source], frozenset())
    assert (values["no_claim"], missing) == (1.0, "")
    assert {value for name, value in values.items() if name != "no_claim"} == {0.0}


def weakest_clause(claim: str, text: str = PAGE) -> float:
    (source,) = sources_of([citation(text=text)]).values()
    return features(claim, [source], frozenset())[0]["weakest_clause"]


@pytest.mark.parametrize(
    ("claim", "share"),
    [
        ("The sensor profile is best effort with a depth.", 0.0),
        ("The sensor profile has fluffy ears.", 2 / 5),
        ("The sensor profile is best effort and has soft fluffy ears.", 3 / 8),
        ("The sensor profile is best effort, and has soft fluffy ears.", 3 / 4),
        ("The sensor profile is best effort; it has soft fluffy ears.", 3 / 4),
        ("The sensor profile: best effort with soft fluffy ears.", 3 / 6),
        ("The sensor profile (soft fluffy fluffy ears) is best effort.", 3 / 4),
        ("Soft fluffy ears, warm feet, and the best effort of a sensor.", 3 / 4),
    ],
)
def test_a_sentence_is_as_weak_as_the_clause_that_is_least_said(claim: str, share: float) -> None:
    assert weakest_clause(claim) == pytest.approx(share)


def test_one_word_is_no_clause_and_a_comma_inside_a_number_parts_nothing() -> None:
    assert weakest_clause("The sensor profile is best effort, fluffy.") == 0.0
    assert weakest_clause("Ears weigh 1,000 grams.", "The sensor has a profile.") == pytest.approx(4 / 5)


def test_a_sentence_that_claims_nothing_has_no_weak_clause() -> None:
    assert weakest_clause("Do soft fluffy ears help?") == 0.0


def test_the_words_of_a_clause_must_be_near_each_other_in_one_passage() -> None:
    filler = " ".join(f"Other{n} words{n} stand{n} between{n}." for n in range(20))
    near, far = "Warm lidars measure cold distances.", f"Warm lidars. {filler} Measure cold distances."
    assert weakest_clause(near, near) == 0.0
    assert weakest_clause(near, far) == pytest.approx(2 / 6)


def test_an_invented_clause_beside_a_true_one_is_marked() -> None:
    true = "Call rclpy.init before you create a node"
    assert supported(f"{true}. [1]") == [True]
    assert supported(f"{true}, because soft fluffy ears warm the happy owners of tired dogs. [1]") == [False]
    assert supported(f"{true} for the sensor data profile. [1]") == [True]


def test_the_shipped_model_weighs_exactly_the_features_of_a_sentence() -> None:
    (source,) = sources_of([citation()]).values()
    values, _ = features("A node is created.", [source], frozenset())
    assert tuple(values) == FEATURES
    assert set(fitted().unsupported.weights) == set(FEATURES)


@pytest.mark.parametrize(("word", "figure"), [("twelve", 12), ("thirty", 30), ("fifty", 50), ("hundred", 100)])
def test_a_number_in_words_is_the_same_number(word: str, figure: int) -> None:
    page = citation(text=f"The node waits {word} seconds for a reply.")
    assert supported(f"The node waits {figure} seconds for a reply. [1]", page) == [True]
    assert supported(f"The node waits {figure + 1} seconds for a reply. [1]", page) == [False]


@pytest.mark.parametrize("word", ["eleven", "twelve", "nineteen", "twenty", "thirty", "ninety"])
def test_a_wrong_number_in_words_is_missed_like_one_in_digits(word: str) -> None:
    page = citation(text="The node waits 51 seconds for a reply.")
    (found,) = check(f"The node waits {word} seconds for a reply. [1]", (page,)).sentences
    assert (found.supported, found.reason) == (False, f"{word} is not in the source")


def test_an_answer_may_count_its_own_points() -> None:
    page = citation(text="The node waits for a reply and then gives up.")
    (source,) = sources_of([page]).values()
    values, missing = features("The node does two of ten things: it waits.", [source], frozenset())
    assert (values["numbers"], missing) == (0.0, "")


def test_a_session_with_prompts_stands_in_the_source_as_it_is() -> None:
    said = "```\n>>> arm.move()\n'moved'\n```"
    assert locate_code(said, "Try it::\n\n    >>> arm.move()\n    'moved'\n") is not None
    assert locate_code("```\n> move\n> stop\n```", "> move\n> stop\n") is not None
