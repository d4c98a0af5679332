"""Prompt files: found, complete, and what is written in them reaches the model unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag import prompts
from rag.errors import SettingsError

USED = {
    "answer_system": set(),
    "answer_user": {"evidence", "history", "question"},
    "standalone": {"history", "question"},
    "summary_user": {"evidence"},
    "not_in_corpus_en": set(),
    "not_in_corpus_zh": set(),
    "small_talk_en": set(),
    "small_talk_zh": set(),
    "nearest_en": {"papers"},
    "nearest_zh": {"papers"},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty prompt folder of the test's own."""
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)
    return tmp_path


def test_the_prompts_that_the_code_uses_are_there() -> None:
    there = {f.stem for f in prompts.FOLDER.glob("*.txt")}
    assert USED.keys() <= there
    assert {name: prompts.variables(name) for name in USED} == USED


@pytest.mark.parametrize("name", sorted(f.stem for f in prompts.FOLDER.iterdir() if f.suffix == ".txt"))
def test_every_file_renders(name: str) -> None:
    values = {v: f"<{v} goes here>" for v in prompts.variables(name)}
    text = prompts.load(name, **values)
    assert text
    assert text == text.strip()
    assert all(value in text for value in values.values())


def test_braces_in_values_are_text(folder: Path) -> None:
    (folder / "a.txt").write_text("Q: {question}, as {{JSON}}\n", encoding="utf-8")
    assert prompts.load("a", question=r"$\frac{1}{2}$ {x} {{y}}") == r"Q: $\frac{1}{2}$ {x} {{y}}, as {JSON}"


def test_a_variable_may_stand_twice(folder: Path) -> None:
    (folder / "a.txt").write_text("{x} and {x}", encoding="utf-8")
    assert prompts.load("a", x="bees") == "bees and bees"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no variable", "prompts/a.txt must use {question}, but has none: mend the file"),
        ("{question} {other}", "prompts/a.txt must use {question}, but has {other}, {question}: mend the file"),
        ("{Question}", "prompts/a.txt must use {question}, but has {Question}: mend the file"),
        ("{question", "prompts/a.txt has a brace out of place"),
        ("{question} }", "prompts/a.txt has a brace out of place"),
        ("{question!r}", "prompts/a.txt: {question} is no plain variable"),
        ("{question} {}", "prompts/a.txt: {} is no plain variable"),
        ("{question.__class__}", "prompts/a.txt: {question.__class__} is no plain variable"),
    ],
)
def test_a_broken_file_names_itself(folder: Path, text: str, message: str) -> None:
    (folder / "a.txt").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as e:
        prompts.load("a", question="?")
    assert str(e.value).startswith(message)


def test_a_missing_file_names_itself(folder: Path) -> None:
    with pytest.raises(SettingsError, match=r"prompts/nowhere\.txt is missing"):
        prompts.load("nowhere")


def test_a_file_that_is_not_utf8_names_itself(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"caf\xe9")
    with pytest.raises(SettingsError, match=r"prompts/a\.txt is not UTF-8"):
        prompts.load("a")
