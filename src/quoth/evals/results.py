"""The outcome of one golden question: everything that the metrics need, and nothing about the engine.

`quoth eval --json` writes these values and `--compare` reads them back, so that two runs can be measured over the
questions that both asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, get_args

from quoth.domain import ConfidenceLevel
from quoth.errors import WrongUsage
from quoth.evals.cases import Asks, Kind, Subject

WHOLE = 0.9  # of a block's characters: the rest is marks or spaces
HALF = 0.5  # an answer is right if it quotes this share of the label's characters


@dataclass(frozen=True, slots=True)
class Result:
    id: str
    kind: Kind
    question: str
    searched: str  # the query that was searched
    page: str  # of the label; "" if the question must be refused, or a selection was given
    quote: str
    answerable: bool
    answered: bool
    mode: str
    confidence: float
    level: ConfidenceLevel
    searches: bool  # whether the book was searched; False for a selected text
    seen: int  # passages that the judge saw
    right_ranks: tuple[int, ...]  # of the passages that hold the label, among the first ten
    right_passages: int  # in the whole book
    quote_recall: float
    citations: int
    right_citations: int  # that open the section with the label
    sentences: int
    supported: int
    answer: str
    cited: tuple[str, ...]  # file and line of each citation
    total_ms: float
    stage_ms: Mapping[str, float]
    subject: Subject = ""
    asks: Asks = ""
    block_recall: float | None = None  # the share of the block that the answer shows; None if none is labelled
    gold_words: float = 0.0  # the share of the label's words that are in the answer

    @property
    def words(self) -> int:
        return len(self.answer.split())

    @property
    def block_shown(self) -> bool:
        """Whether the answer shows the whole block of the label, or its quote if it has no block."""
        return (self.quote_recall if self.block_recall is None else self.block_recall) >= WHOLE

    @property
    def decided_right(self) -> bool:
        return self.answered == self.answerable

    @property
    def held(self) -> bool:
        """Whether the passages that the judge saw hold the answer. `confidence` is the probability of this."""
        return any(rank <= self.seen for rank in self.right_ranks)

    @property
    def right(self) -> bool:
        """Whether it refused as it had to, or quoted at least half of the label."""
        return self.decided_right and (not self.answerable or self.quote_recall >= HALF)


def to_record(result: Result) -> dict[str, Any]:
    record = asdict(result)
    record["stage_ms"] = {stage: round(spent, 3) for stage, spent in result.stage_ms.items()}
    record["total_ms"] = round(result.total_ms, 3)
    record["right"] = result.right
    return record


def from_record(record: Any) -> Result:
    needed = {field.name for field in fields(Result) if field.default is MISSING}
    if not isinstance(record, Mapping) or not needed <= record.keys() or record["kind"] not in get_args(Kind):
        raise WrongUsage(
            "The report to compare with was not written by this version of `quoth eval --json`.",
            hint="Run the old questions again with this version, or leave out --compare.",
        )
    values = {field.name: record[field.name] for field in fields(Result) if field.name in record}
    return Result(**{**values, "right_ranks": tuple(values["right_ranks"]), "cited": tuple(values["cited"])})
