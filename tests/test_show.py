"""What a terminal shows."""

from __future__ import annotations

import pytest

from rag import show
from rag.types import Answer, Citation, Evidence, Paper, Quote
from rag.verify import verify
from tests.fakes import BEES, PUMP, evidence


def answered(reply: str) -> Answer:
    found = verify(reply, evidence(PUMP, BEES))
    return Answer("?", "?", found.status, found.text, found.citations, found.unsupported)


def test_an_answer_with_its_sources() -> None:
    text = show.answer(answered("Bees find their hive by landmarks \\[3\\]. [2]\n- Radar tracked 250 bees. [2]"))
    assert text == (
        "Bees find their hive by landmarks [3]. [1]\n- Radar tracked 250 bees. [1]\n\n"
        "[1] Bees\n    list.txt#2\n    “Bees find their hive by landmarks …” (characters 0:38)\n"
        "    “We tracked 250 bees with radar for two summers.” (characters 39:86)"
    )


def test_what_was_left_out_is_said() -> None:
    assert "Left out, because no abstract supports it:\n  - Pumps sing." in show.answer(
        answered("The code is public. [1] Pumps sing. [1]")
    )


def test_a_refusal_names_the_nearest() -> None:
    nearest: tuple[Evidence, ...] = tuple(evidence(PUMP))
    text = show.answer(Answer("?", "?", "not_in_corpus", "No.", missing=("price",), nearest=nearest))
    assert text == (
        "No.\n\nNearest papers:\n  - Heliopump (list.txt#1)\n\nWords of the question that they do not have: price."
    )


@pytest.mark.parametrize("evil", ["\x1b[31mred", "a\x07b", "\u202egnp.exe", "\x9b2J", "a\rb"])
def test_untrusted_text_cannot_steer_the_terminal(evil: str) -> None:
    paper = Paper(evil, evil, evil, (evil,), 2024, evil, evil, (), evil, (evil,), evil, evil)
    quote = Quote(evil, 0, len(evil), 1.0)
    answer = Answer("?", "?", "answered", evil, (Citation(1, paper, (quote,)),), (evil,), notices=(evil,))
    shown = show.answer(answer) + show.card(paper) + show.row(paper)
    assert not set(shown) & set("\x1b\x07\u202e\x9b\r")


def test_a_marker_stays_on_the_line_of_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = show.answer(answered("The code is public. [1] It does not need an internet connection. [1]")).split("\n")
    assert not any(line.startswith("[1]") for line in lines[:2])
    assert all(len(line) <= 40 for line in lines)


def test_rows_and_cards() -> None:
    paper = Paper("doi:10/x", "Text.", title="A title", authors=("A", "B", "C", "D"), year=2020, label="X")
    assert show.row(paper) == "doi:10/x  X  A title (2020)"
    assert show.row(PUMP) == "list.txt#1  Heliopump"
    assert show.card(paper).startswith("A title\nA, B, C et al. · 2020\nid: doi:10/x\n")
