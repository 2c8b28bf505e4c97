"""Bytes to text, front matter, and what it says about a page."""

from __future__ import annotations

import pytest

from quoth.errors import Unreadable
from quoth.sources.files import decode, front_matter
from quoth.sources.front_matter import Place, grading, place, place_by_path


def test_text_comes_out_as_it_was_written() -> None:
    assert decode("\ufeffa\r\nb\rc\td\u2028".encode(), "a.md") == "\ufeffa\r\nb\rc\td\u2028"


def test_invalid_utf8_names_the_byte_and_the_line() -> None:
    with pytest.raises(Unreadable, match=r"a\.md is not valid UTF-8: byte 0xff at offset 8, line 2") as caught:
        decode(b"caf\xc3\xa9\nx \xff", "a.md")
    assert caught.value.details["line"] == 2
    assert caught.value.exit_code == 3


def test_a_binary_file_is_named_as_one() -> None:
    with pytest.raises(Unreadable, match="binary file"):
        decode(b"\x89PNG\r\n\x00\x00", "a.md")


def test_the_error_for_utf16_says_what_to_do() -> None:
    with pytest.raises(Unreadable, match="UTF-16") as caught:
        decode("words".encode("utf-16"), "a.md")
    assert caught.value.hint == "Save it as UTF-8."


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_front_matter_ends_where_the_body_starts(newline: str) -> None:
    text = newline.join(["---", "title: A", "draft: true", "---", "Body"])
    front = front_matter(text)
    assert (front.text("title"), front.is_true("draft")) == ("A", True)
    assert text[front.body_start :] == "Body"


def test_a_byte_order_mark_does_not_hide_front_matter() -> None:
    assert front_matter("\ufeff---\ntitle: A\n---\n").text("title") == "A"


@pytest.mark.parametrize(
    "text", ["", "# Title", "---\n\nA rule, then text.\n", "---\nJust words\n---\n", "a\n---\nb: c\n---\n"]
)
def test_horizontal_rules_are_not_front_matter(text: str) -> None:
    assert front_matter(text).body_start == 0


def test_keys_know_their_line() -> None:
    assert front_matter("---\na: 1\n\nb: 2\n---\n").lines == {"a": 2, "b": 4}


def test_damaged_yaml_is_reported_with_its_line_and_the_body_is_still_found() -> None:
    text = "---\ntitle: A\nlist: [1, 2\n---\nBody"
    front = front_matter(text)
    assert text[front.body_start :] == "Body"
    (notice,) = front.notices("a.md")
    assert (notice.code, notice.source_file, notice.line) == ("FRONT_MATTER_UNREADABLE", "a.md", 4)


def test_dates_and_other_odd_values_do_not_stop_a_page() -> None:
    assert front_matter("---\ntitle: 2024-99-99\nx: 2024-01-01\n---\n").body_start > 0
    assert front_matter("---\ntitle: 2024-02-31\n---\nBody").body_start > 0


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("01-ros2/02-topics/03-qos.md", Place("ros2", 2, 3)),
        ("01-ros2/02-topics/index.md", Place("ros2", 2, 0)),
        ("01-ros2/README.md", Place("ros2", 0, 0)),
        ("module-1-ros2/chapter-02/lesson-3.md", Place("ros2", 2, 3)),
        ("01-ros2/02-topics/qos.md", Place()),
        ("ros2/topics/qos.md", Place()),
        ("01-ros2/03-qos.md", Place()),
        ("a/01-ros2/02-topics/03-qos.md", Place()),
        ("intro.md", Place()),
    ],
)
def test_the_path_gives_the_place_if_it_has_the_right_shape(path: str, wanted: Place) -> None:
    assert place_by_path(path) == wanted


def test_front_matter_overrides_the_path() -> None:
    front = front_matter("---\nmodule: gazebo\nchapter: 30\n---\n")
    assert place(front, "docs/01-ros2/02-topics/03-qos.md", "01-ros2/02-topics/03-qos.md") == (
        Place("gazebo", 30, 3),
        (),
    )


def test_a_chapter_that_is_not_a_number_is_reported() -> None:
    front = front_matter("---\nmodule: gazebo\nchapter: two\n---\n")
    where, (notice,) = place(front, "docs/01-ros2/02-topics/03-qos.md", "01-ros2/02-topics/03-qos.md")
    assert where == Place("gazebo", 2, 3)
    assert (notice.code, notice.line) == ("FRONT_MATTER_INVALID", 3)
    assert "'two'" in notice.message


@pytest.mark.parametrize(
    ("line", "tier", "level", "layer"),
    [
        ("hardware_tier: 3", 3, "A2", "L1"),
        ("hardware_tier: 'Tier 2'", 2, "A2", "L1"),
        ("proficiency: B1", 1, "B1", "L1"),
        ("proficiency_level: b2", 1, "B2", "L1"),
        ("proficiency: A2-B1", 1, "A2", "L1"),
        ("proficiency: C1/B2", 1, "B2", "L1"),
        ("layer: L3", 1, "A2", "L3"),
        ("layer: 'L2: Collaboration'", 1, "A2", "L2"),
        ("layer: 4", 1, "A2", "L4"),
    ],
)
def test_grades_are_read_in_the_forms_authors_use(line: str, tier: int, level: str, layer: str) -> None:
    graded = grading(front_matter(f"---\n{line}\n---\n"), "a.md", ())
    assert (graded.hardware_tier, graded.proficiency_level, graded.layer, graded.notices) == (tier, level, layer, ())


@pytest.mark.parametrize(
    "line", ["hardware_tier: 5", "hardware_tier: 12", "proficiency: D1", "layer: L9", "hardware_tier: true"]
)
def test_a_bad_grade_is_replaced_by_the_default_and_reported_with_file_and_line(line: str) -> None:
    graded = grading(front_matter(f"---\ntitle: A\n{line}\n---\n"), "a.md", ())
    assert (graded.hardware_tier, graded.proficiency_level, graded.layer) == (1, "A2", "L1")
    (notice,) = graded.notices
    assert (notice.code, notice.source_file, notice.line) == ("FRONT_MATTER_INVALID", "a.md", 3)


def test_a_missing_grade_is_reported_once_and_only_if_the_book_uses_it() -> None:
    front = front_matter("---\ntitle: A\n---\n")
    assert grading(front, "a.md", ()).notices == ()
    (notice,) = grading(front, "a.md", {"layer", "hardware_tier"}).notices
    assert (
        notice.message == "the front matter lacks fields that other pages have; used instead: hardware_tier 1, layer L1"
    )
