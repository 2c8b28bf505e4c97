"""What the heads learn: spans, answerable or not, relevance within a group, support of a claim.

Written questions and claims give their label away a little by their wording ("default", "always"). What the wording
says is known (`bias`) and is added to the logits here, so that the heads learn only what the passage says. Within a
group, what is answered must come above what is not.

Logits and a batch come in, one loss per head goes out with the number of examples it covers; an unknown label
counts nowhere. Losses are means over the examples that have the label, so a batch without any gives zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from .batches import Batch
from .model import Logits

UNSUPPORTED = 3  # neutral or contradicted; the set does not say which


@dataclass(frozen=True, slots=True)
class Weights:
    span: float = 1.0
    answerable: float = 1.0
    relevance: float = 0.7
    support: float = 1.0
    smoothing: float = 0.05  # for answerable and support: some labels, above all generated ones, are wrong
    contrast: float = 0.3


def span_loss(logits: Logits, batch: Batch) -> Tensor:
    known = batch.start >= 0
    if not known.any():
        return logits.start.sum() * 0.0
    start = functional.cross_entropy(_biased(logits.start, batch)[known], batch.start[known])
    end = functional.cross_entropy(_biased(logits.end, batch)[known], batch.end[known])
    return (start + end) / 2


def _biased(places: Tensor, batch: Batch) -> Tensor:
    """With what the wording says about "not here", shared by start and end."""
    moved = torch.zeros_like(places)
    moved[:, 0] = -batch.bias / 2
    return places + moved


def binary(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    known = labels >= 0
    if not known.any():
        return logits.sum() * 0.0
    wanted = labels[known].float() * (1 - 2 * smoothing) + smoothing
    return functional.binary_cross_entropy_with_logits(logits[known], wanted)


def contrast_loss(logits: Logits, batch: Batch) -> Tensor:
    """Questions of one passage, or passages of one question: the answered above the unanswered. Claims about the same
    passages: the supported above the others."""
    support = logits.support[:, 0] - torch.logsumexp(logits.support[:, 1:], dim=1)
    return _above(logits.answerable, batch, batch.answerable == 1, batch.answerable == 0) + _above(
        support, batch, batch.support == 0, batch.support > 0
    )


def _above(scores: Tensor, batch: Batch, right: Tensor, wrong: Tensor) -> Tensor:
    pairs = (batch.group[:, None] == batch.group[None, :]) & right[:, None] & wrong[None, :]
    if not pairs.any():
        return scores.sum() * 0.0
    ahead = scores[:, None] - scores[None, :]
    return functional.softplus(-ahead[pairs]).mean()


def relevance_loss(logits: Tensor, batch: Batch) -> Tensor:
    """Within a group the right passage must be above the wrong ones; each passage alone also counts a little, so that
    groups can be compared."""
    known = batch.relevance >= 0
    if not known.any():
        return logits.sum() * 0.0
    alone = binary(logits, batch.relevance)
    right = torch.nonzero(batch.relevance == 1)[:, 0]
    if len(right) == 0:
        return 0.3 * alone
    same = (batch.group[right, None] == batch.group[None, :]) & (batch.relevance == 0)[None, :]
    same[torch.arange(len(right)), right] = True
    several = same.sum(dim=1) > 1
    if not several.any():
        return 0.3 * alone
    scores = logits[None, :].expand(len(right), -1).masked_fill(~same, -1e4)[several]
    return 0.3 * alone + functional.cross_entropy(scores, right[several])


def support_loss(logits: Tensor, labels: Tensor, bias: Tensor, smoothing: float = 0.0) -> Tensor:
    known = labels >= 0
    if not known.any():
        return logits.sum() * 0.0
    moved = torch.zeros_like(logits)
    moved[:, 0] = bias
    chances = functional.log_softmax((logits + moved)[known], dim=1)
    wanted = labels[known]
    # "Unsupported" is the sum of the other two.
    unsupported = torch.logsumexp(chances[:, 1:], dim=1)
    picked = chances.gather(1, wanted.clamp(max=2)[:, None])[:, 0]
    likely = torch.where(wanted == UNSUPPORTED, unsupported, picked)
    even = (chances[:, 0] + unsupported) / 2
    return -((1 - smoothing) * likely + smoothing * even).mean()


def losses(logits: Logits, batch: Batch, weights: Weights) -> dict[str, Tensor]:
    return {
        "span": weights.span * span_loss(logits, batch),
        "answerable": weights.answerable * binary(logits.answerable + batch.bias, batch.answerable, weights.smoothing),
        "contrast": weights.contrast * contrast_loss(logits, batch),
        "relevance": weights.relevance * relevance_loss(logits.relevance, batch),
        "support": weights.support * support_loss(logits.support, batch.support, batch.bias, weights.smoothing),
    }
