"""Small faults that were read and are left as they are: why no test needs to notice them.

A note is about a module, what stood there, and what the fault put there instead.
"""

from __future__ import annotations

NOTES: dict[tuple[str, str, str], str] = {
    (
        "ask/extract",
        "candidate.score < ratio * found[0].score",
        "candidate.score <= ratio * found[0].score",
    ): "two products of rounded numbers are never equal but by accident",
    (
        "ask/find",
        "len({chunk.content_hash for chunk in found.values()}) >= wanted",
        "len({chunk.content_hash for chunk in found.values()}) > wanted",
    ): "one batch more is read where exactly as many texts differ as are wanted: a matter of speed",
    (
        "ask/judge",
        "one.share >= _NEARLY * best",
        "one.share > _NEARLY * best",
    ): "two products of rounded numbers are never equal but by accident",
    ("ask/memory", "10.0", "11.0"): "a limit of patience: tests do not assert on times",
    ("index/columns", "8", "9"): "how many rows are sampled decides how fast it is, not what is found",
    ("index/generations", "16", "17"): "threads that sync at once: a matter of speed",
    ("index/qdrant_nodes", "20.0", "21.0"): "how many second questions are saved up: a matter of speed",
    ("serve/limits", "100_000", "100001"): "a bound of memory; one caller more changes nothing",
}
