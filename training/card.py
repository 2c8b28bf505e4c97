"""The model card of the reader: fixed text around measured figures.

A report and a manifest come in, Markdown goes out.
"""
# ruff: noqa: E501 - lines of the card, not of code

from __future__ import annotations

from typing import Any

# Where training questions, claims and books come from, and under what licence.
SOURCES = (
    ("QuAC train", "CC BY-SA 4.0"),
    ("SQuAD 1.1 train, 44 articles; SQuAD 2.0 train, 347 unanswerable questions", "CC BY-SA 4.0"),
    ("QAMR dev and test; PolicyQA dev and test", "MIT"),
    ("NarrativeQA summaries; FriendsQA dev and test", "Apache-2.0"),
    ("TweetQA; DoQA (half)", "CC BY-SA 4.0"),
    ("IIRC; Qasper", "CC BY 4.0"),
    ("BoolQ", "CC BY-SA 3.0"),
    ("MedQuAD", "CC BY 4.0"),
    ("FEVER, MultiNLI, SciTail, BEGIN, SummEdits (four fifths)", "as published by their authors"),
    (
        "questions and claims of our own (`training/asked`, `training/passages`, `training/claims`), written and labelled by language models",
        "Apache-2.0",
    ),
    ("Kubernetes and Docusaurus documentation", "CC BY 4.0"),
    ("FastAPI, MkDocs Material, Starlight, Just the Docs, Asciidoctor documentation", "MIT"),
    (
        "documentation of some sixty projects from the package registries (`training/shelf.json`)",
        "BSD, MIT, Apache-2.0 and others",
    ),
)
LEFT_OUT = (
    "COVID-QA, QED, AdversarialQA, FoolMeTwice, the documentation of Starlette, Vite, Celery, Fastify, h5py, Kivy and "
    "Molecule, a tenth of QuAC, half of DoQA, a fifth of SummEdits and a sixth of our own claims"
)

INPUT = """## What goes in

```text
[CLS] question [SEP] heading [SEP] passage [SEP]
```

- Token ids are those of the embedder's `tokenizer.json` (lower case, word pieces), each part encoded without special
  tokens. `[CLS]` is {cls}, `[SEP]` is {sep}.
- The question (or claim) is cut after {question} tokens. The heading is the nearest one above the passage, cut to its
  last {heading} tokens; it may be empty, and then two `[SEP]` follow each other.
- The passage is the text of the chunk without marks such as `*`, `#` and `|` (`quoth.models.reader_window.kept`). If it is
  longer than {window} tokens, or than the room it is given, one window of that size is read: the one with the most, and the
  rarest, of the question's words or words like them.
- Token types: 0 up to and including the second `[SEP]`, 1 from the first token of the passage on (including the last
  `[SEP]`). Positions count from 0 in each window. Word, position and type tables and the first LayerNorm are the
  embedder's own (`embeddings.*` of its `model.safetensors`, positions 0 to 511, both type rows).
- Six layers as in BERT: `encoder.layer.N.*` here replace those of the embedder. Exact GELU (erf), LayerNorm epsilon
  1e-12, attention over all tokens of the window.

## What comes out

| head | tensors | read from | meaning |
|---|---|---|---|
| span | `heads.span.*` (2 × 384) | every token | start and end logits; only tokens of the passage may be chosen, or the first token, which means "not here" |
| – | `heads.pool.*` (384 × 768) | two means | `tanh(W [q, p] + b)`, which the next three read; `q` is the mean of the question's tokens (those between `[CLS]` and the first `[SEP]`), `p` the mean of all tokens of type 1 (the passage and the last `[SEP]`) |
| answerable | `heads.answerable.*` (1 × 384) | pooled | logit: this window answers the question |
| relevance | `heads.relevance.*` (1 × 384) | pooled | logit for ordering passages of one question |
| support | `heads.support.*` (3 × 384) | pooled | supported, neutral, contradicted; softmax |

- `margin` of a window: the best `start[i] + end[j]` with `i ≤ j < i + 60` in the passage, minus
  `start[0] + end[0]`.
- The single score for "this window answers" is `answerable + margin / 2`.
- A sentence's score is the share of start and end (softmax over the passage's tokens and the first token, mean of the
  two) that falls into it.
- Support of a claim is `softmax(support)[0]`, read beside the sentences of all its passages that it would have to rest
  on (`quoth.ask.evidence`).
"""


def row(name: str, figure: dict[str, float]) -> str:
    return f"| {name} | {figure['value']:.3f} | {figure['low']:.3f} – {figure['high']:.3f} | {figure['cases']:,} |"


def table(figures: dict[str, dict[str, float]]) -> list[str]:
    lines = ["| figure | value | 95 % interval | cases |", "|---|---|---|---|"]
    return lines + [row(name, figure) for name, figure in figures.items()]


def of_benchmark(report: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Figures of benchmarks/reading_comprehension.py: the reader alone, given the right passage, and within Quoth."""
    given = {f"SQuAD2, given the right passage: {name}": row for name, row in report["given the right passage"].items()}
    within = {
        f"{name}, whole corpus: {what}, {side} the reader": row[side][what]
        for name, row in report["sets"].items()
        for what in ("first", "nDCG@10")
        for side in ("without", "with")
        if what in row[side]
    }
    return {
        name: {"value": row["mean"], "low": row["low"], "high": row["high"], "cases": row["questions"]}
        for name, row in (given | within).items()
    }


def seen(training: dict[str, Any]) -> int:
    """Examples up to the snapshot that was exported, with those that its start had skipped."""
    _, _, snapshot = str(training.get("snapshot", "")).partition("at-")
    return int(snapshot or training["examples"]) + int(training.get("skip", 0))


def card(told: dict[str, Any], report: dict[str, Any], manifest: dict[str, Any], note: str) -> str:
    of = told["input"]
    size = told["files"]["reader.safetensors"]
    lines = [
        "# quoth-reader",
        "",
        "The weights of Quoth's reader: it reads a question and a passage together and says whether the passage answers",
        "the question, where, how well it fits, and whether a passage supports a claim. Six BERT layers and four heads,",
        f"{size['bytes'] / 1e6:.1f} MB in half precision; word embeddings are shared with the embedder (`quoth-minilm`).",
        "Written by `python -m training.export`; every figure is measured with exactly these weights.",
        "",
        *([note, ""] if note else []),
        f"Version {told['version']}, SHA-256 of `quoth_reader/reader.safetensors`: `{size['sha256']}`",
        "",
        INPUT.format(
            cls=of["cls"],
            sep=of["sep"],
            question=of["question tokens at most"],
            heading=of["heading tokens at most"],
            window=of["window"],
        ),
        "## What it was trained on",
        "",
        f"{manifest['examples']:,} prepared examples in {manifest['groups']:,} groups; this release has seen "
        f"{seen(told['training']):,} ({', '.join(f'{name} {value}' for name, value in told['training'].items())}).",
        "Unanswerable questions are natural ones, passages of the same document without the answer, and look-alikes made",
        "by rules from answerable questions; their kinds are counted in `training/` and measured below.",
        "",
        "| source | licence |",
        "|---|---|",
        *[f"| {name} | {licence} |" for name, licence in SOURCES],
        "",
        f"Held out completely, to choose the recipe: {LEFT_OUT}. No passage or question shares runs of ten words with an",
        f"evaluation set ({manifest['groups left out for an evaluation text']} groups were left out for that), and the Rust",
        "book was not used.",
        "",
        "## Figures",
        "",
        "Intervals are bootstrapped over passages or questions of sets that no training saw; SQuAD2 is split into the halves of",
        "benchmarks/refusal.py. docs/benchmarks/reading_comprehension.md compares these figures with those before.",
        "",
        *table(report["figures"]),
        "",
        "## Limits",
        "",
        "- English only. Trained on encyclopedia articles, stories, policies, medicine and software documentation.",
        "- It is small and never decides alone: combine its scores with rank, similarity and words.",
        "- The generated look-alikes follow rules; those that people invent are harder, as the figures of SQuAD2 and AdversarialQA show.",
        "- Code is read as text. A question whose answer is only in code or a table is often missed.",
        "- The output of a head is not a probability: it is calibrated together with other signs (`ask/calibration.json`).",
        "- A claim is read beside the sentences that it would have to rest on (`quoth.ask.evidence`), and only if its words leave a doubt.",
    ]
    return "\n".join(lines).rstrip() + "\n"
