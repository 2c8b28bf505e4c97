"""Trains the reader from the prepared examples; can be killed at any time and resumes where it was.

    python -m training.train --run long --examples 250000

Examples come in from `prepare`; checkpoints, snapshots of the averaged weights and a log of JSON lines go out below
.training/runs/RUN. A run is described by its `config.json`; starting it again with the same name resumes it. Everything
that decides the result (seed, order, schedule) is in the config, so a resumed run does what an unbroken one would.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .batches import Batch, Examples
from .checkpoints import load_checkpoint, save_checkpoint, save_weights
from .embedder import WEIGHTS, model_dir
from .losses import Weights, losses
from .model import Reader

ROOT = Path(__file__).parent.parent
LOG_EVERY = 20  # steps


@dataclass(frozen=True, slots=True)
class Config:
    run: str = "long"
    examples: int = 250_000
    seed: int = 14
    rate: float = 1e-4
    heads: float = 10.0  # times the rate: they start from scratch
    warm_up: int = 4_000  # examples
    steady: float = 0.4  # share of the run at the full rate, which then falls linearly
    floor: float = 0.02  # share of the rate at the end
    decay: float = 0.01  # of the weights
    frozen: int = 2
    dropout: float = 0.0
    budget: int = 5_000  # padded tokens per batch
    clip: float = 1.0
    average: float = 0.998  # of the weights, over steps
    span: float = 1.0
    answerable: float = 1.0
    relevance: float = 0.7
    support: float = 1.0
    smoothing: float = 0.05
    contrast: float = 0.3
    snapshot: int = 20_000  # examples between two snapshots
    minutes: float = 4.0  # between checkpoints
    half: bool = True  # products in bfloat16; weights and their sums stay in single precision
    start: str = ""  # weights to start from instead of the embedder's
    skip: int = 0  # examples that those weights have already learned from: the first in the seed's order

    def weights(self) -> Weights:
        return Weights(self.span, self.answerable, self.relevance, self.support, self.smoothing, self.contrast)


def rate_at(config: Config, done: int) -> float:
    """Rises to the full rate, stays there for a while, then falls linearly. While it is steady, the number of
    examples in the run's config may still be changed: the order of those already seen stays the same."""
    if done < config.warm_up:
        return config.rate * max(done, 1) / config.warm_up
    falling = max(1.0, config.examples * (1 - config.steady))
    left = min(1.0, (config.examples - done) / falling)
    return config.rate * (config.floor + (1 - config.floor) * max(0.0, left))


class Training:
    """The state of a run: network, optimiser, averaged weights and progress."""

    def __init__(self, config: Config, folder: Path, examples: Examples) -> None:
        torch.manual_seed(config.seed)
        self.config = config
        self.folder = folder
        self.examples = examples
        self.reader = Reader.from_embedder(model_dir() / WEIGHTS, dropout=config.dropout, frozen=config.frozen)
        if config.start:
            from safetensors.torch import load_file

            self.reader.load_state_dict(load_file(config.start), strict=False)
        trained = {name: p for name, p in self.reader.named_parameters() if p.requires_grad}
        parts = [
            {
                "params": [p for n, p in trained.items() if (p.ndim > 1) is plain and n.startswith("heads.") is new],
                "weight_decay": config.decay if plain else 0.0,
                "times": config.heads if new else 1.0,
            }
            for plain in (True, False)
            for new in (True, False)
        ]
        self.optimizer = torch.optim.AdamW(parts, lr=config.rate, betas=(0.9, 0.98), eps=1e-8, fused=True)
        self.parameters = trained
        self.averaged = {name: p.detach().clone() for name, p in trained.items()}
        self.step = 0
        self.done = 0
        self.spent = 0.0

    def resume(self) -> None:
        state = load_checkpoint(self.folder)
        if state is None:
            return
        self.reader.load_state_dict(state["parameters"], strict=False)
        self.optimizer.load_state_dict(state["optimizer"])
        self.averaged = state["averaged"]
        self.step, self.done, self.spent = state["step"], state["done"], state["spent"]
        torch.set_rng_state(state["chance"])

    def save(self) -> None:
        state: dict[str, Any] = {
            "parameters": {name: p.detach() for name, p in self.parameters.items()},
            "optimizer": self.optimizer.state_dict(),
            "averaged": self.averaged,
            "step": self.step,
            "done": self.done,
            "spent": self.spent,
            "chance": torch.get_rng_state(),
        }
        save_checkpoint(self.folder, state)

    def snapshot(self, name: str) -> None:
        save_weights(self.folder / f"{name}.safetensors", self.reader, self.averaged)

    def learn(self, batch: Batch) -> dict[str, float]:
        rate = rate_at(self.config, self.done)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["times"]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.config.half):
            logits = self.reader(batch.ids, batch.types, batch.mask)
        found = losses(logits, batch, self.config.weights())
        total: Tensor = torch.stack(list(found.values())).sum()
        total.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(self.parameters.values()), self.config.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.done += len(batch)
        self._average()
        return {name: float(value.detach()) for name, value in found.items()} | {"norm": float(norm), "rate": rate}

    def _average(self) -> None:
        """The mean of the first steps, then a moving average: early weights must not linger."""
        keep = min(self.config.average, self.step / (self.step + 10))
        with torch.no_grad():
            held = list(self.averaged.values())
            torch._foreach_lerp_(held, [p.detach() for p in self.parameters.values()], 1 - keep)


def run(training: Training, order: list[list[int]]) -> None:
    config = training.config
    saved = time.monotonic()
    gathered: dict[str, float] = {}
    began, counted = time.monotonic(), 0
    while training.step < len(order):
        batch = training.examples.batch(order[training.step])
        before = training.done
        figures = training.learn(batch)
        counted += len(batch)
        for name, value in figures.items():
            gathered[name] = gathered.get(name, 0.0) + value / LOG_EVERY
        now = time.monotonic()
        if training.step % LOG_EVERY == 0:
            training.spent += now - began
            entry = {"step": training.step, "examples": training.done, "a second": round(counted / (now - began), 2)}
            write_log(training.folder, entry | {name: round(value, 6) for name, value in gathered.items()})
            gathered, began, counted = {}, now, 0
        if training.done // config.snapshot > before // config.snapshot:
            training.snapshot(f"at-{training.done // config.snapshot * config.snapshot:07d}")
        if now - saved > 60 * config.minutes:
            training.save()
            saved = time.monotonic()
    training.save()
    training.snapshot("final")


def write_log(folder: Path, entry: dict[str, float]) -> None:
    with (folder / "log.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(entry | {"time": round(time.time())}) + "\n")


def settled(folder: Path, wanted: Config) -> Config:
    """An existing run keeps its config."""
    path = folder / "config.json"
    if path.exists():
        return Config(**json.loads(path.read_text(encoding="utf-8")))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(wanted), indent=1) + "\n", encoding="utf-8")
    return wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Config):
        default = getattr(Config(), field.name)
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(default), default=default)
    parser.add_argument("--folder", type=Path, default=ROOT / ".training")
    parser.add_argument("--threads", type=int, default=2)
    arguments = vars(parser.parse_args())
    folder, threads = arguments.pop("folder"), arguments.pop("threads")
    torch.set_num_threads(threads)
    config = settled(folder / "runs" / arguments["run"], Config(**arguments))
    examples = Examples(folder / "data" / "examples.npz")
    training = Training(config, folder / "runs" / config.run, examples)
    training.resume()
    order = examples.order(config.seed, config.budget, config.examples, skip=config.skip)
    print(f"{config.run}: {training.done} of {config.examples} examples done, {len(order)} steps in all", flush=True)
    run(training, order)


if __name__ == "__main__":
    main()
