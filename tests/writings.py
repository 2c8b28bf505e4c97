"""Hypothesis strategies for Markdown at its nastiest, shared by the tests of reading and splitting."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

# Generating a page takes longer than splitting it, and other work may share the machine: no deadline.
# Under `make test-fast` every search is short; the whole suite looks longer.
thorough = settings(deadline=None, max_examples=min(80, settings().max_examples))

_WORDS = [
    "robot",
    "node",
    "--no-deps",
    "tf2_ros",
    "`code`",
    "**bold**",
    "[link](https://a.b/c)",
    "naïve",
    "日本語",
    "<b>",
]
_WORDS += [
    "</b>",
    "a*b",
    "$x$",
    "#tag",
    "|",
    "`",
    "```",
    "\\",
    "&amp;",
    "<br/>",
    "![i](j.png)",
    "end.",
    "[r]",
    "{x}",
    "_a_",
]
_WORD = st.sampled_from(_WORDS) | st.text(alphabet="abcdefgé.!?_-", min_size=1, max_size=12)
_LINE = st.lists(_WORD, min_size=1, max_size=10).map(" ".join)
_PARAGRAPH = st.lists(_LINE, min_size=1, max_size=5).map("\n".join)
_HEADING = st.tuples(st.integers(1, 6), _LINE).map(lambda pair: f"{'#' * pair[0]} {pair[1]}")
_SETEXT = st.tuples(_LINE, st.sampled_from(["====", "----"])).map("\n".join)
_FENCE = st.tuples(st.sampled_from(["```", "~~~", "````"]), st.lists(_LINE | st.just("# no heading"), max_size=12)).map(
    lambda pair: "\n".join([f"{pair[0]}py", *(line.replace(pair[0], "'") for line in pair[1]), pair[0]])
)
_TABLE = st.lists(_LINE.map(lambda line: line.replace("|", "/")), min_size=1, max_size=8).map(
    lambda rows: "\n".join(["| head | er |", "|---|---|", *(f"| {row} | x |" for row in rows)])
)
_LIST = st.lists(_LINE, min_size=1, max_size=12).map(lambda lines: "\n".join(f"- {line}" for line in lines))
_MARKUP = st.sampled_from(
    (
        *("---", "<Tabs>", "</Tabs>", "</TabItem>", ":::", ":::note", ":::tip[Title]", "::::info", "::::"),
        *(">", "-", ">>", "#", "##", "```"),
        "<!-- c -->",
        '<TabItem label="One">',
        "{/* c */}",
        "import X from './x'",
        "export const a = {\n  b: 1,\n};",
        "[r]: https://a.b",
        "[^1]: note",
    )
)


def _inside(blocks: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        blocks.map(lambda text: "\n".join(f"> {line}" for line in text.split("\n"))),
        blocks.map(lambda text: "- item\n\n" + "\n".join(f"  {line}" for line in text.split("\n"))),
        blocks.map(lambda text: f":::warning Mind\n\n{text}\n\n:::"),
    )


_BLOCK = st.recursive(st.one_of(_PARAGRAPH, _HEADING, _SETEXT, _FENCE, _TABLE, _LIST, _MARKUP), _inside, max_leaves=3)


@st.composite
def pages(draw: st.DrawFn) -> str:
    parts = draw(st.lists(_BLOCK, max_size=8))
    text = draw(st.sampled_from(["\n\n", "\n\n", "\n", "\n \n"])).join(parts)
    text = text.replace("\n", draw(st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])))
    return draw(st.sampled_from(["", "", "", "\ufeff", "\n\n", "  "])) + text
