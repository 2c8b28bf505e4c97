"""A published page as Markdown: what a reader came for, with the page's own ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.blocks import layout
from quoth.chunks.split import split
from quoth.domain import Page
from quoth.sources.html import decode_html, page_from_html
from quoth.text.markdown import leaves, parse
from quoth.text.sentences import sentences
from samples import chunk as sample
from splitting import TOKENS
from writings import thorough


def written(body: str, url: str = "https://a.b/docs/intro.html") -> str:
    return page_from_html(f"<html><body><main>{body}</main></body></html>", url).text


def test_only_the_main_content_is_taken() -> None:
    html = (
        "<!doctype html><html lang='en'><head><title>Intro | My Site</title><style>p{}</style>"
        "<link rel='canonical' href='/docs/intro'></head><body><header>Logo</header><nav><a href='/'>Home</a></nav>"
        "<main><nav aria-label='breadcrumbs'>Docs</nav><article><h1>Introduction</h1><p>Hello.</p></article>"
        "<div class='toc'><a href='#x'>On this page</a></div></main><footer>© Us</footer>"
        "<script>x()</script></body></html>"
    )
    page = page_from_html(html, "https://a.b/docs/intro.html")
    assert page.text == "# Introduction\n\nHello.\n"
    assert (page.title, page.site, page.language) == ("Introduction", "My Site", "en")
    assert page.canonical == "https://a.b/docs/intro"
    assert not page.noindex


def test_a_page_without_main_gives_its_body() -> None:
    page = page_from_html("<title>Notes - Us</title><nav>Menu</nav><h2 id=a>A</h2>Loose <b>words</b><p>para")
    assert page.text == "## A {#a}\n\nLoose **words**\n\npara\n"
    assert page.title == "Notes"


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ('<h2 id="set-up">Set up<a class="hash-link" href="#set-up">\u200b</a></h2>', "set-up"),
        ('<section id="set-up"><h2>Set up<a class="headerlink" href="#set-up">¶</a></h2></section>', "set-up"),
        ('<h2 id="set-up"><a class="header" href="#set-up">Set up</a></h2>', "set-up"),
        ('<h2><a id="set-up"></a>Set up</h2>', "set-up"),
        ('<h2><a name="set-up" href="#set-up">Set up</a></h2>', "set-up"),
        ("<h2>Set up</h2>", ""),
        ('<h2 id="a b">Set up</h2>', ""),
    ],
)
def test_headings_keep_the_ids_that_the_page_gives_them(heading: str, anchor: str) -> None:
    page = page_from_html(f"<main>{heading}<p>Text that is long enough.</p></main>", "https://a.b/x")
    assert page.anchors == ((anchor,) if anchor else ())
    made = Page("book", "x.html", page.text, "hash", "https://a.b/x", "X", anchors="html")
    (chunk,) = split(made, TOKENS)
    assert chunk.url == (f"https://a.b/x#{anchor}" if anchor else "https://a.b/x")
    assert chunk.heading_path == ("Set up",)


def test_an_entry_of_an_api_reference_is_a_heading_with_its_id() -> None:
    text = written(
        '<h2 id="api">API</h2><dl class="py class"><dt class="sig sig-object py" id="app.Flask">class app.<b>Flask</b>'
        '<a class="headerlink" href="#app.Flask">¶</a></dt><dd><p>The app.</p></dd></dl>'
        "<dl><dt>term</dt><dd>Its meaning.</dd></dl>"
    )
    assert "### class app.**Flask** {#app.Flask}\n\nThe app." in text
    assert "**term**\n: Its meaning." in text


def test_entries_keep_their_terms_beside_their_meaning() -> None:
    text = written(
        "<dl><dt><code>-a</code><dt><code>--all</code><dd><p>All.<p>Even hidden ones.<dt>code<dd><pre>x</pre></dl>"
    )
    assert text == "**`-a`**, **`--all`**\n: All.\n\n  Even hidden ones.\n\n**code**\n\n```\nx\n```\n"
    (first, *_) = sentences(text)
    assert text[first.start : first.end] == "**`-a`**, **`--all`**\n: All."


def test_all_of_an_entry_belongs_to_it_and_is_no_code() -> None:
    inner = "<dl><dt>in<dd><p>Inner.<p>Inner two.</dl>"
    text = written(f"<dl><dt>a<dd><p>First.<p>Second.<ul><li>one</ul><pre>x</pre>{inner}<dt>b<dd>Other.</dl><p>After.")
    kinds = [(unit.kind, text[unit.start : unit.end]) for unit in sentences(text)]
    assert [said for kind, said in kinds if kind == "code"] == ["```\n  x\n  ```"]
    assert [block.kind for block in layout(sample(text)).blocks] == ["list", "paragraph"]
    assert "  **in**\n  : Inner.\n\n  Inner two.\n\n**b**\n: Other.\n\nAfter." in text


def test_terms_without_a_meaning_stay_before_what_follows() -> None:
    nested = '<dl><dt>one<dt class="sig" id="f">f()</dt><dd>Calls.</dd><dt>two</dl>'
    assert written(nested) == "**one**\n\n## f() {#f}\n\nCalls.\n\n**two**\n"


@pytest.mark.parametrize(
    "ways",
    [
        '<p>Next: <a rel="next" href="b">Beta</a>, Up: <a rel="up" href="i">Top</a>',
        '<ul><li><a accesskey="p" href="a"><b>Prev</b>9. Alpha</a><li><a accesskey="n" href="b">Next</a></ul>',
        '<table><tr><td><a accesskey="p" href="a">Prev</a><td>&nbsp;<td><a accesskey="n" href="b">Next</a></table>',
    ],
)
def test_links_to_the_pages_around_are_left_out(ways: str) -> None:
    assert written(f"<p>Said.</p>{ways}") == "Said.\n"


def test_a_paragraph_that_only_has_links_is_kept() -> None:
    assert written('<p><a href="b">Beta</a> and <a rel="next" href="c">what comes next</a></p>') == (
        "Beta and what comes next\n"
    )


def test_code_keeps_its_language_and_its_lines() -> None:
    assert (
        written('<pre><code class="language-rust">fn main() {\n\n}\n</code></pre>')
        == "```rust\nfn main() {\n\n}\n```\n"
    )
    sphinx = (
        '<div class="highlight-python notranslate"><div class="highlight"><pre><span></span>x = 1\n</pre></div></div>'
    )
    assert written(sphinx) == "```python\nx = 1\n```\n"
    lines = '<pre class="language-js"><code><div>a<br></div><span>b</span></code><button>Copy</button></pre>'
    assert written(lines) == "```js\na\nb\n```\n"
    numbered = '<table class="highlighttable"><tr><td class="linenos">1</td><td><pre>y = 2</pre></td></tr></table>'
    assert written(numbered) == "```\ny = 2\n```\n"
    assert written("<pre>a\n```\nb</pre>") == "````\na\n```\nb\n````\n"


def test_lists_tables_quotes_and_images() -> None:
    assert written("<ul><li>one<ul><li>deep</ul><li>two</ul>") == "- one\n  - deep\n- two\n"
    assert written("<ol start=3><li><p>a</p><p>b</p><li>c</ol>") == "3. a\n\n   b\n\n4. c\n"
    table = "<table><caption>All</caption><tr><th>k<th>v<tr><td>a|b<td><code>x</code></table>"
    assert written(table) == "All\n\n| k | v |\n|---|---|\n| a\\|b | `x` |\n"
    assert written("<table><tr><td>1<td>2</table>") == "|  |  |\n|---|---|\n| 1 | 2 |\n"
    assert written("<blockquote><p>Said.</p><p>More.</p></blockquote>") == "> Said.\n> \n> More.\n"
    assert written('<p><img src="/i.png" alt="A robot"></p>') == "![A robot](https://a.b/i.png)\n"


@pytest.mark.parametrize(
    "admonition",
    [
        '<div class="admonition warning"><p class="admonition-title">Warning</p><p>Hot.</p></div>',
        '<div class="theme-admonition theme-admonition-warning alert"><div class="admonitionHeading_x">Warning</div>'
        "<div><p>Hot.</p></div></div>",
        '<aside class="starlight-aside starlight-aside--warning"><p class="starlight-aside__title">Warning</p>'
        "<p>Hot.</p></aside>",
    ],
)
def test_admonitions_of_many_sites_become_directives(admonition: str) -> None:
    assert written(admonition) == ":::warning[Warning]\n\nHot.\n\n:::\n"


def test_the_outer_of_two_admonitions_has_more_colons() -> None:
    inner = '<div class="admonition tip"><p>In.</p></div>'
    text = written(f'<div class="admonition note"><p>Out.</p>{inner}<p>Still out.</p></div>')
    assert text == "::::note\n\nOut.\n\n:::tip\n\nIn.\n\n:::\n\nStill out.\n\n::::\n"


def test_tab_panels_keep_their_labels_and_are_read_although_hidden() -> None:
    text = written(
        '<div><ul role="tablist"><li role="tab">npm</li><li role="tab">Yarn</li></ul>'
        '<div role="tabpanel"><p>npm i</p></div><div role="tabpanel" hidden><p>yarn add</p></div></div>'
        "<p hidden>No.</p>"
    )
    assert text == "**npm**\n\nnpm i\n\n**Yarn**\n\nyarn add\n"


def test_links_out_keep_their_target_and_links_within_the_site_their_words() -> None:
    assert written('<p>See <a href="other.html">this</a> and <a href="https://c.d/e">that</a>.') == (
        "See this and [that](https://c.d/e).\n"
    )


def test_formulas_are_read_as_tex() -> None:
    katex = (
        '<p>So <span class="katex"><span class="katex-mathml"><math><mi>x</mi><annotation>x^2</annotation></math>'
        "</span>"
        '<span class="katex-html" aria-hidden="true">x2</span></span> it is.</p>'
    )
    assert written(katex) == "So $x^2$ it is.\n"


@pytest.mark.parametrize(
    "text", ["# no heading", "1. no list", "- no item", "> no quote", "<b> no tag", "a *b* c", "&amp; x"]
)
def test_text_that_looks_like_markdown_stays_text(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    (leaf,) = leaves(parse(written(f"<p>{escaped}</p>")))
    assert (leaf.kind, leaf.plain) == ("paragraph", text)


def test_a_page_that_asks_not_to_be_indexed_says_so() -> None:
    assert page_from_html('<meta name="robots" content="noindex, follow"><p>x').noindex


_TAGS = st.sampled_from(
    ["p", "div", "ul", "li", "table", "tr", "td", "pre", "code", "b", "a", "h2", "dl", "dt", "dd", "br"]
)
_HTML = st.lists(
    st.one_of(
        _TAGS.map(lambda tag: f"<{tag}>"),
        _TAGS.map(lambda tag: f"</{tag}>"),
        st.text("ab <&>#*`|\n", min_size=1, max_size=10),
    ),
    max_size=40,
).map("".join)


@thorough
@given(_HTML)
def test_no_html_is_too_broken_to_be_read(html: str) -> None:
    page = page_from_html(html)
    assert page.text == "" or page.text.endswith("\n")


def test_deep_nesting_is_read_without_running_out_of_stack() -> None:
    assert page_from_html("<div>" * 5000 + "Deep." + "</div>" * 5000).text == "Deep.\n"


def test_bytes_are_decoded_by_mark_header_meta_or_as_utf_8() -> None:
    assert decode_html("\ufeffé".encode()) == "é"
    assert decode_html("é".encode("latin-1"), "latin-1") == "é"
    assert decode_html(b'<meta charset="latin-1">\xe9').endswith("é")
    assert decode_html("é".encode(), "no-such-charset") == "é"
    assert decode_html(b"\xff") == "\ufffd"
