"""Small papers, a readable encoder and the contract of an answer, for tests that need no models."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rag.markers import marked_sentences, unescape
from rag.text import content_words
from rag.types import Citation, Evidence, Paper, Passage

if TYPE_CHECKING:
    from rag.types import Vectors

PUMP = Paper(
    paper_id="list.txt#1",
    abstract=(
        "Solar pumps water fields where no grid reaches. We introduce Heliopump, a controller that predicts clouds "
        "five minutes ahead. In field trials on 12 farms, Heliopump used 18% less energy than fixed schedules. "
        "It does not need an internet connection. The code is public."
    ),
    label="Heliopump",
)
BEES = Paper(
    paper_id="list.txt#2",
    abstract=(
        "Bees find their hive by landmarks [3]. We tracked 250 bees with radar for two summers. Bees without landmarks "
        "took 4.5 times longer to return. Landmarks did not change how far they flew."
    ),
    label="Bees",
)
BOUND = Paper(
    paper_id="list.txt#3",
    abstract=(
        "We prove that every estimator on $[0,1]$ needs $x_{[1]}$, the smallest sample. The bound is tight for "
        "$n \\geq 3$ samples. Our method fails to converge on heavy-tailed data."
    ),
    label="bound",
)


def evidence(*papers: Paper) -> list[Evidence]:
    """Papers as numbered evidence, best first, each with its whole abstract as passage."""
    return [
        Evidence(n, p, Passage(f"{p.paper_id}/0", p.paper_id, p.abstract, 0, len(p.abstract)), 1 / n)
        for n, p in enumerate(papers, 1)
    ]


def encode(texts: Sequence[str]) -> Vectors:
    """Unit vectors whose cosine is that of the texts' bags of stemmed words."""
    vectors = np.zeros((len(texts), 512), np.float32)
    for row, text in zip(vectors, texts, strict=True):
        for word in content_words(text):
            row[int(hashlib.md5(word.encode()).hexdigest(), 16) % 512] += 1
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms == 0, 1, norms)


class FakeEmbedder:
    """``encode`` as an embedder; a token is a word."""

    identity: dict[str, str | int] = {"model": "bag of words", "dimension": 512}  # noqa: RUF012

    def documents(self, texts: Sequence[str], /) -> Vectors:
        return encode(texts)

    def query(self, text: str, /) -> Vectors:
        return encode([text])[0]

    def token_count(self, text: str, /) -> int:
        return len(text.split())


_MARKER = re.compile(r"(?<!\\)\[(\d+)\]")
_HEADING = re.compile(r"\s*(#{1,6} .*|\*\*[^*]*\*\*:?)$")


def assert_contract(answer: str, citations: Sequence[Citation], unsupported: Sequence[str]) -> None:
    """The invariants of an answer's text and citations, checked without the code that made them where possible."""
    numbers = [int(n) for n in _MARKER.findall(answer)]
    assert list(dict.fromkeys(numbers)) == [c.number for c in citations], "markers are citations, 1..n by first use"
    assert [c.number for c in citations] == list(range(1, len(citations) + 1))
    assert len({c.paper.paper_id for c in citations}) == len(citations), "one number a paper"
    for citation in citations:
        assert citation.quotes, "a citation quotes"
        assert len({(q.start, q.end) for q in citation.quotes}) == len(citation.quotes), "no quote twice"
        for q in citation.quotes:
            assert q.text and citation.paper.abstract[q.start : q.end] == q.text, "quotes are verbatim"
            assert 0 < q.support <= 1
    assert not re.search(r"(?<! )(?<!\])(?<!\\)\[\d+\]", answer), "one blank before the markers of a sentence"
    assert not re.search(r"(?<!\\)\]\s+\[\d", answer), "none between them"
    for line in answer.split("\n"):
        body = re.sub(r"^\s*(?:[-*•]|\d+[.)]|>|\([a-z\d]+\))\s+", "", line)
        if not body.strip() or _HEADING.match(body):
            continue
        for s in marked_sentences(body):
            assert s.numbers or s.text.rstrip("*_ ").endswith(":"), f"no marker: {s.text}"
    shown = [unescape(s.text) for line in answer.split("\n") for s in marked_sentences(line)]
    assert not set(unsupported) & set(shown), "what is unsupported is not shown"
