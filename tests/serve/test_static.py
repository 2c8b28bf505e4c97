"""The files of the page and the widget: small on the wire, kept for ever, renewed at once."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from doors import opened
from quoth.serve import static


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
            assert text == Path(static.__file__).parent.parent.joinpath("web", "quoth.css").read_bytes()


async def test_an_unchanged_file_is_not_sent_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        first = await doors.client.get("/widget.js")
        again = await doors.client.get("/widget.js", headers={"if-none-match": f'"other", W/{first.headers["etag"]}'})
        assert (again.status_code, again.content) == (304, b"")
        changed = await doors.client.get("/widget.js", headers={"if-none-match": '"other"'})
        assert changed.status_code == 200
