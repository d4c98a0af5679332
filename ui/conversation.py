"""One exchange as the page shows it: from the question through unchecked drafts to the verified answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rag.errors import CorpusError, QuothError
from rag.pipeline import Quoth
from rag.types import Answer, Filters, Turn
from ui import render

_REDRAW = 0.06  # seconds between two drafts on the page: faster is not seen and only costs


@dataclass(frozen=True)
class View:
    """What the page shows at one moment. ``live`` is the HTML of the exchange that is not finished or failed."""

    answers: tuple[Answer, ...]
    live: str = ""
    busy: bool = False
    question: str = ""
    """What stands in the question box: a question that failed goes back there."""


def history(answers: Sequence[Answer]) -> list[Turn]:
    """The conversation as the pipeline takes it, with the papers behind each answer's numbers."""
    turns: list[Turn] = []
    for answer in answers:
        cited = tuple(c.paper.paper_id for c in answer.citations)
        turns += [Turn("user", answer.question), Turn("assistant", answer.answer, cited)]
    return turns


def years(since: str, until: str) -> Filters:
    """Filters for what stands in the year fields; an empty field sets no limit.

    Raises CorpusError for what is no year, and when no year can match.
    """
    since, until = since.strip(), until.strip()
    for text in (since, until):
        if text and not (len(text) == 4 and text.isdecimal()):
            raise CorpusError(f"{text[:20]!r} is no year: write four digits, as 2024")
    first, last = (int(text) if text else None for text in (since, until))
    if first is not None and last is not None and first > last:
        raise CorpusError(f"no year lies between {first} and {last}: swap them")
    return Filters(year_from=first, year_to=last)


def converse(
    library: Callable[[], Quoth], question: str, answers: Sequence[Answer], filters: Callable[[], Filters]
) -> Iterator[View]:
    """Ask, and show what happens. Errors that a user can mend are shown; any other is shown briefly and raised."""
    before = tuple(answers)
    if not question.strip():
        yield View(before)
        return

    def unfinished(body: str) -> View:
        return View(before, render.exchange(question, body), busy=True)

    def failed(why: str) -> View:
        return View(before, render.exchange(question, render.failure(why)), question=question)

    yield unfinished(render.waiting())
    try:
        for part in _paced(library().stream(question, history(before), filters())):
            if isinstance(part, Answer):
                yield View((*before, part))
            else:
                yield unfinished(render.draft(part))
    except QuothError as e:
        yield failed(str(e))
    except Exception:
        yield failed("Something broke inside quoth; the server's log says what.")
        raise


def _paced(parts: Iterator[str | Answer]) -> Iterator[str | Answer]:
    """The text so far instead of pieces, not more often than the eye can follow; the answer as it is."""
    text, shown = "", 0.0
    for part in parts:
        if isinstance(part, Answer):
            yield part
        else:
            text += part
            if time.monotonic() - shown >= _REDRAW:
                yield text
                shown = time.monotonic()
