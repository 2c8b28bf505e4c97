"""Writes docs/benchmarks/reader_training.md and .json: the learning curve of a run, and the short runs beside it.

    python -m training.curve --run long

Logs and measured snapshots (`evaluate` without `--report`) come in; one page goes out. Snapshots that were not measured
yet are measured here, all on the same share of the left-out sets. It contains nothing from a reporting half. Runs that
the page already has stay on it: their weights may be gone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "reader_training"
SHOWN = {
    "SQuAD2, choosing half: look-alikes, AUROC": "look-alikes (SQuAD2)",
    "SQuAD2, choosing half: right sentence": "right sentence (SQuAD2)",
    "AdversarialQA: answerable, AUROC": "AdversarialQA",
    "QuAC: answerable, AUROC": "natural (QuAC)",
    "DoQA: answerable, AUROC": "natural (DoQA)",
    "QED, COVID-QA: made, all": "made look-alikes",
    "QED: right sentence": "sentence (QED)",
    "COVID-QA: right sentence": "sentence (COVID-QA)",
    "unseen books: right section first of ten": "section (books)",
    "unseen books: right sentence": "sentence (books)",
    "FoolMeTwice: supported, AUROC": "claims (FoolMeTwice)",
    "SummEdits: supported, AUROC": "claims (SummEdits)",
    "own questions: answered, AUROC": "answered (own, unseen books)",
    "own claims: supported, AUROC": "claims (own)",
}
LOSSES = ("span", "answerable", "relevance", "support")


def measured(weights: Path, data: Path, share: float) -> dict[str, Any]:
    path = weights.with_suffix(".choice.json")
    if not path.exists():
        command = [sys.executable, "-m", "training.evaluate", str(weights), "--data", str(data), "--share", str(share)]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def snapshots(run: Path) -> dict[int, Path]:
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    found = {int(path.stem.removeprefix("at-")): path for path in sorted(run.glob("at-*.safetensors"))}
    final = run / "final.safetensors"
    return found | ({config["examples"]: final} if final.exists() else {})


def log_of(run: Path) -> list[dict[str, float]]:
    path = run / "log.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def loss_points(log: list[dict[str, float]], points: int = 20) -> list[dict[str, float]]:
    """Means over equal parts of the run."""
    size = max(1, len(log) // points)
    return [
        {"examples": part[-1]["examples"], **{n: round(sum(e[n] for e in part) / len(part), 4) for n in LOSSES}}
        for part in (log[at : at + size] for at in range(0, len(log), size))
    ]


def told(run: Path, data: Path, share: float) -> dict[str, Any]:
    curve = [{"examples": at, "figures": measured(path, data, share)["figures"]} for at, path in snapshots(run).items()]
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    return {"run": run.name, "config": config, "curve": curve, "losses": loss_points(log_of(run))}


def page(runs: list[dict[str, Any]]) -> str:
    lines = [
        "# Training of the reader",
        "",
        "Written by `python -m training.curve`; every number is measured with weights rounded to half precision, on",
        "sets and books that no training saw and on the choosing half of SQuAD2. AUROC or shares; intervals are",
        "in reader_training.json.",
    ]
    for run in runs:
        config = run["config"]
        shown = ("examples", "rate", "frozen", "dropout", "budget", "average")
        went_on = [f"after {config['skip']:,} others, from their weights"] if config.get("skip") else []
        lines += ["", f"## {run['run']}", "", ", ".join([*(f"{name} {config[name]}" for name in shown), *went_on]), ""]
        if run["curve"]:
            lines += ["| examples | " + " | ".join(SHOWN.values()) + " |", "|---" * (len(SHOWN) + 1) + "|"]
        for point in run["curve"]:
            cells = [f"{point['figures'][n]['value']:.3f}" if n in point["figures"] else "–" for n in SHOWN]
            lines.append(f"| {point['examples']:,} | " + " | ".join(cells) + " |")
        lines += [
            "",
            "| examples | " + " | ".join(f"{n} loss" for n in LOSSES) + " |",
            "|---" * (len(LOSSES) + 1) + "|",
        ]
        for entry in run["losses"]:
            lines.append(f"| {entry['examples']:,.0f} | " + " | ".join(f"{entry[n]:.3f}" for n in LOSSES) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="append", required=True)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--folder", type=Path, default=ROOT / ".training")
    parser.add_argument("--share", type=float, default=0.25)
    arguments = parser.parse_args()
    known = (
        json.loads(PAGE.with_suffix(".json").read_text(encoding="utf-8")) if PAGE.with_suffix(".json").exists() else []
    )
    runs = [run for run in known if run["run"] not in arguments.run]
    runs += [told(arguments.folder / "runs" / name, arguments.data, arguments.share) for name in arguments.run]
    PAGE.with_suffix(".json").write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    PAGE.with_suffix(".md").write_text(page(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
