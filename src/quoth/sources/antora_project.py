"""Which Antora components a folder holds, and what their descriptors (antora.yml) and the playbook say.

The folder may be a component, a part of one, or a repository with a playbook whose sources are folders in it. Sources
elsewhere are not fetched. No page is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from quoth.sources.bounds import Bounds
from quoth.sources.files import folders
from quoth.sources.loading import Damaged, load_yaml

_DESCRIPTOR = "antora.yml"
_PLAYBOOKS = ("antora-playbook.yml", "playbook.yml", "site.yml", "local-antora-playbook.yml", "antora-playbook.yaml")
_ANTORA: Mapping[str, str] = {
    **dict.fromkeys(("env-site", "site-gen-antora", "sectanchors"), ""),
    **{"env": "site", "site-gen": "antora", "icons": "font", "source-highlighter": "highlight.js"},
}


@dataclass(frozen=True, slots=True)
class Component:
    folder: Path
    name: str
    version: str = ""
    title: str = ""
    prerelease: bool = False
    nav: tuple[str, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict)  # of its attributes
    damage: str = ""

    @property
    def soft(self) -> dict[str, str]:
        """Its attributes that have a value."""
        return {name: _bare(value) for name, value in self.values.items() if _is_set(value)}


@dataclass(frozen=True)
class AntoraProject:
    root: Path  # the paths of pages start here
    bounds: Bounds
    components: tuple[Component, ...]
    playbook: Path | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def title(self) -> str:
        said = _mapping(self.settings.get("site")).get("title")
        return said if isinstance(said, str) else self.components[0].title or self.components[0].name

    @property
    def site_url(self) -> str:
        said = _mapping(self.settings.get("site")).get("url")
        return said if isinstance(said, str) and "://" in said else ""

    @property
    def extension_style(self) -> str:
        return str(_mapping(self.settings.get("urls")).get("html_extension_style", "default"))

    @cached_property
    def _site_attributes(self) -> Mapping[str, object]:
        return _mapping(_mapping(self.settings.get("asciidoc")).get("attributes"))

    @cached_property
    def attributes(self) -> dict[str, str | None]:
        said = self._site_attributes.items()
        return {**_ANTORA, **{name: _bare(value) if _is_set(value) else None for name, value in said}}

    @cached_property
    def locked(self) -> frozenset[str]:
        """The attributes that the playbook sets for good; components and pages may change only its soft ones."""
        return frozenset(name for name, value in self._site_attributes.items() if not _is_soft(value))

    def component_of(self, path: Path) -> Component:
        holding = [component for component in self.components if path.is_relative_to(component.folder)]
        return max(holding, key=lambda component: len(component.folder.parts), default=self.components[0])

    def named(self, name: str, version: str | None) -> Component | None:
        alike = [component for component in self.components if component.name == name]
        if version is not None:
            alike = [component for component in alike if component.version == ("" if version == "_" else version)]
        return max(alike, key=_rank, default=None)

    def version_segment(self, component: Component) -> str:
        """The part of an address that stands for the version."""
        urls = _mapping(self.settings.get("urls"))
        version = "" if component.version == "master" else component.version
        strategy = urls.get("latest_version_segment_strategy", "replace")
        if not version or strategy == "redirect:from":
            return version
        alike = [other for other in self.components if other.name == component.name]
        latest = max(alike, key=_rank)
        newest = max((other for other in alike if other.prerelease), key=_rank, default=None)
        segment = None
        if component is latest:
            segment = urls.get("latest_version_segment")
        elif component is newest:
            segment = urls.get("latest_prerelease_version_segment")
        return version if segment is None else str(segment)


def find_antora(path: Path, bounds: Bounds) -> AntoraProject | None:
    """The component that this folder is or belongs to, or the components inside it."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        if own.is_file(folder / _DESCRIPTOR):
            return _project((folder,), folder, own)
        if folder == path and (held := tuple(_held(path, own))):
            return _project(held, path, own)
        if (folder / ".git").exists():
            break
    return None


def _held(root: Path, bounds: Bounds) -> Iterator[Path]:
    """The components inside the folder: the ones its playbook names, or the one in its docs."""
    playbook, settings = _read_playbook(root, bounds)
    if playbook is None:
        if bounds.is_file(root / "docs" / _DESCRIPTOR):
            yield root / "docs"
        return
    seen: set[Path] = set()
    for source in _listed(_mapping(settings.get("content")).get("sources")):
        said = _mapping(source)
        url = str(said.get("url", "."))
        if "://" in url or url.startswith("git@"):
            continue
        starts = _listed(said.get("start_paths")) or [said.get("start_path") or ""]
        for start in starts:
            for folder in _expanded((root / url).resolve(), str(start or "")):
                if folder not in seen and bounds.is_file(folder / _DESCRIPTOR):
                    seen.add(folder)
                    yield folder


def _expanded(root: Path, start: str) -> list[Path]:
    """The folders that a start path names; `*` stands for any part of one folder's name."""
    found = [root]
    for part in filter(None, start.split("/")):
        if "*" not in part:
            found = [folder / part for folder in found]
            continue
        pattern = re.compile(re.escape(part).replace(r"\*", ".*") + r"\Z")
        found = [inner for folder in found if folder.is_dir() for inner in folders(folder) if pattern.match(inner.name)]
    return found


def _project(components: tuple[Path, ...], root: Path, bounds: Bounds) -> AntoraProject:
    playbook, settings = None, dict[str, object]()
    for folder in bounds.upwards(root):
        playbook, settings = _read_playbook(folder, bounds.around(folder))
        if playbook is not None or (folder / ".git").exists():
            break
    found = tuple(_component(folder, bounds) for folder in components)
    return AntoraProject(root, bounds, found, playbook, settings)


def _read_playbook(folder: Path, bounds: Bounds) -> tuple[Path | None, dict[str, object]]:
    for name in _PLAYBOOKS:
        if bounds.is_file(folder / name):
            loaded, _ = _loaded(folder / name, bounds)
            if "content" in loaded or "site" in loaded:
                return folder / name, loaded
    return None, {}


def _component(folder: Path, bounds: Bounds) -> Component:
    said, damage = _loaded(folder / _DESCRIPTOR, bounds)
    version = said.get("version")
    if (version is not None and not isinstance(version, (str, int, float))) or isinstance(version, bool):
        damage = damage or "the version comes from the name of a branch or tag, which is not known here; none is used"
        version = None
    return Component(
        folder,
        str(said.get("name") or folder.name),
        "" if version is None else str(version),
        str(said.get("title") or ""),
        bool(said.get("prerelease")),
        tuple(str(file) for file in _listed(said.get("nav"))),
        _mapping(_mapping(said.get("asciidoc")).get("attributes")),
        damage,
    )


def _loaded(path: Path, bounds: Bounds) -> tuple[dict[str, object], str]:
    try:
        loaded = load_yaml(bounds.config_text(path))
    except (OSError, Damaged) as error:
        return {}, f"it cannot be read: {error}"
    return ({str(key): value for key, value in loaded.items()} if isinstance(loaded, dict) else {}), ""


def _mapping(value: object) -> dict[str, object]:
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _is_set(value: object) -> bool:
    return value is not None and value is not False


def _is_soft(value: object) -> bool:
    return value is False or (isinstance(value, str) and value.endswith("@"))


def _bare(value: object) -> str:
    return "" if value is True else str(value).removesuffix("@")


def _rank(component: Component) -> tuple[bool, list[tuple[bool, int, str]]]:
    """Releases rank above prereleases, then by version."""
    pieces = re.findall(r"\d+|[a-zA-Z]+", component.version)
    return not component.prerelease, [
        (piece.isdigit(), int(piece) if piece.isdigit() else 0, piece) for piece in pieces
    ]
