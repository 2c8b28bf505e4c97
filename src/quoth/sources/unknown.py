"""Projects whose toolchain Quoth does not know: what they are, and what to do instead.

Such a folder is read as plain files, and a notice says so: its pages may be published at other addresses, and Quoth
does not know what its toolchain adds or leaves out. The built HTML of any of them can be ingested with the right
addresses. In: a folder. Out: a notice, or None for a folder that is not a project.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quoth.domain import Notice
from quoth.sources.bounds import Bounds
from quoth.sources.loading import Damaged

_SCRIPTS = ("js", "ts", "mjs", "mts", "cjs", "tsx", "jsx")


@dataclass(frozen=True, slots=True)
class _Toolchain:
    name: str
    files: tuple[str, ...]  # any one of them is a sign of the toolchain
    build: str
    built: str  # the folder of the HTML
    holds: str = ""  # what the file must contain, if its name alone is too common
    project: str = ""  # the folder to give instead, for a toolchain that Quoth knows


def _scripts(*stems: str) -> tuple[str, ...]:
    return tuple(f"{stem}.{end}" for stem in stems for end in _SCRIPTS)


_TOOLCHAINS = (
    _Toolchain("Nextra", _scripts("theme.config"), "npm run build", "out"),
    _Toolchain("Nextra", _scripts("next.config"), "npm run build", "out", holds="nextra"),
    _Toolchain("Nextra", ("package.json",), "npm run build", "out", holds='"nextra"'),
    _Toolchain("Fumadocs", _scripts("source.config"), "npm run build", "out", holds="fumadocs"),
    _Toolchain("VuePress", _scripts(".vuepress/config", "docs/.vuepress/config"), "npm run build", "dist"),
    _Toolchain("VitePress", _scripts("docs/.vitepress/config"), "", "", project="docs"),
    _Toolchain("Starlight", _scripts("docs/astro.config"), "", "", project="docs", holds="starlight"),
    _Toolchain("Quarto", ("docs/_quarto.yml", "book/_quarto.yml"), "", "", project="its folder"),
    _Toolchain("Astro", _scripts("astro.config"), "npm run build", "dist"),
    _Toolchain("bookdown", ("_bookdown.yml",), "Rscript -e 'bookdown::render_book()'", "_book"),
    _Toolchain("MyST", ("myst.yml",), "myst build --html", "_build/html"),
    _Toolchain("Mintlify", ("docs/docs.json", "docs/mint.json"), "", "", project="docs", holds='"navigation"'),
    _Toolchain("Hugo", ("archetypes/default.md",), "hugo", "public"),
    _Toolchain("Zola", ("config.toml",), "zola build", "public", holds="build_search_index"),
    _Toolchain("Zola", ("content/_index.md",), "zola build", "public", holds="+++"),
    _Toolchain("Eleventy", (".eleventy.js", *_scripts("eleventy.config")), "npx @11ty/eleventy", "_site"),
    _Toolchain("Gatsby", _scripts("gatsby-config"), "npm run build", "public"),
    _Toolchain("Hexo", ("scaffolds/post.md",), "npx hexo generate", "public"),
    _Toolchain("Pelican", ("pelicanconf.py",), "pelican content", "output"),
    _Toolchain("Nikola", ("conf.py",), "nikola build", "output", holds="NAVIGATION_LINKS"),
    _Toolchain("Jekyll", ("docs/_config.yml",), "", "", project="docs", holds="theme"),
    _Toolchain("Nuxt Content", _scripts("nuxt.config"), "npm run generate", ".output/public", holds="content"),
    _Toolchain("Docsify", ("index.html", "docs/index.html"), "", "", holds="$docsify"),
    _Toolchain("GitHub wiki", ("_Sidebar.md", "_Footer.md"), "", ""),
    _Toolchain("Doxygen", ("Doxyfile",), "doxygen", "html"),
    _Toolchain("Scrivener", ("project.scrivx",), "", ""),
)


def unknown_project(root: Path, bounds: Bounds) -> Notice | None:
    """What the folder looks like, and what to do."""
    for known in _TOOLCHAINS:
        if bounds.first_file(root, known.files) is None:
            continue
        for file in known.files:
            if bounds.is_file(root / file) and (not known.holds or known.holds in _text(root / file, bounds)):
                return Notice("TOOLCHAIN_UNKNOWN", _message(known, file), ".")
    if bounds.is_file(root / "antora-playbook.yml"):
        message = (
            "the content that antora-playbook.yml names is in other repositories; run quoth ingest on a folder with"
            " antora.yml, or build the site (npx antora antora-playbook.yml) and run quoth ingest on build/site"
        )
        return Notice("TOOLCHAIN_UNKNOWN", message, ".")
    if bounds.is_file(root / "index.rst") and "toctree::" in _text(root / "index.rst", bounds):
        message = (
            "this looks like a Sphinx project without its conf.py, so it is read as plain files, and links may not"
            " open; run quoth ingest on the folder with conf.py"
        )
        return Notice("TOOLCHAIN_UNKNOWN", message, ".")
    return None


def _message(known: _Toolchain, file: str) -> str:
    article = "an" if known.name[0] in "AEIOU" else "a"
    if known.project:
        return (
            f"{file} belongs to {article} {known.name} project in this folder; its files are read as plain files, and"
            f" links may not open. Run quoth ingest on {known.project}"
        )
    said = f"this looks like {article} {known.name} project ({file}), whose rules Quoth does not know"
    if not known.built:
        return f"{said}; its files are read as plain files, and links may not open"
    build = f"build it ({known.build}) and ingest the HTML: quoth ingest {known.built} --base-url https://…"
    return f"{said}; its files are read as plain files, and links may not open. For correct links, {build}"


def _text(path: Path, bounds: Bounds) -> str:
    try:
        return bounds.config_text(path, errors="replace")
    except (OSError, Damaged):
        return ""
