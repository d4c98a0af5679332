"""Questions that need the conversation, and those that do not."""

from __future__ import annotations

import pytest

from rag.followup import make_brief, points_back
from rag.types import Brief, Turn

HISTORY = (
    Turn("user", "Which controllers save energy?"),
    Turn("assistant", "Heliopump saves 18%. [1] Bees \\[3\\] fly. [2]", ("p1", "p2")),
)


@pytest.mark.parametrize(
    "question", ["How accurate is it?", "What about the second one?", "And bees?", "Tell me about [2]", "Why?"]
)
def test_questions_that_point_back(question: str) -> None:
    assert points_back(question)
    brief = make_brief(question, HISTORY)
    assert brief.question == question
    assert brief.standalone.startswith(question)
    assert "Which controllers save energy?" in brief.standalone
    assert "[1]" not in brief.standalone


def test_a_change_of_topic_stands_alone() -> None:
    question = "Which estimators converge on heavy-tailed data?"
    assert make_brief(question, HISTORY) == Brief(question, question)


def test_without_history_nothing_changes() -> None:
    assert make_brief("How accurate is it?", ()) == Brief("How accurate is it?", "How accurate is it?")


@pytest.mark.parametrize(
    ("question", "papers"),
    [
        ("What does [2] measure?", ("p2",)),
        ("What does the second one measure?", ("p2",)),
        ("What does the first paper say?", ("p1",)),
        ("And the last?", ("p2",)),
        ("How accurate is it?", ("p1", "p2")),
        ("What does [7] say?", ("p1", "p2")),
    ],
)
def test_papers_in_play(question: str, papers: tuple[str, ...]) -> None:
    assert make_brief(question, HISTORY).in_play == papers


def test_an_llm_rewrites() -> None:
    brief = make_brief("And the second one?", HISTORY, lambda q: f" {q.upper()} ")
    assert brief == Brief("And the second one?", "AND THE SECOND ONE?", ("p2",))
    assert make_brief("And it?", HISTORY, lambda q: " ").standalone == "And it?"
