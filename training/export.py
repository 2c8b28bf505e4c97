"""Writes packaging/quoth-reader: weights, how to read them, and the model card with its figures.

    python -m training.export .training/runs/long/final.safetensors
    python -m training.export .training/runs/long/final.safetensors --card    # the weights are packaged already

Weights that `evaluate --report` has measured come in; the package's files go out, with checksums. Figures come from the
measurement's file and are never typed. The wheel itself is built elsewhere, like that of the embedder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

from .card import card, of_benchmark
from .checkpoints import load_reader
from .embedder import TOKENIZER, WEIGHTS, model_dir
from .model import EPSILON, HEADS, HIDDEN, INNER, LAYERS, SUPPORT_CLASSES
from .ranges import measured
from .windows import CLS, HEADING, QUESTION, SEP, WINDOW

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "packaging" / "quoth-reader"
BENCHMARK = ROOT / "docs" / "benchmarks" / "reading_comprehension.json"
LARGEST = 22_000_000  # bytes
VERSION = "0.8.0"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def described(weights: Path, report: dict[str, Any], run: dict[str, Any], version: str) -> dict[str, Any]:
    """Everything a program needs to read with the weights."""
    return {
        "name": "quoth-reader",
        "version": version,
        "files": {"reader.safetensors": {"sha256": digest(weights), "bytes": weights.stat().st_size}},
        "embedder": {
            "name": "all-MiniLM-L6-v2",
            "weights sha256": digest(model_dir() / WEIGHTS),
            "tokenizer sha256": digest(model_dir() / TOKENIZER),
            "tensors shared": "embeddings.*",
        },
        "encoder": {
            "layers": LAYERS,
            "hidden": HIDDEN,
            "attention heads": HEADS,
            "inner": INNER,
            "activation": "gelu, exact (erf)",
            "layer norm epsilon": EPSILON,
        },
        "input": {
            "format": "[CLS] question [SEP] heading [SEP] passage [SEP]",
            "cls": CLS,
            "sep": SEP,
            "question tokens at most": QUESTION,
            "heading tokens at most": HEADING,
            "window": report["window"],
            "window chosen": "where most, and the rarest, of the question's words are, or words like them "
            "(quoth.models.reader_window)",
            "token type": "0 up to and with the second [SEP], 1 from the passage's first token on",
        },
        "heads": {
            "span": "heads.span: every token, (start, end); the first token is 'not here'",
            "pool": "tanh(heads.pool of [mean of the question's tokens, mean of the tokens of type 1]), for the next",
            "answerable": "heads.answerable: one logit",
            "relevance": "heads.relevance: one logit",
            "support": ["heads.support", *SUPPORT_CLASSES],
        },
        "sign": {"is": "answerable + margin / 2", "chance": {"of": "slope * sign + shift", **report.get("scale", {})}},
        "training": run,
    }


def write_weights(weights: Path, target: Path, seed: int) -> None:
    """With the ranges that the 8-bit graph needs."""
    from safetensors.torch import load_file, save_file

    examples = weights.parents[2] / "data" / "examples.npz"
    save_file(load_file(weights) | measured(load_reader(weights), examples, seed + 1), target)
    target.chmod(0o644)


def measured_report(weights: Path) -> dict[str, Any]:
    """The full report if there is one, else the figures that the recipe was chosen by, else what Quoth's benchmark
    measured with the packaged weights."""
    paths = [weights.with_suffix(f".{kind}.json") for kind in ("report", "choice")]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        benchmark = json.loads(BENCHMARK.read_text(encoding="utf-8"))
        return {"window": WINDOW, "figures": of_benchmark(benchmark)}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def same_weights(one: Path, packaged: Path) -> bool:
    """The packaged file also has ranges."""
    from safetensors.torch import load_file

    there = load_file(packaged)
    return all(name in there and there[name].equal(tensor) for name, tensor in load_file(one).items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--version", default=VERSION)
    parser.add_argument("--note", default="", help="one sentence on this release, for the card")
    parser.add_argument("--card", action="store_true", help="write only the card of the weights that are packaged")
    arguments = parser.parse_args()
    report = measured_report(arguments.weights)
    assert report["window"] == WINDOW, "measured with another window than the shipped one"
    config = json.loads((arguments.weights.parent / "config.json").read_text(encoding="utf-8"))
    manifest = json.loads((arguments.weights.parents[2] / "data" / "manifest.json").read_text(encoding="utf-8"))
    # If the log of a run is lost, only part of this is known.
    run = {
        k: config[k] for k in ("run", "examples", "skip", "seed", "rate", "frozen") if config.get(k) not in (None, "")
    }
    run["snapshot"] = arguments.weights.stem
    target = PACKAGE / "quoth_reader"
    target.mkdir(parents=True, exist_ok=True)
    if arguments.card:
        assert same_weights(arguments.weights, target / "reader.safetensors"), "other weights are packaged"
        told = described(target / "reader.safetensors", report, run, arguments.version)
        (PACKAGE / "README.md").write_text(card(told, report, manifest, arguments.note), encoding="utf-8")
        return
    write_weights(arguments.weights, target / "reader.safetensors", config["seed"])
    assert (target / "reader.safetensors").stat().st_size <= LARGEST, "the weights are too large"
    told = described(target / "reader.safetensors", report, run, arguments.version)
    (target / "reader.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    (target / "__init__.py").write_text(MODULE.format(version=arguments.version), encoding="utf-8")
    (PACKAGE / "pyproject.toml").write_text(PROJECT.format(version=arguments.version), encoding="utf-8")
    (PACKAGE / "README.md").write_text(card(told, report, manifest, arguments.note), encoding="utf-8")
    print(f"{target}: {told['files']}")


MODULE = '''"""The weights of Quoth's reader (reader.safetensors) and how to read with them (reader.json), as data."""

from __future__ import annotations

from pathlib import Path

__version__ = "{version}"


def model_dir() -> Path:
    """The folder that holds the files. Quoth finds it without importing this package."""
    return Path(__file__).parent
'''
PROJECT = """# Data only: the weights of Quoth's own reader. Written by `python -m training.export`.
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "quoth-reader"
version = "{version}"
description = "The weights of Quoth's reader: does this passage answer that question, and where?"
readme = "README.md"
requires-python = ">=3.11"
license = "Apache-2.0"
license-files = ["LICENSE*", "NOTICE"]
classifiers = ["Programming Language :: Python :: 3", "Topic :: Text Processing :: Indexing"]
dependencies = []

[tool.hatch.build.targets.wheel]
packages = ["quoth_reader"]

[tool.hatch.build]
dev-mode-dirs = ["."]
"""


if __name__ == "__main__":
    main()
