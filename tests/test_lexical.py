"""BM25 on disk."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from rag.errors import StoreError
from rag.lexical import LexicalIndex
from rag.types import Paper

PAPERS = [
    Paper("a", "Bees fly to flowers.", title="The Hive"),
    Paper("b", "Bees and more bees and still more bees sleep at night in a hole that they have dug."),
    Paper("c/1 'x' #2", "Ants walk."),
]


@pytest.fixture
def index(tmp_path: Path) -> LexicalIndex:
    made = LexicalIndex(tmp_path)
    made.rebuild(PAPERS, 2)
    return made


def found(index: LexicalIndex, question: str, *only: str) -> list[str]:
    return [p for p, _ in index.search(question, 9, only or None)]


@pytest.mark.parametrize(
    ("question", "papers"),
    [
        ("bee", ["b", "a"]),
        ("Which BEES are flying?", ["a", "b"]),
        ("hives", ["a"]),
        ("walk", ["c/1 'x' #2"]),
        ("beetles", []),
        ("what is it", []),
        ("", []),
        ('"bees" AND (walk:* OR ~)', ["c/1 'x' #2", "b", "a"]),
    ],
)
def test_search(index: LexicalIndex, question: str, papers: list[str]) -> None:
    assert sorted(found(index, question)) == sorted(papers)
    assert found(index, question)[:1] == papers[:1]


@pytest.mark.parametrize(
    ("question", "papers"),
    [
        ("flowres", ["a"]),  # neighbours swapped
        ("flwers", ["a"]),
        ("fluvers", []),  # two slips in a short word
        ("beez", []),  # too short to be sure
        ("flower flowres", ["a"]),
    ],
)
def test_misspelt_words(index: LexicalIndex, question: str, papers: list[str]) -> None:
    assert found(index, question) == papers


def test_two_slips_in_a_long_word(tmp_path: Path) -> None:
    index = LexicalIndex(tmp_path)
    index.rebuild([Paper("a", "Reinforcement learning."), Paper("b", "Supervised learning.")], 1)
    assert found(index, "reinfrocment") == ["a"]


def test_a_name_with_a_figure_is_no_misspelling(tmp_path: Path) -> None:
    index = LexicalIndex(tmp_path)
    index.rebuild([Paper("a", "We train LLaMA3 models.")], 1)
    assert found(index, "llama2") == []


def test_a_word_of_the_library_is_taken_as_spelt(tmp_path: Path) -> None:
    index = LexicalIndex(tmp_path)
    index.rebuild([Paper("a", "A robust planner."), Paper("b", "A robot planner."), Paper("c", "A robots planet.")], 1)
    assert found(index, "robust") == ["a"]


def test_only_these_papers(index: LexicalIndex) -> None:
    assert found(index, "bees walk", "a", "unknown") == ["a"]
    assert found(index, "walk", "c/1 'x' #2") == ["c/1 'x' #2"]
    assert index.search("bees", 9, []) == []
    scores = dict(index.search("bees", 9))
    assert dict(index.search("bees", 9, ["a"])) == {"a": pytest.approx(scores["a"])}


def test_a_score_worked_by_hand(tmp_path: Path) -> None:
    """Two papers of equal length, one with the word: idf ln(1 + 1.5/1.5), times (k1 + 1) / (1 + k1) = 1."""
    index = LexicalIndex(tmp_path)
    index.rebuild([Paper("x", "bees fly"), Paper("y", "ants walk")], 0)
    assert index.search("bees", 9) == [("x", pytest.approx(math.log(2)))]
    assert index.search("bees bees", 9) == [("x", pytest.approx(2 * math.log(2)))]


def test_update_replaces_and_removes(index: LexicalIndex) -> None:
    index.update([Paper("a", "Wasps sting.")], ["b", "unknown"], 4)
    assert index.generation == 4
    assert found(index, "bees") == []
    assert found(index, "wasps") == ["a"]
    assert index.frequencies(["wasp", "walk", "bee"]) == (2, {"wasp": 1, "walk": 1, "bee": 0})


def test_another_opening_sees_a_commit_after_reload(index: LexicalIndex, tmp_path: Path) -> None:
    other = LexicalIndex(tmp_path)
    assert found(other, "bees") == ["b", "a"]
    index.rebuild([Paper("d", "Moths seek light.")], 4)
    assert found(other, "bees") == ["b", "a"], "what is open stays whole"
    other.reload()
    assert found(other, "bees") == []
    assert found(other, "moths") == ["d"]


@pytest.mark.parametrize("damage", ["*.term", "*.store", "meta.json", "another"])
def test_a_damaged_index_is_empty_until_it_is_rebuilt(index: LexicalIndex, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "lexical"
    if damage == "another":
        (folder / "meta.json").write_text((folder / "meta.json").read_text().replace('"quoth"', '"default"'))
    for file in folder.glob(damage):
        file.write_bytes(b"no")
    before = sorted(folder.iterdir())
    opened = LexicalIndex(tmp_path)
    assert opened.generation == -1
    assert found(opened, "bees") == []
    assert opened.frequencies(["bee"]) == (0, {"bee": 0})
    opened.reload()
    assert sorted(folder.iterdir()) == before, "a reader deletes nothing: a writer may be at work"
    opened.rebuild(PAPERS, 6)
    assert (opened.generation, found(opened, "bees")) == (6, ["b", "a"])
    assert found(LexicalIndex(tmp_path), "bees") == ["b", "a"]


def test_without_a_stamp_the_state_is_unknown(index: LexicalIndex, tmp_path: Path) -> None:
    stamp = tmp_path / "lexical" / "generation"
    stamp.write_text("")
    assert LexicalIndex(tmp_path).generation == -1
    stamp.unlink()
    assert LexicalIndex(tmp_path).generation == -1


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="QUOTH_HOME"):
        LexicalIndex(tmp_path / "file").search("bees", 1)


def test_a_folder_that_vanishes(index: LexicalIndex, tmp_path: Path) -> None:
    for file in (tmp_path / "lexical").iterdir():
        file.unlink()
    index.reload()
    assert found(index, "bees") == []
    assert index.generation == -1
