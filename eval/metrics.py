"""What is measured of one reply, as pure functions over ids and texts. None means: cannot be said, which is not 0."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from rag.markers import marked_sentences, unescape
from rag.text import plain

# -- retrieval: `ranked` are distinct ids, best first ----------------------------------------------------------------


def recall(ranked: Sequence[str], relevant: Sequence[str], k: int) -> float | None:
    """Share of the relevant papers among the first ``k``."""
    return len(set(ranked[:k]) & set(relevant)) / len(set(relevant)) if relevant else None


def success(ranked: Sequence[str], relevant: Sequence[str], k: int) -> float | None:
    """1 when a relevant paper is among the first ``k``."""
    return float(bool(set(ranked[:k]) & set(relevant))) if relevant else None


def reciprocal_rank(ranked: Sequence[str], relevant: Sequence[str]) -> float | None:
    """1 / rank of the first relevant paper, 0 when there is none."""
    if not relevant:
        return None
    return next((1 / rank for rank, paper in enumerate(ranked, 1) if paper in relevant), 0.0)


def graded(
    names: Sequence[str], rankings: Mapping[str, Sequence[str]], gains: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Rank measures of ir-measures (``nDCG@10``, ``AP``): name → query → value, for queries with a positive gain.

    nDCG takes the gain as it is; AP takes every positive gain as relevant. Raises ImportError where ir-measures is
    not installed.
    """
    import ir_measures

    judged = {q: _whole(g) for q, g in gains.items() if any(v > 0 for v in g.values())}
    # Scores only carry the order: the first rank gets the highest.
    runs = {q: {paper: -float(n) for n, paper in enumerate(rankings.get(q, ()))} for q in judged}
    measures = {ir_measures.parse_measure(name): name for name in names}
    found = {name: dict.fromkeys(judged, 0.0) for name in names}
    if judged:
        for value in ir_measures.iter_calc(list(measures), judged, runs):
            found[measures[value.measure]][value.query_id] = float(value.value)
    return found


def _whole(gains: Mapping[str, float]) -> dict[str, int]:
    """Gains as whole numbers, which ir-measures wants; nDCG does not change when all are scaled alike."""
    scale = 1 if all(float(g).is_integer() for g in gains.values()) else 1000
    return {paper: round(max(g, 0) * scale) for paper, g in gains.items()}


# -- the text of an answer -------------------------------------------------------------------------------------------

_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]|[^\\W_]+")
_ARTICLES = frozenset(("a", "an", "the"))
_MARKER = re.compile(r"(?<!\\)\[(\d+)\]")


def without_markers(answer: str) -> str:
    """An answer as a reader would copy it: no markers, brackets of quotes as they were."""
    return unescape(re.sub(r"\s*(?<!\\)\[\d+\]", "", answer))


def has_fact(fact: str, answer: str) -> bool:
    """Whether one of a fact's alternatives (``a|b``) occurs in the answer, after folding.

    It must begin where a word begins but may end inside one, so stems do; figures stand alone on both sides. A
    blank at the end of an alternative asks for the whole word.
    """
    folded = plain(answer)
    return any(p.search(folded) for p in map(_fact_pattern, fact.split("|")) if p)


@lru_cache(maxsize=65536)
def _fact_pattern(alternative: str) -> re.Pattern[str] | None:
    wanted = plain(alternative).strip()
    if not wanted:
        return None
    before = after = ""
    if re.match("[a-z0-9]", wanted):
        before = "(?<![a-z0-9])"
    if wanted[0].isdigit():
        before += r"(?<!\d[.,])"
    if wanted[-1].isdigit():
        after = r"(?!\d|[.,]\d)"
    elif alternative.endswith(" "):
        after = "(?![a-z0-9])"
    return re.compile(before + re.escape(wanted) + after)


def key_fact_recall(facts: Sequence[str], answer: str) -> float | None:
    """Share of the key facts that the answer contains."""
    return sum(has_fact(fact, answer) for fact in facts) / len(facts) if facts else None


@lru_cache(maxsize=256)
def answer_tokens(text: str) -> tuple[str, ...]:
    """Words for comparing answers: folded, without punctuation and articles; Chinese by the character."""
    return tuple(w for w in _WORD.findall(plain(text)) if w not in _ARTICLES)


def token_f1(reference: str, answer: str) -> float | None:
    """F1 of the words that reference and answer share, repeats counted."""
    wanted, given = answer_tokens(reference), answer_tokens(answer)
    if not wanted:
        return None
    shared = sum((Counter(wanted) & Counter(given)).values())
    return 2 * shared / (len(wanted) + len(given))


def exact_match(reference: str, answer: str) -> float | None:
    """1 when both have the same words in the same order."""
    wanted = answer_tokens(reference)
    return float(wanted == answer_tokens(answer)) if wanted else None


# -- citations -------------------------------------------------------------------------------------------------------


def precision(found: Sequence[str], relevant: Sequence[str]) -> float | None:
    """Share of what was cited that is relevant; None when nothing was cited."""
    return sum(f in relevant for f in found) / len(found) if found else None


def f1(precision: float | None, recall: float | None) -> float | None:
    """Harmonic mean; a precision that cannot be said, for nothing was cited, leaves 0."""
    if recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def contained(part: str, whole: str) -> float:
    """Share of the words of ``part`` that ``whole`` has too, repeats counted, 0..1."""
    wanted = _words(part)
    return sum((wanted & _words(whole)).values()) / max(1, wanted.total())


@lru_cache(maxsize=16384)
def _words(text: str) -> Counter[str]:
    return Counter(plain(text).split())


_HOLDS = 0.5  # share of a gold sentence's words from which a quote is taken to hold it


def evidence_recall(gold: Sequence[tuple[str, str]], quotes: Sequence[tuple[str, str]]) -> float | None:
    """Share of gold sentences, as (paper, text), that a quote of the same paper holds at least half of."""
    if not gold:
        return None
    return sum(any(p == paper and contained(s, q) >= _HOLDS for p, q in quotes) for paper, s in gold) / len(gold)


def evidence_precision(gold: Sequence[tuple[str, str]], quotes: Sequence[tuple[str, str]]) -> float | None:
    """Share of quotes, as (paper, text), at least half of which is a gold sentence of the same paper.

    A lower bound: gold sentences support the answer, but others may too. None without gold or quotes.
    """
    if not gold or not quotes:
        return None
    return sum(any(p == paper and contained(q, s) >= _HOLDS for p, s in gold) for paper, q in quotes) / len(quotes)


def is_verbatim(text: str, start: int, end: int, abstract: str | None) -> bool:
    """Whether a quote stands in the stored abstract exactly where it says; no abstract: no such paper."""
    return bool(text.strip()) and abstract is not None and start >= 0 and abstract[start:end] == text


def markers_match(answer: str, numbers: Sequence[int]) -> bool:
    """Whether the markers of a text and the numbers of its citations are the same."""
    return sorted({int(n) for n in _MARKER.findall(answer)}) == sorted(numbers)


_LIST_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$)")


def sentence_coverage(answer: str) -> float | None:
    """Share of an answer's sentences that carry a marker; headings and lead-ins ("…:") need none."""
    marked = total = 0
    for line in answer.splitlines():
        if _HEADING.match(line):
            continue
        for sentence in marked_sentences(_LIST_ITEM.sub("", line)):
            leads_in = sentence.text.rstrip("* ").endswith((":", "：")) and not sentence.numbers
            total += not leads_in
            marked += bool(sentence.numbers)
    return marked / total if total else None
