"""Nothing outside the folder that was given is read, whatever the files of a project say."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_files import pages_of, write
from quoth.bootstrap import open_book
from quoth.errors import Unreadable
from quoth.settings import Settings
from quoth.sources import BookSource, open_source
from quoth.sources.bounds import Bounds, bounds_of
from quoth.sources.loading import Damaged

SECRET = "The canary sings at midnight."
OUTSIDE = {
    "outside/canary.md": f"# Canary\n\n{SECRET}\n",
    "outside/index.md": f"# Canary\n\n{SECRET}\n",
    "outside/index.rst": f"Canary\n======\n\n{SECRET}\n",
    "outside/SUMMARY.md": "- [Canary](canary.md)\n",
    "outside/_category_.json": '{"label": "The canary sings at midnight."}',
    "outside/conf.py": f"project = '{SECRET}'\n",
    "outside/_toc.yml": "format: jb-book\nroot: canary\n",
    "outside/settings.yml": f"site_name: {SECRET}\nroot: index\n",
    "outside/book.toml": f'[book]\ntitle = "{SECRET}"\n',
    "outside/content/docs/a.md": f"# Canary\n\n{SECRET}\n",
    "outside/shared.js": f"export default {{ title: '{SECRET}' }}\n",
    "outside/docs.json": f'{{"name": "{SECRET}", "navigation": []}}\n',
}

# Each is a project whose configuration puts its pages elsewhere, at `{}`.
LEADING_OUT = {
    "docusaurus": {
        "docusaurus.config.js": "module.exports = {presets: [['x', {docs: {path: '{}'}}]]}",
        "docs/a.md": "A",
    },
    "mkdocs": {"mkdocs.yml": "site_name: x\ndocs_dir: '{}'\n", "docs/a.md": "A"},
    "mdbook": {"book.toml": '[book]\nsrc = "{}"\n', "src/SUMMARY.md": "- [A](a.md)\n", "src/a.md": "A"},
    "gitbook": {".gitbook.yaml": "root: '{}'\n", "SUMMARY.md": "- [A](a.md)\n", "a.md": "A"},
    "vitepress": {".vitepress/config.ts": "export default { srcDir: '{}' }", "a.md": "A"},
    "starlight": {"astro.config.mjs": "export default { srcDir: '{}' }", "src/content/docs/a.md": "A"},
    "hugo": {"hugo.toml": "contentDir = '{}'\n", "content/a.md": "A"},
}


def everything_of(source: BookSource) -> str:
    """Everything that comes out of a book: its texts, titles, labels and notices."""
    return repr((source.book, list(pages_of(source).values()), source.skipped, source.notices))


def read_or_refused(root: Path, roots: tuple[Path, ...] = ()) -> str:
    try:
        return everything_of(open_source(root, book_id="b", roots=roots))
    except Unreadable as error:
        return f"refused: {error}"


@pytest.mark.parametrize("absolute", [True, False], ids=["absolute", "above"])
@pytest.mark.parametrize("toolchain", LEADING_OUT)
def test_pages_that_a_configuration_puts_outside_the_folder_are_not_read(
    tmp_path: Path, toolchain: str, absolute: bool
) -> None:
    write(tmp_path, OUTSIDE)
    target = str(tmp_path / "outside") if absolute else "../outside"
    files = {name: text.replace("{}", target) for name, text in LEADING_OUT[toolchain].items()}
    found = read_or_refused(write(tmp_path / "project", files))
    assert SECRET not in found
    assert found.startswith("refused: ")


@pytest.mark.parametrize(
    "files",
    [
        {"book.json": '{"root": "../outside"}', "README.md": "A"},
        {
            "docusaurus.config.js": "x = {docs: {includeCurrentVersion: false, lastVersion: '1/../../../outside'}}",
            "versions.json": '["1"]',
            "versioned_docs/version-1/a.md": "A",
        },
    ],
    ids=["honkit", "version of docusaurus"],
)
def test_a_summary_or_a_version_that_leads_outside_is_not_read(tmp_path: Path, files: dict[str, str]) -> None:
    write(tmp_path, OUTSIDE)
    assert SECRET not in read_or_refused(write(tmp_path / "project", files))


def test_the_refusal_says_which_folder_to_give(tmp_path: Path) -> None:
    write(tmp_path, {**OUTSIDE, "project/mkdocs.yml": "docs_dir: ../outside\n"})
    with pytest.raises(Unreadable) as refused:
        open_source(tmp_path / "project", book_id="b")
    assert "'../outside'" in str(refused.value)
    assert "a folder that holds both" in refused.value.hint


@pytest.mark.parametrize(
    ("files", "links"),
    [
        ({"a.md": "# A"}, {"canary.md": "outside/canary.md"}),
        ({"a.md": "# A"}, {"folder": "outside"}),
        ({"a.md": "# A"}, {"docs": "outside"}),
        ({"docusaurus.config.js": "module.exports = {}", "README.md": "x"}, {"docs": "outside"}),
        (
            {"docusaurus.config.js": "module.exports = {}", "docs/x/a.md": "A"},
            {"docs/x/_category_.json": "outside/_category_.json"},
        ),
        ({"mkdocs.yml": "site_name: x\n", "README.md": "x"}, {"docs": "outside"}),
        ({"docs/index.md": "# A"}, {"mkdocs.yml": "outside/settings.yml"}),
        ({"src/SUMMARY.md": "- [A](canary.md)", "src/a.md": "A"}, {"src/canary.md": "outside/canary.md"}),
        ({"src/SUMMARY.md": "- [A](a.md)", "src/a.md": "A"}, {"book.toml": "outside/book.toml"}),
        ({"book.toml": "", "README.md": "x"}, {"src": "outside"}),
        ({"README.md": "x"}, {"source": "outside"}),
        ({"index.rst": "A\n=\n"}, {"conf.py": "outside/conf.py"}),
        ({"index.rst": "A\n=\n", "conf.py": "project = 'x'"}, {"canary.md": "outside/canary.md", "c": "outside"}),
        ({"README.md": "x"}, {"book": "outside"}),
        ({"_toc.yml": "root: index\n", "index.md": "# A"}, {"_config.yml": "outside/settings.yml"}),
        ({"README.md": "x", "canary.md": "A"}, {"SUMMARY.md": "outside/SUMMARY.md"}),
        (
            {".vitepress/config.js": "export default {}", "a.md": "A"},
            {"canary.md": "outside/canary.md", "c": "outside"},
        ),
        (
            {".vitepress/config.js": "import s from './s'\nexport default s", "a.md": "A"},
            {".vitepress/s.js": "outside/shared.js"},
        ),
        ({"astro.config.mjs": "export default {}", "README.md": "x"}, {"src": "outside"}),
        ({"hugo.toml": "", "content/a.md": "A"}, {"content/canary.md": "outside/canary.md", "content/c": "outside"}),
        ({"hugo.toml": "", "README.md": "x"}, {"content": "outside"}),
        ({"a.md": "A", "Gemfile": ""}, {"_config.yml": "outside/settings.yml", "c": "outside"}),
        ({"a.md": "A"}, {"docs.json": "outside/docs.json", "c": "outside"}),
        ({"_quarto.yml": "project: {type: website}", "a.qmd": "A"}, {"canary.md": "outside/canary.md", "c": "outside"}),
    ],
)
def test_links_that_lead_outside_are_not_followed(tmp_path: Path, files: dict[str, str], links: dict[str, str]) -> None:
    write(tmp_path, OUTSIDE)
    root = write(tmp_path / "project", files)
    for name, target in links.items():
        (root / name).symlink_to(tmp_path / target)
    assert SECRET not in read_or_refused(root)


@pytest.mark.parametrize(
    "files",
    [
        {"mkdocs.yml": "x: 1\n", "docs/index.md": '# A\n\n--8<-- "../outside/canary.md"\n'},
        {
            "mkdocs.yml": "markdown_extensions: [{pymdownx.snippets: {base_path: [../outside]}}]\n",
            "docs/index.md": '# A\n\n--8<-- "canary.md"\n',
        },
        {"mkdocs.yml": "INHERIT: ../outside/settings.yml\n", "docs/index.md": "# A\n"},
        {"src/SUMMARY.md": "- [A](a.md)", "src/a.md": "{{#include ../../outside/canary.md}}"},
        {"src/SUMMARY.md": "- [A](../../outside/canary.md)\n- [B](b.md)", "src/b.md": "B"},
        {
            "docusaurus.config.js": "module.exports = {}",
            "docs/a.mdx": "import C from '../../outside/canary.md';\n\n<C />\n",
        },
        {"SUMMARY.md": "- [A](a.md)", "a.md": '{% include "../outside/canary.md" %}'},
        {".gitbook.yaml": "structure: {summary: ../outside/SUMMARY.md, readme: ../outside/canary.md}", "a.md": "A"},
        {"conf.py": "project = 'x'", "index.rst": "A\n=\n\n.. include:: ../outside/canary.md\n"},
        {"conf.py": "project = 'x'", "index.rst": "A\n=\n\n.. literalinclude:: /../outside/canary.md\n"},
        {"conf.py": "project = 'x'", "index.rst": "A\n=\n\n.. toctree::\n\n   ../outside/canary\n"},
        {"a.rst": "A\n=\n\n.. include:: ../outside/canary.md\n"},
    ],
)
def test_includes_inherited_settings_and_contents_outside_are_not_read(tmp_path: Path, files: dict[str, str]) -> None:
    write(tmp_path, OUTSIDE)
    found = read_or_refused(write(tmp_path / "project", files))
    assert SECRET not in found
    assert not found.startswith("refused")


def test_the_same_files_are_read_when_a_folder_around_them_is_given(tmp_path: Path) -> None:
    write(tmp_path, {**OUTSIDE, "project/mkdocs.yml": "docs_dir: ../outside\n"})
    assert SECRET in everything_of(open_source(tmp_path, book_id="b"))


def test_a_configuration_that_inherits_from_outside_is_reported(tmp_path: Path) -> None:
    write(
        tmp_path, {**OUTSIDE, "p/mkdocs.yml": "INHERIT: ../outside/settings.yml\nsite_name: Own\n", "p/docs/a.md": "A"}
    )
    source = open_source(tmp_path / "p", book_id="b")
    source.files()
    assert source.book.title == "Own"
    [notice] = [notice for notice in source.notices if notice.code == "CONFIG_UNREADABLE"]
    assert "outside the folder that was given" in notice.message


# --- a part of a project, and roots ----------------------------------------------------------------------------------


def test_a_part_of_a_project_knows_its_configuration_above(tmp_path: Path) -> None:
    write(tmp_path, {"mkdocs.yml": "site_url: https://x.org\n", "docs/part/a.md": "# A", "docs/b.md": "# B"})
    pages = pages_of(open_source(tmp_path / "docs/part", book_id="b"))
    assert {name: page.url for name, page in pages.items()} == {"a.md": "https://x.org/part/a/"}


@pytest.mark.parametrize(
    "files",
    [
        {"mkdocs.yml": f"site_name: {SECRET}\n"},
        {"docusaurus.config.js": f"module.exports = {{title: '{SECRET}'}}"},
        {"book.toml": f'[book]\ntitle = "{SECRET}"\nsrc = "docs"\n', "docs/SUMMARY.md": "- [A](books/a.md)\n"},
        {"conf.py": f"project = '{SECRET}'", "index.rst": "A\n=\n"},
        {"SUMMARY.md": f"# {SECRET}\n\n## {SECRET}\n\n- [A](docs/books/a.md)\n"},
        {"_toc.yml": "root: docs/books/a\n", "_config.yml": f"title: {SECRET}\n"},
    ],
)
def test_no_configuration_above_a_root_is_read(tmp_path: Path, files: dict[str, str]) -> None:
    root = write(tmp_path, {**files, "docs/books/a.md": "# A", "docs/books/b.rst": "B\n=\n"}) / "docs/books"
    assert SECRET in read_or_refused(root)
    assert SECRET not in read_or_refused(root, roots=(root,))
    assert SECRET not in read_or_refused(root, roots=(tmp_path / "docs",))


def test_a_folder_that_has_become_a_link_out_of_the_roots_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {**OUTSIDE, "roots/book/a.md": "# A"})
    open_source(tmp_path / "roots/book", book_id="b", roots=(tmp_path / "roots",))
    (tmp_path / "roots/book/a.md").unlink()
    (tmp_path / "roots/book").rmdir()
    (tmp_path / "roots/book").symlink_to(tmp_path / "outside")
    with pytest.raises(Unreadable, match="QUOTH_INGEST_ROOTS"):
        open_source(tmp_path / "roots/book", book_id="b", roots=(tmp_path / "roots",))


def test_a_book_that_is_in_no_root_keeps_its_own_bounds(tmp_path: Path) -> None:
    assert bounds_of(tmp_path / "a", (tmp_path / "b",)) == Bounds(tmp_path / "a")


def test_a_path_that_no_file_can_have_is_outside(tmp_path: Path) -> None:
    bounds = bounds_of(tmp_path)
    assert not bounds.holds(tmp_path / "a\0b")
    with pytest.raises(Damaged):
        bounds.config_text(tmp_path / "a\0b")
    write(tmp_path, {"mkdocs.yml": 'docs_dir: "a\\0b"\n'})
    with pytest.raises(Unreadable, match="outside"):
        open_source(tmp_path, book_id="b")


def test_a_page_that_becomes_a_link_between_survey_and_reading_is_refused(tmp_path: Path) -> None:
    root = write(tmp_path / "project", {"a.md": "# A"})
    write(tmp_path, OUTSIDE)
    source = open_source(root, book_id="b")
    [file] = source.files()
    (root / "a.md").unlink()
    (root / "a.md").symlink_to(tmp_path / "outside/canary.md")
    with pytest.raises(Unreadable, match="leads out of the folder"):
        source.read(file)


def test_an_ingest_keeps_to_the_roots_of_the_settings(tmp_path: Path) -> None:
    root = write(tmp_path, {"mkdocs.yml": f"site_name: {SECRET}\n", "docs/books/a.md": "# A"}) / "docs/books"
    settings = Settings(data_dir=tmp_path / "data", ingest_roots=(root,))
    assert SECRET not in everything_of(open_book(settings, str(root), "b"))
