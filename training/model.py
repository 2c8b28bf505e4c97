"""The reader's network in torch: the embedder's frozen embeddings, six BERT layers and four heads.

Token ids, token types and a mask come in; logits of all heads go out. Tensor names are those of the BERT files, so that
the exported layers fit the same graph as the embedder's. Attention is written out and has no dropout: on this processor
that is faster in bfloat16 than torch's fused kernel, whose backward pass is slow.
Knows nothing about texts, tokenizers or losses. (Types are checked without torch installed: hence the ignores.)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from .windows import SEP

HIDDEN, HEADS, INNER, LAYERS, VOCABULARY, POSITIONS = 384, 12, 1536, 6, 30522, 512
EPSILON = 1e-12
UNSEEN = -1e4  # added to the score of a padded token
SUPPORT_CLASSES = ("supported", "neutral", "contradicted")


@dataclass(frozen=True, slots=True)
class Logits:
    """`start` and `end` cover all tokens: the logit of [CLS] means "not here". Masked tokens have a very low logit."""

    start: Tensor
    end: Tensor
    answerable: Tensor
    relevance: Tensor
    support: Tensor


class Embeddings(nn.Module):  # type: ignore[misc]
    """Shared with the embedder and never trained."""

    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCABULARY, HIDDEN)
        self.position_embeddings = nn.Embedding(POSITIONS, HIDDEN)
        self.token_type_embeddings = nn.Embedding(2, HIDDEN)
        self.LayerNorm = nn.LayerNorm(HIDDEN, eps=EPSILON)

    def forward(self, ids: Tensor, types: Tensor) -> Tensor:
        positions = self.position_embeddings.weight[: ids.shape[1]]
        normed: Tensor = self.LayerNorm(self.word_embeddings(ids) + positions + self.token_type_embeddings(types))
        return normed


class SelfAttention(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(HIDDEN, HIDDEN)
        self.key = nn.Linear(HIDDEN, HIDDEN)
        self.value = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, state: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = state.shape
        parts = (self.query, self.key, self.value)
        weight, bias = torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])
        size = HIDDEN // HEADS
        mixed = functional.linear(state, weight, bias).view(batch, length, 3, HEADS, size)
        query, key, value = mixed.permute(2, 0, 3, 1, 4).reshape(3, batch * HEADS, length, size)
        scores = torch.bmm(query, key.transpose(1, 2)).view(batch, HEADS, length, length) * size**-0.5 + mask
        shares = torch.softmax(scores, dim=-1, dtype=scores.dtype).view(batch * HEADS, length, length)
        context = torch.bmm(shares, value).view(batch, HEADS, length, size)
        return context.transpose(1, 2).reshape(batch, length, HIDDEN)


class AddAndNorm(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dense = nn.Linear(width, HIDDEN)
        self.LayerNorm = nn.LayerNorm(HIDDEN, eps=EPSILON)
        self.dropout = dropout

    def forward(self, state: Tensor, skip: Tensor) -> Tensor:
        added = functional.dropout(self.dense(state), self.dropout, self.training)
        normed: Tensor = self.LayerNorm(added + skip)
        return normed


class Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.self = SelfAttention()
        self.output = AddAndNorm(HIDDEN, dropout)


class Intermediate(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(HIDDEN, INNER)


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(dropout)
        self.intermediate = Intermediate()
        self.output = AddAndNorm(INNER, dropout)

    def forward(self, state: Tensor, mask: Tensor) -> Tensor:
        attended = self.attention.output(self.attention.self(state, mask), state)
        # The exact form: on this processor it is faster than the tanh one, and onnxruntime has it as BiasGelu.
        active = functional.gelu(self.intermediate.dense(attended))
        result: Tensor = self.output(active, attended)
        return result


class Encoder(nn.Module):  # type: ignore[misc]
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(dropout) for _ in range(LAYERS))


class Heads(nn.Module):  # type: ignore[misc]
    """`span` reads every token. The others read two means through a shared dense layer: the mean over the question's
    tokens, which can show that something was not found, and the mean over the passage's. Learning from the first token
    alone would be slow, because the embedder never used it."""

    def __init__(self) -> None:
        super().__init__()
        self.span = nn.Linear(HIDDEN, 2)
        self.pool = nn.Linear(2 * HIDDEN, HIDDEN)
        self.answerable = nn.Linear(HIDDEN, 1)
        self.relevance = nn.Linear(HIDDEN, 1)
        self.support = nn.Linear(HIDDEN, len(SUPPORT_CLASSES))
        for part in (self.span, self.pool, self.answerable, self.relevance, self.support):
            nn.init.normal_(part.weight, std=0.02)
            nn.init.zeros_(part.bias)


def asked_and_told(ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Which tokens are the question's (after [CLS], before the first [SEP]) and which have type 1."""
    asked = (torch.cumsum(ids == SEP, dim=1) == 0).to(mask.dtype) * mask
    asked[:, 0] = 0
    return asked, types * mask


def mean(state: Tensor, of: Tensor) -> Tensor:
    weights = of.to(state.dtype)
    weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1.0)
    return torch.bmm(weights[:, None, :], state)[:, 0]


class Reader(nn.Module):  # type: ignore[misc]
    def __init__(self, dropout: float = 0.0, frozen: int = 0) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.encoder = Encoder(dropout)
        self.heads = Heads()
        self.frozen = frozen
        self.embeddings.requires_grad_(False)
        for layer in self.encoder.layer[:frozen]:
            layer.requires_grad_(False)

    @classmethod
    def from_embedder(cls, weights: Path, *, dropout: float = 0.0, frozen: int = 0) -> Reader:
        """The embedder's own layers; the heads are new."""
        reader = cls(dropout, frozen)
        tensors = load_file(weights)
        known = {name: tensors[name] for name in reader.state_dict() if not name.startswith("heads.")}
        missing, unexpected = reader.load_state_dict(known, strict=False)
        assert not unexpected
        assert all(name.startswith("heads.") for name in missing)
        return reader

    def states(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """The output of the last layer. `mask` is 1 for tokens and 0 for padding."""
        state: Tensor = self.embeddings(ids, types)
        # Added to the attention scores, in the precision in which these are computed.
        low = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else state.dtype
        unseen = ((1 - mask) * UNSEEN)[:, None, None, :].to(low)
        for layer in self.encoder.layer:
            state = layer(state, unseen)
        return state.float()

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Logits:
        state = self.states(ids, types, mask)
        # The heads are small, and their logits go into sums of exponentials, so they always use single precision.
        with torch.autocast("cpu", enabled=False):
            return self._heads(state, ids, types, mask)

    def _heads(self, state: Tensor, ids: Tensor, types: Tensor, mask: Tensor) -> Logits:
        spans = self.heads.span(state)
        # An answer is in the passage (type 1) or nowhere ([CLS]).
        allowed = (types * mask).bool()
        allowed[:, 0] = True
        spans = spans.masked_fill(~allowed[:, :, None], -1e4)
        asked, told = asked_and_told(ids, types, mask)
        pooled = torch.tanh(self.heads.pool(torch.cat([mean(state, asked), mean(state, told)], dim=1)))
        return Logits(
            spans[..., 0],
            spans[..., 1],
            self.heads.answerable(pooled)[:, 0],
            self.heads.relevance(pooled)[:, 0],
            self.heads.support(pooled),
        )
