"""Who may ask, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Scope = Literal["ask", "ingest", "admin"]


@dataclass(frozen=True, slots=True)
class Key:
    """What lets a caller in. Its secret was shown once; only a digest is kept."""

    key_id: str
    name: str
    scope: Scope
    digest: str
    created_at: datetime
    book_id: str = ""  # the only book it opens; empty: all
    origins: tuple[str, ...] = ()  # of the sites that publish it in their pages; none: it is secret
    daily: int | None = None  # answers a day that a language model may write for it
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def public(self) -> bool:
        return bool(self.origins)

    def opens(self, scope: Scope) -> bool:
        return self.scope in (scope, "admin")

    def in_force(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether one more request is within the limit."""

    allowed: bool
    limit: int
    remaining: int
    reset: float  # seconds until the oldest request that counts is forgotten
