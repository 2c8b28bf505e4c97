"""Makes and recognises keys. Pure, apart from the random numbers.

A key is `qk_<id>_<secret>`, a public key `qp_<id>_<secret>`. The id finds it in the store, the secret proves it. The
store keeps a SHA-256 of the secret: nobody can guess 256 random bits, so a slow hash would add nothing. The comparison
takes equally long for every wrong secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit

from quoth.domain import Key, Scope
from quoth.errors import WrongUsage

_WRITTEN = re.compile(r"q[kp]_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
PREFIXES = ("qk_", "qp_")


def make(
    name: str,
    scope: Scope,
    *,
    now: datetime,
    book_id: str = "",
    origins: Sequence[str] = (),
    daily: int | None = None,
    expires_at: datetime | None = None,
) -> tuple[Key, str]:
    """The key to store, and its text, which cannot be recovered later."""
    if origins and scope != "ask":
        raise WrongUsage(
            f"A public key cannot have the scope `{scope}`.", hint="Anyone can read a public key: use --scope ask."
        )
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = Key(
        key_id=key_id,
        name=name,
        scope=scope,
        digest=_digest(secret),
        created_at=now,
        book_id=book_id,
        origins=tuple(dict.fromkeys(origin_of(origin) for origin in origins)),
        daily=daily,
        expires_at=expires_at,
    )
    return key, f"{'qp' if key.public else 'qk'}_{key_id}_{secret}"


def parse(written: str) -> tuple[str, str] | None:
    """Id and secret, or None if this cannot be a key."""
    read = _WRITTEN.fullmatch(written)
    return None if read is None else (read[1], read[2])


def proves(key: Key, secret: str) -> bool:
    return hmac.compare_digest(key.digest, _digest(secret))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def origin_of(written: str) -> str:
    """As browsers send it: scheme, host, and the port unless it is the default one. `WrongUsage` for anything else."""
    try:
        parts = urlsplit(written.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    host = parts.hostname or ""
    bare = not (parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[a-z0-9.:-]+", host) or not bare:
        raise WrongUsage(
            f"{written!r} is not an origin.", hint="Write it like https://docs.example.org, without a path."
        )
    host = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" if port in (None, usual) else f"{parts.scheme}://{host}:{port}"
