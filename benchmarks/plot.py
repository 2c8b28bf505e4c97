"""A line chart as SVG, readable on light and dark pages, built from strings. For reports in docs/benchmarks/."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 180, 40, 56
COLOURS = ("#2f7ed8", "#e07b39", "#3a9d5d", "#a05fc4", "#c23b55")
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 15px }
  .grid { stroke: #8888; stroke-width: 0.5 }
  .wanted { stroke: #888; stroke-dasharray: 5 4; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }
"""

Line = Sequence[tuple[float, float]]


def chart(title: str, across: str, up: str, lines: Mapping[str, Line], wanted: Mapping[str, float]) -> str:
    """Both axes are logarithmic; `wanted` are limits, drawn as horizontal lines."""
    xs = sorted({x for line in lines.values() for x, _ in line})
    ys = [y for line in lines.values() for _, y in line] + list(wanted.values())
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def place(x: float, y: float) -> tuple[float, float]:
        share = math.log(x / xs[0]) / math.log(xs[-1] / xs[0]) if len(xs) > 1 else 0.5
        height = (math.log10(y) - low) / (high - low)
        return LEFT + share * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - height * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text class="title" x="{LEFT}" y="22">{title}</text>']
    for power in range(low, high + 1):
        _, y = place(xs[0], 10**power)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10**power:g}</text>')
    for x in xs:
        at, _ = place(x, 10**low)
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{x:,.0f}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 14}" text-anchor="middle">{across}</text>')
    parts.append(f'<text x="14" y="{TOP - 4}">{up}</text>')
    for label, limit in wanted.items():
        _, y = place(xs[0], limit)
        parts.append(f'<line class="wanted" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 8}" y="{y + 4:.1f}">{label}</text>')
    for number, (label, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [place(x, y) for x, y in line]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
        key = TOP + 16 + 20 * number
        parts.append(f'<rect x="{LEFT + 12}" y="{key - 9}" width="12" height="12" rx="2" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + 30}" y="{key + 2}">{label}</text>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )
