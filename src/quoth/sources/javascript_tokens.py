"""The text of a JavaScript module → its tokens, for `quoth.sources.javascript`.

Comments and white space are dropped; strings keep their quotes, a template string is one token without its quotes.
Knows nothing of what the tokens mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?)"
    r"|(?P<number>0[xX][\da-fA-F]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_$\u0080-\U0010ffff][\w$\u0080-\U0010ffff]*)"
    r"|(?P<mark>=>|\.\.\.|===|!==|==|!=|<=|>=|&&|\|\||\?\?|\?\.|.)",
    re.S,
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*+\])++/[a-z]*")
_ESCAPE = re.compile(r"\\(?:u\{([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|(\r\n|.))", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_OPENING = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    kind: str
    text: str


def tokens_of(text: str) -> Iterator[Token]:
    at = 0
    operand = False  # whether the last token was an operand: a slash after it divides
    while at < len(text):
        if text[at] == "`":
            end = _end_of_template(text, at + 1)
            yield Token("template", text[at + 1 : end])
            at, operand = end + 1, True
            continue
        if text[at] == "/" and not operand and (regex := _REGEX.match(text, at)) and text[at + 1] not in "/*":
            yield Token("regex", regex[0])
            at, operand = regex.end(), True
            continue
        match = _TOKEN.match(text, at)
        kind = (match and match.lastgroup) or "mark"
        said = match[0] if match else text[at]
        at += len(said)
        if kind != "space":
            yield Token(kind, said)
            operand = (kind != "mark" and said not in ("return", "case", "typeof")) or said in (")", "]", "}")


def _end_of_template(text: str, at: int) -> int:
    """The backquote that closes it, or the end of the text."""
    while at < len(text) and text[at] != "`":
        if text.startswith("${", at):
            at = end_of_hole(text, at + 2)
        at += 2 if text.startswith("\\", at) else 1
    return min(at, len(text))


def end_of_hole(text: str, at: int) -> int:
    """The brace that closes `${`; braces in strings inside the hole count like any other."""
    depth = 0
    while at < len(text) and (text[at] != "}" or depth):
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    return at


def ends_of(tokens: list[Token]) -> dict[int, int]:
    """For every opening bracket, where it is closed; the end of all tokens if it is not."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind != "mark":
            continue
        if token.text in _OPENING:
            opened.append(at)
        elif token.text in _OPENING.values():
            while opened and _OPENING[tokens[opened[-1]].text] != token.text:
                ends[opened.pop()] = at
            if opened:
                ends[opened.pop()] = at
    return ends | dict.fromkeys(opened, len(tokens))


def string_of(text: str) -> str:
    body = text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]
    return unescaped(body)


def unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else "\ufffd"
    return _ESCAPED.get(match[4], match[4])


def number_of(text: str) -> int | float:
    digits = text.replace("_", "")
    if digits[:2].lower() == "0x":
        return int(digits, 16)
    return int(digits) if digits.isdigit() and len(digits) < 100 else float(digits)
