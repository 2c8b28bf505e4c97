"""The filters of CONTRACT section 2 as options, the same for every command that searches."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from quoth.domain import Filters

OPTIONS: dict[str, Any] = {
    "url_prefix": Annotated[str | None, typer.Option("--url-prefix", help="Only pages whose URL starts with this.")],
    "section": Annotated[str | None, typer.Option("--section", help="Only under this heading, exactly as written.")],
    "module": Annotated[str | None, typer.Option("--module", help="Only this module.")],
    "chapter_min": Annotated[int | None, typer.Option("--chapter-min", help="From this chapter on.")],
    "chapter_max": Annotated[int | None, typer.Option("--chapter-max", help="Up to this chapter.")],
    "lesson": Annotated[int | None, typer.Option("--lesson", help="Only this lesson.")],
    "hardware_tier": Annotated[int | None, typer.Option("--hardware-tier", help="This tier or lower, 1 to 4.")],
    "proficiency_levels": Annotated[list[str] | None, typer.Option("--level", help="A1 … C2; may be repeated.")],
    "layer": Annotated[str | None, typer.Option("--layer", help="L1 … L4.")],
}

# Where an option is named otherwise than the field it sets.
FIELDS = {"url_prefix": "source_url_prefix"}


def takes_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all filter options; it receives those that were used as one dict, `filters`."""

    @functools.wraps(command)
    def wrapper(**values: Any) -> None:
        used = {FIELDS.get(name, name): values.pop(name) for name in OPTIONS}
        filters = {name: value for name, value in used.items() if value is not None and value != []}
        command(**values, filters=filters)

    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "filters"]
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in OPTIONS.items()
    ]
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    wrapper.__signature__ = signature.replace(parameters=[*keyword_only, *extra])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *extra]}
    return wrapper


assert {FIELDS.get(name, name) for name in OPTIONS} | {"parent_doc_id"} == set(Filters.__dataclass_fields__)
