"""What the reader is given and what it gives back: a passage, read with a question or a claim in mind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadingTask:
    question: str  # or a claim
    passage: str
    heading: str = ""  # the nearest heading of the passage: often it says what the text is about
    room: int | None = None  # how many tokens of the passage may be read; None: as many as the reader can


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader made of one passage. Numbers are log odds of the passage's best window."""

    answerable: float  # that the passage answers the question
    relevance: float  # that it is about what is asked
    supported: float  # that it says what the claim says
    margin: float  # of the best span over "not here"
    start: int  # of the best span, in characters of the passage
    end: int
    places: tuple[tuple[int, int], ...] = ()  # of the passage's tokens, in characters
    weights: tuple[float, ...] = ()  # how likely the answer begins or ends at each of them

    def share(self, start: int, end: int) -> float:
        """How much of the answer is between two places of the passage."""
        return sum(w for (a, b), w in zip(self.places, self.weights, strict=True) if start <= a and b <= end)

    def whole(self) -> float:
        """How much of the answer is anywhere in the passage; the rest is "not here"."""
        return sum(self.weights)
