"""What the page shows while a question is answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag.errors import CorpusError, StoreError
from rag.types import Answer, Filters
from tests.fake_quoth import FakeQuoth, answered
from ui.conversation import View, converse, history, years


def views(quoth: FakeQuoth, question: str, *before: Answer) -> list[View]:
    return list(converse(lambda: quoth, question, before, Filters))  # type: ignore[arg-type, return-value]


def test_drafts_come_before_the_answer() -> None:
    first, draft, *_, last = views(FakeQuoth(), "What is measured?")
    assert "Looking through the papers" in first.live
    assert "class='draft'" in draft.live
    assert first.busy and draft.busy
    assert last == View((answered(),))


def test_a_failure_gives_the_question_back() -> None:
    last = views(FakeQuoth(), "broken?", answered())[-1]
    assert last.answers == (answered(),)
    assert last.question == "broken?"
    assert "does not answer: start it" in last.live
    assert "A sentence that" not in last.live


def test_a_library_that_cannot_be_opened_is_shown() -> None:
    def closed() -> FakeQuoth:
        raise StoreError("the library 'x' is empty")

    *_, last = converse(closed, "Why?", (), Filters)  # type: ignore[arg-type]
    assert "the library &#x27;x&#x27; is empty" in last.live
    assert not last.busy


def test_a_bug_is_shown_and_raised() -> None:
    class Broken(FakeQuoth):
        def stream(self, *_: object) -> Iterator[str | Answer]:
            raise ZeroDivisionError

    steps = converse(Broken, "Why?", (), Filters)  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        for view in steps:
            last = view
    assert "Something broke inside quoth" in last.live


def test_an_empty_question_changes_nothing() -> None:
    assert views(FakeQuoth(), "  ", answered()) == [View((answered(),))]


def test_the_conversation_is_passed_on_with_its_papers() -> None:
    quoth = FakeQuoth()
    views(quoth, "And the second one?", answered("What?"))
    ((_, turns, _),) = quoth.asked
    assert [(t.role, t.papers) for t in turns] == [("user", ()), ("assistant", ("doi:10.1/graphs", "list.txt#2"))]
    assert turns[0].content == "What?"
    assert history([]) == []


def test_years() -> None:
    assert years("", " ") == Filters()
    assert years("2020", "") == Filters(year_from=2020)
    assert years("2020", "2020") == Filters(year_from=2020, year_to=2020)
    with pytest.raises(CorpusError, match="swap them"):
        years("2024", "2020")
    with pytest.raises(CorpusError, match="'last' is no year"):
        years("last", "")


@pytest.mark.parametrize("text", ["9" * 5000, "99999999999999999999", "99", "²⁰²⁴", "-202"])
def test_years_have_four_digits(text: str) -> None:
    for span in ((text, ""), ("", text)):
        with pytest.raises(CorpusError, match="write four digits") as e:
            years(*span)
        assert len(str(e.value)) < 100
