"""Builds a small book with MkDocs, Sphinx, Docusaurus and mdBook, each with the widget's recipe of docs/widget.md.

    python tests/site_projects.py [TOOLCHAIN …]

`make sites` installs the toolchains below .sites/ and calls this. Out: .sites/<toolchain>/, the project and below it
the site; `RECIPE` there says what it was built from, so that tests notice when a recipe has changed since. The URL, the
book and the key in the pages are the recipe's; tests that serve the site replace them with real ones.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITES = ROOT / ".sites"
_DOCS = ROOT / "docs" / "widget.md"

_INDEX = """# Robots

This book is about robots that talk to each other. Begin with [topics](topics.md).
"""
_TOPICS = """# Topics

A topic carries messages from publishers to subscribers.

```python
publisher = node.create_publisher(String, "chatter", 10)
```

{filler}

## Durability

Transient local durability keeps the last message for late subscribers. Volatile durability keeps nothing.

## Timing

The deadline policy names the longest time between two messages.

{filler}
"""
_FILLER = "\n\n".join(f"Paragraph {n} is here so that the page is longer than a screen." for n in range(1, 41))
PAGES = {"index": _INDEX, "topics": _TOPICS.format(filler=_FILLER)}


def _rst(text: str) -> str:
    for sign, rule in (("## ", "-"), ("# ", "=")):
        text = re.sub(rf"^{sign}(.*)$", rf"\1\n{rule * 20}", text, flags=re.MULTILINE)
    text = re.sub(r"```(\w+)\n(.*)\n```", r".. code-block:: \1\n\n   \2", text)
    return re.sub(r"\[(\w+)\]\((\w+)\.md\)", r":doc:`\1 <\2>`", text)


def recipe(toolchain: str) -> str:
    """The code of the recipe in the document; if it is only the one line, that line."""
    text = _DOCS.read_text(encoding="utf-8")
    _, _, recipes = text.partition("## Recipes")
    paragraph = re.search(rf"^\*\*{toolchain}\*\*(.*?)(?=^\*\*|^## )", recipes, re.MULTILINE | re.DOTALL)
    if paragraph is None:
        raise ValueError(f"docs/widget.md has no recipe for {toolchain}")
    code = re.search(r"^```\w+\n(.*?)^```", paragraph[1], re.MULTILINE | re.DOTALL)
    line = re.search(r"^<script .*</script>$", text, re.MULTILINE)
    return code[1] if code else f"{line[0] if line else ''}\n"


@dataclass(frozen=True)
class Toolchain:
    name: str  # as docs/widget.md writes it
    files: Mapping[str, str]  # of the project; {recipe} is put in
    command: tuple[str, ...]  # within the project; its program is below .sites/
    built: str  # the folder of the site, below that of the project
    pages: str = "docs/{}.md"

    @property
    def folder(self) -> Path:
        return SITES / self.name.lower()

    def state(self) -> str:
        """What a site is built from: the recipe and everything written here."""
        return f"{recipe(self.name)}{hashlib.sha256(repr((self, PAGES)).encode()).hexdigest()}\n"

    def write(self) -> None:
        written = {self.pages.format(name): text for name, text in PAGES.items()}
        if self.pages.endswith(".rst"):
            written = {name: _rst(text) for name, text in written.items()}
        for name, text in {**written, **self.files}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{recipe}", recipe(self.name)), encoding="utf-8")

    def build(self) -> None:
        (self.folder / "RECIPE").unlink(missing_ok=True)
        shutil.rmtree(self.folder / self.built, ignore_errors=True)
        self.write()
        program, *arguments = self.command
        subprocess.run([SITES / program, *arguments], cwd=self.folder, check=True)
        (self.folder / "RECIPE").write_text(self.state(), encoding="utf-8")


_MKDOCS = """site_name: Robots
site_url: https://docs.example.com/
theme:
  name: material
  custom_dir: overrides
  font: false
  features: [navigation.instant]
  palette:
    - scheme: default
      toggle: {icon: material/weather-night, name: Dark}
    - scheme: slate
      toggle: {icon: material/weather-sunny, name: Light}
nav: [index.md, topics.md]
"""
_SPHINX = """project = "Robots"
html_theme = "furo"
{recipe}"""
_SPHINX_TREE = "\n.. toctree::\n\n   topics\n"
_DOCUSAURUS = """export default {
  title: "Robots",
  url: "https://docs.example.com",
  baseUrl: "/",
  plugins: [["@docusaurus/plugin-content-docs", { routeBasePath: "/", path: "docs" }]],
  themes: [["@docusaurus/theme-classic", { customCss: "./small.css" }]],
  themeConfig: { colorMode: { defaultMode: "light" }, navbar: { title: "Robots" } },
  {recipe}};
"""
_SMALL = "html { font-size: 10px; }\n"  # as sites do whose authors like to count in tens
_MDBOOK = '[book]\ntitle = "Robots"\nsrc = "docs"\n'

TOOLCHAINS = (
    Toolchain(
        "MkDocs",
        {"mkdocs.yml": _MKDOCS, "overrides/main.html": "{recipe}"},
        ("venv/bin/mkdocs", "build", "--quiet", "--strict"),
        built="site",
    ),
    Toolchain(
        "Sphinx",
        {"docs/conf.py": _SPHINX, "docs/index.rst": _rst(_INDEX) + _SPHINX_TREE},
        ("venv/bin/sphinx-build", "--quiet", "--fail-on-warning", "docs", "site"),
        built="site",
        pages="docs/{}.rst",
    ),
    Toolchain(
        "Docusaurus",
        {
            "docusaurus.config.js": _DOCUSAURUS,
            "small.css": _SMALL,
            "docs/index.md": f"---\nslug: /\n---\n\n{_INDEX}",
            "package.json": (ROOT / "requirements" / "sites" / "package.json").read_text(encoding="utf-8"),
        },
        ("docusaurus/node_modules/.bin/docusaurus", "build"),
        built="build",
    ),
    Toolchain(
        "mdBook",
        {
            "book.toml": _MDBOOK,
            "docs/SUMMARY.md": "- [Robots](index.md)\n- [Topics](topics.md)\n",
            "theme/head.hbs": "{recipe}",
        },
        ("venv/bin/mdbook", "build"),
        built="book",
    ),
)


def main() -> None:
    wanted = {name.lower() for name in sys.argv[1:]}
    for toolchain in TOOLCHAINS:
        if not wanted or toolchain.name.lower() in wanted:
            toolchain.build()
            sys.stdout.write(f"{toolchain.name}: {toolchain.folder / toolchain.built}\n")


if __name__ == "__main__":
    main()
