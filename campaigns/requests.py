"""Mutated requests at every door: no 5xx, and every answer has our shape.

The requests are those of `tests/fuzzing.py`, with other seeds than the tests use. In: nothing. Out: a Tally.
"""

from __future__ import annotations

import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

from campaigns.tally import Tally
from fuzzing import fire, shots
from quoth.serve.openapi import examples
from serve.test_fuzz import PAGES, check, fuzz_field, target_of

EACH = 700
SEED = 1_000_003


async def run() -> Tally:
    tally = Tally("mutated requests")
    doors = [*examples(), *PAGES]
    with tempfile.TemporaryDirectory(prefix="quoth-campaign-") as folder:
        async with fuzz_field(Path(folder)) as field:
            for door in doors:
                target = target_of(door)
                real = {name: field.values.get(name, value) for name, value in target.values.items()}
                for shot in shots(replace(target, values=real), EACH, SEED ^ zlib.crc32(door.encode())):
                    reply = await fire(field.doors.app, shot)
                    try:
                        check(shot, reply)
                    except (AssertionError, KeyError, ValueError) as fault:
                        tally.lose(f"{door}: {str(fault)[:200]}")
                    else:
                        tally.hold()
    tally.figures = {"doors": len(doors), "requests at each": EACH}
    return tally
