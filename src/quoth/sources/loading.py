"""YAML, JSON and TOML written by strangers → values, within limits.

Front matter and the settings of a project go through here. In: text. Out: plain values, or `Damaged` with the reason
and, if it is known, the line. Nesting is bounded, and so is the size of a document with its aliases written out: 400
bytes of aliases can stand for gigabytes. Knows nothing of what the values mean.
"""

from __future__ import annotations

import json
import re
import tomllib

import yaml

from quoth.text.limits import MAX_YAML_DEPTH, MAX_YAML_NODES

_MOST_DOTS = 1_000  # in one line of TOML
_LONGEST_NUMBER = 100  # digits; a longer one stays text
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Damaged(ValueError):
    """Why a document cannot be read."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line  # from 1


def defaults_used(what: str, error: Exception) -> str:
    """What an author is told about a file that cannot be read."""
    return f"{what} cannot be read: {error}. Defaults are used until it is fixed"


class BeyondLimits(Damaged):
    """It may be valid, but nobody writes such a document by accident."""


# --- YAML ------------------------------------------------------------------------------------------------------------

# The C parser is many times faster, but some builds of PyYAML do not have it.
_FastLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SafeLoader(_FastLoader):  # type: ignore[misc, valid-type]
    """PyYAML's own loader, with numbers of bounded length."""


def _integer(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | str:
    return loader.construct_yaml_int(node) if len(node.value) <= _LONGEST_NUMBER else str(node.value)


SafeLoader.add_constructor("tag:yaml.org,2002:int", _integer)


def load_yaml(text: str, loader: type[SafeLoader] = SafeLoader) -> object:
    try:
        _check_size(text)
        return yaml.load(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise Damaged(
            f"it is not valid YAML: {error.problem or 'unknown problem'}", mark.line + 1 if mark else None
        ) from None
    except Damaged:
        raise
    except (yaml.YAMLError, ValueError) as error:
        raise Damaged(f"it is not valid YAML: {str(error).splitlines()[0]}") from None


def _check_size(text: str) -> None:
    sizes: dict[str, int] = {}  # anchor → nodes in its value
    counts = [0]  # the nodes in each open collection, outermost first
    anchors: list[str | None] = []
    for event in yaml.parse(text, Loader=_FastLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            counts.append(1)
            anchors.append(event.anchor)
            if len(anchors) > MAX_YAML_DEPTH:
                raise BeyondLimits(f"it is nested more than {MAX_YAML_DEPTH} levels deep", _line(event))
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            size, anchor = counts.pop(), anchors.pop()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in anchors:
                raise BeyondLimits(f"*{event.anchor} is an alias inside the value that it stands for", _line(event))
            size, anchor = sizes.get(event.anchor or "", 1), None
        elif isinstance(event, yaml.ScalarEvent):
            size, anchor = 1, event.anchor
        else:
            continue
        if anchor:
            sizes[anchor] = size
        counts[-1] += size
        if counts[-1] > MAX_YAML_NODES:
            raise BeyondLimits(f"it holds more than {MAX_YAML_NODES:,} values with aliases written out", _line(event))


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


# --- JSON and TOML ---------------------------------------------------------------------------------------------------


def load_json(text: str) -> object:
    try:
        loaded = json.loads(text)
        if _SURROGATE.search(text):  # half of a surrogate pair cannot be written as UTF-8
            loaded = json.loads(json.dumps(loaded, ensure_ascii=False).encode("utf-8", "replace"))
        return loaded
    except json.JSONDecodeError as error:
        raise Damaged(f"it is not valid JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise Damaged("it is nested too deeply") from None
    except ValueError:  # Python reads at most 4,300 digits
        raise Damaged("it holds a number with thousands of digits") from None


def load_toml(text: str) -> dict[str, object]:
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):  # tomllib starts over at each part of a key
        raise BeyondLimits(f"it has a line with more than {_MOST_DOTS:,} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise Damaged("it is nested too deeply") from None
    except ValueError as error:
        raise Damaged(f"it is not valid TOML: {str(error).splitlines()[0]}") from None
