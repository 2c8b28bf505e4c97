"""After so many failures in a row, stop asking for a while: a model that is down should not make every reader wait.

Pure but for the clock that is handed in. Closed: calls pass. Open: they are refused at once. After the pause one call
may try; its success closes the circuit, its failure opens it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Breaker:
    failures: int = 5
    pause: float = 60.0
    now: Callable[[], float] = time.monotonic
    _row: int = field(default=0, init=False)
    _opened: float = field(default=0.0, init=False)
    _trying: bool = field(default=False, init=False)

    def wait(self) -> float:
        """Seconds until a call may be made; 0 when it may be made now, and then it must be reported."""
        if self._row < self.failures:
            return 0.0
        left = self._opened + self.pause - self.now()
        if left > 0:
            return left
        if self._trying:
            return 1.0  # somebody is finding out
        self._trying = True
        return 0.0

    def trouble(self) -> tuple[int, float]:
        """For whoever only wants to know: how many failures in a row there were just now, and for how many seconds
        calls are refused because of them."""
        left = self._opened + self.pause - self.now()
        if not self._row or left <= 0:
            return 0, 0.0
        return self._row, left if self._row >= self.failures else 0.0

    def succeeded(self) -> None:
        self._row, self._trying = 0, False

    def failed(self) -> None:
        self._row += 1
        self._opened, self._trying = self.now(), False

    def abandoned(self) -> None:
        """The caller left before anything was known."""
        self._trying = False
