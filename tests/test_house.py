"""The report on the house counts correctly, and the house keeps to its plan."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "quoth"


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "scripts" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module  # dataclasses look there for their own module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def trees(house: ModuleType) -> dict[str, ast.Module]:
    """Every module of ours, parsed."""
    return {
        house.module_name(path, SOURCE): ast.parse(path.read_text(encoding="utf-8"))
        for path in house.python_files(SOURCE)
    }


# --- the house keeps to its plan ---


def test_the_first_shelf_holds_at_most_thirty_names(house: ModuleType) -> None:
    assert len(house.first_shelf(SOURCE)) <= 30


def test_the_contract_has_at_most_ten_levels(house: ModuleType) -> None:
    assert house.import_levels(ROOT / "pyproject.toml") <= 10


def test_no_modules_import_each_other_in_a_circle_not_even_inside_functions(
    house: ModuleType, trees: dict[str, ast.Module]
) -> None:
    assert len(trees) > 100
    assert house.cycles(house.import_graph(trees)) == []


def test_every_name_on_the_first_shelf_has_a_level(house: ModuleType) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract, *_) = project["tool"]["importlinter"]["contracts"]
    levels = {name.removeprefix("quoth.") for level in contract["layers"] for name in level.split(" | ")}
    assert set(house.first_shelf(SOURCE)) - levels == set()


def test_what_is_over_a_limit_is_named_with_its_place(house: ModuleType, tmp_path: Path) -> None:
    room = tmp_path / "src" / "quoth" / "room"
    room.mkdir(parents=True)
    (room / "fine.py").write_text("def fine():\n    return 1\n")
    (room / "long.py").write_text("x = 1\n" * 360 + "def long():\n" + "    x = 1\n" * 50)
    (room / "branched.py").write_text("def branched():\n    return " + " or ".join("abcdefghijklmnop") + "\n")
    assert list(house.excesses(tmp_path)) == [
        "src/quoth/room/branched.py:1 branched: complexity 16",
        "src/quoth/room/long.py: 411 lines",
        "src/quoth/room/long.py:361 long: 51 lines",
    ]


# --- an option is a choice that somebody makes ---


@dataclass
class Options:
    """The fields of the dataclasses whose name ends in `Options`, and what becomes of them."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    given: set[tuple[str, str]] = field(default_factory=set)
    read: set[str] = field(default_factory=set)

    def declare(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            is_dataclass = isinstance(node, ast.ClassDef) and "dataclass" in map(_called, node.decorator_list)
            if isinstance(node, ast.ClassDef) and is_dataclass and node.name.endswith("Options"):
                own = [
                    one.target.id
                    for one in node.body
                    if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
                ]
                self.fields[node.name] = own

    def look(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (name := _called(node)) in self.fields:
                self.given.update((name, one) for one, _ in zip(self.fields[name], node.args, strict=False))
                self.given.update((name, one.arg) for one in node.keywords if one.arg)
            elif isinstance(node, ast.Call) and _called(node) == "replace":
                self.given.update((owner, one.arg) for owner in self.fields for one in node.keywords if one.arg)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                self.read.add(node.attr)

    @property
    def idle(self) -> set[str]:
        """Fields that nobody sets, not even a test, and fields that nothing reads."""
        pairs = {(owner, one) for owner, own in self.fields.items() for one in own}
        return {f"{owner}.{one}" for owner, one in pairs if (owner, one) not in self.given or one not in self.read}


def _called(node: ast.expr) -> str:
    function = node.func if isinstance(node, ast.Call) else node
    return getattr(function, "id", "") or getattr(function, "attr", "")


def test_every_option_is_set_by_somebody_and_read(trees: dict[str, ast.Module]) -> None:
    options = Options()
    for tree in trees.values():
        options.declare(tree)
    assert len(options.fields) > 10
    for tree in trees.values():
        options.look(tree)
    users = [path for folder in ("tests", "benchmarks", "campaigns") for path in (ROOT / folder).rglob("*.py")]
    for text in (path.read_text(encoding="utf-8") for path in users):
        if "Options" in text or "dataclasses" in text:  # only these can set one
            options.look(ast.parse(text))
    assert options.idle == set()


def test_an_idle_option_is_recognised() -> None:
    options = Options()
    tree = ast.parse(
        "@dataclass(frozen=True)\nclass MyOptions:\n    a: int\n    b: int = 2\n    c: int = 3\n    d: int = 4\n"
        "made = replace(MyOptions(1, b=2), d=5)\nprint(made.a, made.c, made.d)"
    )
    options.declare(tree)
    options.look(tree)
    assert options.idle == {"MyOptions.b", "MyOptions.c"}  # b is never read, c never set


# --- what is counted ---


def test_a_line_of_code_is_neither_blank_nor_comment_nor_docstring(house: ModuleType) -> None:
    source = (
        '"""A module.\n\nOf two lines."""\n\n# a comment\n'
        'x = """text\n\nwith lines"""  # code\ndef f():\n    "doc"\n    return 1\n'
    )
    assert house.code_lines(source, ast.parse(source)) == 4


@pytest.mark.parametrize(
    ("body", "ways"),
    [
        ("pass", 1),
        ("if a: b\n    elif c: d\n    else: e", 3),
        ("for a in b:\n        while c: d", 3),
        ("return a and b and c or d", 4),
        ("return [a for a in b if c if d] or e", 5),
        ("try: a\n    except B: c\n    except D: e\n    finally: f", 3),
        ("return a if b else c", 2),
        ("match a:\n        case 1: b\n        case [x, y]: c\n        case _: d", 3),
        ("def inner():\n        if a: b\n    return inner", 1),
        ("with a: assert b", 2),
    ],
)
def test_every_fork_is_one_more_way_through_a_function(house: ModuleType, body: str, ways: int) -> None:
    (function, *_) = house.functions_of(ast.parse(f"def f():\n    {body}\n"))
    assert house.complexity(function) == ways


def test_imports_inside_functions_are_deferred_and_those_for_types_are_none(house: ModuleType) -> None:
    source = (
        "import quoth.a, os\nfrom quoth.b import c, d\nfrom json import dumps\n"
        "if TYPE_CHECKING:\n    from quoth.types import T\nelse:\n    import quoth.other\n"
        "class K:\n    import quoth.k\n    def f(self):\n        if True:\n            from quoth.e import g\n"
    )
    found = [(one.name, one.deferred) for one in house.imports_of(ast.parse(source))]
    assert found == [
        ("quoth.a", False),
        ("quoth.b.c", False),
        ("quoth.b.d", False),
        ("quoth.other", False),
        ("quoth.k", False),
        ("quoth.e.g", True),
    ]


def test_a_circle_is_found_even_if_one_of_its_imports_is_inside_a_function(house: ModuleType) -> None:
    modules = {
        "quoth.a": "from quoth.b import x",
        "quoth.b": "import quoth.c",
        "quoth.c": "def f():\n    from quoth import a",
        "quoth.d": "from quoth.a import y\nfrom quoth import nothing",
        "quoth": "",
    }
    trees = {name: ast.parse(source) for name, source in modules.items()}
    assert house.cycles(house.import_graph(trees)) == [["quoth.a", "quoth.b", "quoth.c"]]
    trees["quoth.c"] = ast.parse("if TYPE_CHECKING:\n    from quoth import a")
    assert house.cycles(house.import_graph(trees)) == []


@pytest.fixture
def small_house(house: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one revision of two modules, and a third module in its working tree."""
    for path, text in {
        "src/quoth/__init__.py": "",
        "src/quoth/a.py": "import quoth.b\n\n\ndef f():\n    return 1 if quoth else 2\n",
        "src/quoth/b.py": "x = 1\n",
        "tests/test_a.py": "def test_it():\n    assert True\n",
        "pyproject.toml": '[[tool.importlinter.contracts]]\ntype = "layers"\nlayers = ["quoth.a", "quoth.b"]\n',
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "-q", "-b", "trunk"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    (tmp_path / "src/quoth/c.py").write_text("y = 2\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    return tmp_path


def test_the_report_has_a_column_for_each_revision(house: ModuleType, small_house: Path) -> None:
    house.main(["--at", "HEAD", "--at", "trunk", "--write", str(small_house / "house.md")])
    written = (small_house / "house.md").read_text()
    assert written.startswith(house.HEAD)
    name = subprocess.run(["git", "rev-parse", "HEAD"], cwd=small_house, capture_output=True, text=True).stdout[:7]
    assert f"| | `{name}` | `{name}` |\n|---|---:|---:|\n| files | 3 | 3 |\n" in written
    assert "| top-level names | 2 | 2 |\n| import levels in the contract | 2 | 2 |\n" in written
    assert "| lines of code | 4 | 4 |\n| lines of test code | 2 | 2 |\n| test code : code | 0.50 | 0.50 |\n" in written


def test_without_a_revision_the_working_tree_is_counted_and_printed(
    house: ModuleType, small_house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house.main([])
    assert capsys.readouterr().out.startswith("| | working tree |\n|---|---:|\n| files | 4 |\n")


def test_the_committed_report_was_written_by_the_script(house: ModuleType) -> None:
    committed = (ROOT / "docs" / "benchmarks" / "house.md").read_text()
    assert committed.startswith(f"{house.HEAD}\n| | `67ed3e1` | ")
