"""Passages tile the abstract and fit the encoder."""

from __future__ import annotations

import pytest

from rag.passages import embedded_text, passages
from rag.types import Paper


def words(text: str) -> int:
    return len(text.split())


SENTENCES = [f"Sentence number {n} has exactly eight words here." for n in range(12)]


def test_a_short_abstract_is_one_passage() -> None:
    (only,) = passages(Paper("p", SENTENCES[0]), words, 20)
    assert (only.passage_id, only.text, only.start, only.end) == ("p/0", SENTENCES[0], 0, len(SENTENCES[0]))


@pytest.mark.parametrize("limit", [16, 17, 25, 40, 60])
@pytest.mark.parametrize(
    "text",
    [
        " ".join(SENTENCES),
        "\n\n".join(SENTENCES),
        "word " * 200,
        "𝒳 é 漢 " * 60,
        "x" * 40 + " tail. " + " ".join(SENTENCES),
    ],
    ids=["sentences", "paragraphs", "one long sentence", "wide characters", "a long word"],
)
def test_passages_tile_and_fit(text: str, limit: int) -> None:
    found = passages(Paper("p", text), words, limit)
    assert "".join(p.text for p in found) == text
    assert all(text[p.start : p.end] == p.text for p in found)
    assert [p.passage_id for p in found] == [f"p/{n}" for n in range(len(found))]
    assert all(words(p.text) <= limit for p in found)


def test_a_word_longer_than_the_window_is_cut() -> None:
    text = "x" * 100
    found = passages(Paper("p", text), len, 30)
    assert "".join(p.text for p in found) == text
    assert all(len(p.text) <= 30 for p in found)


def test_windows_are_filled_evenly() -> None:
    found = passages(Paper("p", " ".join(SENTENCES[:9])), words, 40)
    assert [words(p.text) for p in found] == [40, 32] or [words(p.text) for p in found] == [32, 40]


def test_the_title_takes_its_room() -> None:
    paper = Paper("p", " ".join(SENTENCES), title="A title of five words")
    assert all(words(embedded_text(paper.title, p.text)) <= 30 for p in passages(paper, words, 30))


def test_no_abstract_is_one_empty_passage() -> None:
    (only,) = passages(Paper("p", "", title="T"), words, 30)
    assert (only.text, only.start, only.end) == ("", 0, 0)
    assert embedded_text("T", only.text).strip() == "T"
