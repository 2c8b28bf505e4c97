"""The document of a run → one self-contained HTML page: figures, the curve, and every failure with the expected quote.

The page loads nothing and runs no script, so it can be archived, mailed and opened years later. All text from
questions, labels and answers is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from quoth.evals.metrics import METRICS
from quoth.evals.report import SHOWN_PER_KIND, Document, failures, shown, verdict_on

WIDTH, HEIGHT, MARGIN = 640, 300, 44
COLOURS = ("#0b6bcb", "#c2410c")

STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #888; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
table { border-collapse: collapse; } td, th { padding: .25rem .9rem .25rem 0; text-align: right; vertical-align: top; }
td:first-child, th:first-child { text-align: left; } tr + tr { border-top: 1px solid var(--line); }
.meaning, .about { color: var(--dim); } td.meaning { text-align: left; font-size: .875rem; }
.missed { color: #c2410c; font-weight: 600; }
article { border-top: 1px solid var(--line); padding: .75rem 0; }
article h3 { font-size: 1rem; margin: 0; } article p { margin: .3rem 0; }
blockquote { border-left: 3px solid var(--line); margin: .3rem 0; padding-left: .8rem; white-space: pre-wrap; }
svg { width: 40rem; max-width: 100%; height: auto; } svg text { fill: currentColor; font-size: 12px; }
"""


def html_page(document: Document) -> str:
    return framed(f"{document['file']}: {document['book_id']}", _body(document))


def framed(title: str, body: Iterable[str]) -> str:
    """A whole page around these elements; the author's page uses it too."""
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n<h1>{escape(title)}</h1>\n" + "\n".join(body) + "\n</html>\n"
    )


def _body(document: Document) -> Iterator[str]:
    facts = (f"{document['questions']} questions", document["at"], f"confidence: {document['confidence']['source']}")
    yield f'<p class="about">{escape(" · ".join(facts))}</p>'
    for missed in (one for one in document.get("floors", ()) if not one["holds"]):
        sign = "at most" if missed["at_most"] else "at least"
        bound = f"{missed['metric']} is {shown(missed['value'])}; wanted {sign} {missed['bound']}"
        yield f'<p class="missed">{escape(bound)}</p>'
    meanings = {metric.name: metric.meaning for metric in METRICS}
    rows = [(name, shown(value), meanings[name]) for name, value in document["metrics"].items()]
    yield table(("metric", "value", ""), rows, last_class="meaning")
    yield "<h2>By kind of question</h2>"
    kinds: Mapping[str, Mapping[str, Any]] = document["by_kind"]
    per_kind = [
        ("questions", *(str(values["questions"]) for values in kinds.values())),
        *((name, *(shown(values[name]) for values in kinds.values())) for name in SHOWN_PER_KIND),
    ]
    yield table(("", *kinds), per_kind)
    yield "<h2>Milliseconds</h2>"
    times = [(stage, f"{of['p50']:.1f}", f"{of['p95']:.1f}") for stage, of in document["latency_ms"].items()]
    yield table(("stage", "p50", "p95"), times)
    yield "<h2>Risk-coverage</h2>"
    yield "<p>If only the most confident questions were answered: how many there are, and how many are wrong. "
    yield "The dot is the threshold in use.</p>"
    yield svg_curve({"": document["curve"]}, document["operating_point"])
    if fit := document.get("fit"):
        yield f"<h2>Refitted to this book</h2><p>{escape(fit['verdict'])}</p>"
        figures = [(name, shown(value), shown(fit["refitted"][name])) for name, value in fit["shipped"].items()]
        yield table(("", "shipped", "refitted"), figures)
        yield svg_curve({"shipped": fit["shipped_curve"], "refitted": fit["refitted_curve"]})
    yield from _stale(document["stale"])
    yield from _failures(document)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, last_class: str = "") -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = []
    for row in rows:
        cells = [f"<td>{escape(cell)}</td>" for cell in row]
        if last_class:
            cells[-1] = f'<td class="{last_class}">{escape(row[-1])}</td>'
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><tr>{head}</tr>\n" + "\n".join(lines) + "</table>"


def svg_curve(curves: Mapping[str, Sequence[Mapping[str, float]]], dot: Mapping[str, float] | None = None) -> str:
    """Coverage to the right, risk upwards. The risk axis ends at the next tenth above the highest risk."""
    top = max((point["risk"] for points in curves.values() for point in points), default=0.0)
    scale = min(10, int(top * 10) + 1) / 10
    inner_width, inner_height = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN

    def at(coverage: float, risk: float) -> str:
        return f"{MARGIN + coverage * inner_width:.1f},{HEIGHT - MARGIN - risk / scale * inner_height:.1f}"

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="risk-coverage curve">']
    for step in range(6):
        share = step / 5
        x, y = at(share, share * scale).split(",")
        parts.append(f'<text x="{x}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{share:.0%}</text>')
        parts.append(f'<text x="{MARGIN - 8}" y="{y}" text-anchor="end" dy=".35em">{share * scale:.0%}</text>')
        parts.append(f'<path d="M{MARGIN},{y}H{WIDTH - MARGIN}" stroke="#8883"/>')
    for (name, points), colour in zip(curves.items(), COLOURS, strict=False):
        line = " ".join(at(point["coverage"], point["risk"]) for point in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if name and points:
            x, y = at(points[-1]["coverage"], points[-1]["risk"]).split(",")
            down = "1.4em" if colour == COLOURS[1] else "-.6em"
            style = f'dy="{down}" text-anchor="end" style="fill:{colour}"'
            parts.append(f'<text x="{x}" y="{y}" {style}>{escape(name)}</text>')
    if dot is not None:
        x, y = at(dot["coverage"], dot["risk"]).split(",")
        parts.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{COLOURS[0]}"/>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 6}" text-anchor="middle">answered</text>')
    parts.append('<text x="4" y="16">wrong</text></svg>')
    return "".join(parts)


def _stale(labels: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if labels:
        yield f"<h2>{len(labels)} stale labels</h2><p>These were not asked: the book no longer has the quote.</p>"
    for label in labels:
        yield (
            f"<article><h3>{escape(label['id'])}</h3><p>{escape(label['page'])}: {escape(label['reason'])}</p>"
            f"<blockquote>{escape(label['quote'])}</blockquote></article>"
        )


def _failures(document: Document) -> Iterator[str]:
    wrong = failures(document)
    yield f"<h2>{len(wrong)} wrong</h2>"
    for record in wrong:
        yield f"<article><h3>{escape(record['question'])}</h3>"
        yield f'<p class="about">{escape(record["id"])} · {escape(record["kind"])} · {escape(verdict_on(record))}</p>'
        if record["searched"] != record["question"]:
            yield f"<p>Searched: {escape(record['searched'])}</p>"
        if record["answerable"]:
            yield f"<p>Expected {escape(record['page'] or 'in the selection')}:</p>"
            yield f"<blockquote>{escape(record['quote'])}</blockquote>"
        yield f"<p>Answered {escape(', '.join(record['cited']))}:</p>"
        yield f"<blockquote>{escape(record['answer'])}</blockquote></article>"
