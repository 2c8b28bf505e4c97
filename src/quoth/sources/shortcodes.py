"""Hugo's shortcodes → the words that a reader of the page sees: a `Dialect` of `quoth.sources.includes`.

Templates decide what they show, and templates are not run. The text between two tags stays and the tags are dropped,
apart from the words in them (titles, names of tabs). Shortcodes that many books have are resolved: files, samples,
glossaries, parameters, headings. Unknown ones without a text are left out and counted, so that the author can be told
once. It opens only the files of the glossary and the translations.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quoth.sources.bounds import Bounds, is_file
from quoth.sources.files import FrontMatter, front_matter
from quoth.sources.glossaries import Glossary, Translations
from quoth.sources.includes import Directive, first_existing
from quoth.sources.left_out import LeftOut
from quoth.sources.marked_lines import fenced

_OPENING = re.compile(r"\{\{([<%])")
_LONGEST = 4_000  # characters of one shortcode
_TAG = re.compile(r"\s*+(?P<close>/?)\s*+(?P<name>[\w./-]*\w)(?P<rest>.*)", re.S)
_ARGUMENT = re.compile(r"(?:([\w-]+)\s*=\s*)?(?:\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`|([^\s\"`=]+))")
_NAMED = ("title", "text", "header", "heading", "caption", "summary", "label", "name", "alt")
_SPOKEN = dict.fromkeys(("note", "caution", "warning", "tip", "info", "danger", "important", "hint"), "")
_ALERTS = frozenset((*_SPOKEN, "alert", "admonition", "callout", "notice", "pageinfo", "details", "expand"))
_SILENT = frozenset(("tabs", "tabpane", "cards", "columns", "steps", "cardpane", "table", "div", "span", "mermaid"))
_LINKS = frozenset(("ref", "relref", "absref", "link", "url", "absurl", "relurl"))
_FILES = frozenset(("include", "readfile", "includes", "include-file", "include_file", "snippet", "import"))
_SAMPLES = frozenset(("code_sample", "code", "codenew", "code-include", "codeinclude", "literalinclude", "example"))
_MEDIA = frozenset(
    (
        "youtube",
        "vimeo",
        "gist",
        "tweet",
        "x",
        "instagram",
        "toc",
        "section",
        "children",
        "br",
        "figure",
        "img",
        "image",
    )
)
_MORE = re.compile(r"<!--\s*more\s*-->")
_ATTRIBUTES = re.compile(r"^([ \t]{0,3}#{1,6}[ \t].*?(?<![ \t]))[ \t]*+\{([^{}\n]*+)\}[ \t]*+$", re.M)
_ID = re.compile(r"(?:^|\s)(?:#|id=)\"?([\w.:-]+)")
_ALERT = re.compile(r"^([ \t]*(?:>[ \t]?)+)\[!(\w+)\][+-]?[ \t]*(.*)$", re.M)
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    name: str
    closes: bool
    named: Mapping[str, str]
    rest: tuple[tuple[str, bool], ...]  # arguments without a name, and whether each is in quotes
    percent: bool

    def get(self, *names: str) -> str:
        return next((self.named[name] for name in names if self.named.get(name)), "")

    @property
    def first(self) -> str:
        return self.rest[0][0] if self.rest else ""


@dataclass(slots=True)
class Shortcodes:
    """The dialect of one site."""

    root: Path
    contents: Mapping[Path, str]  # the folder of each language, with its code
    params: Mapping[str, object]
    bounds: Bounds
    left_out: LeftOut = field(default_factory=lambda: LeftOut("shortcodes that only Hugo's templates can show"))
    _glossary: Glossary = field(init=False)
    _headings: Translations = field(init=False)

    def __post_init__(self) -> None:
        self._glossary = Glossary(tuple(self.contents), self.bounds)
        self._headings = Translations(self.root, self.bounds)

    def __call__(self, text: str, path: Path, start: int) -> Iterator[Directive]:
        found = [*self._shortcodes(text, path, start)]
        if "]" in text or "{" in text:
            found += _marks(text, start)
        at = start
        for directive in sorted(found, key=lambda item: item.start):
            if directive.start >= at:  # attributes of a heading may hold a shortcode
                yield directive
                at = directive.end

    def _shortcodes(self, text: str, path: Path, start: int) -> Iterator[Directive]:
        if "{{" not in text:
            return
        items = list(_tags(text, start))
        yield from (item for item in items if isinstance(item, Directive))
        tags = [item for item in items if isinstance(item, _Tag)]
        comments = list(_comments(tags))
        yield from (Directive(first.start, last.end) for first, last in comments)
        tags = _outside(tags, comments)
        front = front_matter(text) if start and any(tag.name == "param" for tag in tags) else FrontMatter()
        closed = {tag.name for tag in tags if tag.closes}
        code = False  # whether the open tab holds code
        for tag in tags:
            yield self._shown(tag, text, path, front, paired=tag.name in closed, code=code)
            code = bool(tag.get("codelang")) if tag.name == "tab" else code

    def _shown(self, tag: _Tag, text: str, path: Path, front: FrontMatter, *, paired: bool, code: bool) -> Directive:
        name = tag.name
        if name == "highlight":
            return _highlight(tag, text, tag.first)
        if name == "tab" and (tag.get("codelang") or (tag.closes and code)):
            return _highlight(tag, text, tag.get("codelang"), tag.get("name", "header"))
        if tag.closes:
            return Directive(tag.start, tag.end)
        file = tag.get("file", "path", "src") or ("" if paired else tag.first)
        if file and name in _SAMPLES:
            return self._sample(tag, file, text, path)
        if file and name in _FILES:
            return self._file(tag, file, text, path)
        if name == "glossary_definition":
            return self._definition(tag, text)
        return Directive(tag.start, tag.end, self._words(tag, text, path, front, paired))

    def _words(self, tag: _Tag, text: str, path: Path, front: FrontMatter, paired: bool) -> str:
        if (known := self._resolved(tag, path, front)) is not None:
            return known
        if said := self._label(tag, paired):
            return f"**{said}**{_break(text, tag.end)}" if paired else said
        if not paired and tag.name not in _MEDIA:
            self.left_out.add(tag.name)
        return ""

    def _resolved(self, tag: _Tag, path: Path, front: FrontMatter) -> str | None:
        """What a shortcode shows, if it is one that many books have; None for all others."""
        name = tag.name
        if name in _LINKS:
            return tag.get("text") or _address(tag.get("path", "url") or tag.first)
        if name == "param":
            return _parameter(tag.first or tag.get("name"), front, self.params)
        if name == "skew":
            return _skewed(tag, self.params)
        if name == "heading":
            return self._heading(tag.first, path)
        if name == "glossary_tooltip":
            return tag.get("text") or self._glossary.title(tag.get("term_id")) or tag.get("term_id")
        if name == "feature-state" and tag.get("state"):
            return _feature_state(tag)
        if name in _SILENT:
            return f"**{tag.named['caption']}**" if tag.get("caption") else ""
        return None

    def _heading(self, name: str, path: Path) -> str:
        languages = [code for content, code in self.contents.items() if path.is_relative_to(content)]
        said = self._headings.of(f"{name}_heading", languages[-1] if languages else "en")
        return said or name.replace("_", " ").capitalize()

    def _label(self, tag: _Tag, paired: bool) -> str:
        """The words in a tag that a reader sees."""
        said = [tag.named[key] for key in _NAMED if tag.named.get(key)]
        if tag.name in ("figure", "img", "image"):
            shown = said[:-1] if tag.get("alt") and tag.get("title") else said
            return " ".join(dict.fromkeys(shown))
        if said or not paired:
            return said[0] if said else ""
        if quoted := next((words for words, in_quotes in tag.rest if in_quotes), ""):
            return quoted
        return _kind_of_alert(tag) if tag.name in _ALERTS else ""

    def _places(self, file: str, path: Path, *inside: str) -> Path:
        """Where a file of this name may be: beside the page, in a folder for such files, in the project."""
        bare = file.lstrip("/")
        beside = [] if file.startswith("/") else [path.parent / bare]
        roots = [root for root in self.contents if path.is_relative_to(root)] or list(self.contents)
        below = [root / name / bare for root in (*roots, self.root, self.root / "static") for name in inside]
        return first_existing([*beside, *below, *(root / bare for root in (*roots, self.root))])

    def _sample(self, tag: _Tag, file: str, text: str, path: Path) -> Directive:
        language = tag.get("language", "lang") or (file.rsplit(".", 1)[-1] if "." in file else "")
        return Directive(
            tag.start,
            tag.end,
            target=self._places(file, path, "examples"),
            take=lambda text: fenced(text, language, file),
            said=file,
            indent=_margin(text, tag.start),
        )

    def _file(self, tag: _Tag, file: str, text: str, path: Path) -> Directive:
        code = tag.get("code") == "true"
        language = tag.get("lang", "language")
        return Directive(
            tag.start,
            tag.end,
            target=self._places(file, path, "includes", "_includes"),
            take=lambda text: fenced(text, language) if code else text[front_matter(text).body_start :].strip("\n"),
            said=file,
            indent=_margin(text, tag.start),
        )

    def _definition(self, tag: _Tag, text: str) -> Directive:
        term = tag.get("term_id") or tag.first
        file = self._glossary.file(term)
        if file is None or not is_file(file):
            self.left_out.add(f'glossary_definition "{term}"')
            return Directive(tag.start, tag.end)
        prepend, whole = tag.get("prepend"), tag.get("length") != "short"

        def take(text: str) -> str:
            body = text[front_matter(text).body_start :]
            more = _MORE.search(body)
            said = (_MORE.sub("", body) if whole else body[: more.start()] if more else body).strip()
            return f"{prepend} {said[:1].lower()}{said[1:]}" if prepend and said else said

        return Directive(tag.start, tag.end, target=file, take=take, said=term, indent=_margin(text, tag.start))


def _feature_state(tag: _Tag) -> str:
    since = tag.get("for_k8s_version")
    return f"FEATURE STATE: {f'Kubernetes {since} ' if since else ''}[{tag.get('state')}]"


def _kind_of_alert(tag: _Tag) -> str:
    kind = tag.get("type", "color", "context") or tag.first
    return f"{(kind if kind.isalpha() and tag.name not in _SPOKEN else tag.name).capitalize()}:"


def _tags(text: str, start: int) -> Iterator[_Tag | Directive]:
    """The shortcodes in a text; an escaped one (`{{</* note */>}}`) is replaced by what readers see of it."""
    at = start
    while opening := _OPENING.search(text, at):
        mark = opening[1]
        closing = ">}}" if mark == "<" else "%}}"
        end = text.find(closing, opening.end(), opening.end() + _LONGEST)
        inner = text[opening.end() : max(end, opening.end())]
        if end < 0 or "{{<" in inner or "{{%" in inner:  # it is not closed
            at = opening.end()
            continue
        at = end + 3
        if inner.startswith("/*"):
            yield Directive(opening.start(), at, f"{{{{{mark}{inner[2:].removesuffix('*/')}{closing}")
            continue
        tag = _TAG.fullmatch(inner)
        if tag is not None:
            yield _tag(tag, opening.start(), at, percent=mark == "%")


def _comments(tags: Sequence[_Tag]) -> Iterator[tuple[_Tag, _Tag]]:
    """The first and the last tag of every comment."""
    opened: _Tag | None = None
    for tag in tags:
        if tag.name == "comment" and tag.closes and opened:
            yield opened, tag
            opened = None
        elif tag.name == "comment" and not tag.closes:
            opened = opened or tag


def _outside(tags: Sequence[_Tag], comments: Sequence[tuple[_Tag, _Tag]]) -> list[_Tag]:
    starts = [first.start for first, _ in comments]
    return [tag for tag in tags if not (at := bisect_right(starts, tag.start)) or tag.start > comments[at - 1][1].start]


def _tag(tag: re.Match[str], start: int, end: int, *, percent: bool) -> _Tag:
    named: dict[str, str] = {}
    rest: list[tuple[str, bool]] = []
    for argument in _ARGUMENT.finditer(tag["rest"].rstrip().removesuffix("/")):
        quoted = argument[2] if argument[2] is not None else argument[3]
        value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else argument[4]
        if argument[1]:
            named[argument[1].lower()] = value
        else:
            rest.append((value, quoted is not None))
    return _Tag(start, end, tag["name"], bool(tag["close"]), named, tuple(rest), percent)


def _highlight(tag: _Tag, text: str, language: str, title: str = "") -> Directive:
    """Code between two tags, as a fence on lines of its own."""
    if tag.closes:
        begins = not text[text.rfind("\n", 0, tag.start) + 1 : tag.start].strip()
        return Directive(tag.start, tag.end, "~~~~" if begins else "\n~~~~")
    follows = text.startswith(("\n", "\r\n"), tag.end)
    said = f' title="{title}"' if title and '"' not in title else ""
    return Directive(tag.start, tag.end, f"~~~~{language}{said}" + ("" if follows else "\n"))


def _margin(text: str, at: int) -> str:
    """The white space before a tag that begins its line."""
    before = text[max(text.rfind("\n", 0, at) + 1, at - 200) : at]
    return "" if before.strip() else before


def _break(text: str, at: int) -> str:
    """A line break after a label on its own line, so that a rule below does not turn it into a heading."""
    return "\n" if text.startswith(("\n-", "\n=", "\r\n-", "\r\n="), at) else ""


def _address(said: str) -> str:
    """The address in a link. It must not contain white space, or the link would not be one."""
    return re.sub(r"\s+", "-", said).replace("(", "").replace(")", "")


def _parameter(name: str, front: FrontMatter, params: Mapping[str, object]) -> str:
    if said := front.text(name):
        return said
    found: object = params
    for part in name.lower().split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return str(found) if isinstance(found, (str, int, float)) else ""


def _skewed(tag: _Tag, params: Mapping[str, object]) -> str:
    """A version relative to the current one, as the Kubernetes books name it."""
    latest = tag.first.lower().startswith(("latest", "next", "prev", "oldest"))
    version = _VERSION.match(str(params.get("latest" if latest else "version") or params.get("version") or ""))
    if version is None:
        return ""
    steps = {"nextminorversion": 1, "prevminorversion": -1, "oldestminorversion": -4}
    step = steps.get(tag.first.lower(), 0)
    if "addminor" in tag.first.lower() and len(tag.rest) > 1 and re.fullmatch(r"[-+]?\d{1,3}", tag.rest[1][0]):
        step = int(tag.rest[1][0])
    return f"{version[1]}.{int(version[2]) + step}"


def _marks(text: str, start: int) -> Iterator[Directive]:
    """Attributes of headings other than a lone id, and GitHub's alerts."""
    for heading in _ATTRIBUTES.finditer(text, start):
        if "{" not in heading[2] and re.match(r"\s*[.#\w]", heading[2]) and not re.fullmatch(r"#[\w.:-]+", heading[2]):
            chosen = _ID.search(heading[2])
            yield Directive(heading.end(1), heading.end(), f" {{#{chosen[1]}}}" if chosen else "")
    for alert in _ALERT.finditer(text, start) if "[!" in text else ():
        yield Directive(alert.end(1), alert.end(), f"**{alert[3].strip() or alert[2].capitalize()}**")
