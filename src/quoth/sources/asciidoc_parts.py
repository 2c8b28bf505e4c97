"""Which lines of a file an AsciiDoc include takes: by numbers (`lines=1..3;7`) or by tags (`tags=a;!b`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from quoth.sources.includes import bounded

_TAG = re.compile(r"\b(?:tag|(end))::(\S+?)\[\](?=[ \r]|$)")


def part_of(text: str, options: Mapping[str, str]) -> str | None:
    """The part of a file that the options name; None when it has none of the tags."""
    if options.get("lines"):
        lines = text.split("\n")
        return "\n".join(bounded(lines[number - 1] for number in _numbers(options["lines"], len(lines))))
    tags = _tags(options)
    if tags:
        return _tagged(text, tags)
    return text


def _numbers(said: str, count: int) -> Iterator[int]:
    """Each line once, in the order of the file."""
    wanted: set[int] = set()
    for part in re.split(r"[;,]", said):
        first, dots, last = (piece.strip() for piece in part.partition(".."))
        begin = int(first[:9]) if first.isdecimal() else 1
        end = int(last[:9]) if last.isdecimal() else count if dots else begin
        wanted.update(range(max(begin, 1), min(end, count) + 1))
    return iter(sorted(wanted))


def _tags(options: Mapping[str, str]) -> dict[str, bool]:
    said = options.get("tag") or options.get("tags") or ""
    names = [name.strip() for name in re.split(r"[;,]", said)] if "tags" in options else [said.strip()]
    return {name.removeprefix("!"): not name.startswith("!") for name in names if name.strip("!")}


def _tagged(text: str, tags: dict[str, bool]) -> str | None:
    """Asciidoctor's rules for tags."""
    base, wildcard = _defaults(tags)
    kept: list[str] = []
    stack: list[tuple[str, bool]] = []
    found = False
    for line in text.split("\n"):
        mark = _TAG.search(line) if "::" in line else None
        if mark is None:
            if stack[-1][1] if stack else base:
                kept.append(line)
        elif mark[1]:
            stack = _without(stack, mark[2])
        elif mark[2] in tags:
            found = True
            stack.append((mark[2], tags[mark[2]]))
        elif wildcard is not None:
            found = True
            stack.append((mark[2], (stack[-1][1] and wildcard) if stack else wildcard))
    return "\n".join(kept) if found or base else None


def _without(stack: list[tuple[str, bool]], name: str) -> list[tuple[str, bool]]:
    """The open tags after the end of this one. If others are still open inside it, all tags of its name end."""
    if stack and stack[-1][0] == name:
        return stack[:-1]
    return [entry for entry in stack if entry[0] != name]


def _defaults(tags: dict[str, bool]) -> tuple[bool, bool | None]:
    """Whether to take lines outside all tags, and lines of tags that are not named (None: the same as the lines around
    them). Removes the wildcards from `tags`."""
    if "**" in tags:
        base, wildcard = tags.pop("**"), tags.pop("*", None)
        only_without = bool(tags) and not next(iter(tags.values()))
        return base, True if wildcard is None and not base and only_without else wildcard
    if "*" in tags:
        first = next(iter(tags)) == "*"
        wildcard = tags.pop("*")
        return first and not wildcard, wildcard
    return True not in tags.values(), None
