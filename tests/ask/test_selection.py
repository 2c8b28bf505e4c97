from __future__ import annotations

from quoth.ask.selection import evidence_of_selection, judge_selection

SELECTION = "A launch file starts several nodes at once. It is written in Python, XML or YAML."


def test_a_question_whose_words_are_in_the_selection_is_answered() -> None:
    verdict = judge_selection(evidence_of_selection("What does a launch file start?", SELECTION, book_id="b"))
    assert verdict.should_answer
    assert verdict.level == "high"


def test_a_question_about_something_else_is_not_answered_from_the_selection() -> None:
    verdict = judge_selection(evidence_of_selection("Which camera has the best depth range?", SELECTION, book_id="b"))
    assert not verdict.should_answer
    assert verdict.level == "insufficient"


def test_a_selection_that_lacks_the_kind_of_thing_asked_for_does_not_answer() -> None:
    question = "How much do these boards cost?"
    cheap, priced = (
        judge_selection(evidence_of_selection(question, text, book_id="b"))
        for text in ("The boards are found everywhere.", "The boards are sold for 12 €.")
    )
    assert (cheap.should_answer, priced.should_answer) == (False, True)


def test_a_question_that_only_points_at_the_selection_is_answered() -> None:
    assert judge_selection(evidence_of_selection("Explain this paragraph", SELECTION, book_id="b")).should_answer


def test_the_only_passage_is_the_selection_itself() -> None:
    evidence = evidence_of_selection("launch", SELECTION, book_id="b")
    assert [passage.chunk.text for passage in evidence.passages] == [SELECTION]
    assert evidence.passages[0].chunk.start == 0


def test_a_selection_is_one_passage_that_holds_a_share_of_the_words() -> None:
    evidence = evidence_of_selection("What does a launch file destroy?", SELECTION, book_id="b")
    held = sum(term.in_book for term in evidence.terms) / len(evidence.terms)
    assert 0 < held < 1
    assert (evidence.total_found, evidence.passages[0].score, evidence.passages[0].similarity) == (1, held, held)
    metrics = judge_selection(evidence).metrics
    assert (metrics.average_similarity, metrics.num_chunks, metrics.chunk_diversity) == (held, 1, 0.0)


def test_a_question_that_only_points_at_the_selection_asks_for_all_of_it() -> None:
    verdict = judge_selection(evidence_of_selection("Explain this", SELECTION, book_id="b"))
    assert (verdict.confidence, verdict.level) == (1.0, "high")
