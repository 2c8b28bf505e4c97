"""Shows docs/benchmarks/ingestion.json as a page, for `ingestion.py`; every number comes from there."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from typing import Any

TITLES = {"ours": "Quoth", "llamaindex": "LlamaIndex", "langchain": "LangChain"}
ROWS = {
    "full": ("all pages, model loaded, s", "≥ 1"),
    "cold": ("the same from process start, s", ""),
    "edit": ("an edit of one page, process running, s", ""),
    "command": ("an edit of one page, as a command, s", "≥ 20"),
    "unchanged": ("nothing changed, s", ""),
}


def as_page(report: Mapping[str, object]) -> str:
    data = json.loads(json.dumps(report))
    lines = [
        "# Ingestion",
        "",
        "Written by `make bench-ingestion`; every number is measured. The machine may be busy with other work: read",
        "the ratios, medians within rounds in which all sides take turns.",
    ]
    for part, show in (("compare", compared), ("unchanged", unchanged), ("memory", remembered)):
        if part in data:
            lines += ["", *show(data[part])]
    return "\n".join(lines) + "\n"


def where(data: Mapping[str, Any]) -> str:
    machine = data["machine"]
    return f"{machine['cores']} cores of {machine['cpu']}, load {machine['load_before']:.1f}"


def compared(data: Mapping[str, Any]) -> list[str]:
    seconds, ratios, texts, book = data["seconds"], data["times_faster"], data["texts"], data["book"]

    def row(what: str) -> str:
        label, wanted = ROWS[what]
        medians = [f"{statistics.median(seconds[what][name]):.2f}" for name in TITLES]
        times = [f"{ratios[kind][other][what]:.1f}" for other in list(TITLES)[1:] for kind in ("wall", "cpu")]
        return f"| {label} | {' | '.join(medians)} | {times[0]} ({times[1]}) | {times[2]} ({times[3]}) | {wanted} |"

    def for_each_token(other: str) -> str:
        ratio = ratios["wall"][other]["full"] * texts["ours"]["tokens"] / texts[other]["tokens"]
        return f"{ratio:.1f} ({TITLES[other]})"

    per_token = [for_each_token(other) for other in list(TITLES)[1:]]
    running = [f"{ratios['wall'][other]['edit_against_all_again']:.0f} ({TITLES[other]})" for other in list(TITLES)[1:]]
    started = [
        f"{ratios['wall'][other]['command_against_all_again']:.0f} ({TITLES[other]})" for other in list(TITLES)[1:]
    ]
    return [
        "## Against LlamaIndex and LangChain",
        "",
        f"{book['pages']} pages of `{book['name']}`, {book['rounds']} rounds, {book['edits']} edits; {where(data)};",
        f"{', '.join([*data['machine']['baseline'], *data['frameworks']])};",
        f"batches of {data['batch_sizes']['llamaindex']} and {data['batch_sizes']['langchain']}, the fastest of those",
        "tried. Timed from the start of reading to the first search: loading, splitting, embedding, storing (Quoth on",
        "disk, the others in memory). Everything is embedded and nothing truncated:",
        "",
        "| | chunks | tokens embedded | longest |",
        "|---|---|---|---|",
        *(
            f"| {title} | {texts[name]['chunks']} | {texts[name]['tokens']} | {texts[name]['longest']} |"
            for name, title in TITLES.items()
        ),
        "",
        "Quoth embeds the words without their markup (tags, comments, link targets, the marks around code), the others",
        f"what is in the file. For each token embedded, the others take {' and '.join(per_token)} times as long.",
        "",
        "Medians, and how many times as long the other takes by the clock (by CPU time):",
        "",
        "| | Quoth | LlamaIndex | LangChain | × LlamaIndex | × LangChain | target |",
        "|---|---|---|---|---|---|---|",
        *(row(what) for what in ROWS),
        "",
        "The others apply edits in their documented incremental way (an ingestion pipeline with a document store;",
        "the indexing API with a record manager). In a running process they change what they hold in memory and store",
        "nothing, while Quoth has it on disk, synced. As a command, from the start of the process to its end, all",
        "start from what is on disk and store the edit there (the others: persist, dump; no sync). Without",
        f"their bookkeeping everything is ingested again: {' and '.join(running)} times as long as Quoth's",
        f"edit in a running process, {' and '.join(started)} times as a command.",
    ]


def unchanged(data: Mapping[str, Any]) -> list[str]:
    book = data["book"]
    return [
        "## Nothing has changed",
        "",
        f"`quoth ingest` of `{book['name']}` ({book['pages']} pages, {book['chunks']} chunks) again, a new process",
        f"each time: {data['again_median']:.2f} s, at worst {max(data['again_seconds']):.2f} s, after "
        f"{data['first_seconds']:.1f} s for the first; {data['again_embedded']} chunks",
        f"embedded again. Target: under 2 s. {where(data)}.",
    ]


def remembered(data: Mapping[str, Any]) -> list[str]:
    rows = [*data["fresh"], data["edit_of_one_page"]]
    labels = [*("fresh" for _ in data["fresh"]), "again, one page edited"]
    return [
        "## Memory",
        "",
        "A made-up book with a fake embedder (the model takes the same memory for every book); the rest is real. The",
        "peak is all resident memory, including mapped files of the index, which the system takes back when it needs",
        f"room. Target: 100,000 chunks under 1.5 GB. {where(data)}.",
        "",
        "| | pages | chunks | peak, MB | not backed by files, at the end, MB | s |",
        "|---|---|---|---|---|---|",
        *(
            f"| {label} | {row['pages']} | {row['chunks']} | {row['peak_mb']:.0f} | {row['anonymous_mb']:.0f} "
            f"| {row['seconds']:.0f} |"
            for label, row in zip(labels, rows, strict=True)
        ),
    ]
