"""A YAML file → golden questions, all checked before the first one is asked.

In: a file of sections, one for each kind of question. Out: frozen cases, each labelled with page and quote, or marked
as a question that must be refused. A mistake is reported with its file, its line and what to do. An unknown field is an
error: a misspelt `quote` would silently make a different question. Knows nothing about an index: `labels` finds out
whether the quotes are still in the book.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import yaml

from quoth.ask.request import ChatRequest, parse
from quoth.domain import Filters
from quoth.errors import WrongUsage

Kind = Literal["answerable", "instruction", "unanswerable", "filtered", "selected_text", "follow_up"]
Asks = Literal["", "definition", "how_to", "comparison", "value", "list", "why", "identifier"]  # "": not stated
Subject = Literal["", "absent", "near"]  # of questions that must be refused; "": not stated


@dataclass(frozen=True, slots=True)
class Label:
    """Where the answer is. A selected text counts as a page with the name ""."""

    page: str
    quote: str
    until: str = ""  # the last words of the block that answers; empty if the quote is all of it


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    kind: Kind
    question: str
    label: Label | None  # None: the question must be refused
    line: int
    why: str = ""
    subject: Subject = ""
    asks: Asks = ""
    first: str | None = None  # the question before this one
    filters: Filters = Filters()
    selected_text: str | None = None


@dataclass(frozen=True, slots=True)
class GoldenSet:
    name: str  # of the file
    digest: str  # SHA-256 of its bytes
    book_id: str | None
    cases: tuple[Case, ...]


# By section: the kind of its cases, their required fields, their optional fields.
SECTIONS: Mapping[str, tuple[Kind, frozenset[str], frozenset[str]]] = {
    "answerable": ("answerable", frozenset({"id", "question", "page", "quote"}), frozenset({"asks", "until"})),
    "instructions": ("instruction", frozenset({"id", "question", "page", "quote"}), frozenset({"until"})),
    "unanswerable": ("unanswerable", frozenset({"id", "question"}), frozenset({"why", "subject", "asks"})),
    "filtered": ("filtered", frozenset({"id", "question", "filters"}), frozenset({"page", "quote", "why"})),
    "selected_text": ("selected_text", frozenset({"id", "question", "selected_text"}), frozenset({"quote", "why"})),
    "follow_ups": ("follow_up", frozenset({"id", "first", "then", "page", "quote"}), frozenset()),
}
HINT = "docs/evaluation.md shows the format."


def read_cases(path: Path) -> GoldenSet:
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(f"{path} cannot be read: {error}.", hint="Give a YAML file of golden questions.") from error
    file = _File(path, text)
    book_id, cases = file.read()
    if not cases:
        raise WrongUsage(f"{path} has no questions.", hint=HINT)
    return GoldenSet(path.name, hashlib.sha256(content).hexdigest(), book_id, tuple(cases))


class _File:
    """One file while it is read. Works on YAML nodes, because nodes know their lines and values do not."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._loader = yaml.SafeLoader(text)
        self._seen: dict[str, int] = {}

    def read(self) -> tuple[str | None, list[Case]]:
        try:
            root = self._loader.get_single_node()
            return self._sections(root) if root is not None else (None, [])
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            raise self._wrong(0 if mark is None else mark.line + 1, f"this is not YAML: {error.problem}.") from error

    def _sections(self, root: yaml.Node) -> tuple[str | None, list[Case]]:
        book_id, cases = None, []
        for name, node in self._fields(root, allowed={"book", *SECTIONS}).items():
            if name == "book":
                book_id = self._text(name, node)
                continue
            if not isinstance(node, yaml.SequenceNode):
                raise self._wrong(_line(node), f"`{name}` must be a list of questions.")
            cases += [self._case(name, item) for item in node.value]
        return book_id, cases

    def _case(self, section: str, node: yaml.Node) -> Case:
        kind, required, optional = SECTIONS[section]
        fields = self._fields(node, allowed=required | optional)
        line = _line(node)
        if missing := sorted(required - fields.keys()):
            raise self._wrong(line, f"a question under `{section}` has no `{missing[0]}`.")
        texts = {name: self._text(name, value) for name, value in fields.items() if name != "filters"}
        case = Case(
            id=texts["id"],
            kind=kind,
            question=texts["then" if "then" in texts else "question"],
            label=self._label(section, texts, line),
            line=line,
            why=texts.get("why", ""),
            subject=self._subject(texts.get("subject", ""), line),
            asks=self._asks(texts.get("asks", ""), line),
            first=texts.get("first"),
            selected_text=texts.get("selected_text"),
            filters=self._filters(fields.get("filters")),
        )
        if (other := self._seen.setdefault(case.id, line)) != line:
            raise self._wrong(
                line, f"the id `{case.id}` is already used in line {other}.", hint="Give each question its own."
            )
        self._askable(case)
        return case

    def _label(self, section: str, texts: Mapping[str, str], line: int) -> Label | None:
        """In a section that may hold both, a question has either an answer (`quote`) or none (`why`)."""
        if section == "unanswerable":
            return None
        needed = {"quote"} if section == "selected_text" else {"page", "quote"}
        given = needed & texts.keys()
        if given == needed and "why" not in texts:
            self._check_selection(texts, line)
            return Label(texts.get("page", ""), texts["quote"], texts.get("until", ""))
        if not given and "why" in texts:
            return None
        raise self._wrong(
            line,
            f"`{texts['id']}` must have either {' and '.join(f'`{name}`' for name in sorted(needed))} or `why`.",
            hint="`quote` is the answer; `why` says why the question must be refused.",
        )

    def _subject(self, text: str, line: int) -> Subject:
        if text in get_args(Subject):
            return cast(Subject, text)
        raise self._wrong(
            line,
            f"`subject: {text}` is not one of absent, near.",
            hint="absent: no section is about it; near: the book covers the subject but not this.",
        )

    def _asks(self, text: str, line: int) -> Asks:
        if text in get_args(Asks):
            return cast(Asks, text)
        known = ", ".join(name for name in get_args(Asks) if name)
        raise self._wrong(line, f"`asks: {text}` is not one of {known}.")

    def _check_selection(self, texts: Mapping[str, str], line: int) -> None:
        selection = texts.get("selected_text")
        if selection is not None and " ".join(texts["quote"].split()) not in " ".join(selection.split()):
            raise self._wrong(line, f"the quote of `{texts['id']}` is not in its selected_text.")

    def _filters(self, node: yaml.Node | None) -> Filters:
        if node is None:
            return Filters()
        value: Any = self._loader.construct_object(node, deep=True)
        try:
            request = parse(ChatRequest, {"query": "?", "filters": value})
        except WrongUsage as error:
            raise self._wrong(_line(node), error.message, hint=error.hint) from error
        return request.filters.to_filters() if request.filters else Filters()

    def _askable(self, case: Case) -> None:
        """Golden questions obey the same rules as readers' questions."""
        for query in (case.question, case.first):
            if query is None:
                continue
            try:
                parse(ChatRequest, {"query": query, "selected_text": case.selected_text})
            except WrongUsage as error:
                raise self._wrong(case.line, error.message, hint=error.hint) from error

    def _fields(self, node: yaml.Node, *, allowed: frozenset[str] | set[str]) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(_line(node), f"this must be a mapping with the fields {', '.join(sorted(allowed))}.")
        fields: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value)
            if name not in allowed:
                near = difflib.get_close_matches(name, sorted(allowed), n=1)
                hint = f"Did you mean `{near[0]}`?" if near else f"Known here: {', '.join(sorted(allowed))}."
                raise self._wrong(_line(key), f"unknown field `{name}`.", hint=hint)
            if name in fields:
                raise self._wrong(_line(key), f"`{name}` is given twice.", hint="Remove one of them.")
            fields[name] = value
        return fields

    def _text(self, name: str, node: yaml.Node) -> str:
        """The text as written: the ids `no` and `007` stay text."""
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong(_line(node), f"`{name}` must be text.", hint="Put it in quotation marks.")
        text = str(node.value).strip()
        if not text:
            raise self._wrong(_line(node), f"`{name}` is empty.")
        return text

    def _wrong(self, line: int, what: str, *, hint: str = HINT) -> WrongUsage:
        return WrongUsage(f"{self._path}:{line}: {what}", hint=hint or HINT)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
