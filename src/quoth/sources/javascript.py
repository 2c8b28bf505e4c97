"""A configuration written in JavaScript or TypeScript → its values, without running it.

In: the text of a module, and a way to open the modules beside it. Out: what it exports, as plain values. Literals,
constants, spreads, template strings, `||`, `?:` and functions that only return something are understood; environment
variables count as not set, as in a plain build. Everything else is `UNKNOWN`, so that the caller can say which setting
it could not read; unknown spreads are kept under `SPREADS`. `javascript_values` has the operators. Knows nothing of
what the values mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from quoth.sources.javascript_tokens import Token, end_of_hole, ends_of, number_of, string_of, tokens_of, unescaped
from quoth.sources.javascript_values import (
    UNKNOWN,
    Call,
    Unknown,
    called,
    is_known,
    joined,
    member,
    signed,
    unknown_spread,
)

_MOST_DEPTH = 60  # of nested expressions
_LONGEST_TEMPLATE = 5_000  # characters
_MOST_STEPS = 200_000  # values to work out in total
_BINDS = {"??": 1, "||": 2, "&&": 3, "===": 4, "!==": 4, "==": 4, "!=": 4, "<": 5, ">": 5, "<=": 5, ">=": 5}
_BINDS |= {"+": 6, "-": 6, "*": 7, "/": 7, "%": 7}
_TIGHTEST = 9
_PREFIXES = ("await", "typeof", "void", "new", "async")


Load = Callable[[str], "Module | None"]
"""The module that an import names, or None."""


def exported(text: str, load: Load = lambda name: None) -> object:
    """The default export of a module, or its `module.exports`; `UNKNOWN` if it has none."""
    return Module(text, load).value("default")


class Module:
    """The constants and exports of one file. Each is worked out once, when it is first asked for."""

    def __init__(self, text: str, load: Load = lambda name: None) -> None:
        self._tokens = list(tokens_of(text))
        self._ends = ends_of(self._tokens)
        self._load = load
        self._constants: dict[str, int] = {}  # where the value of each begins
        self._imports: dict[str, tuple[str, str]] = {}  # local name → the module, and the name in it
        self._exports: dict[str, int] = {}
        self._known: dict[str, object] = {}
        self._steps = 0
        self._survey()

    def value(self, name: str, depth: int = 0) -> object:
        """What is exported under this name."""
        if name in self._exports:
            return self._remembered(f"export {name}", self._exports[name], depth)
        return self._resolved(name, depth) if name != "default" else UNKNOWN

    def _survey(self) -> None:
        at = 0
        while at < len(self._tokens):
            kind, text = self._tokens[at]
            if at in self._ends:
                at = self._ends[at]
            elif kind == "name":
                self._statement(text, at)
            at += 1

    def _statement(self, word: str, at: int) -> None:
        """Note what the statement that begins with this word declares, imports or exports."""
        if word in ("const", "let", "var"):
            self._declared(at + 1)
        elif word == "function" and at + 1 < len(self._tokens):
            self._constants.setdefault(self._tokens[at + 1].text, at)
        elif word == "import":
            self._imported(at + 1)
        elif word == "export" and self._is(at + 1, "default"):
            self._exports["default"] = at + 2
        elif word == "module" and self._is(at + 2, "exports") and self._is(at + 3, "="):
            self._exports["default"] = at + 4

    def _declared(self, at: int) -> None:
        """`const a: Type = …` and `const { a } = …`; the value of the second kind is unknown."""
        if at >= len(self._tokens) or self._tokens[at].kind != "name":
            return
        name = self._tokens[at].text
        at += 1
        while at < len(self._tokens) and self._tokens[at].text not in ("=", ";", "const", "export", "import"):
            at = self._ends.get(at, at) + 1
        if self._is(at, "="):
            self._constants.setdefault(name, at + 1)

    def _imported(self, at: int) -> None:
        names: list[tuple[str, str]] = []
        while at < len(self._tokens) and self._tokens[at].text not in ("from", ";", "import"):
            kind, text = self._tokens[at]
            if kind == "string":
                return
            if text == "{":
                names += self._named(at + 1, self._ends[at])
                at = self._ends[at]
            elif kind == "name" and text != "type":
                names.append((text, "default"))
            at += 1
        if self._is(at, "from") and at + 1 < len(self._tokens):
            source = string_of(self._tokens[at + 1].text)
            self._imports.update((own, (source, name)) for own, name in names)

    def _named(self, at: int, end: int) -> Iterator[tuple[str, str]]:
        words = [token.text for token in self._tokens[at:end]]
        for part in " ".join(words).split(","):
            match part.split():
                case [name]:
                    yield name, name
                case [name, "as", own]:
                    yield own, name

    def _is(self, at: int, text: str) -> bool:
        return at < len(self._tokens) and self._tokens[at].text == text and self._tokens[at].kind != "string"

    def _resolved(self, name: str, depth: int) -> object:
        if name in self._constants:
            return self._remembered(name, self._constants[name], depth)
        if name in self._imports and depth < _MOST_DEPTH:
            source, exported_as = self._imports[name]
            module = self._load(source)
            if module is not None:
                return module.value(exported_as, depth + 1)
        return Unknown(name)

    def _remembered(self, key: str, at: int, depth: int) -> object:
        if key not in self._known:
            self._known[key] = UNKNOWN  # while it is being worked out: a value may name itself
            self._known[key] = _Reader(self._tokens, self._ends, self, depth + 1).expression(at)[0]
        return self._known[key]

    def step(self) -> bool:
        self._steps += 1
        return self._steps <= _MOST_STEPS

    def constant(self, name: str, depth: int) -> object:
        return self._resolved(name, depth)


# --- expressions -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Works out expressions. Every method takes the position of a token and returns a value and the position after
    it."""

    tokens: list[Token]
    ends: dict[int, int]
    module: Module
    depth: int
    _names: dict[str, object] = field(default_factory=lambda: {"true": True, "false": False, "null": None})

    def expression(self, at: int, binds: int = 0) -> tuple[object, int]:
        self.depth += 1
        if self.depth > _MOST_DEPTH or not self.module.step():
            self.depth -= 1
            return UNKNOWN, self._skipped(at)
        value, at = self._postfix(*self._primary(at))
        while (mark := self._text(at)) in _BINDS and _BINDS[mark] > binds:
            right, at = self.expression(at + 1, _BINDS[mark])
            value = joined(mark, value, right)
        if binds == 0 and mark == "?":
            yes, at = self.expression(at + 1)
            no, at = self.expression(at + 1) if self._text(at) == ":" else (UNKNOWN, at)
            value = UNKNOWN if not is_known(value) else yes if value else no
        self.depth -= 1
        return value, at

    def _text(self, at: int) -> str:
        """The text of a mark or a name; empty for other tokens."""
        return self.tokens[at].text if at < len(self.tokens) and self.tokens[at].kind in ("mark", "name") else ""

    def _skipped(self, at: int) -> int:
        """The position after an expression that is skipped."""
        while at < len(self.tokens) and self._text(at) not in (",", ")", "]", "}", ";"):
            at = self.ends.get(at, at) + 1
        return at

    def _primary(self, at: int) -> tuple[object, int]:
        if at >= len(self.tokens):
            return UNKNOWN, at
        kind, text = self.tokens[at]
        if kind == "string":
            return string_of(text), at + 1
        if kind == "number":
            return number_of(text), at + 1
        if kind == "template":
            return self._template(text), at + 1
        if kind == "name":
            return self._named(text, at)
        if text == "{":
            return self._object(at + 1, self.ends[at]), self.ends[at] + 1
        if text == "[":
            return list(self._items(at + 1, self.ends[at])), self.ends[at] + 1
        if text == "(":
            if (body := self._arrow(self.ends[at] + 1)) >= 0:
                return self._body(body)
            return self.expression(at + 1)[0], self.ends[at] + 1
        if text in ("!", "-", "+"):
            value, at = self.expression(at + 1, _TIGHTEST)
            return signed(text, value), at
        return UNKNOWN, at + (kind == "regex")

    def _named(self, text: str, at: int) -> tuple[object, int]:
        if text in ("function", "class"):
            while at < len(self.tokens) and self._text(at) != "{":
                at = self.ends.get(at, at) + 1
            return (self._body(at) if text == "function" else (UNKNOWN, self.ends.get(at, at) + 1)) if at else (0, at)
        if text in _PREFIXES and self._begins(at + 1):
            value, at = self.expression(at + 1, _TIGHTEST)
            return (value if text in ("await", "async") else UNKNOWN), at
        if self._text(at + 1) == "=>":
            return self._body(at + 2)
        if text in self._names:
            return self._names[text], at + 1
        if text == "undefined":
            return None, at + 1
        if text == "process" and self._text(at + 2) == "env":
            name = self._text(at + 4)
            return "production" if name == "NODE_ENV" else None, at + 5
        return self.module.constant(text, self.depth), at + 1

    def _begins(self, at: int) -> bool:
        """Whether an operand begins here."""
        return at < len(self.tokens) and (self.tokens[at].kind != "mark" or self.tokens[at].text in "([{")

    def _arrow(self, at: int) -> int:
        """Where the body begins of an arrow function whose parameters end before `at`; -1 if it is not one."""
        if self._text(at) == ":":  # its return type
            end = at + 1
            while end < min(len(self.tokens), at + 40) and self._text(end) not in ("=>", ",", ";", ")", "}"):
                end = self.ends.get(end, end) + 1
            at = end
        return at + 1 if self._text(at) == "=>" else -1

    def _body(self, at: int) -> tuple[object, int]:
        """The value that a function returns, if it has only one `return`."""
        if self._text(at) != "{":
            return self.expression(at)
        end = self.ends[at]
        found: list[int] = []
        at += 1
        while at < end:
            if self._text(at) == "return":
                found.append(at + 1)
            at = self.ends.get(at, at) + 1
        return (self.expression(found[0])[0] if len(found) == 1 else UNKNOWN), end + 1

    def _postfix(self, value: object, at: int) -> tuple[object, int]:
        """The value with everything that follows it: members, calls, TypeScript's notes on its type."""
        while at < len(self.tokens):
            mark = self._text(at)
            if mark in (".", "?.", "[", "("):
                value, at = self._accessed(value, mark, at)
            elif mark == "!" and self._text(at + 1) != "=":
                at += 1
            elif mark in ("as", "satisfies"):
                at = self._skipped(at)
            elif self.tokens[at].kind == "template":
                value, at = UNKNOWN, at + 1
            else:
                break
        return value, at

    def _accessed(self, value: object, mark: str, at: int) -> tuple[object, int]:
        """A member of the value, or the result of calling it; of `a?.[b]` and `a?.(b)`, only the `?.` is read here."""
        if mark == "[":
            key, _ = self.expression(at + 1)
            return member(value, key), self.ends[at] + 1
        if mark == "(":
            given = tuple(self._items(at + 1, self.ends[at]))
            known = Call(value.said, given) if isinstance(value, Unknown) and value.said else called(value)
            return known, self.ends[at] + 1
        if isinstance(value, list) and [self._text(at + n) for n in range(1, 4)] == ["filter", "(", "Boolean"]:
            return [item for item in value if item or isinstance(item, (dict, list))], at + 5
        if at + 1 < len(self.tokens) and self._text(at + 1) not in ("(", "["):
            return member(value, self.tokens[at + 1].text), at + 2
        return value, at + 1

    def _items(self, at: int, end: int) -> Iterator[object]:
        while at < end:
            spread = self._text(at) == "..."
            value, following = self.expression(at + spread)
            if not spread:
                yield value
            elif isinstance(value, list) or not is_known(value):
                yield from value if isinstance(value, list) else (value,)
            at = max(self._skipped(following), at) + 1

    def _object(self, at: int, end: int) -> dict[str, object]:
        found: dict[str, object] = {}
        while at < end:
            if self._text(at) == "...":
                value, following = self.expression(at + 1)
                found.update(value if isinstance(value, dict) else unknown_spread(value, found))
            else:
                key, value, following = self._property(at, end)
                if key is not None:
                    found[key] = value
            at = max(self._skipped(following), at) + 1
        return found

    def _property(self, at: int, end: int) -> tuple[str | None, object, int]:
        words = ("async", "get", "set", "*")
        while at + 1 < end and self._text(at) in words and self._text(at + 1) not in (":", ",", "(", "}"):
            at += 1
        kind, text = self.tokens[at]
        key: object = string_of(text) if kind == "string" else text
        after = at + 1
        if text == "[" and kind == "mark":
            key, after = self.expression(at + 1)[0], self.ends[at] + 1
        name = str(key) if isinstance(key, (str, int, float)) else None
        if self._text(after) == ":":
            value, after = self.expression(after + 1)
            return name, value, after
        if self._text(after) == "(":
            return name, UNKNOWN, after
        return name, self.module.constant(text, self.depth) if kind == "name" else UNKNOWN, min(after, end)

    def _template(self, text: str) -> object:
        if "${" in text and len(text) > _LONGEST_TEMPLATE:
            return UNKNOWN
        parts: list[str] = []
        at = 0
        while (start := text.find("${", at)) >= 0:
            parts.append(unescaped(text[at:start]))
            end = end_of_hole(text, start + 2)
            tokens = list(tokens_of(text[start + 2 : end]))
            value, _ = _Reader(tokens, ends_of(tokens), self.module, self.depth).expression(0)
            if not isinstance(value, (str, int, float)):
                return UNKNOWN
            parts.append(str(value))
            at = end + 1
        return "".join([*parts, unescaped(text[at:])])
