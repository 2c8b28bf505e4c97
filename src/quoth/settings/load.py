"""Reads settings from where they are written, and says what is wrong with them.

In: overrides, the environment, `.env` and `quoth.toml`. Out: `Settings`, or a `BadConfiguration` that names the
setting, where it was written and what to do. Knows no particular setting.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotated_types import Ge, Le
from pydantic import ValidationError

from quoth.errors import BadConfiguration
from quoth.settings.fields import PREFIX, RETIRED, SPECIFICATION_NAMES, Settings, is_secret

CONFIG_VARIABLE = "QUOTH_CONFIG"
# The prefix of our test suite's variables; no setting may start like this.
TEST_PREFIX = "QUOTH_TEST_"


@dataclass(frozen=True, slots=True)
class _Found:
    """A value, and where it was written."""

    field: str
    value: object
    name: str  # as written there
    origin: str  # environment, .env, quoth.toml, option


def load_settings(
    *, environ: Mapping[str, str] | None = None, directory: Path | None = None, **overrides: object
) -> Settings:
    """Overrides (None: not given), then the environment, `.env`, `quoth.toml`, defaults.

    `QUOTH_X` wins over a setting's second name, wherever either is set: a key that is exported for other programs never
    overrides the one meant for Quoth."""
    directory = directory or Path.cwd()
    environment = os.environ if environ is None else environ
    layers = [("environment", _named(environment)), (".env", _named(_dotenv(directory / ".env")))]
    for origin, variables in layers:
        _refuse_unknown_variables(origin, variables)

    found: dict[str, _Found] = {}
    for item in (*_from_overrides(overrides), *_from_variables(layers), *_from_toml(directory, layers)):
        found.setdefault(item.field, item)
    return _validated(found)


# --- gathering ---


def _from_overrides(overrides: Mapping[str, object]) -> Iterator[_Found]:
    for name, value in overrides.items():
        if name not in Settings.model_fields:
            raise BadConfiguration(f"There is no setting {name!r}.", hint=_did_you_mean(name, Settings.model_fields))
        if value is not None:
            yield _Found(name, value, f"--{name.replace('_', '-')}", "option")


def _from_variables(layers: list[tuple[str, dict[str, str]]]) -> Iterator[_Found]:
    own_names = {field: PREFIX + field.upper() for field in Settings.model_fields}
    for names in (own_names, SPECIFICATION_NAMES):
        for origin, variables in layers:
            for field, name in names.items():
                if variables.get(name):  # `NAME=` without a value means not set
                    yield _Found(field, variables[name], name, origin)


def _from_toml(directory: Path, layers: list[tuple[str, dict[str, str]]]) -> Iterator[_Found]:
    chosen = next((variables[CONFIG_VARIABLE] for _, variables in layers if variables.get(CONFIG_VARIABLE)), None)
    path = directory / Path(chosen).expanduser() if chosen else directory / "quoth.toml"
    for name, value in _toml(path, required=chosen is not None).items():
        if name in RETIRED:
            continue
        if name not in Settings.model_fields:
            raise BadConfiguration(
                f"{path} sets {name!r}, which is not a setting.", hint=_did_you_mean(name, Settings.model_fields)
            )
        yield _Found(name, value, name, path.name)


def _named(variables: Mapping[str, str | None]) -> dict[str, str]:
    """By upper-case name. A variable without a value is empty; the upper-case spelling wins."""
    plain = {name.upper(): value or "" for name, value in variables.items() if not name.isupper()}
    return plain | {name: value or "" for name, value in variables.items() if name.isupper()}


def _refuse_unknown_variables(origin: str, variables: Mapping[str, str]) -> None:
    known = {PREFIX + field.upper() for field in (*Settings.model_fields, *RETIRED)} | {CONFIG_VARIABLE}
    for name in sorted(variables):
        if name.startswith(PREFIX) and not name.startswith(TEST_PREFIX) and name not in known:
            where = "in the environment" if origin == "environment" else f"in {origin}"
            raise BadConfiguration(f"{name} {where} is not a setting of Quoth.", hint=_did_you_mean(name, known))


def _dotenv(path: Path) -> dict[str, str | None]:
    text = _read(path, required=False)
    if text is None:
        return {}
    from io import StringIO

    from dotenv import dotenv_values

    values = dotenv_values(stream=StringIO(text))
    for number, line in enumerate(text.splitlines(), start=1):
        ours = re.match(rf"\s*(?:export\s+)?({PREFIX}\w+)", line)
        if ours and ours[1] not in values:
            raise BadConfiguration(f"Line {number} of {path} cannot be read.", hint=f"Write {ours[1]}=value.")
    return values


def _toml(path: Path, *, required: bool) -> dict[str, Any]:
    text = _read(path, required=required)
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as fault:
        raise BadConfiguration(
            f"{path} is not valid TOML: {fault}.", hint='Write one key = "value" on each line.'
        ) from fault


def _read(path: Path, *, required: bool) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as fault:
        if not required:
            return None
        raise BadConfiguration(f"{path} does not exist.", hint=f"Set {CONFIG_VARIABLE} to a TOML file.") from fault
    except UnicodeDecodeError as fault:
        raise BadConfiguration(f"{path} is not UTF-8 text.", hint="Save it as UTF-8.") from fault
    except OSError as fault:
        raise BadConfiguration(
            f"{path} cannot be read: {fault.strerror}.", hint="Check the file's permissions."
        ) from fault


# --- judging ---


def _validated(found: Mapping[str, _Found]) -> Settings:
    given = {item.field: item.value for item in found.values()}
    try:
        settings = Settings.model_validate(given)
    except ValidationError as fault:
        raise _bad_value(fault, found) from None  # pydantic's message repeats the value, and it may be a secret
    settings._origins.update({item.field: f"{item.origin} ({item.name})" for item in found.values()})
    return settings


def _bad_value(fault: ValidationError, found: Mapping[str, _Found]) -> BadConfiguration:
    problem = fault.errors(include_url=False, include_context=False)[0]
    field = str(problem["loc"][0])
    item = found[field]
    shown = "" if is_secret(field) else f" {str(item.value)!r}"
    return BadConfiguration(
        f"{item.name} ({item.origin}) has a wrong value{':' if shown else ''}{shown}.",
        hint=f"{problem['msg'].removeprefix('Value error, ')}{_range(field)}.",
    )


def _range(field: str) -> str:
    """Both ends of the range; pydantic names only the one that was exceeded."""
    limits = Settings.model_fields[field].metadata
    low = next((limit.ge for limit in limits if isinstance(limit, Ge)), None)
    high = next((limit.le for limit in limits if isinstance(limit, Le)), None)
    return "" if low is None or high is None else f"; the range is {low} to {high}"


def _did_you_mean(name: str, known: Mapping[str, object] | set[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1)
    return f"Did you mean {near[0]}?" if near else "`quoth config` lists the settings."
