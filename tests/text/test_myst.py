"""MyST: directives in fences, targets, roles and comments."""

from __future__ import annotations

from hypothesis import given

from quoth.chunks.split import split
from quoth.text.blocks import Block, leaves
from quoth.text.markdown import parse, plain
from splitting import (
    TOKENS,
    check_everything_readable_is_in_a_chunk,
    check_nothing_is_above_the_limit,
    check_text_is_the_slice,
    page,
)
from writings import pages, thorough


def blocks_of(text: str) -> tuple[Block, ...]:
    return parse(text, markup="myst")


def words(text: str) -> list[str]:
    return [leaf.plain for leaf in leaves(blocks_of(text)) if leaf.kind != "markup"]


@thorough
@given(pages())
def test_the_promises_of_chunks_hold(text: str) -> None:
    text = text.replace(":::note", "```{note} Mind").replace(":::tip", "(label)=").replace("::::info", ":::{tip}")
    written = page(text, markup="myst")
    chunks = split(written, TOKENS)
    check_text_is_the_slice(written, chunks)
    check_everything_readable_is_in_a_chunk(written, chunks)
    check_nothing_is_above_the_limit(chunks, TOKENS)


def test_a_directive_with_text_is_an_admonition_around_blocks() -> None:
    text = "````{note} Mind *this*\n:class: x\n\nBody.\n\n```py\n# no heading\n```\n````\n\nAfter.\n"
    admonition, after = blocks_of(text)
    assert admonition.kind == "admonition"
    assert [child.kind for child in admonition.children] == ["label", "paragraph", "fence", "markup"]
    assert words(text) == ["Note\nMind this", "Body.", "# no heading", "After."]
    assert after.plain == "After."
    assert plain(text) == "Note\nMind this\nBody.\n# no heading\nAfter."


def test_colons_and_yaml_options_are_understood() -> None:
    assert words(":::{tip}\nText.\n:::\n") == ["tip", "Text."]
    assert words("```{figure} a.png\n---\nalt: A robot\n---\nThe caption.\n```\n") == ["A robot", "The caption."]


def test_code_stays_code_and_toctrees_are_markup() -> None:
    text = "```{code-block} python\n:caption: Cap\n\nx = 1\n```\n\n```{toctree}\n:maxdepth: 2\n\na\nb\n```\n"
    assert [leaf.kind for leaf in leaves(blocks_of(text))] == ["fence", "markup"]
    assert words(text) == ["Cap\nx = 1"]


def test_targets_and_comments_are_markup_and_roles_are_words() -> None:
    text = "(my-label)=\n% a comment\n\nSee {ref}`the setup <my-label>` and {class}`~a.b.C`.\n\n+++\n"
    assert words(text) == ["See the setup and C."]


def test_headings_get_the_ids_of_docutils() -> None:
    text = "(x)=\n# The `Foo` 1.0\n\n## Notes\n\n## Notes\n\n(lab)=\n## Notes\n"
    assert [block.anchor for block in blocks_of(text) if block.level] == ["the-foo-1-0", "notes", "id1", "lab"]


def test_what_looks_like_emphasis_in_a_role_is_left_alone() -> None:
    assert words("The {attr}`__dict__` of {class}`~a.B`s, {pep}`649`, {ref}`over\ntwo lines <x>`.\n") == [
        "The __dict__ of Bs, PEP 649, over\ntwo lines."
    ]
    assert blocks_of("# On {meth}`__init__`\n")[0].text == "On __init__"
