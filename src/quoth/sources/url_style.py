"""How a site writes the addresses of its pages, if not the way its toolchain does by default. Pure.

`html` is `guide/start.html`, `slash` is `guide/start/`, `bare` is `guide/start`. A server or a builder decides that
(Sphinx's dirhtml, a host that drops extensions), so the author has to say it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from quoth.domain import URL_STYLES

_INDEX = ("index", "readme", "_index")
_ENDINGS = (".html", ".htm")
# A page with such an extension is a file that is served as it is.
_FILES = (".md", ".mdx", ".markdown", ".rst", ".rest", ".txt", ".pdf", ".epub", ".docx", ".ipynb", ".adoc")


def styled(url: str, name: str, style: str) -> str:
    """The address of the page in the file `name`, in this style; unchanged without a style."""
    path = urlsplit(url).path
    if style not in URL_STYLES or path.lower().endswith(_FILES):
        return url
    bare, home = _without_ending(url, name.rpartition("/")[2].partition(".")[0].lower())
    if style == "html":
        return f"{bare}.html" if not home else f"{bare}/index.html" if bare else "index.html"
    if not bare or bare == ".":
        return "."
    at_root = not urlsplit(f"{bare}/").path.strip("/")
    return f"{bare}/" if style == "slash" or at_root else bare


def _without_ending(url: str, stem: str) -> tuple[str, bool]:
    """The address without the extension, and whether it is a folder's own page."""
    bare = url.rstrip("/")
    ending = next((ending for ending in _ENDINGS if bare.endswith(ending)), "")
    bare = bare.removesuffix(ending)
    named = bare.rpartition("/")[2].lower() == stem  # Sphinx publishes a README under its own name
    home = stem == "index" or (stem in _INDEX and not named)
    return bare[: -len(stem)].rstrip("/") if home and named else bare, home
