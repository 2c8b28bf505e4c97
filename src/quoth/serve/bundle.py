"""Joins several scripts into one, so that the widget is one request and compresses well. Pure.

In: the scripts of `web/` by name, the entry script, and the scripts that stay separate files. Out: one module with the
same exports as the entry script. Only the import forms that our own scripts use are understood; anything else raises
when the server starts and in the tests. Knows nothing about HTTP.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping

_IMPORT = re.compile(r'^import (\w+|\{[^}]*\}) from "(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const) )(\w+)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def bundle(scripts: Mapping[str, str], entry: str, separate: Collection[str] = ()) -> str:
    order: list[str] = []

    def visit(name: str) -> None:
        for _, address in _IMPORT.findall(scripts[name]):
            imported = _resolved(name, address)
            if imported not in separate and imported not in order:
                visit(imported)
        order.append(name)

    visit(entry)
    outside: dict[str, set[str]] = {}
    parts = [_part(name, scripts[name], order, outside) for name in order[:-1]]
    body, exported = _inner(entry, scripts[entry], order, outside)
    above = posixpath.dirname(entry) or "."
    imports = [
        f'import {{ {", ".join(sorted(names))} }} from "./{posixpath.relpath(name, above)}";\n'
        for name, names in outside.items()
    ]
    return f"{''.join(imports)}{''.join(parts)}{body}export {{ {', '.join(exported)} }};\n"


def _resolved(name: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), address))


def _variable(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name.removesuffix(".js"))


def _part(name: str, script: str, order: Collection[str], outside: dict[str, set[str]]) -> str:
    """A module becomes a function that is called once and returns its exports; its other names stay private."""
    body, exported = _inner(name, script, order, outside)
    return f"const {_variable(name)} = (() => {{\n{body}return {{ {', '.join(exported)} }};\n}})();\n"


def _inner(name: str, script: str, order: Collection[str], outside: dict[str, set[str]]) -> tuple[str, list[str]]:
    def taken(found: re.Match[str]) -> str:
        names, imported = found[1], _resolved(name, found[2])
        if not names.startswith("{") or " as " in names:
            raise ValueError(f"{name}: {found[0].strip()!r} is a form of import that bundle.py does not know")
        if imported in order:
            return f"const {names} = {_variable(imported)};\n"
        outside.setdefault(imported, set()).update(
            part.strip() for part in names.strip("{} \n").split(",") if part.strip()
        )
        return ""

    body = _IMPORT.sub(taken, script)
    exported = [found[2] for found in _EXPORT.finditer(body)]
    body = _EXPORT.sub(r"\1\2", body)
    if left := _LEFT.search(body):
        raise ValueError(f"{name}: {left[0]!r} is a form that bundle.py does not know")
    return body, exported
