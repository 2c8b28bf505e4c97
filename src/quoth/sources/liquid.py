"""Liquid and kramdown's marks in a page of Jekyll → the words that a reader sees: a `Dialect`.

Tags and variables are resolved if the configuration, the front matter or the page gives their value; what only a run of
Jekyll knows (loops over data, includes of the theme) is left out and counted. kramdown's attributes (`{: .class #id }`)
are dropped; an id stays with its heading, and a callout of just-the-docs gets its title. It opens no file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quoth.sources.files import FrontMatter, front_matter
from quoth.sources.includes import Directive
from quoth.sources.left_out import LeftOut
from quoth.sources.marked_lines import MarkedLine, found_outside, marked_lines

_LIQUID = re.compile(
    r"\{%-?\s*+(?P<tag>\w+|#)(?P<rest>(?:[^%\n]|%(?!\})|\n(?!\n)){0,500}+)%\}|\{\{(?P<output>(?:[^{}\n]|\}(?!\})){0,1000}+)\}\}"
)
_DROPPED = frozenset(("comment", "for", "capture", "tablerow", "javascript", "schema"))
_LINKS = frozenset(("link", "post_url"))
_QUIET = frozenset(
    (
        "if",
        "unless",
        "else",
        "elsif",
        "endif",
        "endunless",
        "case",
        "when",
        "endcase",
        "assign",
        "increment",
        "decrement",
    )
) | {"break", "continue", "seo", "feed_meta", "endraw", "endcapture", "endfor", "endcomment", "#", "liquid"}
_ASSIGN = re.compile(r"\s*([\w-]+)\s*=\s*(.*)", re.S)
_TEXT = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)')")
_PATH = re.compile(r"\s*([\w-]+(?:\.[\w-]+)*)\s*(?:\|.*)?", re.S)
_PARAMETER = re.compile(r"(content|text|title|caption|alt|description)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_PAGES = (".md", ".markdown", ".txt")

_ATTRIBUTES = re.compile(r"[ \t>]*\{:(?![:/])((?:[^{}\\\n]|\\.)*)\}[ \t]*")
_SPAN_MARKS = re.compile(r"(?<=[^\s{])\{:(?![:/])[^{}\n]{0,500}\}|\{:/\w*\}")
_EXTENSION = re.compile(r"\{::(\w+)[^{}\n]{0,500}?(/?)\}")
_ID = re.compile(r"(?:^|\s)#([A-Za-z][\w:.-]*)")
_CLASS = re.compile(r"(?:^|\s)\.([\w-]+)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_UNDERLINE = re.compile(r"[ \t]{0,3}(?:=+|-+)[ \t]*")
_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d+[.)])[ \t]+.*")
_MARKDOWN_INSIDE = re.compile(
    r"[ \t]*<[a-z][\w-]*(?:\s[^<>]*?)?(\s+markdown=[\"']?(?:1|block|span)[\"']?)[^<>]*>[ \t]*"
)
_CLOSING = re.compile(r"[ \t]*</[a-z][\w-]*>[ \t]*")
_COMMENT_END = re.compile(r"\s*\{:/(?:comment)?\}")
_ABBREVIATION = re.compile(r"[ \t]{0,3}\*\[[^\]\n]+\]:.*")


@dataclass(slots=True)
class Liquid:
    """The dialect of one site."""

    root: Path
    site: Mapping[str, object]
    callouts: Mapping[str, str]  # titles, by class
    left_out: LeftOut = field(default_factory=lambda: LeftOut("tags and variables that only a run of Jekyll can show"))

    def __call__(self, text: str, path: Path, start: int) -> Iterator[Directive]:
        found: list[Directive] = []
        if "{%" in text or "{{" in text:
            found += self._liquid(text, path, start)
        if "{:" in text or "*[" in text:
            found += self._attributes(text, start)
        if "</" in text:
            found += _html(text, start)
        at = start
        for directive in sorted(found, key=lambda item: item.start):
            if directive.start >= at:
                yield directive
                at = directive.end

    # --- Liquid ---

    def _liquid(self, text: str, path: Path, start: int) -> Iterator[Directive]:
        tags = list(_LIQUID.finditer(text, start))
        ends = _ends(tags)
        values: dict[str, str] = {}
        front = front_matter(text) if start and "page." in text else FrontMatter()
        at = 0
        while at < len(tags):
            tag = tags[at]
            name = tag["tag"]
            if name == "raw":
                end = ends.get(at, at)
                yield Directive(tag.start(), tag.end())
                if end > at:
                    yield Directive(tags[end].start(), tags[end].end())
                at = end
            elif name in _DROPPED and at in ends:
                if name not in ("comment", "capture"):
                    self.left_out.add(f"{{% {name} %}}")
                yield Directive(tag.start(), tags[ends[at]].end())
                at = ends[at]
            elif name is None:
                yield Directive(tag.start(), tag.end(), self._value(tag["output"], front, values))
            else:
                yield self._tag(tag, name, text, path, values, front)
            at += 1

    def _tag(
        self, tag: re.Match[str], name: str, text: str, path: Path, values: dict[str, str], front: FrontMatter
    ) -> Directive:
        rest = tag["rest"].rstrip("-").strip()
        if name == "assign" and (assigned := _ASSIGN.fullmatch(rest)):
            values[assigned[1]] = self._value(assigned[2], front, values, told=False)
        if name in ("highlight", "endhighlight"):
            return _highlight(tag, text, rest)
        if name in _LINKS:
            return Directive(tag.start(), tag.end(), f"/{rest.lstrip('/')}".replace(" ", "%20"))
        if name in ("include", "include_relative", "include_cached"):
            return self._include(tag, name, rest, path)
        if name not in _QUIET:
            self.left_out.add(f"{{% {name} %}}")
        return Directive(tag.start(), tag.end())

    def _include(self, tag: re.Match[str], name: str, rest: str, path: Path) -> Directive:
        file, _, parameters = rest.partition(" ")
        if file.lower().endswith(_PAGES):
            folder = path.parent if name == "include_relative" else self.root / "_includes"
            return Directive(
                tag.start(),
                tag.end(),
                target=folder / file,
                take=lambda text: text[front_matter(text).body_start :],
                finish=lambda text: text.strip("\n"),
                said=file,
            )
        said = " ".join(match[2] or match[3] or "" for match in _PARAMETER.finditer(parameters))
        if not said:
            self.left_out.add(f"{{% {name} {file} %}}")
        return Directive(tag.start(), tag.end(), said)

    def _value(self, said: str, front: FrontMatter, values: Mapping[str, str], *, told: bool = True) -> str:
        """The value of an expression. Filters are not applied: the unfiltered value is better than nothing."""
        if literal := _TEXT.match(said):
            plain = literal[1] if literal[1] is not None else literal[2]
            return "" if plain == "now" else plain
        path = _PATH.fullmatch(said)
        if path is None:
            return ""
        owner, *names = path[1].split(".")
        found: object = None
        if owner == "page" and len(names) == 1:
            found = front.text(names[0])
        elif owner == "site" and names:
            found = self.site
            for name in names:
                found = found.get(name) if isinstance(found, dict) else None
        elif not names:
            found = values.get(owner)
        if isinstance(found, (str, int, float)) and not isinstance(found, bool):
            return str(found)
        if told:
            self.left_out.add(f"{{{{ {path[1]} }}}}")
        return ""

    # --- kramdown ---

    def _attributes(self, text: str, start: int) -> Iterator[Directive]:
        lines = list(marked_lines(text, start))
        closing = [number for number, line in enumerate(lines) if _COMMENT_END.match(line.text)]
        code = False  # between a pair of Liquid tags
        at = 0
        while at < len(lines):
            line = lines[at]
            if "highlight" in line.text and "{%" in line.text:
                code = "endhighlight" not in line.text
            if line.kind == "prose" and not code:
                if extension := _EXTENSION.search(line.text) if "{::" in line.text else None:
                    later = bisect_right(closing, at)
                    first, last = line.start + extension.start(), line.start + extension.end()
                    if extension[1] == "comment" and not extension[2] and later < len(closing):
                        at = closing[later]
                        last = lines[at].end
                    yield Directive(first, last)
                elif "{:" in line.text or "*[" in line.text:
                    yield from self._marks(lines, at)
            at += 1

    def _marks(self, lines: Sequence[MarkedLine], at: int) -> Iterator[Directive]:
        line = lines[at]
        if attributes := _ATTRIBUTES.fullmatch(line.text):
            yield from self._block(lines, at, attributes[1])
        elif _ABBREVIATION.fullmatch(line.text):
            yield Directive(line.start, line.end)
        else:
            for span in found_outside(_SPAN_MARKS, line.text):
                yield Directive(line.start + span.start(), line.start + span.end())

    def _block(self, lines: Sequence[MarkedLine], at: int, said: str) -> Iterator[Directive]:
        """Attributes on a line of their own belong to the block above, or, after a blank line, to the one below."""
        line = lines[at]
        above = lines[at - 1] if at and lines[at - 1].text.strip() else None
        named = _ID.search(said)
        if "toc" in said.split() and above is not None and _ITEM.fullmatch(above.text):
            yield Directive(above.start, line.end)
            return
        heading = _heading_of(lines, at) if named else None
        if heading is not None and named:
            yield Directive(heading.end, heading.end, f" {{#{named[1]}}}")
        title = next((self.callouts[name] for name in _CLASS.findall(said) if name in self.callouts), "")
        yield Directive(line.start, line.end, f"**{title}**" if title and above is None else "")


def _heading_of(lines: Sequence[MarkedLine], at: int) -> MarkedLine | None:
    """The heading that the attributes in this line belong to: its line, or the one above its underline."""
    above = lines[at - 1].text if at else ""
    if not above.strip():
        below = lines[at + 1] if at + 1 < len(lines) else None
        return below if below and _HEADING.match(below.text) else None
    if at > 1 and _UNDERLINE.fullmatch(above) and lines[at - 2].text.strip():
        return lines[at - 2]
    return lines[at - 1] if _HEADING.match(above) else None


def _html(text: str, start: int) -> Iterator[Directive]:
    """Blank lines where kramdown ends a block of HTML and CommonMark would not."""
    for line in marked_lines(text, start):
        if line.kind == "prose" and "markdown=" in line.text and (opens := _MARKDOWN_INSIDE.fullmatch(line.text[:500])):
            yield Directive(line.start + opens.start(1), line.start + opens.end(1))
            yield Directive(line.end, line.end, "\n")
        elif line.kind == "prose" and _CLOSING.fullmatch(line.text) and text.startswith("\n", line.end):
            yield Directive(line.end, line.end, "\n")


def _ends(tags: Sequence[re.Match[str]]) -> dict[int, int]:
    """The first tag of each block → its last tag."""
    opened: dict[str, list[int]] = {}
    ends: dict[int, int] = {}
    raw = False
    for at, tag in enumerate(tags):
        name = tag["tag"] or ""
        if raw and name != "endraw":
            continue
        if name in _DROPPED or name == "raw":
            opened.setdefault(name, []).append(at)
            raw = name == "raw"
        elif name.startswith("end") and opened.get(name[3:]):
            ends[opened[name[3:]].pop()] = at
            raw = False
    return ends


def _highlight(tag: re.Match[str], text: str, rest: str) -> Directive:
    begins = not text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()].strip()
    if tag["tag"] == "endhighlight":
        return Directive(tag.start(), tag.end(), "~~~~" if begins else "\n~~~~")
    follows = text.startswith(("\n", "\r\n"), tag.end())
    language = rest.split()[0] if rest else ""
    return Directive(tag.start(), tag.end(), f"~~~~{language}" + ("" if follows else "\n"))
