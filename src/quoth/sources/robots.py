"""robots.txt → what a crawler may ask for, as RFC 9309 reads it. Pure.

The most specific rule wins and `*` and `$` mean something; the standard library's parser takes the first rule that fits
and knows no wildcards (before Python 3.15), so it would read pages that a site asked to be left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

AGENT = "quoth"
# Everything beyond may be left unread (RFC 9309, 2.5).
MAX_BYTES = 512_000
_RULES_MAX = 5_000


@dataclass(frozen=True, slots=True)
class _Rule:
    length: int  # of the pattern: the longest that fits decides
    allows: bool
    pieces: tuple[str, ...]  # what stands between the wildcards
    to_end: bool

    def fits(self, path: str) -> bool:
        """By searching piece after piece: a regular expression could be made to take forever."""
        first, *others = self.pieces
        if not path.startswith(first):
            return False
        place = len(first)
        for number, piece in enumerate(others, start=1):
            if self.to_end and number == len(others):
                return path.endswith(piece) and len(path) - len(piece) >= place
            found = path.find(piece, place)
            if found < 0:
                return False
            place = found + len(piece)
        return place == len(path) or not self.to_end


@dataclass(frozen=True, slots=True)
class Robots:
    rules: tuple[_Rule, ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, path: str) -> bool:
        """`path` with its query, as it stands in the URL."""
        target = _normal(path)
        fitting = (rule for rule in self.rules if rule.fits(target))
        best = max(fitting, key=lambda rule: (rule.length, rule.allows), default=None)
        return best is None or best.allows or target == "/robots.txt"


def parse_robots(data: bytes, agent: str = AGENT) -> Robots:
    """The rules for `agent`, or else those for everybody."""
    groups: dict[str, list[tuple[str, str]]] = {}
    sitemaps: list[str] = []
    named: list[str] = []
    in_rules = False
    for key, value in _lines(data):
        if key == "user-agent":
            named = [] if in_rules else named
            in_rules = False
            named.append(value.partition("/")[0].strip().lower())
            groups.setdefault(named[-1], [])
        elif key == "sitemap":
            sitemaps.append(value)
        elif key in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for name in named:
                groups[name].append((key, value))
    chosen = groups.get(agent.lower(), groups.get("*", []))
    rules = [_rule(key, value) for key, value in chosen if key != "crawl-delay" and value][:_RULES_MAX]
    delays = [float(value) for key, value in chosen if key == "crawl-delay" and re.fullmatch(r"\d{1,9}(\.\d*)?", value)]
    return Robots(tuple(rules), max(delays, default=0.0), tuple(dict.fromkeys(sitemaps)))


def _lines(data: bytes) -> Iterable[tuple[str, str]]:
    text = data[:MAX_BYTES].decode("utf-8-sig", "replace")
    for line in re.split(r"[\r\n]+", text):
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _rule(key: str, value: str) -> _Rule:
    pieces = [_normal(piece) for piece in re.split(r"\*+", value.removesuffix("$"))]
    return _Rule(len(value), key == "allow", tuple(pieces), value.endswith("$"))


def _normal(path: str) -> str:
    """One spelling for each path: `%7e`, `%7E` and `~` are the same."""
    return quote(unquote(path), safe="/?&=+,;:@!$'()*~-._%")
