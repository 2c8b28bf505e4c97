"""The circuit breaker of the language model: a model that is down should not make every reader wait.

Pure except for the clock that is passed in. After several failures in a row, calls are refused at once for a while.
Then one call may try: its success closes the circuit, its failure opens it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from quoth.errors import ModelUnavailable

MOST_FAILURES = 5  # in a row
PAUSE_SECONDS = 60.0


@dataclass(slots=True)
class Breaker:
    now: Callable[[], float] = time.monotonic
    _row: int = field(default=0, init=False)
    _opened: float = field(default=0.0, init=False)
    _trying: bool = field(default=False, init=False)

    def admit(self) -> None:
        """`ModelUnavailable` while no call may be made. The outcome of an admitted call must be reported."""
        if self._row < MOST_FAILURES:
            return
        left = self._opened + PAUSE_SECONDS - self.now()
        if left > 0 or self._trying:
            raise ModelUnavailable(
                f"The language model failed {self._row} times in a row.",
                hint=f"It will be tried again in {max(1.0, left):.0f} seconds.",
            )
        self._trying = True

    def fault(self) -> ModelUnavailable | None:
        """What the last calls say about the model, without calling it."""
        left = self._opened + PAUSE_SECONDS - self.now()
        if not self._row or left <= 0:
            return None
        if self._row < MOST_FAILURES:
            return ModelUnavailable("The last call to the language model failed.", hint="See the log.")
        return ModelUnavailable(
            f"It failed {self._row} times in a row.", hint=f"It will be tried again in {left:.0f} seconds."
        )

    def succeeded(self) -> None:
        self._row, self._trying = 0, False

    def failed(self) -> None:
        self._row += 1
        self._opened, self._trying = self.now(), False

    def abandoned(self) -> None:
        """The caller left before the outcome was known."""
        self._trying = False
