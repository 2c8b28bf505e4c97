"""Filters as truth values, and vectors of length 1: what columns are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.index_contract import unit
from quoth.domain import Filters, conditions
from quoth.index import columns
from quoth.index.fields import FieldCodes, united

words = st.sampled_from(["", "a", "ab", "b", "ba", "é", "\U0010ffff"])
numbers = st.none() | st.integers(0, 4)
payloads = st.fixed_dictionaries(
    {
        "url": words,
        "heading_path": st.lists(words, max_size=3),
        "module": st.none() | words,
        "chapter": numbers,
        "lesson": numbers,
        "hardware_tier": st.integers(1, 4),
        "proficiency_level": words,
        "layer": words,
        "parent_doc_id": words,
        "source_file": words,
        "chunk_index": st.integers(0, 3),
    }
)
filters = st.builds(
    Filters,
    source_url_prefix=st.none() | words,
    section=st.none() | words,
    module=st.none() | words,
    chapter_min=numbers,
    chapter_max=numbers,
    lesson=numbers,
    hardware_tier=st.none() | st.integers(1, 4),
    proficiency_levels=st.lists(words, max_size=2).map(tuple),
    layer=st.none() | words,
    parent_doc_id=st.none() | words,
)


@given(parts=st.lists(st.lists(payloads, max_size=8), min_size=1, max_size=3), asked=filters, data=st.data())
def test_a_filter_lets_pass_what_holds_of_the_payload(
    parts: list[list[dict[str, Any]]], asked: Filters, data: st.DataObject
) -> None:
    chosen, kept = [], []
    for part in parts:
        codes = FieldCodes()
        for payload in part:
            codes.add(payload)
        rows = data.draw(st.lists(st.sampled_from(range(len(part))), unique=True)) if part else []
        chosen.append((codes.fields(), np.array(rows, dtype=np.intp)))
        kept += [part[row] for row in rows]
    fields = united(chosen)
    expected = [all(condition.holds(payload[condition.field]) for condition in conditions(asked)) for payload in kept]
    assert fields.passing(asked).tolist() == expected
    assert fields.column("source_file") == [payload["source_file"] for payload in kept]
    assert fields.column("chapter") == [payload["chapter"] for payload in kept]


def test_vectors_get_the_length_1_and_those_that_have_it_stay_as_they_are() -> None:
    ready = np.array(unit(1, 2, 3), dtype=np.float32)
    found = columns.unit(np.array([ready, 7 * ready, ready / 2, np.zeros(3)]))
    assert found[0].tobytes() == ready.tobytes()
    assert found[1] == pytest.approx(ready, abs=1e-6)
    assert found[2] == pytest.approx(ready, abs=1e-6)
    assert found[3].tolist() == [0, 0, 0]
