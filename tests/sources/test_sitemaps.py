"""Sitemaps as sites publish them, and as somebody with bad intentions would."""

from __future__ import annotations

import gzip
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import Unreadable
from quoth.sources.sitemaps import SitemapFile, looks_like_a_web_page, parse_sitemap

SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
LIMIT = 1_000_000


def parsed(text: str | bytes) -> SitemapFile:
    return parse_sitemap(text.encode() if isinstance(text, str) else text, "https://a.example/sitemap.xml", limit=LIMIT)


def test_the_pages_of_a_sitemap_come_in_order() -> None:
    found = parsed(
        f"<?xml version='1.0'?><urlset {SPACE}><url><loc>\n https://a.example/b?x=1&amp;y=2 </loc><lastmod>2024-01-01"
        "</lastmod></url><url><priority>1</priority><loc><![CDATA[https://a.example/a]]></loc></url></urlset>"
    )
    assert found == SitemapFile("pages", ("https://a.example/b?x=1&y=2", "https://a.example/a"))


def test_an_index_names_sitemaps() -> None:
    found = parsed(f"<sitemapindex {SPACE}><sitemap><loc>https://a.example/1.xml</loc></sitemap></sitemapindex>")
    assert found == SitemapFile("sitemaps", ("https://a.example/1.xml",))


def test_a_sitemap_without_a_namespace_and_with_a_prefix_is_read_too() -> None:
    assert parsed("<urlset><url><loc>https://a.example/</loc></url></urlset>").addresses == ("https://a.example/",)
    prefixed = SPACE.replace("xmlns=", "xmlns:s=")
    found = parsed(f"<s:urlset {prefixed}><s:url><s:loc>https://a.example/</s:loc></s:url></s:urlset>")
    assert found.addresses == ("https://a.example/",)


def test_images_videos_and_alternates_are_not_pages() -> None:
    found = parsed(
        f'<urlset {SPACE} xmlns:image="i" xmlns:xhtml="h"><url><loc>https://a.example/</loc><image:image><image:loc>'
        'https://a.example/p.png</image:loc></image:image><xhtml:link rel="alternate" href="https://a.example/de"/>'
        "</url></urlset>"
    )
    assert found.addresses == ("https://a.example/",)


def test_a_plain_list_of_addresses_is_a_sitemap() -> None:
    found = parsed("\ufeffhttps://a.example/1\r\n\r\nhttps://a.example/2\n")
    assert found == SitemapFile("pages", ("https://a.example/1", "https://a.example/2"))


def test_a_compressed_sitemap_is_decompressed_whatever_its_name() -> None:
    packed = gzip.compress(f"<urlset {SPACE}><url><loc>https://a.example/</loc></url></urlset>".encode())
    assert parsed(packed).addresses == ("https://a.example/",)


def test_a_sitemap_in_another_encoding_is_read() -> None:
    text = "<?xml version='1.0' encoding='{}'?><urlset><url><loc>https://a.example/ü</loc></url></urlset>"
    for encoding in ("utf-16", "iso-8859-1"):
        assert parsed(text.format(encoding).encode(encoding)).addresses == ("https://a.example/ü",)


BILLION_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><urlset><url><loc>&i;</loc></url></urlset>"
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BILLION_LAUGHS, "document type"),
        (
            '<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url></urlset>',
            "document type",
        ),
        ('<!DOCTYPE urlset SYSTEM "http://169.254.169.254/x.dtd"><urlset/>', "document type"),
        ("<urlset><url><loc>https://a.example/&nbsp;</loc></url></urlset>", "broken"),
        ("<urlset><url><loc>https://a.example/</loc>", "broken"),
        ("<rss><channel/></rss>", "<rss>"),
        ("<urlset>" + "<a>" * 100_000, "nested too deeply"),
        ("<?xml version='1.0' encoding='nonsense'?><urlset/>", "encoding"),
        ("Hello, world", "neither"),
        ("https://a.example/ and words", "neither"),
        ("", "neither"),
    ],
)
def test_a_file_that_is_not_a_sitemap_is_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        parsed(text)


def test_a_small_sitemap_that_decompresses_to_a_large_one_is_cut_off_before_it_does() -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * 30_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(Unreadable, match="more than 1 MB"):
            parsed(bomb)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_damaged_archive_is_reported() -> None:
    packed = gzip.compress(b"<urlset></urlset>")
    for damaged in (packed[:-8], packed[:12], b"\x1f\x8b" + b"\0" * 20):
        with pytest.raises(Unreadable, match="sitemap"):
            parsed(damaged)


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><p>", b"\xef\xbb\xbf\n<html lang=en>", b"<!-- x --><HTML>"])
def test_a_web_page_is_told_from_a_sitemap(page: bytes) -> None:
    assert looks_like_a_web_page(page)
    assert not looks_like_a_web_page(b"<?xml version='1.0'?><urlset>")
    assert not looks_like_a_web_page(b"https://a.example/<html")


@given(st.binary(max_size=200))
def test_nothing_but_unreadable_comes_out_of_nonsense(data: bytes) -> None:
    for file in (data, b"\x1f\x8b" + data, b"<urlset>" + data):
        with suppress(Unreadable):  # and nothing else
            parsed(file)
