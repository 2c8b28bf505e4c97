"""Settings: the order of their sources, honest errors, secrets that stay secret, and a complete document."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from pydantic import SecretStr

from quoth.errors import BadConfiguration
from quoth.settings import Settings, load_settings, variables_of

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "quoth"
DOCUMENT = ROOT / "docs" / "settings.md"
SPECIFICATIONS = [
    "OPENAI_API_KEY",
    "OPENAI_MODEL",
    "OPENAI_BASE_URL",
    "GEMINI_API_KEY",
    "COHERE_API_KEY",
    "COHERE_MODEL",
    "QDRANT_URL",
    "QDRANT_API_KEY",
    "QDRANT_COLLECTION_NAME",
    "DATABASE_URL",
    "AGENT_TOP_K",
    "AGENT_SCORE_THRESHOLD",
    "AGENT_MAX_TURNS",
]


def load(directory: Path, overrides: dict[str, object] | None = None, /, **environ: str) -> Settings:
    return load_settings(environ=environ, directory=directory, **(overrides or {}))


def source_of(settings: Settings, name: str) -> str:
    return next(row.source for row in settings.describe() if row.name == name)


def test_without_any_source_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings.top_k == 5
    assert settings.similarity_threshold == 0
    assert settings.refusal_sentence == "I don't have information about that in the book content"
    assert (settings.host, settings.port, settings.workers) == ("127.0.0.1", 8000, 1)
    assert not settings.log_questions
    assert settings.data_dir.is_absolute()
    assert {row.source for row in settings.describe()} == {"default"}


def test_overrides_beat_the_environment_beats_dotenv_beats_toml(tmp_path: Path) -> None:
    (tmp_path / "quoth.toml").write_text('top_k = 1\nport = 1\nworkers = 1\nhost = "toml"\n')
    (tmp_path / ".env").write_text("QUOTH_TOP_K=2\nQUOTH_PORT=2\nQUOTH_WORKERS=2\n")
    settings = load(tmp_path, {"top_k": 4}, QUOTH_TOP_K="3", QUOTH_PORT="3")
    assert (settings.top_k, settings.port, settings.workers, settings.host) == (4, 3, 2, "toml")
    assert source_of(settings, "top_k") == "option (--top-k)"
    assert source_of(settings, "port") == "environment (QUOTH_PORT)"
    assert source_of(settings, "workers") == ".env (QUOTH_WORKERS)"
    assert source_of(settings, "host") == "quoth.toml (host)"


def test_an_option_that_was_not_given_overrides_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, {"top_k": None}, QUOTH_TOP_K="3").top_k == 3


def test_an_unknown_override_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="topk") as caught:
        load(tmp_path, {"topk": 3})
    assert caught.value.hint == "Did you mean top_k?"


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_every_name_of_the_specifications_is_read(tmp_path: Path, name: str) -> None:
    [field] = [field for field in Settings.model_fields if name in variables_of(field)]
    value = {"QDRANT_COLLECTION_NAME": "books"}.get(name, "1" if name.startswith("AGENT_") else "https://example.org/x")
    for settings in (load(tmp_path, **{name: value}), load_from_dotenv(tmp_path, f"{name}={value}")):
        stored = getattr(settings, field)
        stored = ",".join(stored) if isinstance(stored, tuple) else stored
        assert stored.get_secret_value() == value if isinstance(stored, SecretStr) else str(stored) in (value, "1.0")
        assert source_of(settings, field).endswith(f"({name})")


def load_from_dotenv(directory: Path, text: str) -> Settings:
    (directory / ".env").write_text(text)
    return load(directory)


def test_our_name_beats_the_specifications_name_wherever_it_is_written(tmp_path: Path) -> None:
    assert load(tmp_path, QUOTH_TOP_K="3", AGENT_TOP_K="4").top_k == 3
    (tmp_path / ".env").write_text("QUOTH_TOP_K=2\n")
    assert load(tmp_path, AGENT_TOP_K="4").top_k == 2


def test_the_specifications_name_beats_quoth_toml(tmp_path: Path) -> None:
    (tmp_path / "quoth.toml").write_text("top_k = 1\n")
    assert load(tmp_path, AGENT_TOP_K="4").top_k == 4


def test_a_variable_with_nothing_in_it_is_not_set(tmp_path: Path) -> None:
    assert load(tmp_path, QUOTH_TOP_K="", OPENAI_API_KEY="").openai_api_key is None


def test_the_case_of_a_variable_does_not_matter(tmp_path: Path) -> None:
    assert load(tmp_path, quoth_top_k="3").top_k == 3
    with pytest.raises(BadConfiguration, match="QUOTH_TOPK"):
        load(tmp_path, quoth_topk="3")


# --- where things are ---


def test_the_database_is_in_the_data_directory_unless_it_is_named(tmp_path: Path) -> None:
    settings = load(tmp_path, QUOTH_DATA_DIR=str(tmp_path / "data"))
    assert settings.database_url == f"sqlite:///{(tmp_path / 'data' / 'quoth.db').as_posix()}"
    assert load(tmp_path, DATABASE_URL="sqlite:///x.db").database_url == "sqlite:///x.db"


def test_a_tilde_is_the_home_directory(tmp_path: Path) -> None:
    assert load(tmp_path, QUOTH_DATA_DIR="~/books").data_dir == Path.home() / "books"


def test_another_configuration_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "quoth.toml").write_text("top_k = 1\n")
    (tmp_path / "other.toml").write_text("top_k = 9\n")
    settings = load(tmp_path, QUOTH_CONFIG="other.toml")
    assert settings.top_k == 9
    assert source_of(settings, "top_k") == "other.toml (top_k)"


# --- a mistake is reported once, with what to do ---


@pytest.mark.parametrize(
    ("environ", "dotenv", "toml", "message", "hint"),
    [
        ({"QUOTH_TOPK": "3"}, "", "", "QUOTH_TOPK in the environment", "Did you mean QUOTH_TOP_K?"),
        ({"QUOTH_ZZZZZ": "3"}, "", "", "QUOTH_ZZZZZ in the environment", "`quoth config` lists"),
        ({}, "QUOTH_LOGLEVEL=info", "", r"QUOTH_LOGLEVEL in \.env", "Did you mean QUOTH_LOG_LEVEL?"),
        ({}, "", "topk = 3", r"quoth\.toml sets 'topk'", "Did you mean top_k?"),
        ({"QUOTH_TOP_K": "99"}, "", "", r"QUOTH_TOP_K \(environment\).*'99'", "1 to 20"),
        ({"AGENT_TOP_K": "many"}, "", "", r"AGENT_TOP_K \(environment\).*'many'", "integer"),
        ({}, "QUOTH_PORT=-1", "", r"QUOTH_PORT \(\.env\).*'-1'", "0 to 65535"),
        ({}, "", 'log_format = "xml"', r"log_format \(quoth\.toml\).*'xml'", "'text' or 'json'"),
        ({}, "", "top_k = [1]", r"top_k \(quoth\.toml\)", "integer"),
        ({"AGENT_SCORE_THRESHOLD": "1.5"}, "", "", "AGENT_SCORE_THRESHOLD", "0 to 1"),
        ({"AGENT_SCORE_THRESHOLD": "nan"}, "", "", "AGENT_SCORE_THRESHOLD", "0 to 1"),
        ({}, "", "top_k = ", "is not valid TOML", "key ="),
        ({}, "QUOTH_TOP_K 5", "", r"Line 1 of .*\.env", "QUOTH_TOP_K=value"),
        ({"QUOTH_CONFIG": "missing.toml"}, "", "", "does not exist", "QUOTH_CONFIG"),
    ],
)
def test_a_mistake_names_itself_its_place_and_what_to_do(
    tmp_path: Path, environ: dict[str, str], dotenv: str, toml: str, message: str, hint: str
) -> None:
    (tmp_path / ".env").write_text(dotenv)
    (tmp_path / "quoth.toml").write_text(toml)
    with pytest.raises(BadConfiguration, match=message) as caught:
        load(tmp_path, **environ)
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", [".env", "quoth.toml"])
def test_a_file_that_is_not_utf8_or_not_a_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(BadConfiguration, match=f"{re.escape(name)} is not UTF-8"):
        load(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(BadConfiguration, match=f"{re.escape(name)} cannot be read"):
        load(tmp_path)


def test_variables_of_other_programs_and_of_our_tests_are_not_an_error(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# a comment\nexport STRIPE_KEY='x y'\nTOP_K=nonsense\nQUOTH_TOP_K=3\n")
    assert load(tmp_path, PATH="/bin", QUOTH_TEST_QDRANT_URL="http://localhost").top_k == 3


def test_a_byte_order_mark_in_front_of_the_files_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("\ufeffQUOTH_TOP_K=3\n", encoding="utf-8")
    (tmp_path / "quoth.toml").write_text("\ufeffport = 81\n", encoding="utf-8")
    settings = load(tmp_path)
    assert (settings.top_k, settings.port) == (3, 81)


# --- a setting does something ---


def settings_read_in(source: str) -> set[str]:
    """The attributes of anything called `settings`: `settings.port`, `self.settings.port`, `quoth.settings.port`."""
    return {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and (getattr(node.value, "id", None) == "settings" or getattr(node.value, "attr", None) == "settings")
    }


def test_every_setting_is_read_by_something_that_acts_on_it() -> None:
    """`quoth config` only shows settings, and `settings/` only gathers them: neither makes one do anything."""
    showing = {*(SOURCE / "settings").glob("*.py"), SOURCE / "cli" / "config.py"}
    sources = [path.read_text() for path in SOURCE.rglob("*.py") if path not in showing]
    read = {name for source in sources if "settings." in source for name in settings_read_in(source)}
    assert set(Settings.model_fields) - read == set()


def test_what_reads_a_setting_is_recognised() -> None:
    assert settings_read_in("a(settings.port, self.settings.host); quoth.settings.top_k") == {"port", "host", "top_k"}
    assert settings_read_in("other.port; settings(port=1); 'settings.port'") == set()


# --- secrets ---


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    secret = "hunter2"
    settings = load(
        tmp_path,
        OPENAI_API_KEY=secret,
        GEMINI_API_KEY=secret,
        QDRANT_API_KEY=secret,
        DATABASE_URL=f"postgresql://reader:{secret}@host/db",
    )
    shown = f"{settings!r} {settings} {settings.describe()}"
    assert secret not in shown
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == secret
    rows = {row.name: row.value for row in settings.describe()}
    assert rows["openai_api_key"] == "(set)"
    assert rows["database_url"] == "postgresql://reader:***@host/db"


def test_a_bad_value_of_a_secret_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "quoth.toml").write_text("openai_api_key = 987654321\n")
    with pytest.raises(BadConfiguration, match=r"openai_api_key \(quoth\.toml\)") as caught:
        load(tmp_path)
    assert "987654321" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_address_with_a_password_in_it_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="QDRANT_URL") as caught:
        load(tmp_path, QDRANT_URL="https://reader:hunter2@cluster.example:6333")
    assert "QDRANT_API_KEY" in caught.value.hint
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["a/b", "", "x:y", "ä", "-", "x" * 201])
def test_a_collection_name_that_qdrant_does_not_take_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadConfiguration, match="collection-name"):
        load_settings(environ={}, directory=tmp_path, qdrant_collection_name=name)


# --- the object and its document ---


def test_settings_cannot_be_changed_after_loading(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        load(tmp_path).top_k = 3


def test_every_setting_is_described(tmp_path: Path) -> None:
    rows = load(tmp_path).describe()
    assert [row.name for row in rows] == list(Settings.model_fields)
    assert all(row.help.endswith((".", "?")) for row in rows)


def test_the_document_lists_exactly_the_settings_there_are(tmp_path: Path) -> None:
    listed = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    expected = [
        (
            row.name,
            ", ".join(f"`{name}`" for name in row.variables),
            f"`{row.default}`" if row.default else "–",
            row.help,
        )
        for row in load(tmp_path).describe()
    ]
    assert [tuple(cell.strip() for cell in line) for line in listed] == expected


def test_a_cluster_is_named_by_several_addresses(tmp_path: Path) -> None:
    settings = load(tmp_path, QDRANT_URL="http://a:6333, http://B:6333/ http://[::1]:6333")
    assert settings.qdrant_url == ("http://a:6333", "http://b:6333", "http://[::1]:6333")
    [row] = [row for row in settings.describe() if row.name == "qdrant_url"]
    assert row.value == "http://a:6333, http://b:6333, http://[::1]:6333"


@pytest.mark.parametrize(
    ("addresses", "hint"),
    [
        ("http://a:6333,a:6334", "Write http://host:port"),
        ("http://a:6333,http://a:6333/", "twice"),
        ("http://a:6333,https://b:6333", "use the same for all nodes of a cluster"),
        ("http://a:99999", "port"),
    ],
)
def test_addresses_that_cannot_be_one_cluster_are_refused(tmp_path: Path, addresses: str, hint: str) -> None:
    with pytest.raises(BadConfiguration) as caught:
        load(tmp_path, QDRANT_URL=addresses)
    assert hint in caught.value.hint


def test_settings_of_an_earlier_quoth_without_effect_do_not_stop_it(tmp_path: Path) -> None:
    (tmp_path / "quoth.toml").write_text("qdrant_grpc_port = 6334\n")
    assert load(tmp_path, QUOTH_QDRANT_PREFER_GRPC="true").top_k == 5
