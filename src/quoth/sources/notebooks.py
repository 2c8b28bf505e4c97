"""A Jupyter notebook → Markdown: its prose unchanged, its code in fences, its short text outputs below.

In: the bytes of an .ipynb file (formats 3 and 4). Out: Markdown text; offsets into such a page are offsets into that
text. Cells that their author hides on the published page (by tags of Jupyter Book and nbsphinx) are left out. A file
that is not a notebook is `Unreadable` with the reason. Images and widgets have no words and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from quoth.errors import Unreadable
from quoth.sources.loading import Damaged, load_json

_OUTPUT_LINES = 20
_OUTPUT_CHARACTERS = 1_500
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
Json = Mapping[str, object]


def notebook_text(data: bytes, source_file: str) -> str:
    notebook = _load(data, source_file)
    language = _language(notebook)
    blocks: list[str] = []
    for cell in _cells(notebook, source_file):
        tags = _tags(cell)
        if tags & {"remove-cell", "remove_cell", "hidden"}:
            continue
        blocks += _cell(cell, language, tags)
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _load(data: bytes, source_file: str) -> Json:
    try:
        loaded = load_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _unreadable(source_file, f"is not valid UTF-8 at offset {error.start}", None) from error
    except Damaged as error:
        where = f", line {error.line}" if error.line else ""
        raise _unreadable(source_file, f"cannot be read: {error}{where}", error.line) from error
    if not isinstance(loaded, dict):
        raise _unreadable(source_file, "is not a notebook: it is not a JSON object", 1)
    return loaded


def _unreadable(source_file: str, reason: str, line: int | None) -> Unreadable:
    details: dict[str, object] = {"source_file": source_file}
    if line is not None:
        details["line"] = line
    return Unreadable(f"{source_file} {reason}.", hint="Open and save it in Jupyter.", details=details)


def _cells(notebook: Json, source_file: str) -> Iterator[Json]:
    cells = notebook.get("cells")
    if cells is None:  # format 3
        sheets = notebook.get("worksheets")
        cells = [cell for sheet in _objects(sheets) for cell in _objects(sheet.get("cells"))]
        if not isinstance(sheets, list):
            raise _unreadable(source_file, "is not a notebook: it has no cells", 1)
    yield from _objects(cells)


def _objects(value: object) -> Iterable[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _object(value: object) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """Notebooks store text as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _language(notebook: Json) -> str:
    metadata = _object(notebook.get("metadata"))
    named = (
        _object(metadata.get("language_info")).get("name"),
        _object(metadata.get("kernelspec")).get("language"),
        metadata.get("language"),
    )
    language = next((name for name in named if isinstance(name, str) and name), "python")
    return re.sub(r"[^\w+#.-]", "", language.lower())


def _tags(cell: Json) -> frozenset[str]:
    metadata = _object(cell.get("metadata"))
    tags = metadata.get("tags")
    found = {tag for tag in tags if isinstance(tag, str)} if isinstance(tags, list) else set()
    return frozenset(found | {str(metadata.get("nbsphinx", ""))})


def _cell(cell: Json, language: str, tags: frozenset[str]) -> Iterator[str]:
    kind = cell.get("cell_type")
    source = _text(cell.get("source") or cell.get("input")).strip("\n")
    if kind == "heading":  # format 3
        level = cell.get("level")
        yield f"{'#' * min(max(level, 1), 6) if isinstance(level, int) else '#'} {' '.join(source.split())}"
    elif (kind == "markdown" and source.strip()) or (
        kind == "raw" and source.strip() and not _object(cell.get("metadata")).get("raw_mimetype")
    ):
        yield source.rstrip()
    elif kind == "code":
        if source.strip() and not tags & {"remove-input", "remove_input"}:
            magic = re.match(r"%%(bash|sh|html|javascript|js|latex|ruby|perl|sql|R)\b", source)
            yield _fence(source, magic[1].lower() if magic else language)
        if not tags & {"remove-output", "remove_output"}:
            yield from _outputs(_objects(cell.get("outputs")))


def _outputs(outputs: Iterable[Json]) -> Iterator[str]:
    for output in outputs:
        kind = output.get("output_type")
        data = _object(output.get("data"))
        if kind == "error" or kind == "pyerr":
            yield _fence(f"{output.get('ename', 'Error')}: {_text(output.get('evalue'))}".rstrip(": "), "text")
        elif markdown := _text(data.get("text/markdown")).strip():
            yield markdown
        elif shown := _ANSI.sub("", _text(output.get("text") or data.get("text/plain"))).rstrip():
            yield _fence(_short(shown.strip("\n").split("\n")), "text")


def _short(lines: Sequence[str]) -> str:
    kept = "\n".join(line.rstrip() for line in lines[:_OUTPUT_LINES])
    if len(kept) > _OUTPUT_CHARACTERS:
        kept = kept[:_OUTPUT_CHARACTERS].rsplit("\n", 1)[0]
    return kept if len(kept) == len("\n".join(line.rstrip() for line in lines)) else f"{kept}\n…"


def _fence(code: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{code}\n{mark}"
