"""The code base in numbers: how large it is, how it is divided, what is too long, too branched or tangled.

In: this working tree, or revisions of it (`--at REV`, several side by side). Out: a Markdown table, printed or written
(`--write FILE`); for the working tree also each file and function over a limit. Reads files and pyproject.toml as text
and imports nothing from Quoth, so that any revision can be counted by the same rules. `make house` runs it.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "quoth"
LONG_FUNCTION, LONG_FILE, BRANCHED = 50, 400, 15  # the highest values allowed

Function = ast.FunctionDef | ast.AsyncFunctionDef
Graph = Mapping[str, set[str]]


# --- one file --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Import:
    """A module named in an import, possibly followed by one of its names."""

    name: str
    deferred: bool  # inside a function, not at the top of the module


def code_lines(source: str, tree: ast.Module) -> int:
    """Lines with something on them that is neither a comment nor a docstring."""
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            prose.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") and at not in prose for at, line in lines)


def functions_of(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def complexity(function: Function) -> int:
    """McCabe's number: one path, and one more for every fork. Nested functions have their own."""
    return 1 + sum(_forks(node) for child in function.body for node in _own_nodes(child))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, Function | ast.ClassDef):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _own_nodes(child)


def _forks(node: ast.AST) -> int:
    if isinstance(node, ast.If | ast.IfExp | ast.For | ast.AsyncFor | ast.While | ast.ExceptHandler | ast.Assert):
        return 1
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    if isinstance(node, ast.match_case):
        return int(not isinstance(node.pattern, ast.MatchAs) or node.pattern.pattern is not None)
    return 0


def imports_of(tree: ast.Module) -> Iterator[Import]:
    """Imports of our own package. Type-checking imports are never executed and do not count."""
    yield from _imports(tree.body, deferred=False)


def _imports(body: Iterable[ast.AST], *, deferred: bool) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, deferred) for alias in node.names if _is_own(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module is not None and _is_own(node.module):
            yield from (Import(f"{node.module}.{alias.name}", deferred) for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in (
            getattr(node.test, "id", ""),
            getattr(node.test, "attr", ""),
        ):
            yield from _imports(node.orelse, deferred=deferred)
        else:
            inside = deferred or isinstance(node, Function)
            for part in ("body", "orelse", "finalbody", "handlers", "cases"):
                if nested := getattr(node, part, None):
                    yield from _imports(nested, deferred=inside)


def _is_own(name: str) -> bool:
    return name.split(".")[0] == PACKAGE


# --- the whole -------------------------------------------------------------------------------------------------------


def module_name(path: Path, source: Path) -> str:
    parts = [PACKAGE, *path.relative_to(source).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(trees: Mapping[str, ast.Module]) -> Graph:
    """Which module imports which, at the top or inside a function."""
    graph: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for imported in imports_of(tree):
            module = imported.name if imported.name in trees else imported.name.rpartition(".")[0]
            if module in trees and module != name:
                graph[name].add(module)
    return graph


def cycles(graph: Graph) -> list[list[str]]:
    """Sets of modules that all import each other, directly or through others (Tarjan's algorithm)."""
    found: list[list[str]] = []
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            knot = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(knot) > 1:
                found.append(sorted(knot))

    for name in graph:
        if name not in index:
            visit(name)
    return found


def python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def first_shelf(source: Path) -> list[str]:
    """What a newcomer sees in the package: its modules, and its folders that contain Python."""
    modules = [path.stem for path in source.glob("*.py") if path.stem not in ("__init__", "__main__")]
    folders = [path.name for path in source.iterdir() if path.is_dir() and any(path.glob("*.py"))]
    return sorted(modules + folders)


def import_levels(project: Path) -> int:
    contracts = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    return next(len(one["layers"]) for one in contracts if one["type"] == "layers" and "containers" not in one)


def survey(root: Path) -> dict[str, str]:
    """Each figure by its name, in the order of the report."""
    source = root / "src" / PACKAGE
    files = python_files(source)
    texts = [path.read_text(encoding="utf-8") for path in files]
    trees = {module_name(path, source): ast.parse(text) for path, text in zip(files, texts, strict=True)}
    functions = [function for tree in trees.values() for function in functions_of(tree)]
    imports = [one for tree in trees.values() for one in imports_of(tree)]
    tests = [path.read_text(encoding="utf-8") for path in python_files(root / "tests")]
    code = sum(code_lines(text, tree) for text, tree in zip(texts, trees.values(), strict=True))
    test_code = sum(code_lines(text, ast.parse(text)) for text in tests)
    numbers = [complexity(function) for function in functions]
    return {
        "files": f"{len(files):,}",
        "directories": f"{len({path.parent for path in files}):,}",
        "top-level names": f"{len(first_shelf(source)):,}",
        "import levels in the contract": f"{import_levels(root / 'pyproject.toml'):,}",
        "lines": f"{sum(len(text.splitlines()) for text in texts):,}",
        "lines of code": f"{code:,}",
        "lines of test code": f"{test_code:,}",
        "test code : code": f"{test_code / code:.2f}",
        f"files over {LONG_FILE} lines": f"{sum(len(text.splitlines()) > LONG_FILE for text in texts):,}",
        "functions": f"{len(functions):,}",
        f"functions over {LONG_FUNCTION} lines": f"{sum(length(one) > LONG_FUNCTION for one in functions):,}",
        f"cyclomatic complexity over {BRANCHED}": f"{sum(number > BRANCHED for number in numbers):,}",
        "highest complexity": f"{max(numbers):,}",
        "import cycles, deferred imports included": f"{len(cycles(import_graph(trees))):,}",
        "deferred imports of our own": f"{sum(one.deferred for one in imports):,}",
    }


def excesses(root: Path) -> Iterator[str]:
    """Each file and function over a limit, with its location."""
    for path in python_files(root / "src" / PACKAGE):
        text, place = path.read_text(encoding="utf-8"), path.relative_to(root)
        if (lines := len(text.splitlines())) > LONG_FILE:
            yield f"{place}: {lines} lines"
        for function in functions_of(ast.parse(text)):
            if length(function) > LONG_FUNCTION:
                yield f"{place}:{function.lineno} {function.name}: {length(function)} lines"
            if complexity(function) > BRANCHED:
                yield f"{place}:{function.lineno} {function.name}: complexity {complexity(function)}"


def survey_at(revision: str) -> dict[str, str]:
    """The same for a revision. It is unpacked into a separate folder; the working tree is left alone."""
    packed = git("archive", revision, "src", "tests", "pyproject.toml")
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
        return survey(Path(folder))


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout


def table(names: Sequence[str], columns: Sequence[Mapping[str, str]]) -> str:
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(columns)]
    lines += [f"| {row} | " + " | ".join(column[row] for column in columns) + " |" for row in columns[0]]
    return "\n".join(lines)


HEAD = f"""# The house in numbers

Written by `scripts/house.py`; `make house` prints the same for the working tree. It counts the Python files
of `src/{PACKAGE}`, and those of `tests` for the test code. A line of code is not blank, a comment or a docstring.
Top-level names are the package's own modules and folders, without `__init__` and `__main__`. A cycle is
a set of modules that all import each other, directly or through others; imports inside functions count, type-checking
imports do not.
"""


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--at", action="append", default=[], metavar="REV", help="a revision; may be repeated")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the report to this file instead of printing it"
    )
    asked = parser.parse_args(arguments)
    names = [f"`{git('rev-parse', '--short=7', revision).decode().strip()}`" for revision in asked.at]
    report = table(names or ["working tree"], [survey_at(revision) for revision in asked.at] or [survey(ROOT)])
    if asked.write is None:
        print(report)
        if not asked.at:
            print("", *excesses(ROOT), sep="\n")
    else:
        asked.write.write_text(f"{HEAD}\n{report}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
