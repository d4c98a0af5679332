"""Question → evidence: vectors and words, fused; filters; optional reranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rag.lexical import LexicalIndex
from rag.store import Store
from rag.types import Brief, Embedder, Evidence, Filters, Paper, Passage

_POOL = 100  # passages and papers taken from each side before fusion
_RERANKED = 20  # papers that a reranker reads


class HybridRetriever:
    """Dense and lexical search over one library, one entry a paper.

    ``mode`` is hybrid, dense or lexical. Scores are in 0..1 and comparable within one question only.
    """

    def __init__(
        self,
        store: Store,
        lexical: LexicalIndex,
        embedder: Embedder | None,
        mode: str = "hybrid",
        rerank: Callable[[str, Sequence[str]], Sequence[float]] | None = None,
    ) -> None:
        self._store, self._lexical, self._embedder = store, lexical, embedder
        self._mode, self._rerank = mode, rerank

    def search(self, brief: Brief, k: int, filters: Filters = Filters(), /) -> list[Evidence]:
        """The ``k`` best papers for a brief."""
        only = self._allowed(filters)
        pool = max(_POOL, 2 * k)
        passages: dict[str, tuple[Passage, float]] = {}
        words: dict[str, float] = {}
        if self._mode != "lexical" and self._embedder is not None:
            vector = self._embedder.query(brief.query)
            near = self._store.nearest(vector, pool, only)
            if brief.in_play:  # papers of the conversation are candidates whatever their rank
                kept = brief.in_play if only is None else [p for p in brief.in_play if p in set(only)]
                near += self._store.nearest(vector, pool, kept)
            for passage, similarity in near:
                best = passages.get(passage.paper_id)
                if best is None or similarity > best[1]:
                    passages[passage.paper_id] = (passage, similarity)
        if self._mode != "dense":
            words = dict(self._lexical.search(brief.query, pool, only))
        fused = fuse({p: s for p, (_, s) in passages.items()}, words, self._mode)
        fused |= {p: 1.0 for p in brief.meant if only is None or p in only}
        ranked = sorted(fused, key=lambda p: (p not in brief.meant, -fused[p], p))[
            : max(k, _RERANKED) if self._rerank else k
        ]
        papers = self._store.papers(ranked)
        missing = self._store.first_passages(p for p in ranked if p not in passages)
        found = []
        for paper_id in ranked:
            if paper_id not in papers:
                continue  # removed by another process since the word index was read
            if paper_id in passages:
                passage, similarity = passages[paper_id]
                found.append(Evidence(0, papers[paper_id], passage, fused[paper_id], similarity))
            else:
                found.append(Evidence(0, papers[paper_id], missing[paper_id], fused[paper_id]))
        if self._rerank and found:
            found = _reranked(found, brief.query, self._rerank)
        return [replace(e, rank=n) for n, e in enumerate(found[:k], 1)]

    def _allowed(self, filters: Filters) -> list[str] | None:
        if not filters:
            return None
        return [p for p, entry in self._store.catalog().items() if passes(entry.paper, filters)]


def passes(paper: Paper, filters: Filters) -> bool:
    """Whether a paper is within the filters; a paper without a year is outside every range of years."""
    if filters.year_from is not None and (paper.year is None or paper.year < filters.year_from):
        return False
    if filters.year_to is not None and (paper.year is None or paper.year > filters.year_to):
        return False
    if filters.venue and filters.venue.casefold() not in paper.venue.casefold():
        return False
    if filters.author and not any(filters.author.casefold() in a.casefold() for a in paper.authors):
        return False
    return not filters.papers or paper.paper_id in filters.papers


DENSE_WEIGHT = 0.5


def fuse(similarities: dict[str, float], words: dict[str, float], mode: str = "hybrid") -> dict[str, float]:
    """Convex combination of normalised scores per paper (Bruch, Gai and Ingber, 2023), 0..1.

    ``similarities``: cosine of the papers that dense search found; ``words``: BM25 of those that share a word. Each
    side is put on 0..1: cosines between the lowest found and the highest, BM25 between 0 and the highest. A paper
    that one side did not find gets nothing from it.
    """
    dense = _scaled(similarities, min(similarities.values(), default=0.0))
    lexical = _scaled(words, 0.0)
    if mode == "dense" or not words:
        return dense
    if mode == "lexical" or not similarities:
        return lexical
    papers = dense.keys() | lexical.keys()
    return {p: DENSE_WEIGHT * dense.get(p, 0.0) + (1 - DENSE_WEIGHT) * lexical.get(p, 0.0) for p in papers}


def _scaled(scores: dict[str, float], low: float) -> dict[str, float]:
    span = max(scores.values(), default=0.0) - low
    return {p: (s - low) / span if span > 0 else 1.0 for p, s in scores.items()}


def _reranked(
    found: list[Evidence], question: str, rerank: Callable[[str, Sequence[str]], Sequence[float]]
) -> list[Evidence]:
    """Reorder by the cross-encoder's score, mapped to 0..1 by the logistic function."""
    import math

    logits = rerank(question, [e.passage.text for e in found])
    scored = [replace(e, score=1 / (1 + math.exp(-float(x)))) for e, x in zip(found, logits, strict=True)]
    return sorted(scored, key=lambda e: -e.score)
