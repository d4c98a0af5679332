"""How well does a text support a statement? Words, figures and polarity must agree; likeness alone does not do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from rag.contradiction import contradicts
from rag.relevance import missing_names
from rag.text import content_words, figures, is_cjk, plain, sentences
from rag.types import Paper, Quote, Sentence

if TYPE_CHECKING:
    from rag.types import Vectors

SUPPORTED = 0.5
"""Least support of a sentence that may be shown as supported."""
# Measured on SciFact's supported claims and their rationales: cosines of true pairs lie mostly above, of other
# sentences of the same abstracts mostly below, the middle of this range.
_COSINE_LOW, _COSINE_HIGH = 0.25, 0.85
_CANDIDATES = 4  # sentences of a paper that are looked at closely: those that share most words
_CLEAR = 0.8  # support at which one sentence is enough
_PARTS = re.compile(r"[,;:()](?!\d)|\b(?:and|but|while|which|whereas)\b")
_PART_WORDS, _PART_COVERED = 3, 0.34  # a clause of so many content words has more than a third of them in the text
_CJK_RUN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_NO_NAME = re.compile(rf"{_CJK_RUN.pattern}|(?<![\w-])\d\S*")  # figures are looked at by themselves
_CJK_NEGATION = re.compile("[不没無无未非]")
_NEGATION = re.compile(r"\b(?:no|not|never|cannot|without|neither|nor|none|fails?|failed|lacks?)\b")
_URL = re.compile(r"https?://[^\s<>\"')\]}]+")

Encode = Callable[[Sequence[str]], "Vectors"]


@dataclass(frozen=True)
class Verdict:
    """What carries a statement best, each quote with the place of its paper among those asked, and how well."""

    quotes: tuple[Quote, ...]
    support: float
    owners: tuple[int, ...] = ()


def support(statement: str, text: str, similarity: float | None = None) -> float:
    """Support of a statement by a text, 0..1.

    0 when the statement has a figure that the text lacks or has for something else, says the opposite, or has a part
    of its own. Else it grows with the share of its content words found and, where one is given, with the cosine.
    """
    for figure, beside in figures(statement).items():
        around = figures(text).get(figure)
        if around is None or (beside and around and not beside & around and not is_cjk(statement)):
            return 0.0
    scaled = 0.0
    if similarity is not None:
        scaled = min(1.0, max(0.0, (similarity - _COSINE_LOW) / (_COSINE_HIGH - _COSINE_LOW)))
    if is_cjk(statement) != is_cjk(text):  # two languages share no words: only meaning is left
        return 0.0 if _negates(statement) != _negates(text) else scaled
    if contradicts(statement, text) or _has_foreign_part(statement, text):
        return 0.0
    covered = coverage(statement, text)
    if similarity is None:  # no likeness to make up for other words: a third of them is too many
        return max(0.0, 1.5 * covered - 0.5)
    return (covered + scaled) / 2


def coverage(statement: str, text: str) -> float:
    """Share of a statement's content words that a text has, 0..1."""
    wanted = _words(statement)
    return len(wanted & _words(text)) / len(wanted) if wanted else 0.0


def find_quotes(statement: str, papers: Sequence[Paper], encode: Encode | None = None) -> Verdict:
    """The sentence of these papers' abstracts, or two, that support a statement best.

    ``encode`` (texts to unit vectors) lets a paraphrase count; without it only words do. A name, a figure or an
    address that no paper has, or a sentence with the same words that says the opposite, leaves no support.
    """
    pool = [(n, s) for n, paper in enumerate(papers) for s in sentences(paper.abstract)]
    for n, s in pool:
        if _bare(s.text) == _bare(statement):
            return _verdict(1.0, [(n, s)])
    known = "\n".join(f"{p.title}\n{p.label}\n{p.abstract}" for p in papers)
    if not pool or _invents(statement, known):
        return Verdict((), 0.0)
    pool.sort(key=lambda entry: -coverage(statement, entry[1].text))
    if is_cjk(statement) == is_cjk(known):
        pool = pool[:_CANDIDATES]
    most = coverage(statement, pool[0][1].text)
    closest = [s.text for _, s in pool if coverage(statement, s.text) == most]
    if all(contradicts(statement, text) for text in closest):
        return Verdict((), 0.0)
    cosines: list[float | None] = [None] * len(pool)
    if encode is not None:
        vectors = encode([statement, *(s.text for _, s in pool)])
        cosines = [float(x) for x in vectors[1:] @ vectors[0]]
    scored = [(support(statement, s.text, c), i) for i, ((_, s), c) in enumerate(zip(pool, cosines, strict=True))]
    score, best = max(scored, key=lambda x: (x[0], -x[1]))
    verdict = _verdict(score, [pool[best]])
    if score >= _CLEAR:
        return verdict
    # Statements often join two sentences.
    for a, b in combinations(range(min(len(pool), _CANDIDATES)), 2):
        cosine = max((c for c in (cosines[a], cosines[b]) if c is not None), default=None)
        joint = support(statement, f"{pool[a][1].text} {pool[b][1].text}", cosine)
        if joint > verdict.support + 0.05:
            verdict = _verdict(joint, [pool[a], pool[b]])
    return verdict


def _verdict(score: float, found: Sequence[tuple[int, Sentence]]) -> Verdict:
    quotes = tuple(Quote(s.text, s.start, s.end, round(score, 3)) for _, s in found)
    return Verdict(quotes, score, tuple(n for n, _ in found))


def _invents(statement: str, known: str) -> bool:
    """Whether a statement has a name, a figure or an address that is nowhere in the papers."""
    if not figures(statement).keys() <= figures(known).keys() or missing_names(_NO_NAME.sub(" ", statement), known):
        return True
    return any(url.rstrip(".,;:") not in known for url in _URL.findall(statement))


def _has_foreign_part(statement: str, text: str) -> bool:
    """Whether a clause shares next to nothing with the text: a true half does not vouch for the other."""
    parts = _PARTS.split(plain(statement))
    return any(len(_words(p)) >= _PART_WORDS and coverage(p, text) < _PART_COVERED for p in parts)


def _words(text: str) -> set[str]:
    """Content words; of Chinese and its like, which put no blanks between words, pairs of characters."""
    words = {w for w in content_words(text) if not _CJK_RUN.search(w)}
    for run in _CJK_RUN.findall(plain(text)):
        words.update(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return words


def _negates(text: str) -> bool:
    return bool((_CJK_NEGATION if is_cjk(text) else _NEGATION).search(plain(text)))


def _bare(text: str) -> str:
    return plain(text).strip(" .!?。！？")
