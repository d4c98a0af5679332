"""How well does a text support a statement? Words, figures and negations must agree; likeness alone does not do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rag.text import content_words, numbers, plain, sentences
from rag.types import Paper, Quote, Sentence

if TYPE_CHECKING:
    from rag.types import Vectors

SUPPORTED = 0.5
"""Least support of a sentence that may be shown as supported."""
_NEGATIONS = re.compile(
    r"\b(?:no|not|never|cannot|without|neither|nor|none|hardly|unable|fails?|failed|lacks?|lacking|un(?=able))\b|n't\b"
)
_NOT_ONLY = re.compile(r"\bnot (?:only|just|merely|limited)\b|\bno longer\b")
_REACH = 3  # content words after a negation that it can govern
# Measured on SciFact's supported claims and their rationales: cosines of true pairs lie mostly above, of other
# sentences of the same abstracts mostly below, the middle of this range.
_COSINE_LOW, _COSINE_HIGH = 0.25, 0.85


@dataclass(frozen=True)
class Verdict:
    """The sentences of one paper that carry a statement best, and how well they do."""

    quotes: tuple[Quote, ...]
    support: float


def support(statement: str, text: str, similarity: float | None = None) -> float:
    """Support of a statement by a text, 0..1.

    0 when the statement has a figure that the text lacks, or negates what the text affirms (or the reverse); 1 when
    it is verbatim. Else the share of its content words found, averaged with the scaled cosine where one is given.
    """
    folded, within = plain(statement).strip(" .!?"), plain(text)
    if folded and folded in within:
        return 1.0
    if not numbers(statement) <= numbers(text) or _negation_differs(statement, text):
        return 0.0
    wanted = set(content_words(statement))
    if not wanted:
        return 0.0
    coverage = len(wanted & set(content_words(text))) / len(wanted)
    if similarity is None:
        return coverage
    scaled = min(1.0, max(0.0, (similarity - _COSINE_LOW) / (_COSINE_HIGH - _COSINE_LOW)))
    return (coverage + scaled) / 2


def find_quotes(statement: str, paper: Paper, encode: Callable[[Sequence[str]], Vectors] | None = None) -> Verdict:
    """The sentence of a paper's abstract, or two, that support a statement best.

    ``encode`` (texts to unit vectors) lets a paraphrase count; without it only words do.
    """
    found = sentences(paper.abstract)
    verbatim = [s for s in found if plain(s.text).strip(" .!?") == plain(statement).strip(" .!?")]
    if verbatim:
        return Verdict((_quote(verbatim[0], 1.0),), 1.0)
    if not found:
        return Verdict((), 0.0)
    cosines: list[float | None] = [None] * len(found)
    if encode is not None:
        vectors = encode([statement, *(s.text for s in found)])
        cosines = [float(x) for x in vectors[1:] @ vectors[0]]
    scores = [support(statement, s.text, c) for s, c in zip(found, cosines, strict=True)]
    best = max(range(len(found)), key=lambda i: scores[i])
    verdict = Verdict((_quote(found[best], scores[best]),), scores[best])
    if verdict.support >= 0.8 or len(found) == 1:
        return verdict
    # Statements often join two sentences: take the second that completes the words best.
    wanted = set(content_words(statement))
    by_words = sorted(range(len(found)), key=lambda i: -len(wanted & set(content_words(found[i].text))))[:4]
    for a in by_words:
        for b in by_words:
            if a < b:
                cosine = max((c for c in (cosines[a], cosines[b]) if c is not None), default=None)
                joint = support(statement, f"{found[a].text} {found[b].text}", cosine)
                if joint > verdict.support + 0.05:
                    verdict = Verdict((_quote(found[a], joint), _quote(found[b], joint)), joint)
    return verdict


def _quote(sentence: Sentence, score: float) -> Quote:
    return Quote(sentence.text, sentence.start, sentence.end, round(score, 3))


def _negation_differs(a: str, b: str) -> bool:
    """Whether a content word of both texts is negated in one of them only."""
    shared = set(content_words(a)) & set(content_words(b))
    return bool((_negated(a) ^ _negated(b)) & shared)


@lru_cache(maxsize=4096)
def _negated(text: str) -> frozenset[str]:
    folded = _NOT_ONLY.sub(" ", plain(text))
    governed: set[str] = set()
    for m in _NEGATIONS.finditer(folded):
        clause = re.split(r"[.;:,()]|\bbut\b|\bwhile\b", folded[m.end() :], maxsplit=1)[0]
        governed.update(content_words(clause)[:_REACH])
    return frozenset(governed)
