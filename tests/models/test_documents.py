"""PDF, EPUB and DOCX: converted if the extra is installed, otherwise counted and named."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from quoth.chunks.split import split
from quoth.domain import Rendition
from quoth.errors import Unreadable
from quoth.models.documents import MarkItDownDocuments, documents
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder

needs_extra = pytest.mark.skipif(find_spec("markitdown") is None, reason="the extra `documents` is not installed")


def write_docx(path: Path, title: str = "") -> None:
    namespace = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    heading = '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Robots</w:t></w:r></w:p>'
    text = "<w:p><w:r><w:t>A robot obeys.</w:t></w:r></w:p>"
    if title:
        text += f'<w:p><w:pPr><w:pStyle w:val="Titel"/></w:pPr><w:r><w:t>{title}</w:t></w:r></w:p>'
    kinds = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{kinds}.document.main+xml"/>'
            f'<Override PartName="/word/styles.xml" ContentType="{kinds}.styles+xml"/></Types>',
        )
        relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        listed = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        archive.writestr(
            "_rels/.rels",
            f'{listed}<Relationship Id="r1" Type="{relations}/officeDocument" Target="word/document.xml"/>'
            "</Relationships>",
        )
        archive.writestr(
            "word/_rels/document.xml.rels",
            f'{listed}<Relationship Id="r1" Type="{relations}/styles" Target="styles.xml"/></Relationships>',
        )
        archive.writestr("word/document.xml", f"<w:document {namespace}><w:body>{heading}{text}</w:body></w:document>")
        archive.writestr(
            "word/styles.xml",
            f'<w:styles {namespace}><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/>'
            '</w:style><w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style></w:styles>',
        )


def write_epub(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="c.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        archive.writestr(
            "c.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
            "<dc:title>Robots</dc:title></metadata><manifest>"
            '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
            '<item id="b" href="c%20d.xhtml" media-type="application/xhtml+xml"/>'
            '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>'
            '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
        )
        archive.writestr("a.xhtml", '<html><body><h1 id="s1">Robots</h1><p>A robot obeys.</p></body></html>')
        archive.writestr("c d.xhtml", "<html><body><p>Robots rest here.</p></body></html>")
        archive.writestr(
            "nav.xhtml", '<html><body><nav><a href="c%20d.xhtml#x">Without a heading</a></nav></body></html>'
        )


def write_pdf(path: Path) -> None:
    stream = b"BT /F1 24 Tf 72 700 Td (A robot obeys.) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj%s endobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(data),
    )
    path.write_bytes(data + end)


def write_pdf_book(path: Path) -> None:
    """Three pages, a title and an outline whose entries name their pages in three ways."""
    pages = (("A robot obeys.",), ("Batteries", "Charge them at night."), ("More on charge.", "Wheels", "They turn."))
    first = 10
    objects: dict[int, bytes] = {
        1: b"<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R/Dests 9 0 R>>",
        2: b"<</Type/Pages/Kids[10 0 R 12 0 R 14 0 R]/Count 3>>",
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        4: b"<</Type/Outlines/First 5 0 R/Last 7 0 R/Count 3>>",
        5: b"<</Title(Batteries)/Parent 4 0 R/Next 7 0 R/First 6 0 R/Last 6 0 R/Dest[12 0 R/Fit]>>",
        6: b"<</Title(Not in the text)/Parent 5 0 R/A<</S/GoTo/D[14 0 R/Fit]>>>>",
        7: b"<</Title(Wheels)/Parent 4 0 R/Prev 5 0 R/Dest/wheels>>",
        8: b"<</Title(The Robot Book)>>",
        9: b"<</wheels[14 0 R/Fit]>>",
    }
    for number, lines in enumerate(pages):
        shown = b"T* ".join(b"(%s) Tj " % line.encode() for line in lines)
        stream = b"BT /F1 14 Tf 40 TL 72 700 Td %sET" % shown
        objects[first + 2 * number] = (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
            % (first + 2 * number + 1)
        )
        objects[first + 2 * number + 1] = b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream)
    data, offsets = b"%PDF-1.4\n", []
    for number in range(1, len(objects) + 1):
        offsets.append(len(data))
        data += b"%d 0 obj%s endobj\n" % (number, objects[number])
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    path.write_bytes(
        data
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R/Info 8 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (size, table, size, len(data))
    )


WRITERS = {"a.docx": write_docx, "b.epub": write_epub, "c.pdf": write_pdf}


def test_without_the_extra_documents_are_counted_and_one_notice_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    for name in ("b.pdf", "c.docx"):
        (tmp_path / name).write_bytes(b"x")
    source = open_source(tmp_path, book_id="d")
    assert [file.source_file for file in source.files()] == ["a.md"]
    assert [notice.source_file for notice in source.skipped] == ["b.pdf", "c.docx"]
    (notice,) = [one for one in source.notices if one.code == "DOCUMENTS_NEED_EXTRA"]
    assert notice.message.startswith("2 documents are left out")
    assert "pip install 'quoth[documents]'" in notice.message


class Upper:
    """A converter that returns its input."""

    def read(self, path: Path, source_file: str) -> Rendition:
        return Rendition(f"# {path.name.upper()}\n\nFrom {source_file}.\n")

    def close(self) -> None:
        pass


def test_a_document_becomes_a_page(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.PDF").write_bytes(b"x")
    source = open_source(tmp_path, book_id="d", base_url="https://a.b", documents=Upper())
    (file,) = source.files()
    page = source.read(file)
    assert (page.title, page.text) == ("B.PDF", "# B.PDF\n\nFrom sub/b.PDF.\n")
    assert (page.url, page.anchors) == ("https://a.b/sub/b.PDF", "pdf")


def test_an_epub_is_called_by_its_own_title_and_not_by_its_first_chapter(tmp_path: Path) -> None:
    class Handbook:
        def read(self, path: Path, source_file: str) -> Rendition:
            return Rendition("# Batteries\n\nCharge them.\n", "Field Handbook")

        def close(self) -> None:
            pass

    (tmp_path / "a.epub").write_bytes(b"x")
    source = open_source(tmp_path, book_id="d", documents=Handbook())
    (file,) = source.files()
    assert source.read(file).title == "Field Handbook"


def test_the_converter_is_there_exactly_when_the_extra_is() -> None:
    assert (documents() is None) == (find_spec("markitdown") is None)


@pytest.fixture
def converter() -> Iterator[MarkItDownDocuments]:
    made = MarkItDownDocuments()
    yield made
    made.close()


@needs_extra
@pytest.mark.slow
def test_real_documents_are_converted_one_after_another_by_one_process(
    tmp_path: Path, converter: MarkItDownDocuments
) -> None:
    for name, writer in WRITERS.items():
        writer(tmp_path / name)
        assert "A robot obeys." in converter.read(tmp_path / name, name).text
    first = process_of(converter)
    for name in WRITERS:
        (tmp_path / name).write_bytes(b"not a document at all")
        with pytest.raises(Unreadable, match=name):
            converter.read(tmp_path / name, name)
    assert process_of(converter) == first


def chunks_of(path: Path, converter: MarkItDownDocuments) -> tuple[str, list[tuple[str, str]]]:
    """The title of a document, and the URL and headings of each of its chunks."""
    source = open_source(path, book_id="d", base_url="https://a.b", documents=converter)
    (file,) = source.files()
    page = source.read(file)
    chunks = split(page, FakeEmbedder().tokens)
    assert all(page.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    return page.title, [(chunk.url.removeprefix("https://a.b/"), " > ".join(chunk.heading_path)) for chunk in chunks]


@needs_extra
@pytest.mark.slow
def test_places_in_documents_can_be_opened(tmp_path: Path, converter: MarkItDownDocuments) -> None:
    write_pdf_book(tmp_path / "a.pdf")
    assert chunks_of(tmp_path / "a.pdf", converter) == (
        "The Robot Book",
        [
            ("a.pdf#page=1", ""),
            ("a.pdf#page=2", "Batteries"),
            ("a.pdf#page=3", "Batteries > Not in the text"),
            ("a.pdf#page=3", "Wheels"),
        ],
    )
    write_epub(tmp_path / "b.epub")
    assert chunks_of(tmp_path / "b.epub", converter) == (
        "Robots",
        [("b.epub", ""), ("b.epub#a.xhtml:s1", ""), ("b.epub#c-d.xhtml", "Without a heading")],
    )
    write_docx(tmp_path / "c.docx", title="Robots for All")
    assert chunks_of(tmp_path / "c.docx", converter)[0] == "Robots for All"


def process_of(converter: MarkItDownDocuments) -> int:
    assert converter._process is not None
    return converter._process.pid


# --- what a hostile document costs -----------------------------------------------------------------------------------


def write_bomb(path: Path, megabytes: int) -> None:
    """A document of a few hundred kilobytes with one paragraph that unpacks to this many megabytes."""
    write_docx(path)
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    head, tail = members["word/document.xml"].split(b"A robot obeys.")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(
                name, head + b"A robot obeys. " * (megabytes * 70_000) + tail if "document.xml" in name else data
            )


@needs_extra
@pytest.mark.slow
def test_an_archive_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(
    tmp_path: Path, converter: MarkItDownDocuments
) -> None:
    for name in ("a.docx", "b.epub"):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("word/document.xml", b"\0" * 600_000)
            archive.filelist[0].file_size = 600_000_000  # no more is unpacked than the archive declares
        with pytest.raises(Unreadable, match=rf"{name} cannot be converted \(it unpacks to 600 MB"):
            converter.read(tmp_path / name, name)


@needs_extra
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_a_document_that_needs_too_much_memory_costs_its_process_and_the_next_one_is_converted(tmp_path: Path) -> None:
    converter = MarkItDownDocuments(memory=700_000_000)
    write_bomb(tmp_path / "a.docx", megabytes=100)
    write_docx(tmp_path / "b.docx")
    try:
        with pytest.raises(Unreadable, match=r"a\.docx cannot be converted"):
            converter.read(tmp_path / "a.docx", "a.docx")
        assert "A robot obeys." in converter.read(tmp_path / "b.docx", "b.docx").text
    finally:
        converter.close()


@needs_extra
def test_a_document_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    converter = MarkItDownDocuments(seconds=0.01)  # not even enough to start
    write_docx(tmp_path / "a.docx")
    with pytest.raises(Unreadable, match=r"a.docx cannot be converted \(it takes more than 0.01 seconds"):
        converter.read(tmp_path / "a.docx", "a.docx")
    assert converter._process is None


@needs_extra
def test_a_process_that_dies_is_told(tmp_path: Path) -> None:
    converter = MarkItDownDocuments(memory=1_000)  # Python itself does not fit
    with pytest.raises(Unreadable, match="its converter ended with code"):
        converter.read(tmp_path / "a.docx", "a.docx")


@needs_extra
@pytest.mark.slow
def test_the_process_gets_no_keys_and_imports_nothing_from_the_folder_of_a_book(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, converter: MarkItDownDocuments
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "markitdown.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    write_docx(tmp_path / "a.docx")
    assert "A robot obeys." in converter.read(tmp_path / "a.docx", "a.docx").text
    assert not (tmp_path / "ran").exists()
    environment = Path(f"/proc/{process_of(converter)}/environ").read_bytes()
    assert b"PATH=" in environment
    assert b"secret" not in environment
