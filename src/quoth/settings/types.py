"""The types of settings: folders, origins, networks, server addresses.

In: the text of a variable or a value from a file. Out: the checked value, or a `ValueError` that says how to write it.
"""

from __future__ import annotations

import os
import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from quoth.errors import WrongUsage
from quoth.keys import origin_of


def _absolute(value: object) -> object:
    return Path(value).expanduser().absolute() if isinstance(value, str | Path) else value


def lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _each_of(value: object) -> object:
    """Folders in a variable are separated as in PATH."""
    return [part for part in value.split(os.pathsep) if part] if isinstance(value, str) else value


def _listed(value: object) -> object:
    """Values that may contain a colon are separated by commas or spaces."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


def _origin(value: str) -> str:
    try:
        return value if value == "*" else origin_of(value)
    except WrongUsage as fault:
        raise ValueError(fault.hint.rstrip(".")) from None


def _network(value: str) -> str:
    return str(ip_network(value))


def _redis(value: str) -> str:
    if not re.match(r"(rediss?|unix)://\S+$", value):
        raise ValueError("Write redis://host:6379/0, rediss:// or unix://")
    return value


def _server(value: str) -> str:
    if not re.fullmatch(r"https?://[^/@?#\s]+(/[^?#\s]*)?", value, re.I):
        raise ValueError("Write http://host:port or https://host:port; a key goes into QDRANT_API_KEY")
    place = urlsplit(value)
    try:
        port = place.port
    except ValueError:
        raise ValueError(f"{place.netloc} has a port that is not a number from 0 to 65535") from None
    if not place.hostname:
        raise ValueError(f"{value} names no host")
    host = f"[{place.hostname}]" if ":" in place.hostname else place.hostname
    shown = f":{port}" if port is not None else ""
    return f"{place.scheme}://{host}{shown}{place.path.rstrip('/')}"


def _one_cluster(values: tuple[str, ...]) -> tuple[str, ...]:
    """A repeated address would be called twice, and one without TLS would reveal the key of the others."""
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is listed twice; name each node once")
    if len({urlsplit(value).scheme for value in values}) > 1:
        raise ValueError("Some addresses are http:// and some https://; use the same for all nodes of a cluster")
    return values


Folder = Annotated[Path, BeforeValidator(_absolute)]
Folders = Annotated[tuple[Folder, ...], BeforeValidator(_each_of)]
Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Origins = Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], BeforeValidator(_listed)]
Networks = Annotated[tuple[Annotated[str, AfterValidator(_network)], ...], BeforeValidator(_listed)]
# Only asymmetric algorithms: with a shared secret, every server that checks tokens could also issue them.
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
Algorithms = Annotated[tuple[Algorithm, ...], BeforeValidator(_listed), Field(min_length=1)]
RedisUrl = Annotated[str, AfterValidator(_redis)]
QdrantUrls = Annotated[
    tuple[Annotated[str, AfterValidator(_server)], ...], BeforeValidator(_listed), AfterValidator(_one_cluster)
]
