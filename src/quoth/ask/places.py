"""Where words or a code block of an answer are in a passage. Pure.

In: a sentence or a block as the answer writes it, the text of a passage. Out: the offsets at which it is there word for
word, however lines are broken, quoted or indented; None if it is not there. Whether it is supported is decided in
`check`.
"""

from __future__ import annotations

import re

from quoth.text.sentences import fold

_FENCE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})")
_LINE = re.compile(r"^.*\S", re.MULTILINE)
_QUOTE_MARKS = re.compile(r"^[ \t]*(?!>>>(?:[ \t]|$))(?:>[ \t]?)+")  # `>>>` is the prompt of Python


def locate(words: str, text: str) -> tuple[int, int] | None:
    """Where the words are in the text, however lines are broken or quoted there."""
    parts = fold(words).split()
    if not parts:
        return None
    found = re.search(r"(?:\s|^[ \t]*>[ \t]?)+".join(map(re.escape, parts)), text, re.MULTILINE)
    return found.span() if found else None


def locate_code(block: str, text: str) -> tuple[int, int] | None:
    """Where a code block is, line by line, indented as a whole or not; its fences do not count."""
    wanted = code_lines(block)
    if not wanted:
        return None
    held = [(*_indented(match.group()), match) for match in _LINE.finditer(text) if _indented(match.group())[1]]
    for first in range(len(held) - len(wanted) + 1):
        offset = held[first][0] - wanted[0][0]
        run = held[first : first + len(wanted)]
        # A line that was indented less than its block begins at the margin.
        if all(
            words == said and indent == max(0, column - offset)
            for (indent, said), (column, words, _) in zip(wanted, run, strict=True)
        ):
            return run[0][2].end() - len(run[0][1]), run[-1][2].end()
    return locate(wanted[0][1], text) if len(wanted) == 1 else None


def code_lines(block: str) -> list[tuple[int, str]]:
    """Its lines with their indents, without fences and empty lines."""
    lines = block.split("\n")
    if _FENCE.match(lines[0]):
        fence = lines[0].strip()[:3]
        lines = lines[1:-1] if len(lines) > 1 and lines[-1].strip().startswith(fence) else lines[1:]
    return [(indent, words) for indent, words in map(_indented, lines) if words]


def _indented(line: str) -> tuple[int, str]:
    body = _QUOTE_MARKS.sub("", line.rstrip()).expandtabs()
    return len(body) - len(body.lstrip()), body.strip()
