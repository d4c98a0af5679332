"""Which sentences of the evidence answer the question? Ranks them; both refusal and extraction read the ranking."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rag.text import content_words, numbers, sentences
from rag.types import Embedder, Evidence, Sentence

_ENCODED = 16  # sentences that are compared by meaning; the others were ruled out by words and rank
_ASKS_FIGURE = re.compile(
    r"\b(how (many|much|large|big|long|fast|often|well|precise)|what (fraction|share|percentage|margin|number|size)"
    r"|by (what|how much)|what is the (largest|smallest|average))\b",
    re.IGNORECASE,
)
_HAS_FIGURE = re.compile(r"\d")


@dataclass(frozen=True)
class Candidate:
    """A sentence of a retrieved abstract with its relevance to the question (0..1)."""

    evidence: Evidence
    sentence: Sentence
    relevance: float
    similarity: float | None
    """Cosine of question and sentence; None where it was not computed."""
    coverage: float
    """Share of the question's subject words in the sentence, rare ones counting more."""


Frequencies = Callable[[Iterable[str]], tuple[int, dict[str, int]]]


def word_weights(question: str, frequencies: Frequencies) -> dict[str, float]:
    """Subject words of the question with their inverse document frequency ln(1 + (N - n + 0.5) / (n + 0.5))."""
    words = list(dict.fromkeys(content_words(question)))
    total, counts = frequencies(words)
    return {w: math.log(1 + (total - n + 0.5) / (n + 0.5)) for w, n in counts.items()}


def coverage(weights: dict[str, float], text: str) -> float:
    """Weighted share of the words that the text has, 0..1."""
    total = sum(weights.values())
    if total == 0:
        return 0.0
    present = set(content_words(text))
    return sum(w for word, w in weights.items() if word in present) / total


def rank_sentences(
    question: str, evidence: Sequence[Evidence], weights: dict[str, float], embedder: Embedder | None
) -> list[Candidate]:
    """Sentences of the evidence, best first. ``evidence`` is best first; its scores weigh in."""
    asks_figure = bool(_ASKS_FIGURE.search(question))
    drafts: list[tuple[float, Evidence, Sentence, float]] = []
    for e in evidence:
        for s in sentences(e.paper.abstract):
            covered = coverage(weights, s.text)
            drafts.append((covered + 0.7 * e.score, e, s, covered))
    drafts.sort(key=lambda d: -d[0])
    cosines: list[float | None] = [None] * len(drafts)
    if embedder is not None and drafts:
        first = drafts[:_ENCODED]
        vectors = embedder.documents([s.text for _, _, s, _ in first])
        cosines[: len(first)] = [float(x) for x in vectors @ embedder.query(question)]
    found = []
    for (_, e, s, covered), cosine in zip(drafts, cosines, strict=True):
        meaning = covered if cosine is None else max(0.0, cosine)
        relevance = 0.5 * meaning + 0.3 * covered + 0.2 * e.score
        if embedder is not None and cosine is None:
            relevance = 0.3 * covered + 0.2 * e.score
        if asks_figure and _HAS_FIGURE.search(s.text) and numbers(s.text):
            relevance += 0.08
        found.append(Candidate(e, s, relevance, cosine, covered))
    return sorted(found, key=lambda c: (-c.relevance, c.evidence.rank, c.sentence.start))


def missing_words(question: str, text: str) -> tuple[str, ...]:
    """Subject words of the question, as typed, that the text does not have."""
    present = set(content_words(text))
    words = dict.fromkeys(re.findall(r"[^\W_][\w-]*", question))
    return tuple(w for w in words if content_words(w) and not present & set(content_words(w)))
