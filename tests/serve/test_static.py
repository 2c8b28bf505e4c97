"""The files of the page and the widget: small on the wire, cached forever, renewed at once."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import httpx2
import pytest

from doors import opened
from quoth.serve import static
from quoth.serve.bundle import bundle

# What a browser loads for a conversation in the widget, in the language with the largest file.
WIDGET = (
    "widget.js",
    *(f"assets/{name}" for name in ["texts/index.js", "texts/ur.js", "storage.js", "corner.js", "corner.css"]),
)
LIMIT = 30_000  # bytes on the wire


async def test_the_page_names_its_assets_by_their_version_and_browsers_keep_those(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        page = await doors.client.get("/")
        assert page.headers["cache-control"] == "no-cache"
        named = re.findall(r'"(assets/[0-9a-f]{12}/[^"]+)"', page.text)
        assert len(named) >= 4
        assert len(named) == page.text.count("assets/")
        for address in named:
            asset = await doors.client.get(f"/{address}")
            assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
        old = await doors.client.get("/assets/0123456789ab/talk.js")  # a page that an older server sent
        plain = await doors.client.get("/assets/talk.js")
        assert old.content == plain.content
        assert old.headers["cache-control"] == plain.headers["cache-control"] == "no-cache"


async def test_files_travel_compressed_to_those_who_read_gzip(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        for wanted, packed in {"gzip, br": True, "br, GZIP;q=0.5": True, "gzip;q=0": False, "identity": False}.items():
            headers = {"accept-encoding": wanted}
            async with doors.client.stream("GET", "/assets/quoth.css", headers=headers) as response:
                raw = b"".join([piece async for piece in response.aiter_raw()])
            assert (response.headers.get("content-encoding") == "gzip") is packed
            assert "accept-encoding" in response.headers["vary"]
            text = gzip.decompress(raw) if packed else raw
            assert text.startswith(b":root,:host{color-scheme: light dark;")  # without the comment above it


async def test_an_unchanged_file_is_not_sent_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        first = await doors.client.get("/widget.js")
        again = await doors.client.get("/widget.js", headers={"if-none-match": f'"other", W/{first.headers["etag"]}'})
        assert (again.status_code, again.content) == (304, b"")
        changed = await doors.client.get("/widget.js", headers={"if-none-match": '"other"'})
        assert changed.status_code == 200


async def test_the_whole_widget_is_small(tmp_path: Path) -> None:
    total = 0
    async with opened(tmp_path) as doors:
        for name in WIDGET:
            async with doors.client.stream("GET", f"/{name}", headers={"accept-encoding": "gzip"}) as response:
                assert response.status_code == 200
                total += len(b"".join([piece async for piece in response.aiter_raw()]))
        corner = (await doors.client.get("/assets/corner.js")).text
    assert total <= LIMIT
    assert set(re.findall(r'from "([^"]+)"', corner)) == {
        "./texts/index.js",
        "./storage.js",
    }  # nothing else to wait for


SCRIPTS = {
    "entry.js": (
        'import { double } from "./deep/one.js";\nimport { keep } from "./own.js";\n'
        "export const four = double(keep(2));\n"
    ),
    "deep/one.js": (
        'import { two } from "../two.js";\nconst hidden = two;\nexport function double(n) { return n * hidden; }\n'
    ),
    "two.js": "const hidden = 1;\nexport const two = hidden + 1;\nexport class Two {}\n",
    "own.js": "export const keep = (n) => n;\n",
}


def test_scripts_become_one_and_their_own_names_stay_apart() -> None:
    assert bundle(SCRIPTS, "entry.js", separate=["own.js"]) == (
        'import { keep } from "./own.js";\n'
        "const $two = (() => {\nconst hidden = 1;\nconst two = hidden + 1;\nclass Two {}\nreturn { two, Two };\n})();\n"
        "const $deep_one = (() => {\nconst { two } = $two;\nconst hidden = two;\n"
        "function double(n) { return n * hidden; }\nreturn { double };\n})();\n"
        "const { double } = $deep_one;\nconst four = double(keep(2));\nexport { four };\n"
    )


@pytest.mark.parametrize(
    "line", ['import two from "./two.js";', 'import "./two.js";', "export default 1;", "export { a };"]
)
def test_a_form_that_would_be_bundled_wrongly_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="does not know"):
        bundle({**SCRIPTS, "entry.js": f"{line}\n"}, "entry.js")


async def test_fonts_are_served_where_their_wheel_is_installed_and_an_empty_sheet_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "somewhere" / "quoth_fonts"
    package.mkdir(parents=True)
    for name, content in {
        "__init__.py": "",
        "fonts.css": "@font-face { src: url(a.woff2) }",
        "a.woff2": "wOF2",
    }.items():
        (package / name).write_text(content, encoding="utf-8")

    async def served(name: str) -> httpx2.Response:
        static._files.cache_clear()
        return await doors.client.get(f"/assets/fonts/{name}")

    async with opened(tmp_path) as doors:
        page = await doors.client.get("/")
        assert "font-src 'self'" in page.headers["content-security-policy"]
        assert re.search(r'href="assets/[0-9a-f]{12}/fonts/fonts.css"', page.text)
        with monkeypatch.context() as missing:
            missing.setattr(static, "_FONTS", "no_such_fonts")
            assert (await served("fonts.css")).text == ""
            assert (await served("a.woff2")).status_code == 404
        with monkeypatch.context() as installed:
            installed.syspath_prepend(tmp_path / "somewhere")
            assert (await served("fonts.css")).text == "@font-face{src: url(a.woff2)}"
            font = await served("a.woff2")
            assert (font.headers["content-type"], font.content) == ("font/woff2", b"wOF2")
            assert (await served("__init__.py")).status_code == 404
    static._files.cache_clear()
