"""Components of MDX books whose words are in their attributes → those words: `Dialect`s for Starlight and Mintlify.

Imported partials are inserted, as for Docusaurus. Tags with a title or label are left to `quoth.text`; attributes that
only this toolchain has are written out here. It opens no file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from quoth.sources.directives import mdx_partials
from quoth.sources.files import FrontMatter, front_matter
from quoth.sources.includes import Dialect, Directive
from quoth.sources.marked_lines import MarkedLine, found_outside, marked_lines

_COMPONENT = re.compile(
    r"<(?P<name>[A-Z]\w*+)(?P<rest>(?=[\s/>])(?:[^<>\"'{}]++|\"[^\"]*+\"|'[^']*+'|\{[^{}]*+\}){0,200}+)>"
)
_ATTRIBUTE = re.compile(r"([\w-]+)(?:=(?:\{\s*)?(?:\"([^\"]*)\"|'([^']*)'|`([^`]*)`)|(?=[\s/]|$))")
_EXPRESSION = re.compile(
    r"(?<![=\w$\\{])\{\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|`([^`$\n]*)`|(?:frontmatter|page)\.(\w+))\s*\}"
)
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_FENCE_LABEL = re.compile(r"([ \t>]*(?:`{3,}|~{3,})[ \t]*[\w+#.-]+)[ \t]++([^{\[\n=][^\n{=]*)")

_Words = Callable[[Mapping[str, str]], str]


def starlight_includes(project: Path) -> Dialect:
    return _dialect(mdx_partials(project), _STARLIGHT, labels=False)


def mintlify_includes(project: Path) -> Dialect:
    return _dialect(mdx_partials(project, rooted=True), _MINTLIFY, labels=True)


def _dialect(partials: Dialect, components: Mapping[str, _Words], *, labels: bool) -> Dialect:
    def find(text: str, path: Path, start: int) -> Iterator[Directive]:
        found = [*partials(text, path, start)]
        if path.suffix.lower() == ".mdx":
            front = front_matter(text) if start and "frontmatter." in text else FrontMatter()
            for line in marked_lines(text, start):
                found += _spoken(line, components, labels)
                found += _expressions(line, front)
        at = start
        for directive in sorted(found, key=lambda item: (item.start, item.target is None)):
            if directive.start >= at:
                yield directive
                at = directive.end

    return find


def _spoken(line: MarkedLine, components: Mapping[str, _Words], labels: bool) -> Iterator[Directive]:
    if line.kind == "opening" and labels and (label := _FENCE_LABEL.fullmatch(line.text)):
        if "title" not in label[2] and '"' not in label[2]:
            yield Directive(line.start + label.end(1), line.end, f' title="{label[2].rstrip()}"')
    elif line.kind == "prose" and "<" in line.text and not _HEADING.match(line.text):
        for tag in found_outside(_COMPONENT, line.text):
            words = components.get(tag["name"])
            if words is not None:
                yield Directive(line.start + tag.start(), line.start + tag.end(), words(_attributes(tag["rest"])))


def _expressions(line: MarkedLine, front: FrontMatter) -> Iterator[Directive]:
    for match in found_outside(_EXPRESSION, line.text) if line.kind == "prose" and "{" in line.text else ():
        said = front.text(match[4]) if match[4] else match[1] or match[2] or match[3] or ""
        yield Directive(line.start + match.start(), line.start + match.end(), said)


def _attributes(rest: str) -> dict[str, str]:
    return {match[1]: match[2] or match[3] or match[4] or "" for match in _ATTRIBUTE.finditer(rest)}


def _card(given: Mapping[str, str]) -> str:
    said = [f"**{given['title']}**" if given.get("title") else "", given.get("description", "")]
    return " ".join(part for part in said if part)


def _field(given: Mapping[str, str]) -> str:
    """A parameter of an API: its name, its type, whether it is required, and its default."""
    names = ("path", "query", "body", "header", "name")
    name = next((given[key] for key in names if given.get(key)), "")
    notes = [
        given.get("type", ""),
        "required" if "required" in given else "",
        "deprecated" if "deprecated" in given else "",
    ]
    notes += [f"default: {given['default']}"] if given.get("default") else []
    said = ", ".join(note for note in notes if note)
    return f"`{name}`{f' ({said})' if said else ''}\n" if name else ""


_STARLIGHT: dict[str, _Words] = {
    "LinkCard": _card,
    "Badge": lambda given: given.get("text", ""),
}
_MINTLIFY: dict[str, _Words] = {
    "ParamField": _field,
    "ResponseField": _field,
    "Update": lambda given: " ".join(f"**{given[key]}**" for key in ("label", "description") if given.get(key)),
    "Badge": lambda given: given.get("text", ""),
}
