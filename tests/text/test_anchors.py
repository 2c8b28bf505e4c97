"""Anchors: what each toolchain makes from the words of a heading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.domain import AnchorRule
from quoth.text.anchors import Anchors


@pytest.mark.parametrize(
    ("words", "anchor"),
    [
        ("Getting Started", "getting-started"),
        ("docusaurus.config.js", "docusaurusconfigjs"),
        ("C++ & Rust: a  comparison", "c--rust-a--comparison"),
        ("snake_case and --flags", "snake_case-and---flags"),
        ("Was ist ein Maßstab?", "was-ist-ein-maßstab"),
        ("日本語 見出し", "日本語-見出し"),
        ("🤖 Robots", "-robots"),
        ("1. First", "1-first"),
        ("Ünïcödé", "ünïcödé"),
        ("tab\there", "tabhere"),
        ("Ⅷ and ½", "ⅷ-and-"),
    ],
)
def test_docusaurus_and_github_use_the_github_slugger(words: str, anchor: str) -> None:
    assert Anchors("docusaurus").of(words) == Anchors("github").of(words) == anchor


def test_duplicates_are_numbered_from_one_and_numbers_never_collide() -> None:
    anchors = Anchors("docusaurus")
    assert [anchors.of(words) for words in ("Setup", "Setup", "Setup 1", "Setup", "Setup")] == [
        "setup",
        "setup-1",
        "setup-1-1",
        "setup-2",
        "setup-3",
    ]


def test_explicit_ids_win_and_do_not_number_later_headings_on_docusaurus() -> None:
    anchors = Anchors("docusaurus")
    assert [anchors.of("Setup", "custom"), anchors.of("Custom"), anchors.of("Setup")] == ["custom", "custom", "setup"]


def test_mdbook_keeps_punctuation_out_and_spaces_as_hyphens() -> None:
    anchors = Anchors("mdbook")
    assert [anchors.of("Hello, World!"), anchors.of("Hello, World!"), anchors.of("`Vec<T>` and _x")] == [
        "hello-world",
        "hello-world-1",
        "vect-and-_x",
    ]


def test_honkit_drops_underscores_keeps_dashes_and_numbers_nothing() -> None:
    anchors = Anchors("honkit")
    assert [anchors.of(words) for words in ("Step_1 & more — now", "Twice", "Twice", "? Émile")] == [
        "step1--more-—-now",
        "twice",
        "twice",
        "émile",
    ]
    assert anchors.of("Twice", "own") == "own"


def test_an_emoji_in_a_heading_is_no_part_of_mkdocs_anchor() -> None:
    anchors = Anchors("mkdocs")
    assert [anchors.of(words) for words in (":rocket: Launch", "Time: 10:30", "Go :material-arrow:")] == [
        "launch",
        "time-1030",
        "go",
    ]
    assert Anchors("docusaurus").of(":rocket: Launch") == "rocket-launch"


def test_mkdocs_numbers_with_an_underscore_and_drops_what_is_not_ascii() -> None:
    anchors = Anchors("mkdocs")
    assert [anchors.of("Über uns – heute"), anchors.of("Setup"), anchors.of("Setup"), anchors.of("Setup")] == [
        "uber-uns-heute",
        "setup",
        "setup_1",
        "setup_2",
    ]


def test_mkdocs_counts_on_from_a_number_that_an_anchor_ends_with() -> None:
    anchors = Anchors("mkdocs")
    headings = ["step_1", "step_2", "step_1", "step_1", "step_2", "step", "step"]
    assert [anchors.of(words) for words in headings] == [
        *("step_1", "step_2", "step_3", "step_4", "step_5", "step", "step_6"),
    ]
    assert Anchors("mkdocs", ["a_" + "9" * 5_000]).of("a_" + "9" * 5_000) == "a_" + "9" * 5_000 + "_1"


def test_sphinx_makes_docutils_ids() -> None:
    anchors = Anchors("sphinx")
    assert [anchors.of("2. The `Setup`"), anchors.of("The Setup"), anchors.of("日本")] == ["the-setup", "id1", "id2"]


def test_without_a_rule_there_is_no_anchor() -> None:
    assert Anchors("none").of("Setup", "explicit") == ""


@given(st.lists(st.text(max_size=8)), st.sampled_from(["docusaurus", "github", "mdbook", "mkdocs", "sphinx"]))
def test_no_two_headings_of_a_page_share_an_anchor(headings: list[str], rule: AnchorRule) -> None:
    anchors = Anchors(rule)
    made = [anchors.of(words) for words in headings]
    assert len(set(made)) == len(made)
