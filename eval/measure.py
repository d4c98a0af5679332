"""Records and items → one value an item and measure. Here it is settled to which items a measure applies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eval import metrics
from eval.items import Item
from eval.records import Record, Run

Values = list[float | None]
Table = dict[str, Values]
"""Measure → one value a case, None where it does not apply."""

RANK_MEASURES = {"nDCG@5": "nDCG@5", "nDCG@10": "nDCG@10", "MAP": "AP"}
"""Our name → that of ir-measures."""
STAGES = ("retrieve", "generate", "verify")


@dataclass(frozen=True)
class Case:
    """An item with what the run made of it. A failed item scores 0 where an answer was due: failing is no excuse."""

    item: Item
    record: Record
    abstracts: Mapping[str, str] | None = None
    search_only: bool = False

    @cached_property
    def failed(self) -> bool:
        return bool(self.record.get("error"))

    @cached_property
    def answer(self) -> dict[str, Any]:
        return self.record.get("answer") or {}

    @cached_property
    def due(self) -> bool:
        """An answer was asked for."""
        return not self.search_only

    @cached_property
    def text(self) -> str:
        return str(self.answer.get("answer") or "")

    @cached_property
    def papers(self) -> list[str]:
        """The papers wanted, each once: two ids that mean one paper of the library are one."""
        return list(self.record.get("papers", self.item.papers))

    @cached_property
    def ranked(self) -> list[str]:
        return list(dict.fromkeys(self.record.get("ranked") or ()))

    @cached_property
    def gains(self) -> dict[str, float]:
        twins = set(self.item.papers) - set(self.papers)
        return {p: g for p, g in self.item.grades.items() if p not in twins} or dict.fromkeys(self.papers, 1.0)

    @cached_property
    def cited(self) -> list[str]:
        return [c["paper_id"] for c in self.answer.get("citations", ())]

    @cached_property
    def quotes(self) -> list[tuple[str, dict[str, Any]]]:
        return [(c["paper_id"], q) for c in self.answer.get("citations", ()) for q in c.get("quotes", ())]

    @cached_property
    def quoted(self) -> list[tuple[str, str]]:
        return [(paper, q["text"]) for paper, q in self.quotes]

    @cached_property
    def gold(self) -> list[tuple[str, str]]:
        return [(g.paper, g.quote) for g in self.item.evidence]

    @cached_property
    def refused(self) -> bool:
        """It said that the corpus does not tell. About a paper that is there, a partial answer may say so too."""
        status, about_attribute = self.answer.get("status"), "attribute" in (self.item.kind or self.item.id)
        return bool(self.answer) and (
            status == "not_in_corpus" or not self.text or (status == "partial" and about_attribute)
        )


def _answerable(of: Callable[[Case], float | None]) -> Callable[[Case], float | None]:
    return lambda c: of(c) if c.due and c.item.answerable else None


def _recall_at(k: int) -> Callable[[Case], float | None]:
    return lambda c: metrics.recall(c.ranked, c.papers, k)


def _facts(c: Case) -> float | None:
    return metrics.key_fact_recall(c.item.key_facts, c.text)


def _right(c: Case) -> float:
    facts = all(metrics.has_fact(f, c.text) for f in c.item.key_facts)
    return float(bool(c.answer) and not c.refused and facts and bool(set(c.cited) & set(c.papers)))


def _citation_recall(c: Case) -> float | None:
    return metrics.recall(c.cited, c.papers, len(c.cited))


def _citation_precision(c: Case) -> float | None:
    return metrics.precision(c.cited, c.papers) if c.papers else None


def _evidence_recall(c: Case) -> float | None:
    return metrics.evidence_recall(c.gold, c.quoted)


def _evidence_precision(c: Case) -> float | None:
    return metrics.evidence_precision(c.gold, c.quoted)


def _coverage(c: Case) -> float | None:
    return metrics.sentence_coverage(c.text) if c.answer.get("status") == "answered" else None


def _markers(c: Case) -> float | None:
    numbers = [x["number"] for x in c.answer.get("citations", ())]
    return float(bool(c.answer) and metrics.markers_match(c.text, numbers)) if c.due else None


def _verbatim(c: Case) -> float | None:
    if c.abstracts is None or not c.quotes:
        return None
    valid = sum(metrics.is_verbatim(q["text"], q["start"], q["end"], c.abstracts.get(p)) for p, q in c.quotes)
    return valid / len(c.quotes)


def _quoted_share(c: Case) -> float | None:
    if c.abstracts is None or not c.cited:
        return None
    whole = sum(len(c.abstracts.get(p, "")) for p in c.cited)
    return min(1.0, sum(len(text) for _, text in c.quoted) / max(1, whole))


def _tokens(name: str) -> Callable[[Case], float | None]:
    def of(c: Case) -> float | None:
        usage = c.answer.get("usage") or {}
        return float(usage.get(name, 0)) if any(usage.values()) else None

    return of


MEASURES: dict[str, Callable[[Case], float | None]] = {
    **{f"recall@{k}": _recall_at(k) for k in (1, 3, 5, 10, 20, 50)},
    "success@1": lambda c: metrics.success(c.ranked, c.papers, 1),
    "MRR": lambda c: metrics.reciprocal_rank(c.ranked, c.papers),
    "key_fact_recall": _answerable(_facts),
    "token_f1": _answerable(lambda c: metrics.token_f1(c.item.answer, metrics.without_markers(c.text))),
    "exact_match": _answerable(lambda c: metrics.exact_match(c.item.answer, metrics.without_markers(c.text))),
    "correct": _answerable(lambda c: _right(c) if c.papers else None),
    "citation_precision": _answerable(_citation_precision),
    "citation_recall": _answerable(_citation_recall),
    "citation_f1": _answerable(lambda c: metrics.f1(_citation_precision(c), _citation_recall(c))),
    "evidence_precision": _answerable(_evidence_precision),
    "evidence_recall": _answerable(_evidence_recall),
    "evidence_f1": _answerable(lambda c: metrics.f1(_evidence_precision(c), _evidence_recall(c))),
    "quote_validity": _verbatim,
    "marker_match": _markers,
    "sentence_coverage": _coverage,
    "quoted_share": _quoted_share,
    "answered": _answerable(lambda c: float(bool(c.answer) and not c.refused)),
    "refused": lambda c: float(c.refused) if c.due and not c.item.answerable else None,
    "input_tokens": _tokens("input_tokens"),
    "output_tokens": _tokens("output_tokens"),
}
"""Measures whose mean over items says something. ``correct``: all key facts, and a wanted paper is cited."""

WEIGHTS: dict[str, Callable[[Case], float]] = {"quote_validity": lambda c: len(c.quotes)}
"""Where an item counts more than once in the mean: each quote counts, not each answer."""


def cases(run: Run) -> list[Case]:
    """The items that have a record, in the order of the items."""
    search_only = bool(run.about.get("search_only"))
    return [
        Case(item, run.records[item.id], run.abstracts, search_only) for item in run.items if item.id in run.records
    ]


def measure(found: Sequence[Case]) -> Table:
    """All measures of all cases. nDCG and MAP are missing where ir-measures is not installed."""
    # Case by case, so that its folded texts are still at hand for the next measure.
    rows = [[of(c) for of in MEASURES.values()] for c in found]
    table: Table = {name: [row[n] for row in rows] for n, name in enumerate(MEASURES)}
    gains = {str(n): c.gains for n, c in enumerate(found)}
    rankings = {str(n): c.ranked for n, c in enumerate(found)}
    try:
        ranks = metrics.graded(list(RANK_MEASURES.values()), rankings, gains)
    except ImportError:
        return table
    return table | {
        name: [ranks[theirs].get(str(n)) for n in range(len(found))] for name, theirs in RANK_MEASURES.items()
    }


def seconds(found: Sequence[Case]) -> dict[str, list[float]]:
    """Seconds of the items that did not fail, in all and by stage: name → values."""
    spent: dict[str, list[float]] = {
        "seconds": [c.record["seconds"] for c in found if c.record.get("seconds") is not None]
    }
    for stage in STAGES:
        spent[f"seconds.{stage}"] = [s[stage] for c in found if stage in (s := c.answer.get("seconds") or {})]
    return {name: values for name, values in spent.items() if values}
