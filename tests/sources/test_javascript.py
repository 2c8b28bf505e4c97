"""Configurations in JavaScript, read without running them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linear import SMALL, grows_too_fast
from quoth.sources.javascript import Module, exported
from quoth.sources.javascript_values import SPREADS, UNKNOWN, Call, Unknown, first_object, is_known
from writings import thorough

CONFIG = r"""
// @ts-check
import { defineConfig, type Options } from 'tool'
import shared, { nav as links } from './shared'
/* base: '/wrong/' */
const BASE: string = process.env.BASE_URL || '/guide'
const label = (code: string): string => `${code}!`
export const extra = { a: 1, 'b-c': [1, 2.5, -3, 0x10], } as const
const pattern = /['"{]/g, half = 4 / 2 / 1
export default withMermaid(defineConfig({
  title: `The ${'Book'} \u{1F600}`,
  base: `${BASE}/`,
  exclude: ['**/_templates/**', "**/*.test.{js,ts}"], // globs are no comments
  url: process.env.PREVIEW ? 'https://preview.example' : 'https://x.org',
  dev: process.env.NODE_ENV !== 'production',
  computed: readFileSync('title.txt'),
  handler({ page }) { return { title: 'wrong' } },
  async other() {},
  nested: { ...extra, [`k${1}`]: null, 'q"': 'it\'s', text: 'a' + 'b' },
  made: (() => { if (x) { return 1 } return { deep: true } })(),
  theme: shared.theme, links, label: label, un: undefined,
  cast: <const>['x'], last: true,
} satisfies Options))
"""
SHARED = """
export default { theme: { colour: 'red' } }
export const nav = [...more, { text: 'One' }]
const more = ['Zero']
"""


def test_reads_values_as_javascript_means_them() -> None:
    found = first_object(exported(CONFIG, {"./shared": Module(SHARED)}.get))
    assert found["title"] == "The Book 😀"
    assert found["base"] == "/guide/"
    assert found["exclude"] == ["**/_templates/**", "**/*.test.{js,ts}"]
    assert found["url"] == "https://x.org"
    assert found["dev"] is False
    assert found["computed"] == Call("readFileSync", ("title.txt",))
    assert not is_known(found["computed"])
    assert found["handler"] == UNKNOWN
    assert found["nested"] == {"a": 1, "b-c": [1, 2.5, -3, 16], "k1": None, 'q"': "it's", "text": "ab"}
    assert found["made"] == {"deep": True}
    assert found["theme"] == {"colour": "red"}
    assert found["links"] == ["Zero", {"text": "One"}]
    assert found["last"] is True


def test_reads_common_js_and_functions_that_return_a_configuration() -> None:
    assert first_object(exported("module.exports = { title: 'A' }")) == {"title": "A"}
    assert first_object(exported("export default defineConfig(async ({ mode }) => ({ title: 'B' }))")) == {"title": "B"}
    assert first_object(exported("const c = { title: 'C' }\nexport default c")) == {"title": "C"}
    assert first_object(exported("export default () => { const x = 1; return { title: 'D' } }")) == {"title": "D"}


@pytest.mark.parametrize(
    "text", ["", "export default", "export default {", "const a = a\nexport default { a: [a", "}])"]
)
def test_damaged_text_is_not_a_configuration(text: str) -> None:
    assert "title" not in first_object(exported(text))


@pytest.mark.parametrize(
    "piece", ["[", "{a:", "`${", "(", "a||", "...", "const a=a;", "export default a(", "/*", "'", "!"]
)
def test_takes_linear_time(piece: str) -> None:
    assert grows_too_fast(lambda text: exported("export default " + text), piece, 4 * SMALL) == ""


def test_modules_that_import_each_other_end() -> None:
    modules: dict[str, Module] = {}
    modules["./a"] = Module("import b from './b'\nexport default { ...b, a: 1 }", modules.get)
    modules["./b"] = Module("import a from './a'\nexport default { ...a, b: 2 }", modules.get)
    assert modules["./a"].value("default") == {"b": 2, "a": 1}


_PARTS = [*"{}()[]`'\"/\\,;:.?=<>!*\n ", "${", "=>", "...", "/*", "//", "a", "1", "async", "get", "return", "const "]


@thorough
@given(st.lists(st.sampled_from(_PARTS), max_size=30))
def test_any_text_is_read_and_unknown_spreads_are_kept(parts: list[str]) -> None:
    exported("export default {" + "".join(parts))
    found = exported("export default {a: 1, ...base, ...make('x'), b: ['c', ...more]}")
    assert found == {"a": 1, "b": ["c", Unknown("more")], SPREADS: (Unknown("base"), Call("make", ("x",)))}


def test_items_that_are_false_are_filtered() -> None:
    assert first_object(exported("export default {a: [process.env.CI && 'x', {}, 'y'].filter(Boolean)}"))["a"] == [
        {},
        "y",
    ]
