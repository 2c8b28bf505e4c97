"""The sentences of an answer that words leave in doubt, and what the reader says about them.

`support` asks `Doubts.said` about a sentence whose words neither prove nor disprove it. What was not read yet is noted;
`settle` lets the reader read all of it, each sentence beside those of its sources that it would have to rest on
(`evidence`); asked again, `said` knows. So the check itself stays a pure computation, and only few sentences cost a
reading. Knows no answer and no stream.
"""

from __future__ import annotations

from collections.abc import Sequence

from quoth.ask.evidence import evidence
from quoth.ask.grounds import Source
from quoth.ask.support import fitted
from quoth.domain import ReadingTask
from quoth.ports import Reader

_Asked = tuple[str, tuple[str, ...]]  # a sentence, and the ids of the chunks that it rests on


class Doubts:
    def __init__(self) -> None:
        self._known: dict[_Asked, float] = {}
        self._asked: dict[_Asked, Sequence[Source]] = {}

    def said(self, claim: str, sources: Sequence[Source]) -> float | None:
        """Log odds that the sources say it; None as long as it was not read."""
        key = claim, tuple(source.chunk.id for source in sources)
        if key not in self._known:
            self._asked[key] = sources
        return self._known.get(key)

    async def settle(self, reader: Reader) -> None:
        """Reads what was asked about. A reader that the numbers were not fitted to is not asked."""
        asked, self._asked = self._asked, {}
        if asked and reader.name == fitted().reader:
            tasks = [
                ReadingTask(claim, evidence(claim, [source.chunk.shown for source in sources]))
                for (claim, _), sources in asked.items()
            ]
            readings = await reader.read(tasks)
            self._known |= {key: one.supported for key, one in zip(asked, readings, strict=True)}
