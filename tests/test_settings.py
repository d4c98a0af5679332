"""Where a setting comes from, what is refused, and that `.env.example` tells of every one."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from rag.errors import SettingsError
from rag.settings import Settings, load_settings, variable

EXAMPLE = Path(__file__).parents[1] / ".env.example"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder, and no setting in the environment."""
    for field in Settings.model_fields:
        monkeypatch.delenv(variable(field), raising=False)
    monkeypatch.chdir(tmp_path)


def write(text: str) -> Path:
    path = Path(".env")
    path.write_text(text, encoding="utf-8")
    return path


def refusal(**given: Any) -> str:
    """The message with which load_settings refuses, checked to be one line."""
    with pytest.raises(SettingsError) as caught:
        load_settings(**given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Where a value comes from


def test_defaults() -> None:
    settings = load_settings()
    assert (settings.library, settings.k, settings.answerer, settings.abstain_below) == ("default", 5, "auto", None)
    assert settings.home.name == "quoth"
    assert settings.library_folder == settings.home / "libraries" / "default"
    assert settings.key() == ""


def test_argument_before_environment_before_env_file_before_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().k == 5
    write("QUOTH_K=6\n")
    assert load_settings().k == 6
    monkeypatch.setenv("QUOTH_K", "7")
    assert load_settings().k == 7
    assert load_settings(k=8).k == 8
    assert load_settings(k=None).k == 7


def test_the_same_order_for_the_names_without_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    write("OPENAI_API_KEY=from-file\nOPENAI_BASE_URL=http://file/v1\n")
    assert (load_settings().key(), load_settings().openai_base_url) == ("from-file", "http://file/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://environment/v1")
    assert (load_settings().key(), load_settings().openai_base_url) == ("from-environment", "http://environment/v1")
    given = load_settings(openai_api_key=SecretStr("from-argument"), openai_base_url="http://argument/v1")
    assert (given.key(), given.openai_base_url) == ("from-argument", "http://argument/v1")


def test_an_empty_value_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    write("QUOTH_K=6\nOPENAI_API_KEY=\nQUOTH_ABSTAIN_BELOW=\n")
    monkeypatch.setenv("QUOTH_K", "")
    settings = load_settings()
    assert (settings.k, settings.openai_api_key, settings.abstain_below) == (6, None, None)


def test_another_env_file_or_none() -> None:
    write("QUOTH_K=6\n")
    Path("other").write_text("QUOTH_K=9\n", encoding="utf-8")
    assert load_settings(Path("other")).k == 9
    assert load_settings(None).k == 5
    assert load_settings(Path("absent")).k == 5


def test_env_file_as_people_write_it() -> None:
    write("# mine\n\n  QUOTH_K = 6\nexport QUOTH_RETRIEVER='lexical' # words only\nHF_HUB_OFFLINE=1\n#QUOTH_KAY=1\n")
    settings = load_settings()
    assert (settings.k, settings.retriever) == (6, "lexical")


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().k = 3


# What is refused


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("QUOTH_RERANK", "QUOTH_RERANKER"),
        ("QUOTH_MODEL", "QUOTH_LLM_MODEL"),
        ("QUOTH_EMBEDING_MODEL", "QUOTH_EMBEDDING_MODEL"),
        ("quoth_libary", "QUOTH_LIBRARY"),
    ],
)
def test_an_unknown_name_tells_the_nearest(name: str, nearest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(f"{name}=1\n")
    assert refusal() == f"{name} in .env is no setting of quoth; did you mean {nearest}?"
    Path(".env").unlink()
    monkeypatch.setenv(name, "1")
    assert refusal() == f"{name} in the environment is no setting of quoth; did you mean {nearest}?"


def test_an_unknown_name_like_none_points_to_the_example() -> None:
    write("QUOTH_ZZZZZZ=1\n")
    assert refusal() == "QUOTH_ZZZZZZ in .env is no setting of quoth; .env.example lists them all"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("QUOTH_K", "many", "valid integer"),
        ("QUOTH_K", "0", "greater than or equal to 1"),
        ("QUOTH_RETRIEVER", "bm25", "'hybrid', 'dense' or 'lexical'"),
        ("QUOTH_LIBRARY", "../elsewhere", "letters, digits, - and _, at most 48"),
        ("QUOTH_ABSTAIN_BELOW", "1.5", "less than or equal to 1"),
        ("QUOTH_CHROMA_URL", "localhost:8000", "pattern"),
        ("QUOTH_CHROMA_URL", "http://host:99999999", "not an address"),
        ("QUOTH_CHROMA_URL", "http://127.0.0.1:abc", "not an address"),
        ("QUOTH_CHROMA_URL", "http://[::1", "not an address"),
        ("OPENAI_BASE_URL", "api.example.org/v1", "pattern"),
    ],
)
def test_a_bad_value_is_one_line_with_name_and_reason(
    name: str, value: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    message = refusal()
    assert message.startswith(f"{name}: ")
    assert reason in message
    assert ".env.example" in message


def test_a_bad_argument_is_told_by_its_setting() -> None:
    assert refusal(k=99).startswith("QUOTH_K: ")
    assert refusal(openai_base_url="nowhere").startswith("OPENAI_BASE_URL: ")


def test_env_file_that_is_not_utf8() -> None:
    Path(".env").write_bytes("QUOTH_HOME=/papers/Müller\n".encode("latin-1"))
    assert refusal() == ".env is not UTF-8 text: save it as UTF-8"


# Secrets


def test_secrets_show_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden")
    monkeypatch.setenv("QUOTH_CHROMA_TOKEN", "tok-hidden")
    settings = load_settings()
    assert settings.key() == "sk-hidden"
    for shown in (repr(settings), str(settings), settings.model_dump_json(), repr(settings.model_dump())):
        assert "hidden" not in shown


def test_secrets_show_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden")
    monkeypatch.setenv("QUOTH_CHROMA_TOKEN", "tok-hidden")
    monkeypatch.setenv("QUOTH_K", "sk-hidden")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


# .env.example


def entry(field: str) -> str:
    """What `.env.example` has to say of a field: its docstring, and its default commented out."""
    about = Settings.model_fields[field]
    default = "" if about.default in (None, PydanticUndefined) else about.default
    return f"# {about.description}\n#{variable(field)}={default}\n"


def test_example_has_every_setting_and_nothing_else() -> None:
    _, *entries = EXAMPLE.read_text(encoding="utf-8").split("\n\n")
    assert [e.rstrip("\n") + "\n" for e in entries] == [entry(field) for field in Settings.model_fields]


def test_example_without_its_comment_marks_gives_the_defaults() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    write("".join(line.removeprefix("#") + "\n" for line in lines if not line.startswith("# ")))
    assert load_settings() == load_settings(None)
