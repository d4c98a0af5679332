"""The answerer without an LLM: the sentences that answer best, verbatim, each with its paper's number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag.markers import escape, marker
from rag.relevance import Candidate
from rag.types import Brief, Evidence, Turn

_SEVERAL = re.compile(
    r"\b(papers|works|studies|methods|approaches|abstracts|authors|each|both|compare|comparison|versus|respectively"
    r"|list|all)\b",
    re.IGNORECASE,
)
_PAPERS, _SENTENCES = 4, 4  # most papers and sentences of an answer
_NEAR_PAPER, _NEAR_SEVERAL, _NEAR_SENTENCE = 0.05, 0.2, 0.12  # how far below the best a further one may lie
_SHARE = 0.35  # of an abstract's characters: more would be copying, not answering


class ExtractiveAnswerer:
    """Quotes; never writes a word of its own."""

    name = "extractive"

    def __init__(self, ranked: Sequence[Candidate]) -> None:
        self._ranked = ranked

    def stream(self, brief: Brief, evidence: Sequence[Evidence], history: Sequence[Turn], /) -> Iterator[str]:
        """One paper: its sentences in a row. Several: a list, one item a paper, best first."""
        chosen = choose(brief.question, self._ranked)
        several = len(chosen) > 1
        for n, group in enumerate(chosen):
            number = group[0].evidence.rank
            text = " ".join(f"{escape(c.sentence.text)} {marker([number])}" for c in group)
            yield ("\n" if n else "") + ("- " if several else "") + text


def choose(question: str, ranked: Sequence[Candidate]) -> list[list[Candidate]]:
    """Groups of sentences, one group a paper, best paper first, sentences in the order of the abstract."""
    if not ranked:
        return []
    best = ranked[0].relevance
    near = _NEAR_SEVERAL if _SEVERAL.search(question) else _NEAR_PAPER
    groups: dict[str, list[Candidate]] = {}
    total = 0
    for c in ranked:
        paper_id = c.evidence.paper.paper_id
        group = groups.get(paper_id)
        if total >= _SENTENCES:
            break
        if group is None:
            if len(groups) < _PAPERS and best - c.relevance <= near:
                groups[paper_id] = [c]
                total += 1
        elif group[0].relevance - c.relevance <= _NEAR_SENTENCE and len(group) < 2 and _fits(group, c):
            group.append(c)
            total += 1
    return [sorted(g, key=lambda c: c.sentence.start) for g in groups.values()]


def _fits(group: Sequence[Candidate], c: Candidate) -> bool:
    length = sum(len(x.sentence.text) for x in (*group, c))
    return length <= _SHARE * len(c.evidence.paper.abstract)
