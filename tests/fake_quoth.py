"""A Quoth whose answers are written by hand, for tests of what is around it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from rag.errors import ModelError
from rag.types import Answer, Citation, Evidence, Filters, Paper, Passage, Quote, Turn

GRAPHS = Paper(
    paper_id="doi:10.1/graphs",
    abstract=(
        "Deletion requests reach graphs too. We present a benchmark for \\textsc{Gnn} unlearning <img src=x "
        "onerror=alert(1)>. It measures the $L_2$ distance to a retrained model and costs $25 instead of $30."
    ),
    title="Unlearning <b>on</b> graphs",
    authors=("Ada <i>Byron</i>", "Emmy Noether"),
    year=2024,
    venue="TMLR & friends",
    url="https://example.org/graphs?a=1&b=2",
    label="Gnn",
    note="Abstract retold.",
)
VIDEO = Paper(
    paper_id="list.txt#2",
    abstract=(
        "Videos are long. We introduce **StreamVLM**, which reads them as they come [3]. It needs 13\\% less memory."
    ),
    label="StreamVLM",
    url="javascript:alert(1)",
)


def quote(paper: Paper, text: str, support: float = 1.0) -> Quote:
    """The quote of these characters of the abstract."""
    start = paper.abstract.index(text)
    return Quote(text, start, start + len(text), support)


BENCHMARK = quote(GRAPHS, "We present a benchmark for \\textsc{Gnn} unlearning <img src=x onerror=alert(1)>.")
MEASURES = quote(GRAPHS, "It measures the $L_2$ distance to a retrained model and costs $25 instead of $30.")
READS = quote(VIDEO, "We introduce **StreamVLM**, which reads them as they come [3].")


def evidence(paper: Paper, rank: int = 1) -> Evidence:
    passage = Passage(f"{paper.paper_id}/0", paper.paper_id, paper.abstract, 0, len(paper.abstract))
    return Evidence(rank, paper, passage, 0.5)


def answered(question: str = "What is measured?") -> Answer:
    """Two papers, three sentences, and everything else that an answer can carry."""
    return Answer(
        question=question,
        standalone_question=question,
        status="answered",
        answer=(
            f"- {BENCHMARK.text} [1] {MEASURES.text} [1]\n"
            "- We introduce **StreamVLM**, which reads them as they come \\[3\\]. [2]"
        ),
        citations=(Citation(1, GRAPHS, (BENCHMARK, MEASURES)), Citation(2, VIDEO, (READS,))),
        unsupported=("It also cures <b>hiccups</b>.",),
        notices=("Answered without the LLM: it is asleep.",),
        answerer="openai:small",
        usage={"input_tokens": 900, "output_tokens": 100},
        seconds={"total": 1.234},
    )


def refused(question: str = "Who won?") -> Answer:
    return Answer(
        question=question,
        standalone_question=question,
        status="not_in_corpus",
        answer="The papers in this library do not answer this question.",
        missing=("won",),
        nearest=(evidence(GRAPHS), evidence(VIDEO, 2)),
        seconds={"total": 0.2},
    )


class FakeQuoth:
    """Answers "won" with a refusal, "broken" with an error, everything else with ``answered``.

    ``gate``: when set, the second half of a draft waits for it.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[Turn, ...], Filters]] = []
        self.gate: threading.Event | None = None

    def stream(
        self, question: str, history: Sequence[Turn] = (), filters: Filters = Filters()
    ) -> Iterator[str | Answer]:
        self.asked.append((question, tuple(history), filters))
        if "broken" in question:
            yield "A sentence that "
            raise ModelError("the model at http://localhost:1 does not answer: start it")
        if "won" in question:
            yield refused(question)
            return
        final = answered(question)
        middle = len(final.answer) // 2
        yield final.answer[:middle]
        if self.gate:
            assert self.gate.wait(30)
        yield final.answer[middle:]
        yield final


class FakeStore:
    """A store of so many papers."""

    def __init__(self, papers: int) -> None:
        self._papers = papers

    def exists(self) -> bool:
        return self._papers > 0

    def catalog(self) -> dict[str, None]:
        return {f"p{n}": None for n in range(self._papers)}


def put_into_ui(patch: pytest.MonkeyPatch, quoth: FakeQuoth, papers: int = 2) -> None:
    """Let the front end open this Quoth instead of a library on disk."""
    patch.setattr("ui.shelf.open_quoth", lambda settings: quoth)
    patch.setattr("ui.shelf.open_store", lambda settings: FakeStore(papers))
