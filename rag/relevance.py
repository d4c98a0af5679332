"""Which sentences of the evidence answer the question? Ranks them; both refusal and extraction read the ranking."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.text import content_words, plain, sentences
from rag.types import Embedder, Evidence, Sentence

if TYPE_CHECKING:
    from rag.types import Vectors

_WHOLE = 3  # best papers whose sentences are all compared by meaning
_ENCODED = 28  # sentences compared by meaning in all; of the lower papers those that share most words
# Chosen by hand from a dozen sets of weights. On 450 of SciFact's training claims and abstracts the first sentence is
# part of the rationale for .64 (.49 by cosine alone; not held out). A logistic regression on the same claims (.62 in
# cross-validation) gave more to words and place, and did worse on questions in people's own words.
_COSINE, _COVERAGE, _PLACE, _LENGTH = 0.5, 0.3, 0.15, 0.1
_LONG = 30  # words of a sentence of full length
_PAPER = 0.3  # weight of the paper's own score
_FIGURE = 0.15  # what a figure adds where one is asked for
_DANGLING = 0.15  # what an opening that points back takes away: a quote must be understood where it stands alone
_ASKS_FIGURE = re.compile(
    r"\b(how (many|much|large|big|long|fast|often|well|precise)|what (fraction|share|percentage|margin|number|size)"
    r"|by (what|how much)|what is the (largest|smallest|average))\b",
    re.IGNORECASE,
)
_HAS_FIGURE = re.compile(r"\d")
# Openings that mean nothing without the sentence before; "this paper" and the like stand for the abstract's own.
_DANGLES = re.compile(
    r"(?:(?:however|moreover|furthermore|instead|here|then|thus|in turn),? )?"
    r"(?:it|its|they|their|such|another|others?|both|these|those|this(?! (?:paper|work|study|article)))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Candidate:
    """A sentence of a retrieved abstract with its relevance to the question (the higher the better)."""

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


def matched(weights: dict[str, float], text: str, papers: int) -> float:
    """Information of the words that the text has, in units of a word that stands in one paper only."""
    present = set(content_words(text))
    return sum(w for word, w in weights.items() if word in present) / math.log(1 + max(2, papers))


def coverage(weights: dict[str, float], text: str) -> float:
    """Weighted share of the words that the text has, 0..1."""
    total = sum(weights.values())
    if total == 0:
        return 0.0
    present = set(content_words(text))
    return sum(w for word, w in weights.items() if word in present) / total


def rank_sentences(
    question: str, evidence: Sequence[Evidence], weights: dict[str, float], encoder: SentenceEncoder | None
) -> list[Candidate]:
    """Sentences of the evidence, best first. ``evidence`` is best first; its scores weigh in."""
    asks_figure = bool(_ASKS_FIGURE.search(question))
    drafts = [
        (e, s, n / max(1, len(found) - 1), coverage(weights, s.text))
        for e in evidence
        for found in [sentences(e.paper.abstract)]
        for n, s in enumerate(found)
    ]
    drafts.sort(key=lambda d: (d[0].rank > _WHOLE, -d[3] - d[0].score))
    cosines: list[float | None] = [None] * len(drafts)
    if encoder is not None and drafts:
        compared = [s.text for _, s, _, _ in drafts[:_ENCODED]]
        cosines[: len(compared)] = encoder.similarities(question, compared)
    ranked = []
    for (e, s, place, covered), cosine in zip(drafts, cosines, strict=True):
        meaning = cosine if cosine is not None else (covered if encoder is None else 0.0)
        length = min(1.0, len(s.text.split()) / _LONG)
        relevance = _COSINE * meaning + _COVERAGE * covered + _PLACE * place + _LENGTH * length + _PAPER * e.score
        if asks_figure and _HAS_FIGURE.search(s.text):
            relevance += _FIGURE
        if dangles(s.text):
            relevance -= _DANGLING
        ranked.append(Candidate(e, s, relevance, cosine, covered))
    return sorted(ranked, key=lambda c: (-c.relevance, c.evidence.rank, c.sentence.start))


def dangles(sentence: str) -> bool:
    """Whether a sentence opens with a word that means nothing without the sentence before."""
    return bool(_DANGLES.match(sentence))


class SentenceEncoder:
    """Cosines of a question and sentences; keeps the vectors of sentences, which conversations meet again."""

    def __init__(self, embedder: Embedder, size: int = 20_000) -> None:
        self._embedder, self._size = embedder, size
        self._vectors: dict[str, Vectors] = {}

    def similarities(self, question: str, texts: Sequence[str]) -> list[float]:
        """Cosine (-1..1) of the question with each text."""
        return [float(x) for x in self.vectors(texts) @ self._embedder.query(question)]

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """(n, dimension) unit vectors."""
        import numpy as np

        table = self._vectors
        known = {t: table[t] for t in dict.fromkeys(texts) if t in table}
        new = [t for t in dict.fromkeys(texts) if t not in known]
        if new:
            known.update(zip(new, self._embedder.documents(new), strict=True))
            # Another thread may be at the same place: a new table, never one that shrinks under its reader.
            room = len(self._vectors) + len(new) <= self._size
            self._vectors = {**self._vectors, **known} if room else known
        return np.stack([known[t] for t in texts])


_NAME = re.compile(r"(?<![\w-])[A-Za-z][\w-]*", re.ASCII)


def missing_names(question: str, text: str) -> tuple[str, ...]:
    """Names in the question that the text does not have: LIBERO, GPT-4o, Alzheimer.

    A name has a capital or a digit beside its first letter, or a capital in mid-sentence. An abbreviation that the
    text spells out (RL, reinforcement learning) is there.
    """
    words = re.findall(r"[^\W_]+", plain(text))
    present, initials = set(content_words(text)), "".join(w[0] for w in words)
    missing = []
    for m in _NAME.finditer(question):
        word = m[0]
        opens = not question[: m.start()].strip() or question[: m.start()].rstrip()[-1] in ".!?:"
        named = any(c.isupper() or c.isdigit() for c in word[1:]) or (word[0].isupper() and not opens)
        parts = set(content_words(word))
        spelt_out = word.rstrip("s").isupper() and word.rstrip("s").casefold() in initials
        if named and not word.isdigit() and parts and not parts <= present and not spelt_out:
            missing.append(word)
    return tuple(dict.fromkeys(missing))


def missing_words(question: str, text: str) -> tuple[str, ...]:
    """Subject words of the question, as typed, that the text does not have."""
    present = set(content_words(text))
    words = dict.fromkeys(re.findall(r"[^\W_][\w-]*", question))
    return tuple(w for w in words if content_words(w) and not present & set(content_words(w)))
