"""Questions that need the conversation, and those that do not."""

from __future__ import annotations

import pytest

from rag.followup import make_brief, points_back
from rag.prompts import load
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
    assert brief.standalone == question
    assert brief.context == "Which controllers save energy? Heliopump saves 18%.  Bees  fly."
    assert brief.query == f"{question} ({brief.context})"


def test_a_change_of_topic_stands_alone() -> None:
    question = "Which estimators converge on heavy-tailed data?"
    assert make_brief(question, HISTORY) == Brief(question, question)


def test_a_refusal_is_no_context() -> None:
    refused = (*HISTORY, Turn("user", "And zeppelins?"), Turn("assistant", load("not_in_corpus_en")))
    assert make_brief("Why?", refused).context == "And zeppelins? Heliopump saves 18%.  Bees  fly."


def test_without_history_nothing_changes() -> None:
    assert make_brief("How accurate is it?", ()) == Brief("How accurate is it?", "How accurate is it?")


@pytest.mark.parametrize(
    ("question", "papers"),
    [
        ("What does [2] measure?", ("p2",)),
        ("What does the second one measure?", ("p2",)),
        ("What does the first paper say?", ("p1",)),
        ("And the last?", ("p2",)),
        ("How accurate is it?", ()),
        ("What does [7] say?", ()),
    ],
)
def test_papers_that_a_question_means(question: str, papers: tuple[str, ...]) -> None:
    brief = make_brief(question, HISTORY)
    assert brief.meant == papers
    assert brief.in_play == ("p1", "p2")


def test_an_llm_rewrites() -> None:
    brief = make_brief("And its cost?", HISTORY, lambda q: " What does Heliopump cost? ")
    assert brief == Brief("And its cost?", "What does Heliopump cost?")


@pytest.mark.parametrize("rewritten", ["And its cost?", "", "How much is it?"])
def test_a_rewriting_that_still_points_back_keeps_the_context(rewritten: str) -> None:
    brief = make_brief("And its cost?", HISTORY, lambda q: rewritten)
    assert brief.standalone == (rewritten or "And its cost?")
    assert brief.context.startswith("Which controllers save energy?")
