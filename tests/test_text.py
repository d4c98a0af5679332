"""Sentences, folding, figures."""

from __future__ import annotations

import pytest

from rag.text import content_words, figures, is_cjk, numbers, plain, sentences


@pytest.mark.parametrize(
    "expected",
    [
        ["One ends here.", "Another follows."],
        ["It beats others (e.g. BERT) by 3.5%.", "See Fig. 2 for more."],
        ["We show three things: (1) speed, (2) size, and (iii) cost.", "All hold."],
        ["Let $f(x) = 1. Then 2$ hold.", "It ends."],
        ["Smith et al. found it.", "We agree."],
        ["We ask: why?", "Because it works!"],
        ["代码是公开的。", "我们跟踪了蜜蜂。"],
        ["A single line without a stop"],
    ],
)
def test_sentences(expected: list[str]) -> None:
    text = " ".join(expected)
    found = sentences(f"  {text} ")
    assert [s.text for s in found] == expected
    assert all(f"  {text} "[s.start : s.end] == s.text for s in found)


def test_offsets_are_code_points() -> None:
    text = "𝛼-rays 🐝 hurt. e\u0301lan vital 𝒳."
    assert [text[s.start : s.end] for s in sentences(text)] == [s.text for s in sentences(text)]


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_no_sentences(text: str) -> None:
    assert sentences(text) == []


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        (r"\textbf{Bold} and *soft* `code`", "bold and soft code"),
        (r"20$\times$ and 13\%", "20× and 13%"),
        ("state–of—the−art", "state-of-the-art"),
        ("don’t", "don't"),
        ("snake_case _emph_", "snake_case emph"),
        ("ﬁne Ａ", "fine a"),
        ("a \n\t b", "a b"),
    ],
)
def test_plain(text: str, folded: str) -> None:
    assert plain(text) == folded


def test_content_words_are_stemmed_subjects() -> None:
    assert content_words("Which papers does the author use for pruning networks?") == ["prune", "network"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8,972 pairs and 5.80 turns", {"8972", "5.8"}),
        ("two of twelve, and one more", {"2", "12"}),
        ("18% or 20 percent", {"18%", "20%"}),
        ("by 2–3%", {"2%", "3%"}),
        ("between 2 and 10", {"2", "10"}),
        ("(1) fast, (2) small", set()),
        ("GPT-4o and V1", {"4"}),
        ("in 2024.", {"2024"}),
        (r"a 13\% gain, 20$\times$ faster", {"13%", "20"}),
    ],
)
def test_numbers(text: str, expected: set[str]) -> None:
    assert numbers(text) == expected


def test_figures_know_what_they_count() -> None:
    found = figures("On 12 farms it saved 18% energy. Seven bees flew.")
    assert found == {"12": {"farm", "save", "energi"}, "18%": {"farm", "save", "energi"}, "7": {"bee", "flew"}}


@pytest.mark.parametrize(
    ("text", "expected"), [("什么是 GPI？", True), ("What is 蜂?", False), ("", False), ("한국어", True)]
)
def test_is_cjk(text: str, expected: bool) -> None:
    assert is_cjk(text) is expected
