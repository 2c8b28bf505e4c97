"""A reader's text → the same text without what could identify its writer or grant access. Pure.

In: a question as it was asked. Out: the same, with e-mail addresses, telephone and other long numbers, keys, tokens,
passwords, IP and hardware addresses and the query strings of URLs replaced by their kind, in brackets. In doubt it
removes: a date with a time may go as a number, which is the cheaper mistake. Names of people cannot be told from other
words and stay. Every pattern is bounded, so that any question is read in linear time.
"""

from __future__ import annotations

import ipaddress
import re

_KEY_PREFIXES = (
    r"sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|hf|npm|pypi|xox[abeoprs]|AKIA|ASIA|AIza|ya29|dop_v1|SG|shp[a-z]{2}"
)

# The larger things first, so that no half of one is left.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN[ A-Z]{0,40}KEY-----.*?(?:-----END[ A-Z]{0,40}KEY-----|\Z)", re.DOTALL), "[key]"),
    (re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://)[^\s/@]{1,400}@", re.IGNORECASE), r"\1[login]@"),
    (re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s?#]{1,500})[?#][^\s\[][^\s]*", re.IGNORECASE), r"\1?[query]"),
    (re.compile(r"\beyJ[\w-]{4,}\.[\w-]{4,}(?:\.[\w-]*)?"), "[token]"),
    (re.compile(r"\b(bearer|basic)\s+(?=\S{0,200}\d)[\w.~+/=-]{8,}", re.IGNORECASE), r"\1 [token]"),
    (re.compile(rf"(?<![^\W\d_])(?:{_KEY_PREFIXES})[-_.]?(?=[\w-]{{0,100}}\d)[\w-]{{12,}}"), "[key]"),
    (
        re.compile(
            r"((?:passwor[dt]|passwd|pwd|secret|token|api[ _-]?key|access[ _-]?key)[\"']?\s{0,3}[=:]\s{0,3})"
            r"(?!\[)[\"']?[^\s\"',;]{3,}[\"']?",
            re.IGNORECASE,
        ),
        r"\1[secret]",
    ),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "[id]"),
    (re.compile(r"[\w.+%'-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,63}"), "[email]"),
    (re.compile(r"(?<![\w:-])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![\w:-])", re.IGNORECASE), "[address]"),
)
_IP = re.compile(r"(?<![\w:.])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F:]{2,40}(?:\d{1,3}(?:\.\d{1,3}){3})?)(?!\w)")
_LONG = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")
# A telephone number begins with + or ( or has nine digits or more; seven digits in a row are long whatever they are.
_NUMBERS = re.compile(
    r"(?<!\w)\+\d(?:[\s().-]{0,3}\d){6,18}|\(\d{2,5}\)\s?\d(?:[\s.-]?\d){4,14}|(?<!\w)\d{3}-\d{4}(?![\w-])"
    r"|\d(?:[ .()/-]{0,2}\d){8,30}|\d{7,}"
)


def redacted(text: str) -> str:
    """Repeated until nothing is left to hide: a secret glued to another may be recognised only after that is gone."""
    while (hidden := _hidden(text)) != text:
        text = hidden
    return text


def _hidden(text: str) -> str:
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    text = _IP.sub(_ip, text)
    text = _LONG.sub(_random, text)
    return _NUMBERS.sub("[number]", text)


def _ip(found: re.Match[str]) -> str:
    """`std::max` and 12:30:45 look a little like addresses; only real addresses are removed."""
    text = found[0]
    if not any(sign.isdigit() for sign in text):
        return text
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return text
    return "[ip]"


def _random(found: re.Match[str]) -> str:
    """A long run without a separator is a word only if it has hardly any digits; a path has its slashes."""
    text = found[0]
    digits = sum(sign.isdigit() for sign in text)
    longest = max(text.rstrip("=").split("/"), key=len)
    return "[key]" if digits >= 2 and len(longest) >= 20 and not text.isdigit() else text
