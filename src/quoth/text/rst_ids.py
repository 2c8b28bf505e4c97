"""The ids that docutils, as Sphinx sets it up, gives to the headings of a page.

An id is made from the words of the heading, unless something above it on the page has taken that id: another heading,
a target, the name of a link, a footnote. Then docutils gives a number (`id1`, …). All such things share the numbers, so
all of them are counted here, in the order of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from quoth.text.accents import ascii_letters
from quoth.text.blocks import Block
from quoth.text.rst_inline import targets

_NAME = re.compile(r"\.\.[ \t]+_(?:`((?:[^`\\]|\\.)+)`|((?:[^:\\]|\\.|:(?!\s|$))+)):", re.S)
_OPTION = re.compile(r"^[ \t]+:name:[ \t]+(\S.*)$", re.M)
_FOOTNOTE = re.compile(r"\s*\.\.[ \t]+\[([^\]]*)\]")


# Letters that no decomposition turns into ASCII (docutils.nodes.make_id).
_DIGRAPHS = {0x00DF: "sz", 0x00E6: "ae", 0x0153: "oe", 0x0238: "db", 0x0239: "qp"}
_LETTERS = {
    **dict.fromkeys((0x00F8,), "o"),
    **dict(zip((0x0111, 0x018C), "dd", strict=True)),
    **dict(zip((0x0127, 0x0131, 0x0142, 0x0167, 0x0180, 0x0183, 0x0188), "hiltbbc", strict=True)),
    **dict(zip((0x0192, 0x0199, 0x019A, 0x019E, 0x01A5, 0x01AB, 0x01AD), "fklnptt", strict=True)),
    **dict(zip((0x01B4, 0x01B6, 0x01E5, 0x0225, 0x0234, 0x0235, 0x0236), "yzgzlnt", strict=True)),
    **dict(zip((0x0237, 0x023C, 0x023F, 0x0240, 0x0247, 0x0249), "jcszej", strict=True)),
    **dict(zip((0x024B, 0x024D, 0x024F), "qry", strict=True)),
}


def docutils_id(name: str) -> str:
    """docutils' make_id: lower case, ASCII letters and digits with hyphens between, a letter first."""
    id = name.lower()
    if not id.isascii():
        id = ascii_letters(id.translate(_DIGRAPHS).translate(_LETTERS))
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", id))


class _Ids:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._count = 0

    def of(self, name: str) -> str:
        """The id of the next thing, which has this name or none."""
        id = docutils_id(name)
        while not id or id in self._taken:
            self._count += 1
            id = f"id{self._count}"
        self._taken.add(id)
        return id


def labelled(blocks: Sequence[Block], text: str) -> Iterator[Block]:
    """The blocks of a page, with the ids of its headings."""
    ids = _Ids()
    label = ""  # of a target before the next heading
    for block in blocks:
        if block.level:
            for name in targets(text[block.start : block.end]):
                ids.of(name)
            own = ids.of(block.text)
            # Sphinx prefers the author's ids to those that begin like a number of docutils.
            yield block._replace(anchor=label if label and own.startswith("id") else own)
            label = ""
            continue
        label = _count(block, text, ids) or (label if block.kind == "markup" and block.info == "target" else "")
        yield block


def labelled_myst(blocks: Sequence[Block], text: str) -> Iterator[Block]:
    """The same for MyST, where only targets and footnotes have names besides headings."""
    ids = _Ids()
    label = ""
    for block in blocks:
        source = text[block.start : block.end]
        if block.info == "target":
            label = ids.of(source.strip().removeprefix("(").removesuffix(")="))
        elif block.level:
            own = ids.of(block.text)
            yield block._replace(anchor=block.anchor or (label if label and own.startswith("id") else own))
            label = ""
            continue
        else:
            label = ""
            for _ in range(source.count("[^") if block.kind not in ("fence", "code") else 0):
                ids.of("")
        yield block


def _count(block: Block, text: str, ids: _Ids) -> str:
    """Counts the names that a block defines. Returns the id of a target for the next block."""
    source = text[block.start : block.end]
    if block.info == "target":
        name = _NAME.match(source.lstrip())
        id = ids.of(" ".join((name[1] or name[2]).replace("\\", "").split()) if name else "")
        internal = name is not None and not source.lstrip()[name.end() :].strip()
        return id if internal else ""
    if block.info == "footnote" and (note := _FOOTNOTE.match(source)):
        ids.of(note[1].lstrip("#*"))
    if block.children:
        for child in block.children:
            _count(child, text, ids)
        return ""
    if block.kind == "fence" or block.info == "footnote":
        for option in _OPTION.findall(source.split("\n\n", 1)[0]):
            ids.of(option)
    elif block.kind not in ("code", "html", "markup"):
        for inner in targets(source):
            ids.of(inner)
    return ""
