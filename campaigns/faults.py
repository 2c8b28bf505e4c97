"""Small faults to put into a module, one at a time.

In: the source of a module. Out: its mutants, each the whole source with one change: a comparison reversed, a condition
negated, a call dropped, `and` for `or`, a number off by one. Must not know how mutants are tested.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["comparison", "condition", "call", "and-or", "number"]

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True, slots=True)
class Fault:
    line: int
    end: int  # the last changed line
    kind: Kind
    before: str
    after: str
    source: str  # of the whole module, with the fault


def faults(source: str) -> Iterator[Fault]:
    """Every fault that can be put into this source, in the order of its lines."""
    tree = ast.parse(source)
    found = [fault for node in _reachable(tree) for fault in _faults_of(node, source)]
    yield from sorted(found, key=lambda fault: (fault.line, fault.kind, fault.after))


def _reachable(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs: no annotations, nothing that is only for the type checker."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _for_types(child):
                yield child
                yield from _reachable(child)


def _for_types(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.ClassDef) and any(ast.unparse(base).startswith("Protocol") for base in node.bases)


def _faults_of(node: ast.AST, source: str) -> Iterator[Fault]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        turned = ast.Compare(node.left, [_TURNED[type(node.ops[0])]()], node.comparators)
        yield _fault(node, turned, "comparison", source)
    elif isinstance(node, ast.BoolOp):
        other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _fault(node, ast.BoolOp(other, node.values), "and-or", source)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        if not isinstance(node.test, ast.Compare):  # a negated comparison is a reversed one
            yield _fault(node.test, ast.UnaryOp(ast.Not(), node.test), "condition", source)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        yield _fault(node.value, ast.Constant(None), "call", source)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        yield _fault(node, ast.Constant(node.value + 1), "number", source)


def _fault(node: ast.expr, instead: ast.expr, kind: Kind, source: str) -> Fault:
    lines = source.splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begin = _offset(lines, node.lineno, node.col_offset)
    end = _offset(lines, node.end_lineno, node.end_col_offset)
    before, after = source[begin:end], ast.unparse(instead)
    same_lines = "\n" * before.count("\n")
    faulty = f"{source[:begin]}({after}{same_lines}){source[end:]}"
    return Fault(node.lineno, node.end_lineno, kind, " ".join(before.split()), after, faulty)


def _offset(lines: list[str], line: int, column: int) -> int:
    """The AST counts bytes in a line, but the source is cut by characters."""
    here = lines[line - 1].encode()[:column].decode()
    return sum(map(len, lines[: line - 1])) + len(here)
