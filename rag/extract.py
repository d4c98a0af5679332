"""The answer without an LLM: the sentences that answer best. It never writes a word of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.relevance import Candidate, dangles
from rag.types import Sentence

_SEVERAL = re.compile(
    r"\b(papers|works|studies|methods|approaches|abstracts|authors|each|both|compare|comparison|versus|respectively"
    r"|list|all)\b",
    re.IGNORECASE,
)
_PAPERS, _SENTENCES = 4, 4  # most papers and sentences of an answer
_NEAR_PAPER, _NEAR_SEVERAL, _NEAR_SENTENCE = 0.05, 0.2, 0.12  # how far below the best a further one may lie
_SHARE = 0.35  # of an abstract's characters: more would be copying, not answering


def quotes(question: str, ranked: Sequence[Candidate]) -> list[list[tuple[int, Sentence]]]:
    """The answer as sentences with the numbers of their evidence, one group a paper, best paper first."""
    return [[(c.evidence.rank, c.sentence) for c in group] for group in choose(question, ranked)]


def choose(question: str, ranked: Sequence[Candidate]) -> list[list[Candidate]]:
    """Groups of sentences, one group a paper, best paper first, sentences in the order of the abstract."""
    if not ranked:
        return []
    several = bool(_SEVERAL.search(question))
    lowest = ranked[0].relevance - (_NEAR_SEVERAL if several else _NEAR_PAPER)
    groups: dict[str, list[Candidate]] = {}
    for c in ranked:  # the best sentence of each paper that comes near the best
        if c.relevance >= lowest and len(groups) < _PAPERS:
            groups.setdefault(c.evidence.paper.paper_id, [c])
    room = _SENTENCES - len(groups)
    for c in ranked:  # then a second one of the same papers, where it is nearly as good
        group = groups.get(c.evidence.paper.paper_id, [])
        near = bool(group) and group[0].relevance - c.relevance <= _NEAR_SENTENCE
        if room > 0 and near and len(group) == 1 and c is not group[0] and _fits(group, c):
            group.append(c)
            room -= 1
    return [sorted(_understood(g, ranked), key=lambda c: c.sentence.start) for g in groups.values()]


def _understood(group: list[Candidate], ranked: Sequence[Candidate]) -> list[Candidate]:
    """The group, with the sentence before one that points back to it, where there is room."""
    first = min(group, key=lambda c: c.sentence.start)
    if not dangles(first.sentence.text):
        return group
    same = [c for c in ranked if c.evidence is first.evidence and c.sentence.start < first.sentence.start]
    before = max(same, key=lambda c: c.sentence.start, default=None)
    return [*group, before] if before is not None and _fits(group, before) else group


def _fits(group: Sequence[Candidate], c: Candidate) -> bool:
    length = sum(len(x.sentence.text) for x in (*group, c))
    return length <= _SHARE * len(c.evidence.paper.abstract)
