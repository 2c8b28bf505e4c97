"""Measures trained weights and stores the figures.

    python -m training.evaluate .training/runs/long/final.safetensors --share 0.3        # left-out sets, choosing half
    python -m training.evaluate .training/runs/long/final.safetensors --report           # everything, full size

Weights in half precision come in; a JSON file of figures with intervals goes out beside them. Without `--report` it
measures only what may be used to choose a recipe: left-out training sets and the choosing half of SQuAD2.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from . import evaluation_sets, left_out, records
from .book_groups import read_shelves
from .checkpoints import load_reader
from .embedder import model_dir
from .lookalikes import Elsewhere
from .measures import Figure
from .overlap import Evaluated
from .prepare import Pieces, neighbours
from .reading import PassageReader
from .windows import WINDOW

ROOT = Path(__file__).parent.parent


def elsewhere_of(data: Path, tokenize: Pieces) -> Elsewhere:
    from safetensors.numpy import load_file

    vectors = load_file(model_dir() / "model.safetensors")["embeddings.word_embeddings.weight"]
    rows = list(records.questions(data / "reader_train", "qed_nq_dev"))
    return Elsewhere(left_out.names_of(rows), neighbours(vectors, tokenize.words()))


def chosen_by(reader: PassageReader, data: Path, tokenize: Pieces, share: float) -> left_out.Figures:
    shelves = read_shelves(data / "books", Evaluated(iter(())), left_out=True)
    figures = left_out.measure(reader, data, shelves, elsewhere_of(data, tokenize), share)
    rows = evaluation_sets.squad_questions(data, reporting=False, most=int(3_000 * share))
    return figures | evaluation_sets.squad(rows, evaluation_sets.read_squad(reader, rows), "SQuAD2, choosing half")


def reported(reader: PassageReader, data: Path, folder: Path, most: int) -> tuple[left_out.Figures, dict[str, Any]]:
    rows = evaluation_sets.squad_questions(data, reporting=True)
    readings = evaluation_sets.read_squad(reader, rows)
    figures = evaluation_sets.squad(rows, readings, "SQuAD2, reporting half")
    fit = evaluation_sets.squad_questions(data, reporting=False, most=1_000)
    scales = evaluation_sets.calibration((fit, evaluation_sets.read_squad(reader, fit)), (rows, readings))
    calibrated, scale = scales
    figures |= calibrated | evaluation_sets.squad_today(folder, data)
    figures |= evaluation_sets.chosen_sentences(reader, folder, data, most)
    ranked, mixes = evaluation_sets.ranking(reader, folder, most)
    figures |= ranked
    for name in ("ragtruth_qa_even", "wice_dev"):
        figures |= evaluation_sets.grounding(reader, folder, name)
    return figures, {"scale": scale, **mixes}


def as_json(figures: dict[str, Figure]) -> dict[str, dict[str, float]]:
    return {name: figure.as_json() for name, figure in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--folder", type=Path, default=ROOT / ".training")
    parser.add_argument("--share", type=float, default=0.3, help="share of the left-out sets")
    parser.add_argument("--report", action="store_true", help="also measure on the reporting halves")
    parser.add_argument("--most", type=int, default=600, help="questions of each set whose best ten are read")
    parser.add_argument("--window", type=int, default=WINDOW)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    began = time.perf_counter()
    tokenize = Pieces(model_dir())
    reader = PassageReader(load_reader(arguments.weights), tokenize, arguments.window)
    figures = chosen_by(reader, arguments.data, tokenize, arguments.share)
    told: dict[str, Any] = {"weights": arguments.weights.name, "window": arguments.window}
    if arguments.report:
        more, settings = reported(reader, arguments.data, arguments.folder / "eval", arguments.most)
        figures |= more
        told |= settings
    told["figures"] = as_json(figures)
    told["seconds"] = round(time.perf_counter() - began)
    suffix = "report" if arguments.report else "choice"
    arguments.weights.with_suffix(f".{suffix}.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    for name, figure in figures.items():
        print(f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}] {figure.cases:6d}  {name}")
    print(f"{told['seconds']} s")


if __name__ == "__main__":
    main()
