"""What a campaign reports: how much was tried, how much held, and a description of what was lost."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Tally:
    name: str
    tried: int = 0
    held: int = 0
    lost: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)  # neither held nor lost, and why
    figures: dict[str, float | int | str] = field(default_factory=dict)

    def hold(self) -> None:
        self.tried += 1
        self.held += 1

    def lose(self, what: str) -> None:
        self.tried += 1
        self.lost.append(what)

    def note(self, what: str) -> None:
        self.tried += 1
        self.noted.append(what)

    def judge(self, held: bool, what: str) -> None:
        if held:
            self.hold()
        else:
            self.lose(what)
