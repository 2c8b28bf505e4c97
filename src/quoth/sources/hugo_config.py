"""The configuration of a Hugo site → the values that decide its addresses and ids.

It is in `hugo.toml` (or .yaml, .json, or the older `config.*`), or in the files of `config/_default`, where each file
is a part of the whole. Keys are compared without regard to case, as in Hugo. Themes and modules are not looked at. A
file that cannot be read is ignored and reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quoth.domain import AnchorRule
from quoth.sources.bounds import Bounds
from quoth.sources.loading import Damaged, defaults_used, load_json, load_toml, load_yaml

_READERS: dict[str, Callable[[str], object]] = {
    ".toml": load_toml,
    ".yaml": load_yaml,
    ".yml": load_yaml,
    ".json": load_json,
}
_OLD_SIGNS = ("layouts", "themes", "archetypes", "i18n")
_MOST_DEPTH = 20
_LONGEST_PATTERN = 200
_RISKY = re.compile(r"\)[*+{]|[*+}][*+{]")  # such a pattern may take forever, and a book may come from anybody


@dataclass(frozen=True, slots=True)
class Language:
    code: str
    content: str = "content"  # the folder of its pages
    prefix: str = ""  # the first part of its addresses
    base: str = ""  # an address of its own


@dataclass(frozen=True, slots=True)
class HugoConfig:
    root: Path
    bounds: Bounds
    file: Path
    title: str = ""
    base_url: str = ""
    languages: Sequence[Language] = ()
    ugly: object = False  # for all pages, or by section
    lower: bool = True
    pages: Mapping[str, str] = field(default_factory=dict)  # permalinks of pages, by section
    sections: Mapping[str, str] = field(default_factory=dict)  # and of sections
    ignored: Sequence[re.Pattern[str]] = ()
    dated: bool = False  # whether the name of a file may begin with its date
    anchors: AnchorRule = "hugo"
    params: Mapping[str, object] = field(default_factory=dict)
    damage: tuple[str, ...] = ()


def config_file(folder: Path, bounds: Bounds) -> Path | None:
    """The file that makes this a Hugo site; `config.*` does so only beside folders of Hugo."""
    sure = ("hugo", "config/_default/hugo", "config/_default/config")
    if path := bounds.first_file(folder, [f"{name}{ending}" for name in sure for ending in _READERS]):
        return path
    for ending in _READERS:
        path = bounds.first_file(folder, [f"config{ending}"])
        if path is not None and _looks_like_hugo(folder, path, bounds):
            return path
    return None


def _looks_like_hugo(folder: Path, path: Path, bounds: Bounds) -> bool:
    if not (folder / "content").is_dir():
        return False
    try:
        said = "baseurl" in bounds.config_text(path, "replace").lower()
    except (OSError, Damaged):
        said = False
    return said or any((folder / name).is_dir() for name in _OLD_SIGNS)


def read_config(root: Path, file: Path, bounds: Bounds) -> HugoConfig:
    values, damage = _values(file, bounds)
    markup = _table(_table(values, "markup"), "goldmark")
    permalinks = _table(values, "permalinks")
    pages = _table(permalinks, "page") or {k: v for k, v in permalinks.items() if isinstance(v, str)}
    return HugoConfig(
        root=root,
        bounds=bounds,
        file=file,
        title=_text(values, "title"),
        base_url=_text(values, "baseurl"),
        languages=_languages(values),
        ugly=values.get("uglyurls", False),
        lower=values.get("disablepathtolower") is not True,
        pages={key: value for key, value in pages.items() if isinstance(value, str)},
        sections={k: v for k, v in _table(permalinks, "section").items() if isinstance(v, str)},
        ignored=_patterns(values.get("ignorefiles")),
        dated=":filename" in _listed(_table(values, "frontmatter").get("date")),
        anchors=_anchors(markup),
        params=_table(values, "params"),
        damage=tuple(damage),
    )


def _values(file: Path, bounds: Bounds) -> tuple[dict[str, object], list[str]]:
    damage: list[str] = []
    values = _loaded(file, bounds, damage)
    if file.parent.name != "_default":
        return values, damage
    for path in sorted(file.parent.iterdir()):  # `params.toml` is `params`, `languages.en.toml` one of `languages`
        if path != file and path.suffix in _READERS and bounds.is_file(path):
            key, _, below = path.stem.lower().partition(".")
            found = _loaded(path, bounds, damage)
            values[key] = {**_table(values, key), **({below: found} if below else found)}
    return values, damage


def _loaded(path: Path, bounds: Bounds, damage: list[str]) -> dict[str, object]:
    try:
        loaded = _READERS[path.suffix](bounds.config_text(path))
    except (OSError, Damaged) as error:
        damage.append(defaults_used(path.name, error))
        return {}
    lowered = _lowered(loaded, 0)
    return lowered if isinstance(lowered, dict) else {}


def _lowered(value: object, depth: int) -> object:
    """With all keys in lower case."""
    if isinstance(value, dict) and depth < _MOST_DEPTH:
        return {str(key).lower(): _lowered(item, depth + 1) for key, item in value.items()}
    return value


def _languages(values: Mapping[str, object]) -> tuple[Language, ...]:
    """The default language first."""
    content = _text(values, "contentdir") or "content"
    default = _text(values, "defaultcontentlanguage") or "en"
    in_folder = values.get("defaultcontentlanguageinsubdir") is True
    found = {default: Language(default, content, default if in_folder else "")}
    for code, language in _table(values, "languages").items():
        if isinstance(language, dict) and language.get("disabled") is not True:
            prefix = code if code != default or in_folder else ""
            own = _text(language, "contentdir") or content
            found[code] = Language(code, own, "" if _text(language, "baseurl") else prefix, _text(language, "baseurl"))
    return tuple(found.values())


def _anchors(goldmark: Mapping[str, object]) -> AnchorRule:
    extensions, parser = _table(goldmark, "extensions"), _table(goldmark, "parser")
    if parser.get("autoheadingid") is False or parser.get("autoidtype") == "none":
        return "html"
    kind = _text(parser, "autoheadingidtype") or _text(parser, "autoidtype")
    if kind in ("blackfriday", "github-ascii"):
        return "hugo-blackfriday" if kind == "blackfriday" else "hugo-ascii"
    typographer = extensions.get("typographer")
    off = typographer is False or (isinstance(typographer, dict) and typographer.get("disable") is True)
    return "hugo-plain" if off else "hugo"


def _patterns(found: object) -> tuple[re.Pattern[str], ...]:
    patterns: list[re.Pattern[str]] = []
    for said in _listed(found):
        if isinstance(said, str) and len(said) <= _LONGEST_PATTERN and not _RISKY.search(said):
            try:
                patterns.append(re.compile(said))
            except re.error:
                continue
    return tuple(patterns)


def _listed(found: object) -> list[object]:
    return found if isinstance(found, list) else [found]


def _table(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""
