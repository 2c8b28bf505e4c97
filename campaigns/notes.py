"""Small faults that were reviewed and accepted: why no test needs to notice them.

A note names a module, the original code, and what the fault replaced it with.
"""

from __future__ import annotations

NOTES: dict[tuple[str, str, str], str] = {
    (
        "ask/extract",
        "candidate.score < ratio * found[0].score",
        "candidate.score <= ratio * found[0].score",
    ): "two products of rounded numbers are equal only by accident",
    (
        "ask/find",
        "len({chunk.content_hash for chunk in found.values()}) >= wanted",
        "len({chunk.content_hash for chunk in found.values()}) > wanted",
    ): "one more batch is read if exactly the wanted number of texts differ: only slower",
    (
        "ask/judge",
        "one.share >= _NEARLY * best",
        "one.share > _NEARLY * best",
    ): "two products of rounded numbers are equal only by accident",
    ("ask/memory", "10.0", "11.0"): "a time limit: tests do not assert on times",
    ("index/columns", "8", "9"): "the number of sampled rows affects speed, not results",
    ("index/generations", "16", "17"): "the number of threads that sync at once: it affects only speed",
    ("index/qdrant_nodes", "20.0", "21.0"): "how many repeated requests may be saved up: it affects only speed",
    ("serve/limits", "100_000", "100001"): "a limit on memory; one more caller changes nothing",
}
