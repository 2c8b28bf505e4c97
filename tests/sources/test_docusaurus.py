"""Docusaurus: names, addresses and anchors. `sample_book_anchors.json` is what Docusaurus itself built from the sample
book; reader and chunker must agree with it for every page and every heading."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from quoth.chunks.split import split
from quoth.domain import Page
from quoth.sources import BookSource, open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.text.anchors import Anchors
from quoth.text.markdown import leaves, parse

BOOK = Path(__file__).resolve().parents[2] / "examples" / "robotics-book"
BUILT = json.loads((Path(__file__).parents[1] / "sample_book_anchors.json").read_text("utf-8"))
LISTED = {source_file: built for source_file, built in BUILT.items() if not built["unlisted"]}


def pages_of(source: BookSource) -> dict[str, Page]:
    return {file.source_file: source.read(file) for file in source.files()}


@pytest.fixture(scope="module")
def sample() -> dict[str, Page]:
    return pages_of(open_source(BOOK, book_id="robotics"))


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def site(root: Path, options: str = "", docs_options: str = "") -> Path:
    config = f"module.exports = {{url: 'https://a.example', baseUrl: '/', {options} presets: [['classic', "
    return write(root, {"docusaurus.config.js": f"{config}{{docs: {{{docs_options}}}}}]]}};"})


def test_the_sample_book_has_exactly_the_pages_that_docusaurus_lists(sample: dict[str, Page]) -> None:
    assert set(sample) == set(LISTED)


@pytest.mark.parametrize("source_file", LISTED)
def test_url_title_and_every_anchor_are_those_that_docusaurus_built(source_file: str, sample: dict[str, Page]) -> None:
    page, built = sample[source_file], BUILT[source_file]
    anchors = Anchors(page.anchors)
    headings = [leaf for leaf in leaves(parse(page.text, markup=page.markup, start=page.body_start)) if leaf.level]
    found = [(heading.level, anchors.of(heading.text, heading.anchor)) for heading in headings]
    assert (page.url, page.title) == (built["url"], built["title"])
    assert [anchor for level, anchor in found if level > 1] == built["anchors"]


@pytest.mark.parametrize("source_file", LISTED)
def test_every_chunk_opens_at_an_anchor_that_was_built(source_file: str, sample: dict[str, Page]) -> None:
    built = LISTED[source_file]
    urls = {chunk.url for chunk in split(sample[source_file], FakeEmbedder().tokens)}
    assert urls <= {built["url"], *(f"{built['url']}#{anchor}" for anchor in built["anchors"])}
    assert len(urls) > 1


def test_source_files_are_named_from_the_folder_that_was_given() -> None:
    name = "01-ros2/01-nodes-and-topics/01-first-node.md"
    for given, expected in ((BOOK, f"docs/{name}"), (BOOK / "docs", name), (BOOK / "docs/01-ros2", name[8:])):
        pages = pages_of(open_source(given, book_id="robotics"))
        page = pages[expected]
        assert (given / page.source_file).read_text("utf-8") == page.text
        assert page.url == BUILT[f"docs/{name}"]["url"]
        assert page.labels == replace(page.labels, module="ros2", chapter=1, lesson=1)


def test_the_docs_folder_is_not_a_level_of_the_book(tmp_path: Path) -> None:
    write(site(tmp_path), {"docs/01-ros2/02-topics/03-qos.md": "# QoS\n\nText."})
    (page,) = pages_of(open_source(tmp_path, book_id="b")).values()
    assert (page.source_file, page.labels.module, page.labels.chapter, page.labels.lesson) == (
        "docs/01-ros2/02-topics/03-qos.md",
        "ros2",
        2,
        3,
    )
    assert page.trail == ("ros2", "topics")


def test_docs_beside_the_project_are_read_when_a_folder_around_both_is_given(tmp_path: Path) -> None:
    write(site(tmp_path / "website", docs_options="path: '../docs'"), {"../docs/a.md": "# A\n\nText."})
    assert list(pages_of(open_source(tmp_path, book_id="b"))) == ["docs/a.md"]


@pytest.mark.parametrize(
    ("options", "docs_options", "expected"),
    [
        ("", "", "https://a.example/docs/"),
        ("trailingSlash: false,", "", "https://a.example/docs"),
        ("trailingSlash: true,", "", "https://a.example/docs/"),
        ("", "routeBasePath: '/'", "https://a.example/"),
        ("trailingSlash: false,", "routeBasePath: '/'", "https://a.example/"),
    ],
)
def test_the_home_page_has_the_address_that_docusaurus_gives_it(
    tmp_path: Path, options: str, docs_options: str, expected: str
) -> None:
    write(site(tmp_path, options, docs_options), {"docs/intro.md": "---\nslug: /\n---\n# Home\n\nText."})
    (page,) = pages_of(open_source(tmp_path, book_id="b")).values()
    assert page.url == expected


VERSIONED = {
    "versions.json": '["2.0", "1.0"]',
    "docs/a.md": "# Next\n",
    "versioned_docs/version-2.0/a.md": "# Two\n",
    "versioned_docs/version-1.0/a.md": "# One\n",
    "i18n/fr/docusaurus-plugin-content-docs/current/a.md": "# Suite\n",
    "i18n/fr/docusaurus-plugin-content-docs/version-2.0/a.md": "# Deux\n",
}


@pytest.mark.parametrize(
    ("folder", "options", "base_url", "url", "version", "language"),
    [
        ("", "", "", "https://a.example/docs/next/a", None, "en"),
        ("", "", "https://b.example/docs/", "https://b.example/docs/next/a", None, "en"),
        ("", "lastVersion: 'current'", "", "https://a.example/docs/a", None, "en"),
        ("", "includeCurrentVersion: false", "", "https://a.example/docs/a", "2.0", "en"),
        ("", "versions: {current: {path: 'edge'}}", "", "https://a.example/docs/edge/a", None, "en"),
        ("", "disableVersioning: true", "", "https://a.example/docs/a", None, "en"),
        ("versioned_docs/version-2.0", "", "", "https://a.example/docs/a", "2.0", "en"),
        ("versioned_docs/version-1.0", "", "", "https://a.example/docs/1.0/a", "1.0", "en"),
        ("versioned_docs/version-1.0", "", "https://b.example", "https://b.example/docs/1.0/a", "1.0", "en"),
        ("i18n/fr/docusaurus-plugin-content-docs/current", "", "", "https://a.example/fr/docs/next/a", None, "fr"),
        ("i18n/fr/docusaurus-plugin-content-docs/version-2.0", "", "", "https://a.example/fr/docs/a", "2.0", "fr"),
    ],
)
def test_versions_and_translations_have_the_addresses_that_docusaurus_gives_them(
    folder: str, options: str, base_url: str, url: str, version: str | None, language: str, tmp_path: Path
) -> None:
    write(site(tmp_path, "i18n: {defaultLocale: 'en'},", options), VERSIONED)
    (page,) = pages_of(open_source(tmp_path / folder, book_id="b", base_url=base_url)).values()
    assert (page.url, page.labels.version, page.labels.language) == (url, version, language)


def test_a_notice_says_when_the_docs_are_not_what_readers_see_first(tmp_path: Path) -> None:
    source = open_source(write(site(tmp_path), VERSIONED), book_id="b")
    source.files()
    (notice,) = [notice for notice in source.notices if notice.code == "NOT_THE_LAST_VERSION"]
    assert (notice.source_file, "versioned_docs/version-2.0" in notice.message) == ("versions.json", True)


def notices_of(source: BookSource, code: str) -> list[str]:
    source.files()
    return [f"{notice.source_file}:{notice.line} {notice.message}" for notice in source.notices if notice.code == code]


def test_a_glob_in_a_string_is_not_a_comment_and_exclude_counts(tmp_path: Path) -> None:
    options = "exclude: ['**/_templates/**', '**/*.{summary,draft}.md', 'README.md'], lastVersion: '1.0' /* '2.0' */"
    pages = {"a.md": "# A\n", "a.summary.md": "# S\n", "README.md": "# R\n", "b/README.md": "# B\n", "_c.md": "# C\n"}
    below = {f"versioned_docs/version-1.0/{name}": text for name, text in pages.items()}
    write(
        site(tmp_path, docs_options=options), {**VERSIONED, **below, "versioned_docs/version-1.0/_templates/t.md": "#"}
    )
    source = open_source(tmp_path / "versioned_docs/version-1.0", book_id="b")
    # Its list replaces Docusaurus's own, which leaves out `_c.md`.
    assert {name: page.url for name, page in pages_of(source).items()} == {
        "_c.md": "https://a.example/docs/_c",
        "a.md": "https://a.example/docs/a",
        "b/README.md": "https://a.example/docs/b/",
    }
    assert len(source.skipped) == 3


def test_only_the_files_that_the_site_includes_are_pages(tmp_path: Path) -> None:
    write(
        site(tmp_path, docs_options="include: ['guide/**/*.{md,mdx}']"),
        {"docs/a.md": "# A\n", "docs/guide/b.md": "# B\n"},
    )
    assert list(pages_of(open_source(tmp_path, book_id="b"))) == ["docs/guide/b.md"]


def test_constants_in_templates_are_followed(tmp_path: Path) -> None:
    config = "const BASE = '/docs';\nconst HOST = process.env.HOST ?? 'a.example';\nmodule.exports = {"
    config += "url: `https://${HOST}`, baseUrl: `${BASE}/`,"
    write(tmp_path, {"docusaurus.config.js": config + "presets: [['classic', {docs: {routeBasePath: '/'}}]]};"})
    write(tmp_path, {"docs/a.md": "# A\n"})
    source = open_source(tmp_path, book_id="b")
    assert [page.url for page in pages_of(source).values()] == ["https://a.example/docs/a"]
    assert not [notice for notice in source.notices if notice.code.startswith("CONFIG")]


def test_computed_values_are_reported_with_what_to_pass_instead(tmp_path: Path) -> None:
    config = """import base from './base';
export default {
  ...base,
  url: 'https://a.example',
  baseUrl: rootOf('docs'),
  presets: [['classic', {docs: {routeBasePath: base.route, exclude: ['x.md', ...base.more]}}]],
};
"""
    write(tmp_path, {"docusaurus.config.ts": config, "docs/a.md": "# A\n", "docs/x.md": "# X\n"})
    source = open_source(tmp_path, book_id="b")
    assert notices_of(source, "CONFIG_NOT_UNDERSTOOD") == [
        "docusaurus.config.ts:3 `...base` may say more about the site, which cannot be known without running it",
        "docusaurus.config.ts:6 routeBasePath is computed (`base.route`) and cannot be known without running it;"
        " 'docs' is used. Pass --base-url with the address of the docs if that is wrong",
        "docusaurus.config.ts:6 a part of exclude is computed (`base.more`) and cannot be known without running it;"
        " it is ignored. Files that it excludes may be read",
        "docusaurus.config.ts:5 baseUrl is computed (`rootOf()`) and cannot be known without running it; '/' is used."
        " Pass --base-url if that is wrong",
    ]
    (page,) = pages_of(source).values()
    assert page.url == "https://a.example/docs/a"
    (page,) = pages_of(open_source(tmp_path, book_id="b", base_url="https://b.example/guide")).values()
    assert page.url == "https://b.example/guide/a"


@pytest.mark.parametrize(
    "config", ["const a = {", "export default make(base);", "module.exports = require('./other');"]
)
def test_a_configuration_that_is_not_understood_at_all_is_reported(tmp_path: Path, config: str) -> None:
    write(tmp_path, {"docusaurus.config.js": config, "docs/a.md": "# A\n"})
    (told,) = notices_of(open_source(tmp_path, book_id="b"), "CONFIG_NOT_UNDERSTOOD")
    assert told.startswith("docusaurus.config.js:1 what docusaurus.config.js exports has to be computed")
    assert "pass --base-url" in told


def test_other_docs_are_named_and_can_be_read_by_their_folder(tmp_path: Path) -> None:
    plugin = "['@docusaurus/plugin-content-docs', {id: 'api', path: 'reference', routeBasePath: 'api'}]"
    files = {"docs/a.md": "# A\n", "reference/b.md": "# B\n", "api_versions.json": '["1.0"]'}
    files["api_versioned_docs/version-1.0/b.md"] = "# B 1.0\n"
    write(site(tmp_path, f"plugins: [{plugin}],"), files)
    assert notices_of(open_source(tmp_path, book_id="b"), "FURTHER_DOCS") == [
        "reference:None the site has more docs, 'api' in reference; to ingest them as a book, give that folder"
    ]
    for folder, url in (("reference", "api/next/b"), ("api_versioned_docs/version-1.0", "api/b"), ("docs", "docs/a")):
        (page,) = pages_of(open_source(tmp_path / folder, book_id="b")).values()
        assert page.url == f"https://a.example/{url}"


def test_number_prefixes_stay_if_the_site_says_so(tmp_path: Path) -> None:
    write(site(tmp_path, docs_options="numberPrefixParser: false"), {"docs/01-a/02-b.md": "# B\n"})
    (page,) = pages_of(open_source(tmp_path, book_id="b")).values()
    assert page.url == "https://a.example/docs/01-a/02-b"
